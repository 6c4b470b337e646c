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
from jetode.joint.path import Identified, estimate_path, final_q, past_length, past_state
from jetode.joint.problem import FEWEST_SAMPLES, Prepared, stretches
from jetode.joint.search_settings import DECISION
from jetode.joint.shooting.annealing import Schedule, anneal, settled
from jetode.joint.shooting.gaussnewton import Data, Fit, path_states
from jetode.joint.stepping import stepped
from jetode.reconstruction.settings import EXAMINATION
from jetode.records.series import Series
from jetode.signal.oscillations import oscillation
from jetode.signal.scales import Unsuitable
from jetode.signal.trials import Trials
from jetode.support.arrays import BoolArray, FloatArray
from jetode.support.errors import InputError
from jetode.support.threads import side_by_side

AGAIN = (30.0, 10.0, 5.0, 2.5, 1.0)  # × the last q: levels of a path that has stuck
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

    first = [i for i, c in enumerate(cuts) if _usable(model, records[i], 0, c)]
    rest = [i for i, c in enumerate(cuts) if _usable(model, records[i], c, records[i].n)]
    if not first or not rest:
        return HeldOut()
    earlier = _refitted(joint, records, [(i, cuts[i]) for i in first], interrupt)
    held = _prepared(model, [records[i].slice(cuts[i], records[i].n) for i in rest])
    data = held.data(model.sigma)
    fit = _from_whole(joint, earlier, records, (held, data), [(i, cuts[i]) for i in rest])
    if not fit.cost <= enough(data):  # it has stuck, though it began where the whole fit's path is
        fit = _cooled_again(earlier, data, fit, interrupt)
    if not fit.cost <= enough(data):
        again = estimate_path(earlier, held, interrupt)[1]
        fit = again if again.cost < fit.cost or not np.isfinite(fit.cost) else fit
    longest = max(rest, key=lambda i: records[i].n)
    found = _followed(joint, earlier, records, longest, cuts[longest])
    return replace(found, cost=own_cost(held, data, fit, model.sigma) / max(data.n_samples, 1))


def held_out_forecasts(
    joint: JointFit, records: Sequence[Series], trials: Trials, interrupt: Callable[[], bool]
) -> FloatArray:
    """Forecasts from every start of the trials, (count, steps + 1), NaN where there is none: coefficients from the
    records without the fold, the state from the samples up to the start."""
    out = np.full((trials.count, trials.steps + 1), np.nan)
    rows = iter(out)
    for fold in trials.folds:
        parts = [(i, fold.start if i == fold.record else r.n) for i, r in enumerate(records)]
        known = [(i, n) for i, n in parts if _usable(joint.identified, records[i], 0, n)]
        model = _refitted(joint, records, known, interrupt) if known else joint.identified

        def run_from(end: int, model: Identified = model, index: int = fold.record) -> FloatArray:
            try:
                return _ahead(joint, model, records[index], (index, end), trials.steps)
            except (InputError, Unsuitable):  # too little before the start to know the state by
                return np.empty(0)

        for run in side_by_side(run_from, fold.ends):
            next(rows)[: run.size] = run
    return out


def _usable(model: Identified, record: Series, start: int, stop: int) -> bool:
    """Whether a part of a record has a stretch that is long enough to be fitted."""
    return bool(stretches(record.values[start:stop], record.dt, model.time, EXAMINATION.shortest_part))


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


def _cooled_again(model: Identified, data: Data, fit: Fit, interrupt: Callable[[], bool]) -> Fit:
    """A path that has stuck near its end, once more and more slowly: where it spikes its last levels are far apart."""
    last = final_q(model.sigma)
    again = anneal(data, fit.terms, fit.states, Schedule(tuple(k * last for k in AGAIN), 14), interrupt, rescale=False)
    again = settled(data, again, enough(data), interrupt)
    return again if again.cost < fit.cost else fit


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
    lead = max(FEWEST_SAMPLES, round(EXAMINATION.shortest_part * model.time / record.dt))

    def holds_for(start: int) -> float:
        run = _ahead(joint, model, record, (index, start), horizon)
        truth = path[start : start + horizon + 1, 0]
        guess = np.full(truth.size, np.nanmean(truth))
        guess[: run.size] = np.where(np.isfinite(run), run, guess[: run.size])
        truth = np.where(np.isnan(truth), guess, truth)  # what is not known is no error
        return valid_prediction_time(run, truth, record.dt, threshold=EXAMINATION.holds, run=wrong)

    times = side_by_side(holds_for, _starts(known, cut, lead, horizon))
    return HeldOut(nan, float(np.median(times)) / (period * record.dt), tuple(times)) if times else HeldOut()


def _ahead(joint: JointFit, model: Identified, record: Series, start: tuple[int, int], steps: int) -> FloatArray:
    """A past-only forecast of the ``model`` from (number of the record, sample) on, as far as it goes."""
    state = past_only(joint, model, *start)
    if state is None:
        state = past_state(model, record, start[1]).end
    spread = np.nanstd(joint.paths[start[0]].states, axis=0)
    return forecast(model.regular.field, state, spread, steps * record.dt, record.dt).values


def past_only(joint: JointFit, model: Identified, index: int, sample: int) -> FloatArray | None:
    """The state of the ``model`` at a sample of one record from those up to it, as :func:`.past_state` finds it, but
    begun at the whole fit's path: that is near, and the smoothed record far.  None where no path follows."""
    prepared, offsets = joint.prepared, np.cumsum((0, *joint.prepared.jets.lengths))
    own = [(p, int(o)) for p, o in zip(prepared.pieces, offsets[:-1], strict=True) if p.record == index]
    at = next((o + sample - p.start for p, o in own if p.start <= sample < p.stop), None)
    if at is None:
        return None
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
