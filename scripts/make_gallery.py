"""Outputs and figures of the gallery: ``python scripts/make_gallery.py [NAME ...]``.

Runs each script of ``examples/`` that needs no recording and writes what it prints to ``docs/gallery/NAME.txt``, the
end of its record with the forecast, and its attractor, to ``docs/gallery/NAME.png``.
"""

from __future__ import annotations

import io
import runpy
import sys
from contextlib import redirect_stdout
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "gallery"
NAMES = ("lorenz_noise", "rossler_noise", "chua_circuit", "four_dimensions")
SHOWN = 3.0  # times the forecast's length that is shown of the record before it


def main() -> None:
    """Run and draw."""
    TARGET.mkdir(exist_ok=True)
    for name in sys.argv[1:] or NAMES:
        said = io.StringIO()
        with redirect_stdout(said):
            found = runpy.run_path(str(ROOT / "examples" / f"{name}.py"))
        (TARGET / f"{name}.txt").write_text(said.getvalue(), "utf-8")
        model, ahead = found["model"], found["ahead"]
        figure = plt.figure(figsize=(10, 3.6), layout="constrained", dpi=80)
        left, right = figure.add_gridspec(1, 2, width_ratios=(2, 1))
        curve = model.plot(float(ahead.t[-1]), figure.add_subplot(left))
        end = float(ahead.times[0])
        curve.set_xlim(end - SHOWN * float(ahead.t[-1]), float(ahead.times[-1]))
        model.plot_attractor(figure.add_subplot(right, projection="3d"))
        figure.savefig(TARGET / f"{name}.png", pil_kwargs={"optimize": True})
        plt.close(figure)
        print(f"{name}: {model.verdict.grade}")


if __name__ == "__main__":
    main()
