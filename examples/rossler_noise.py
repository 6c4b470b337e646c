"""Rössler x under 30 % noise: the forecast follows the truth for several oscillations."""

import numpy as np

import jetode

truth = jetode.systems["rossler"].simulate(700.0, dt=0.1).observe("x")
clean = truth.slice(0, 6001)
noisy = clean.with_values(jetode.add_noise(clean.values, 0.30, np.random.default_rng(0)))

model = jetode.reconstruct(noisy)
print(model.equation(digits=4))
print("trusted:", model.verdict.trusted, "-", model.verdict.reason)

ahead = model.forecast(50.0)
vpt = jetode.valid_prediction_time(ahead.values, truth.values[6000:6501], truth.dt)
print(f"valid prediction time: {vpt:.1f} time units = {vpt / 5.9:.1f} oscillations")
