"""Two results beside each other: do they say the same equation, term by term, and do their forecasts agree?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

SAME = 3.0  # standard errors of the difference within which two coefficients are one


def compare(ours: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Coefficients of both result pages by part and monomial, each with z = (a − b)/√(sa² + sb²), and whether all
    terms are the same and agree within :data:`SAME`."""
    mine, theirs = ({(c["part"], tuple(c["powers"])): c for c in page["coefficients"]} for page in (ours, other))
    rows = []
    for key in list(mine) + [key for key in theirs if key not in mine]:
        a, b = mine.get(key), theirs.get(key)
        rows.append({"part": key[0], "powers": list(key[1]), "ours": a, "other": b, "z": _distance(a, b)})
    shared = [row for row in rows if row["ours"] and row["other"]]
    far = [row for row in shared if row["z"] is not None and abs(row["z"]) > SAME]
    return {
        "rows": rows,
        "shared": len(shared),
        "only_ours": len(mine) - len(shared),
        "only_other": len(theirs) - len(shared),
        "far": len(far),
        "same": len(shared) == len(rows) and not far,
        "comparable": ours["equation"]["order"] == other["equation"]["order"] and bool(mine) and bool(theirs),
    }


def _distance(a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> float | None:
    """The difference in units of its standard error, where both errors are known."""
    if a is None or b is None or a["error"] is None or b["error"] is None:
        return None
    error = math.hypot(a["error"], b["error"])
    return (a["value"] - b["value"]) / error if error > 0 else None
