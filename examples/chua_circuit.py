"""Chua's circuit, voltage x with 1 % noise: a jerk equation with a cubic."""

import numpy as np

import jetode

truth = jetode.systems["chua"].simulate(340.0, dt=0.05).observe("x")
clean = truth.slice(0, 6001)
noisy = clean.with_values(jetode.add_noise(clean.values, 0.01, np.random.default_rng(0)))

model = jetode.reconstruct(noisy, max_seconds=240)
print(model.equation(digits=4))
print("trusted:", model.verdict.trusted, "-", model.verdict.reason)
ahead = model.forecast(20.0)
print("valid prediction time:", jetode.valid_prediction_time(ahead.values, truth.values[6000:6401], truth.dt))
