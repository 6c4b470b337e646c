"""Figures with matplotlib: axes in (None: new ones), axes out.  Nothing here computes anything.

Colours are Okabe and Ito's, safe for colour-blind readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from jetode.support.arrays import FloatArray

RECORD, SMOOTHED, AHEAD = "#999999", "#0072B2", "#D55E00"
SHOWN = 4.0  # forecasts' lengths of the record that are shown before one


class Ahead(Protocol):
    """What is drawn of a forecast."""

    @property
    def t(self) -> FloatArray: ...
    @property
    def values(self) -> FloatArray: ...
    @property
    def lower(self) -> FloatArray | None: ...
    @property
    def upper(self) -> FloatArray | None: ...
    @property
    def inner_lower(self) -> FloatArray | None: ...
    @property
    def inner_upper(self) -> FloatArray | None: ...


def label(name: str, unit: str) -> str:
    """``name [unit]``, or the name alone."""
    return f"{name} [{unit}]" if unit else name


def new_axes(axes: Any, projection: str | None = None) -> Any:
    """``axes``, or those of a new figure."""
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.figure(layout="constrained").add_subplot(projection=projection)


def forecast(axes: Any, times: FloatArray, ahead: Ahead) -> Any:
    """A forecast with its 50 % and 90 % bands."""
    axes = new_axes(axes)
    for low, high, name in (
        (ahead.lower, ahead.upper, "90 %"),
        (ahead.inner_lower, ahead.inner_upper, "50 %"),
    ):
        if low is not None and high is not None:
            axes.fill_between(times, low, high, color=AHEAD, alpha=0.2, linewidth=0, label=name)
    axes.plot(times, ahead.values, color=AHEAD, label="forecast")
    axes.set_xlabel(axes.get_xlabel() or "t")
    axes.legend(loc="upper left")
    return axes


def record_and_forecast(
    axes: Any,
    times: FloatArray,
    values: FloatArray | None,
    smoothed: FloatArray | None,
    ahead: Ahead,
    value_label: str,
    time_label: str,
) -> Any:
    """The end of a record, its smoothed signal and a forecast."""
    axes = new_axes(axes)
    shown = slice(max(0, times.size - round(SHOWN * ahead.t.size)), None)
    if values is not None:
        axes.plot(times[shown], values[shown], ".", color=RECORD, markersize=2, label="record")
    if smoothed is not None:
        axes.plot(times[shown], smoothed[shown], color=SMOOTHED, linewidth=1, label="smoothed")
    axes.set_xlabel(time_label)
    axes.set_ylabel(value_label)
    return forecast(axes, times[-1] + ahead.t, ahead)


def attractor(axes: Any, path: FloatArray, rollout: FloatArray, labels: Sequence[str]) -> Any:
    """Record and long run in the first three (or two) jet coordinates."""
    d = min(3, rollout.shape[1])
    axes = new_axes(axes, "3d" if d == 3 else None)
    axes.plot(*rollout[:, :d].T, color=AHEAD, linewidth=0.6, label="model")
    axes.plot(*path[:, :d].T, color=SMOOTHED, linewidth=0.6, label="record")
    for i, set_label in enumerate((axes.set_xlabel, axes.set_ylabel, getattr(axes, "set_zlabel", None))):
        if set_label is not None and i < d:
            set_label(labels[i])
    axes.legend(loc="upper left")
    return axes


def pole_scan(
    axes: Any,
    profile: tuple[FloatArray, FloatArray],
    plain_cost: float,
    best: float,
    section: FloatArray,
    curve: tuple[FloatArray, FloatArray],
    value_label: str,
) -> Any:
    """Two axes: cost per sample against the pole, and (u1, u2) of the record on the best pole with u2 = a(u1)."""
    if axes is None:
        import matplotlib.pyplot as plt

        axes = plt.figure(figsize=(9.0, 3.6), layout="constrained").subplots(1, 2)
    left, right = axes
    left.plot(*profile, ".-", color=SMOOTHED, label="with a pole at p")
    left.axhline(plain_cost, color=RECORD, linestyle="--", label="without a pole")
    left.axvline(best, color=AHEAD, linewidth=1, label=f"p = {best:.3g}")
    left.set_yscale("log")
    left.set_xlabel(f"p, in {value_label}")
    left.set_ylabel("cost per sample, χ²/n")
    left.legend()
    right.plot(*section.T, ".", color=RECORD, label=f"record at {value_label} = {best:.3g}")
    right.plot(*curve, color=AHEAD, label="u2 = a(u1)")
    right.set_xlabel("u1")
    right.set_ylabel("u2")
    right.legend()
    return axes
