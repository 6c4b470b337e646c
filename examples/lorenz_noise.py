"""Lorenz x under 15 % noise: the equation, its error bars, and a forecast that knows how long it holds."""

import numpy as np

import jetode

truth = jetode.systems["lorenz"].simulate(70.0).observe("x")
clean = truth.slice(0, 6001)
noisy = clean.with_values(jetode.add_noise(clean.values, 0.15, np.random.default_rng(0)))

model = jetode.reconstruct(noisy)
print(model.equation())
print("trusted:", model.verdict.trusted, "-", model.verdict.reason)
for c in model.coefficients():
    print(f"{c.part} {c.powers}: {c.value:.4g} ± {c.standard_error:.2g}")

ahead = model.forecast(10.0)
future = truth.values[6000:7001]
print("valid prediction time:", jetode.valid_prediction_time(ahead.values, future, truth.dt), "time units")
