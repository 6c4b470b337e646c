"""A four-dimensional system from one channel: Lorenz-Stenflo w, order 4, by the paper's method on a clean record.

The denominator of its closure holds u0 and u1, 2 u0 + u1; the exact closure is derived beside it for comparison.
"""

import jetode

system = jetode.systems["lorenz_stenflo"]
truth = system.simulate(130.0).observe("w")
record = truth.slice(0, 12001)

model = jetode.reconstruct(
    record, method="paper", order=4, denominator_degree=1, numerator_degree=4, denominator_variables=(0, 1)
)
exact = system.closure("w")
print("relative error of N and D:", *(f"{e:.1e}" for e in jetode.relative_l2(model.closure, exact)))
print("trusted:", model.verdict.trusted, "-", model.verdict.reason)
ahead = model.forecast(10.0)
print("valid prediction time:", jetode.valid_prediction_time(ahead.values, truth.values[12000:13001], truth.dt))
