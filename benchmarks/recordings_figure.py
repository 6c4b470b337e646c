"""Forecasts of recordings with their bands as one picture, from the results of ``jetode benchmark recordings``:

python benchmarks/recordings_figure.py OUT/results.json docs/recordings.png
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

METHOD = "jetode"
DRAWN = 2  # forecasts of each recording


def draw(source: Path, target: Path) -> None:
    """One row per recording, one panel per forecast."""
    recordings = [r for r in json.loads(source.read_text())["recordings"] if METHOD in r.get("methods", {})]
    figure, axes = plt.subplots(len(recordings), DRAWN, figsize=(11, 1.9 * len(recordings)), squeeze=False)
    for row, recording in zip(axes, recordings, strict=True):
        found = recording["methods"][METHOD]
        shown = list(zip(recording["drawn"], found["drawn"], strict=True))
        for panel, (truth, forecast) in zip(row, [shown[0], shown[-1]], strict=True):
            ahead = np.array(truth["ahead"])
            values, lower, upper = (
                np.array([np.nan if v is None else v for v in forecast.get(name, [])])
                for name in ("values", "lower", "upper")
            )
            if lower.size:
                panel.fill_between(ahead, lower, upper, color="tab:orange", alpha=0.25, lw=0)
            panel.plot(truth["times"], truth["truth"], color="0.2", lw=0.9)
            panel.plot(ahead, values, color="tab:orange", lw=1.1)
            panel.axvline(0.0, color="0.6", lw=0.6)
            measured = np.array(truth["truth"], dtype=float)
            middle, reach = np.median(measured), np.ptp(measured)
            panel.set_ylim(middle - reach, middle + reach)
        title = f"{recording['name']}: {found['about']['grade']}, holds {found['vpt']:.2f} oscillations in the median"
        row[0].set_title(title, fontsize=9, loc="left")
    for panel in axes[-1]:
        panel.set_xlabel("oscillations after the last known sample")
    figure.tight_layout()
    figure.savefig(target, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
