"""What the outcomes add up to: shares by grade and noise, and what bands and intervals hold beside what they promise.

Limits may be chosen on the even seeds; what is reported is that of the odd ones, beside all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jetode.experiments.trust.outcome import NOT_CONTESTED, is_far

Outcome = Mapping[str, Any]
GRADES = ("exact", "approximate", "forecast", "none", NOT_CONTESTED)
LEVELS = ((0.0, 0.0), (0.0, 0.02), (0.02, 0.05), (0.05, 0.15), (0.15, 0.3), (0.3, 0.5))
HALVES: dict[str, Callable[[int], bool]] = {
    "all seeds": lambda seed: True,
    "even seeds (limits may be chosen here)": lambda seed: seed % 2 == 0,
    "odd seeds (reported)": lambda seed: seed % 2 == 1,
}


@dataclass(frozen=True)
class Point:
    """A promised share beside the one that held over ``count`` records or coefficients, with its standard error."""

    name: str
    promised: float
    held: float
    error: float
    count: int


def graded(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Those whose seed gave a record."""
    return [o for o in outcomes if o["grade"] is not None]


def sources(outcomes: Sequence[Outcome]) -> list[tuple[str, str, int]]:
    """(commit, fingerprint of the code, records) of every state of the code that outcomes are from."""
    counts: dict[tuple[str, str], int] = {}
    for o in graded(outcomes):
        state = o.get("commit") or "unknown", o.get("code") or "unknown"
        counts[state] = counts.get(state, 0) + 1
    return [(*state, count) for state, count in counts.items()]


def wrong_and_exact(outcomes: Sequence[Outcome]) -> int:
    """How many exact equations are wrong."""
    return sum(o["grade"] == "exact" and bool(o["wrong"]) for o in outcomes)


def right_but_far(outcomes: Sequence[Outcome]) -> int:
    """How many exact equations are the true ones, with coefficients farther off than others of their noise."""
    exact = [o for o in outcomes if o["grade"] == "exact" and not o["wrong"]]
    return sum(is_far(o.get("error"), o["level"]) for o in exact)


def grade_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """One row for each kind of record and each range of noise: how many got which grade, and how far forecasts hold."""
    groups: dict[str, list[Outcome]] = {}
    for o in graded(outcomes):
        groups.setdefault(_group(o), []).append(o)
    return [
        {
            "records": name,
            "count": len(group),
            **{grade: sum(o["grade"] == grade for o in group) for grade in GRADES},
            "wrong_and_exact": wrong_and_exact(group),
            "vpt": _median(o["vpt"] for o in group if o.get("vpt") is not None),
            "seconds": _median(o["cpu_seconds"] for o in group),
        }
        for name, group in sorted(groups.items())
    ]


def _group(o: Outcome) -> str:
    if o["kind"] == "random":
        return f"no dynamics: {o['noise']}"
    noise = "" if o["noise"] in ("none", "gaussian") else f", {o['noise']}"
    low, high = next((a, b) for a, b in LEVELS if o["level"] <= b)
    return f"flows, {'no noise' if high == 0 else f'noise {100 * low:g}–{100 * high:g} %'}{noise}"


def points(outcomes: Sequence[Outcome]) -> list[Point]:
    """Bands by grade, intervals of exact equations with the true terms."""
    found = []
    for grade in GRADES:
        for name, promised in (("band_50", 0.5), ("band_90", 0.9)):
            held = [o[name] for o in outcomes if o["grade"] == grade and o.get(name) is not None]
            if held:
                error = float(np.std(held, ddof=1)) / np.sqrt(len(held)) if len(held) > 1 else float("nan")
                label = f"{100 * promised:.0f} % band, {grade}"
                found.append(Point(label, promised, float(np.mean(held)), float(error), len(held)))
    pairs = [o["intervals"] for o in outcomes if o.get("intervals")]
    if pairs:
        inside, every = (sum(column) for column in zip(*pairs, strict=True))
        share = inside / every
        error = float(np.sqrt(share * (1.0 - share) / every))
        found.append(Point("95 % intervals of coefficients", 0.95, share, error, every))
    return found


def text(outcomes: Sequence[Outcome]) -> str:
    """Everything for a terminal."""
    lines = [f"{count} records of commit {commit} (code {code})" for commit, code, count in sources(outcomes)]
    for half, mine in HALVES.items():
        part = [o for o in graded(outcomes) if mine(o["seed"])]
        exact = sum(o["grade"] == "exact" for o in part)
        right = f" (and {far} far off with the true terms)" if (far := right_but_far(part)) else ""
        lines.append(f"{half}: {len(part)} records, {exact} exact, {wrong_and_exact(part)} of them wrong{right}")
        lines += [f"  {p.name:34} {p.held:.3f} ± {p.error:.3f} (n {p.count})" for p in points(part)]
    header = ("records", "count", *GRADES, "wrong_and_exact", "vpt", "seconds")
    lines.append("  ".join(f"{name:>15}" if i else f"{name:36}" for i, name in enumerate(header)))
    for row in grade_rows(outcomes):
        cells = [f"{row[name]:15.3g}" if name in ("vpt", "seconds") else f"{row[name]:15}" for name in header[1:]]
        lines.append("  ".join([f"{row['records']:36}", *cells]))
    return "\n".join(lines)


def _median(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.median(found)) if found else float("nan")
