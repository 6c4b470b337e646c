# %% [markdown]
# # Tutorial: from a column of numbers to an equation
#
# A record is simulated here, so that the answer is known: Lorenz x with 10 % noise, as if an instrument had written
# millivolts every 10 ms since a certain morning.

# %%
import numpy as np
import pandas as pd

import jetode

truth = jetode.systems["lorenz"].simulate(45.0).observe("x").values
noisy = jetode.add_noise(truth, 0.10, np.random.default_rng(1))
times = pd.date_range("2026-03-02 08:00", periods=noisy.size, freq="10ms")
column = pd.Series(noisy, index=times, name="U [mV]")
known, later = column[:4001], column[4001:]
known.head(3)

# %% [markdown]
# Is the channel suitable? This takes a second.

# %%
diagnosis = jetode.diagnose(known)
print(diagnosis.text())

# %% [markdown]
# The equation. Its coefficients are rounded to their standard errors, and the verdict says how far to rely on it.

# %%
model = jetode.reconstruct(known)
print(model.equation())
print(model.verdict.grade, "-", model.verdict.reason)

# %%
for symbol, meaning in model.named.meanings():
    print(symbol, "is", meaning)
for term in model.named.terms():
    print(term)

# %% [markdown]
# The forecast, in the record's own time, beside what really came.

# %%
ahead = model.forecast(2.0).to_pandas()
ahead["recorded"] = later[: len(ahead)]
ahead.iloc[::40].round(2)

# %% [markdown]
# More samples arrive: the model goes on from its old fit, and says whether the equation still holds.

# %%
updated = model.update(column)
print(updated.verdict.reason)

# %% [markdown]
# And the equation goes on elsewhere.

# %%
print(jetode.export(updated, "matlab"))
