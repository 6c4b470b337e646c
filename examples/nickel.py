"""A real recording: current of a chaotic nickel electrodissolution cell, 200 samples per second, one number per line.

    python examples/nickel.py ni_electrodissolution_raw.csv

The verdict is the result here: it says whether one equation of the family explains this channel.
"""

import sys

import jetode

if len(sys.argv) != 2:
    sys.exit("Give the recording: python examples/nickel.py FILE")

record = jetode.read(sys.argv[1], dt=1 / 200)
record = jetode.Series(record.values, record.dt, name="current", unit="mA", time_unit="s").slice(0, 30_000)
model = jetode.reconstruct(record, max_seconds=60)
print("record:", record.n, "samples; used:", *(model.settings.get("reduction") or ["all"]))
print(model.equation(digits=3))
print("trusted:", model.verdict.trusted, "-", model.verdict.reason)
