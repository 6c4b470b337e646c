"""Summaries of realizations: best, top five, median, in model time and Lyapunov times; rank correlation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jetode.experiments.study.cells import Cell
from jetode.integration.valid_prediction_time import lyapunov_times

Rows = Sequence[dict[str, Any]]


def best_row(rows: Rows) -> dict[str, Any]:
    """The realization of the longest forecast; ties at the cap go to the longest median of the eight starts."""
    return max(rows, key=lambda row: (row["best"], float(np.median(row["vpt"])), -row["index"]))


def sweep_summary(cell: Cell, rows: Rows) -> dict[str, Any]:
    """The columns of Table (vpt) and the median it leaves out."""
    best = np.sort([row["best"] for row in rows])[::-1]
    exponent = cell.model.lyapunov
    longest = best_row(rows)
    times = {"best": float(best[0]), "top_five": float(np.mean(best[:5])), "median": float(np.median(best))}
    return {
        "realizations": len(rows),
        **times,
        **{f"{name}_lyapunov": lyapunov_times(value, exponent) for name, value in times.items()},
        "median_of_8": float(np.median([np.median(row["vpt"]) for row in rows])),
        "at_cap": float(np.mean(best >= cell.horizon - 1e-9)),
        "best_index": longest["index"],
        "denominator_error": longest["d_error"],
        "numerator_error": longest["n_error"],
    }


def joint_summary(rows: Rows) -> dict[str, Any] | None:
    """Medians over realizations of the past-only best and median of 8, the oracle's, and the model's quality."""
    if not rows:
        return None
    out: dict[str, Any] = {"realizations": len(rows)}
    for name in ("past", "smoothed", "oracle"):
        found = [row[name] for row in rows if row.get(name) is not None]
        out[f"{name}_best"] = float(np.median([max(v) for v in found])) if found else None
        out[f"{name}_median"] = float(np.median([np.median(v) for v in found])) if found else None
    out["ahead"] = float(np.median([row["ahead"] for row in rows]))
    out["n_error"] = float(np.median([row["n_error"] for row in rows]))
    out["d_error"] = float(np.median([row["d_error"] for row in rows]))
    for name in ("right_terms", "trusted", "ended_early"):
        out[name] = float(np.mean([row[name] for row in rows]))
    return out


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float | None:
    """Spearman's ρ; None where one side does not vary."""
    from scipy.stats import rankdata

    first, second = rankdata(a), rankdata(b)
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])
