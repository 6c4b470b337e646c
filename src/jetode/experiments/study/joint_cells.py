"""The joint fit on the records of a cell, its oracle (the true equations given), and peers that forecast ahead.

*past only*: the start state is estimated from the samples up to the start.  *ahead*: from the last sample, scored on
the continuation nobody saw.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from jetode.equations.closure import cosine, relative_l2
from jetode.equations.regular import RegularClosure
from jetode.experiments.core.oracle import Oracle
from jetode.experiments.core.oracle import exact_regular as regular_of
from jetode.experiments.study import sindy_pi
from jetode.experiments.study.cells import DT, Cell, Realization, exact, realize
from jetode.integration.forecast import RTOL as PAPER_RTOL
from jetode.integration.forecast import Forecast, forecast
from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.joint.path import past_state
from jetode.joint.progress import Budget
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.reconstruction.settings import INTEGRATION
from jetode.support.arrays import FloatArray

MOST_ITERATIONS = 2000  # of one search, about a minute and the same on any machine; a record that it suits takes 500


def joint_model(realization: Realization) -> tuple[Model, bool]:
    """The joint fit with all defaults, and whether it was ended early."""
    budget = Budget(max_iterations=MOST_ITERATIONS)
    return reconstruct(realization.record, method="joint", budget=budget), budget.spent


@cache
def exact_regular(system: str) -> RegularClosure:
    """The true equations in the canonical gauge; both systems of the paper have an affine denominator."""
    return regular_of(exact(system))


def same_terms(found: RegularClosure, true: RegularClosure) -> bool:
    """Exactly the true monomials in a and P; the pole is a parameter of D, not a term."""
    return set(found.a) == set(true.a) and set(found.P) == set(true.P) and set(found.D) <= {(1, 0), (0, 0)}


def model_forecast(model: Model, realization: Realization, start: int) -> Forecast | None:
    """Ahead from sample ``start``, its state estimated from the samples up to it; None where the fit refused.

    The model's own record may be another (decimated): the state comes from the realization's.
    """
    if model.identified is None or model.regular is None:
        return None
    state = past_state(model.identified, realization.record, start).end
    rtol = INTEGRATION.tight_rtol if model.identified.sigma < INTEGRATION.nearly_exact else PAPER_RTOL
    return forecast(model.regular.field, state, model.spread, realization.steps * DT, DT, rtol=rtol)


def past_only(model: Model, realization: Realization) -> list[float]:
    """VPT from the eight starts, states from the past; 0 where there is no model."""

    def values(start: int) -> FloatArray | None:
        run = model_forecast(model, realization, start)
        return None if run is None else run.values

    return realization.scores(values)


def oracle(system: str, realization: Realization) -> list[float]:
    """The same with the true equations: the limit that the noise sets."""
    known = Oracle(exact_regular(system), realization.record)
    return realization.scores(lambda start: known.within(start, realization.steps))


def smoothed(model: Model, realization: Realization) -> list[float] | None:
    """VPT from states that see both sides, the paper's protocol; None where the path has other samples."""
    if model.identified is None or model.record.n != realization.record.n:
        return None
    horizon = realization.steps * DT
    return realization.scores(lambda start: model.forecast(horizon, start=start, past_only=False).values)


def joint_row(cell: Cell, seed: int, index: int, with_oracle: bool = True) -> dict[str, Any]:
    """All numbers of one realization by the joint fit."""
    realization = realize(cell, seed, index)
    model, ended_early = joint_model(realization)
    last = model_forecast(model, realization, realization.record.n - 1)
    n_error, d_error = relative_l2(model.closure, exact(cell.system))
    cos_n, cos_d = cosine(model.closure, exact(cell.system))
    poles = model.closure.poles()
    return {
        "index": index,
        "past": past_only(model, realization),
        "smoothed": smoothed(model, realization),
        "ahead": 0.0 if last is None else valid_prediction_time(last.values, realization.beyond, DT),
        "oracle": oracle(cell.system, realization) if with_oracle else None,
        "n_error": n_error,
        "d_error": d_error,
        "cos_n": cos_n,
        "cos_d": cos_d,
        "pole": poles[0] if poles else None,
        "right_terms": model.identified is not None
        and model.regular is not None
        and same_terms(model.regular, exact_regular(cell.system)),
        "trusted": model.verdict.trusted,
        "ended_early": ended_early,
    }


def joint_transfer_row(cell: Cell, seed: int, index: int) -> dict[str, Any]:
    """Fitted on one record, forecast from past-only states of another trajectory."""
    home, away = realize(cell, seed, index), realize(cell, seed, index, elsewhere=True)
    model, _ = joint_model(home)
    return {"index": index, "home": past_only(model, home), "away": past_only(model, away)}


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
        run = model_forecast(joint_model(realization)[0], realization, realization.record.n - 1)
        return np.empty(0) if run is None else run.values
    if name == "paper":
        degrees = {"denominator_degree": 1, "numerator_degree": cell.settings.numerator_degree}
        model = reconstruct(realization.record, method="paper", **degrees)
        return model.forecast(horizon, coordinates="jet").values
    if name == "SINDy-PI":
        return sindy_pi.ahead(realization.record.values, DT, realization.steps) if sindy_pi.available() else None
    from jetode.experiments.peers import registry as peers

    if peers.available().get(name) is None:
        return None
    return peers.forecast(name, realization.record.values, DT, realization.steps, seed)
