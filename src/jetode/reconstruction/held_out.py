"""Stretches that an equation was not fitted to: coefficients from the first part of each record, judged on the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from jetode.integration.forecast import forecast
from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.joint.candidates import states_for
from jetode.joint.fit import JointFit
from jetode.joint.own_noise import own_cost
from jetode.joint.path import Identified, estimate_path, final_q, past_length, past_state, stepped
from jetode.joint.problem import FEWEST_SAMPLES, Prepared, stretches
from jetode.joint.search_settings import DECISION
from jetode.joint.shooting.annealing import Schedule, anneal, settled
from jetode.joint.shooting.gaussnewton import Data, Fit, path_states
from jetode.reconstruction.settings import EXAMINATION
from jetode.records.series import Series
from jetode.signal.oscillations import oscillation
from jetode.support.arrays import BoolArray, FloatArray
from jetode.support.threads import side_by_side

NEAR = (0.03, 0.01)  # q at which a path that is known roughly begins: looser ones would lose it
RUN = 5  # samples in a row that end a forecast: one wild sample does not


@dataclass(frozen=True)
class HeldOut:
    """``cost`` per held-out sample; ``times`` for which past-only forecasts hold there, in the record's unit, and their
    median in oscillations (``skill``)."""

    cost: float = nan
    skill: float = nan
    times: tuple[float, ...] = ()


def held_out(joint: JointFit, records: Sequence[Series], interrupt: Callable[[], bool]) -> HeldOut:
    """Fit the first part of each record again, from the whole fit's path, and follow the rest."""
    model = joint.identified
    cuts = [round(EXAMINATION.fitted_share * r.n) for r in records]

    def usable(index: int, start: int, stop: int) -> bool:
        values = records[index].values[start:stop]
        return bool(stretches(values, records[index].dt, model.time, EXAMINATION.shortest_part))

    first = [i for i, c in enumerate(cuts) if usable(i, 0, c)]
    rest = [i for i, c in enumerate(cuts) if usable(i, c, records[i].n)]
    if not first or not rest:
        return HeldOut()
    earlier = _refitted(joint, records, [(i, cuts[i]) for i in first], interrupt)
    held = _prepared(model, [records[i].slice(cuts[i], records[i].n) for i in rest])
    data = held.data(model.sigma)
    fit = _from_whole(joint, earlier, records, (held, data), [(i, cuts[i]) for i in rest])
    if not fit.cost <= enough(data):  # it has stuck, though it began where the whole fit's path is
        again = estimate_path(earlier, held, interrupt)[1]
        fit = again if again.cost < fit.cost or not np.isfinite(fit.cost) else fit
    longest = max(rest, key=lambda i: records[i].n)
    found = _followed(joint, earlier, records, longest, cuts[longest])
    return replace(found, cost=own_cost(held, data, fit, model.sigma) / max(data.n_samples, 1))


def enough(data: Data) -> float:
    """The cost up to which a path follows its record."""
    return DECISION.suspicious(data.n_samples) * data.n_samples


def _from_whole(
    joint: JointFit,
    model: Identified,
    records: Sequence[Series],
    held: tuple[Prepared, Data],
    parts: Sequence[tuple[int, int]],
) -> Fit:
    """A path of the ``model`` through parts of the records, (record, first sample), from the whole fit's path."""
    prepared, data = held
    last = final_q(model.sigma)
    frozen = replace(model.terms, free=np.zeros_like(model.terms.free))
    nodes = _whole_path(joint, records, prepared, parts)[data.layout.first]
    nodes = np.where(np.isnan(nodes), states_for(prepared, model.scaled, data), nodes)
    return anneal(data, frozen, nodes, Schedule((*NEAR, 30 * last, last), 10), rescale=False)


def _whole_path(
    joint: JointFit, records: Sequence[Series], prepared: Prepared, parts: Sequence[tuple[int, int]]
) -> FloatArray:
    """The whole fit's path at the samples of parts of the records, (record, first sample); NaN where it has none."""
    whole = np.full((sum(r.n for r in records), joint.fit.terms.dimension), np.nan)
    offsets = np.cumsum((0, *(r.n for r in records)))
    places = np.concatenate([np.arange(p.start, p.stop) + offsets[p.record] for p in joint.prepared.pieces])
    whole[places] = path_states(joint.fit, joint.data)
    rows = [np.arange(p.start, p.stop) + offsets[parts[p.record][0]] + parts[p.record][1] for p in prepared.pieces]
    return np.asarray(whole[np.concatenate(rows)])


def _prepared(model: Identified, parts: Sequence[Series]) -> Prepared:
    """Parts of the records in the model's units, with its noise and its loss."""
    return stepped(model.prepared(parts, EXAMINATION.shortest_part), model.terms)


def _refitted(
    joint: JointFit, records: Sequence[Series], first: Sequence[tuple[int, int]], interrupt: Callable[[], bool]
) -> Identified:
    """The model with coefficients from the first samples of each record, (record, how many)."""
    model = joint.identified
    prepared = _prepared(model, [records[i].slice(0, cut) for i, cut in first])
    data = prepared.data(model.sigma)
    nodes = _whole_path(joint, records, prepared, [(i, 0) for i, _ in first])[data.layout.first]
    if np.isnan(nodes).any():  # pieces too short for the fit
        nodes = np.where(np.isnan(nodes), states_for(prepared, model.scaled, data), nodes)
    last = final_q(model.sigma)
    fit = anneal(data, model.terms, nodes, Schedule((30 * last, last), 8), interrupt, rescale=False)
    fit = settled(data, fit, enough(data), interrupt)
    return replace(model, terms=fit.terms)


def _followed(joint: JointFit, model: Identified, records: Sequence[Series], index: int, cut: int) -> HeldOut:
    """Past-only forecasts into the held-out stretch of one record, against the path through all of it."""
    record, path = records[index], joint.paths[index].states
    known = ~np.isnan(path[:, 0])
    period = oscillation(path[known, 0])
    horizon = min(round(EXAMINATION.horizon * period), (record.n - cut) // 2)
    if horizon < EXAMINATION.shortest_horizon:
        return HeldOut()
    wrong = min(RUN, horizon // 4)
    spread = np.std(path[known], axis=0)
    lead = max(FEWEST_SAMPLES, round(EXAMINATION.shortest_part * model.time / record.dt))

    def holds_for(start: int) -> float:
        state = past_only(joint, model, index, start)
        if state is None:
            state = past_state(model, record, start).end
        run = forecast(model.regular.field, state, spread, horizon * record.dt, record.dt).values
        truth = path[start : start + horizon + 1, 0]
        guess = np.full(truth.size, np.nanmean(truth))
        guess[: run.size] = np.where(np.isfinite(run), run, guess[: run.size])
        truth = np.where(np.isnan(truth), guess, truth)  # what is not known is no error
        return valid_prediction_time(run, truth, record.dt, threshold=EXAMINATION.holds, run=wrong)

    times = side_by_side(holds_for, _starts(known, cut, lead, horizon))
    return HeldOut(nan, float(np.median(times)) / (period * record.dt), tuple(times)) if times else HeldOut()


def past_only(joint: JointFit, model: Identified, index: int, sample: int) -> FloatArray | None:
    """The state of the ``model`` at a sample of one record from those up to it, as :func:`.past_state` finds it, but
    begun at the whole fit's path: that is near, and the smoothed record far.  None where no path follows."""
    prepared, offsets = joint.prepared, np.cumsum((0, *joint.prepared.jets.lengths))
    own = [(p, int(o)) for p, o in zip(prepared.pieces, offsets[:-1], strict=True) if p.record == index]
    at = next(o + sample - p.start for p, o in own if p.start <= sample < p.stop)
    first = max(own[0][1], at - round(past_length(model) / prepared.jets.spacing))
    rest = prepared.without_head(first)
    begin = prepared.y.size - rest.y.size
    data = rest.data(model.sigma, at + 1 - begin)
    if begin + data.y.size <= at:
        return None
    last = final_q(model.sigma)
    frozen = replace(model.terms, free=np.zeros_like(model.terms.free))
    nodes = path_states(joint.fit, joint.data)[begin + data.layout.first]
    fit = anneal(data, frozen, nodes, Schedule((30 * last, last), 8), rescale=False)
    fit = settled(data, fit, enough(data))
    return model.physical(fit.states[-1]) if fit.cost <= enough(data) else None


def _starts(known: BoolArray, cut: int, lead: int, horizon: int) -> list[int]:
    """Samples from which to forecast, spread over those whose past is known and whose future mostly is: a record with
    gaps has no other."""
    counted = np.concatenate(([0], np.cumsum(known)))
    at = np.arange(cut, known.size - horizon)
    first = np.maximum(0, at - lead)
    past = counted[at + 1] - counted[first] == at + 1 - first
    ahead = counted[at + horizon + 1] - counted[at + 1] >= EXAMINATION.known_ahead * horizon
    usable = at[past & ahead]
    if not usable.size:
        return []
    places = np.linspace(0, usable.size - 1, EXAMINATION.starts).astype(int)
    return [int(start) for start in np.unique(usable[places])]
