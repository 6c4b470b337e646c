"""The joint fit on the records of a cell, its oracle (the true equations given), and peers that forecast ahead.

*past only*: the start state is estimated from the samples up to the start.  *ahead*: from the last sample, scored on
the continuation nobody saw.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jetode.closure import relative_l2
from jetode.forecast import forecast
from jetode.model import Model
from jetode.polynomials import FloatArray
from jetode.prepare import prepare
from jetode.reconstruct import reconstruct
from jetode.regular import RegularClosure, regularise
from jetode.score import valid_prediction_time
from jetode.states import fit_state, identified_from, past_state
from jetode.study.cells import DT, Cell, Realization, exact, realize

TIGHT, PAPER_RTOL = 1e-12, 1e-8  # of forecasts from clean and from noisy records
ROUNDING = 1e-9  # of the exact coefficients, the smallest of which is 0.2


def exact_regular(system: str) -> RegularClosure:
    """The true equations in the canonical gauge, free of rounding where a coefficient is 0."""
    found = regularise(exact(system)).regular
    assert found is not None  # both systems of the paper have an affine denominator
    a, d, p = ({e: c for e, c in part.items() if abs(c) > ROUNDING} for part in (found.a, found.D, found.P))
    return RegularClosure(a, d, p, found.order)


def same_terms(found: RegularClosure, true: RegularClosure) -> bool:
    """Exactly the true monomials in a and P; the pole is a parameter of D, not a term."""
    return set(found.a) == set(true.a) and set(found.P) == set(true.P) and set(found.D) <= {(1, 0), (0, 0)}


def past_only(model: Model, realization: Realization) -> list[float]:
    """VPT from the eight starts, states from the past."""
    horizon = realization.steps * DT
    return [realization.score(model.forecast(horizon, start=int(i), samples=0), int(i)) for i in realization.starts]


def oracle(system: str, realization: Realization, clean: bool) -> list[float]:
    """The same with the true equations: the limit that the noise sets."""
    true, record = exact_regular(system), realization.record
    prepared = prepare([record], true.order)
    known = identified_from(true, prepared, prepared.sigma)
    spread = np.nanstd(fit_state(true, record).states, axis=0)
    horizon, rtol = realization.steps * DT, TIGHT if clean else PAPER_RTOL
    out = []
    for i in realization.starts:
        state = past_state(known, record, int(i)).end
        out.append(realization.score(forecast(true.field, state, spread, horizon, DT, rtol), int(i)))
    return out


def joint_row(cell: Cell, seed: int, index: int, with_oracle: bool = True) -> dict[str, Any]:
    """All numbers of one realization by the joint fit."""
    realization = realize(cell, seed, index)
    model = reconstruct(realization.record, method="joint")
    horizon = realization.steps * DT
    smoothed = [
        realization.score(model.forecast(horizon, start=int(i), past_only=False), int(i)) for i in realization.starts
    ]
    ahead = valid_prediction_time(model.forecast(horizon, samples=0).values, realization.beyond, DT)
    n_error, d_error = relative_l2(model.closure, exact(cell.system))
    poles = model.closure.poles()
    return {
        "index": index,
        "past": past_only(model, realization),
        "smoothed": smoothed,
        "ahead": ahead,
        "oracle": oracle(cell.system, realization, cell.fraction == 0.0) if with_oracle else None,
        "n_error": n_error,
        "d_error": d_error,
        "pole": poles[0] if poles else None,
        "right_terms": model.regular is not None and same_terms(model.regular, exact_regular(cell.system)),
        "trusted": model.verdict.trusted,
    }


def joint_transfer_row(cell: Cell, seed: int, index: int) -> dict[str, Any]:
    """Fitted on one record, forecast from past-only states of another trajectory."""
    home, away = realize(cell, seed, index), realize(cell, seed, index, elsewhere=True)
    model = reconstruct(home.record, method="joint")
    return {
        "index": index,
        "home": past_only(model, home),
        "away": past_only(model.with_record(away.record), away),
    }


def peer_row(name: str, cell: Cell, seed: int, index: int) -> dict[str, Any]:
    """VPT of one method that forecasts ahead of the record; None where it is not installed."""
    realization = realize(cell, seed, index)
    values = _ahead(name, cell, realization, seed)
    if values is None:
        return {"index": index, "vpt": None}
    return {"index": index, "vpt": valid_prediction_time(values, realization.beyond, DT)}


def _ahead(name: str, cell: Cell, realization: Realization, seed: int) -> FloatArray | None:
    """The forecast from the last sample by the joint fit, the paper's method or a peer."""
    horizon = realization.steps * DT
    if name == "joint":
        return reconstruct(realization.record, method="joint").forecast(horizon, samples=0).values
    if name == "paper":
        degrees = {"denominator_degree": 1, "numerator_degree": cell.settings.numerator_degree}
        model = reconstruct(realization.record, method="paper", **degrees)
        return model.forecast(horizon, coordinates="jet").values
    from jetode import peers

    if peers.available().get(name) is None:
        return None
    return peers.forecast(name, realization.record.values, DT, realization.steps, seed)
