"""A real recording: current of a chaotic nickel electrodissolution cell (see ../shared/data/README.md).

The verdict is the result here: it says whether one equation of the family explains this channel.
"""

import sys
from pathlib import Path

import jetode

path = Path(__file__).resolve().parents[2] / "shared" / "data" / "ni_electrodissolution_raw.csv"
if not path.exists():
    sys.exit("The recording is not shipped with jetode; it was looked for at ../shared/data.")

record = jetode.read(path, dt=1 / 200)
record = jetode.Series(record.values, record.dt, name="current", unit="mA", time_unit="s").slice(0, 30_000)
model = jetode.reconstruct(record, max_seconds=60)
print("record:", record.n, "samples; used:", *(model.settings.get("reduction") or ["all"]))
print(model.equation(digits=3))
print("trusted:", model.verdict.trusted, "-", model.verdict.reason)
