"""Readable equations whose misfit is above the noise (docs/mathematics.md §4.9), compared by held-out forecasts.

For every order and several forms: start from jets, fit with jumps whose size the likelihood chooses, select terms with
that likelihood, fit again without each fold, forecast from past-only states.  Best held-out forecasts first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.integration.dop853 import integrate
from jetode.integration.windowed_prediction_time import windowed_rms, windowed_vpt
from jetode.joint.approximate_forms import Holds, Trial, fitted_forms, fitted_samples, shortened
from jetode.joint.fit import JointFit
from jetode.joint.parts import curve_modes
from jetode.joint.path import SHORTEST_PAST, Identified, past_state
from jetode.joint.problem import Prepared, prepare
from jetode.joint.request import Request
from jetode.joint.shooting.gaussnewton import Linearisation, minimise, path_states
from jetode.joint.weak_fit import WeakFit, jump_of, weak_data
from jetode.records.series import Series
from jetode.signal.scales import Unsuitable
from jetode.signal.trials import Fold, Trials
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.errors import InputError

Interrupt = Callable[[], bool]


@dataclass(frozen=True)
class ApproximationSettings:
    """Numbers of the comparison, each with its reason."""

    kept: int = 4  # approximations that are returned: more are not read
    worse: float = 1.2  # times the rms error of the best,
    unseen: float = 0.05  # plus this much, in std: an equation that is off by no more is as good
    as_good: float = 0.05  # of the best skill: equations that come as near are ranked by their number of coefficients
    refits: int = 4  # Gauss–Newton iterations without a fold, from the path with it
    rtol: float = 1e-6  # of forecasts, whose equation is off by far more
    whole: float = 0.999  # of the longest forecast: what holds so long in the mean always does
    looks: int = 12  # forecasts within the stretch that tell whether any ahead can be of use
    follows: float = 0.05  # std: an error within which a forecast to the end leaves nothing for a higher order
    part: float = 0.5  # of a short stretch that forecasts on it must hold, where it shows no more
    bound: float = 30.0  # std beyond the start: a forecast that goes so far has failed


SETTINGS = ApproximationSettings()


@dataclass(frozen=True, eq=False)
class Approximation:
    """An equation that holds about: ``identified`` with its process noise, ``held_out`` forecasts in the order of
    :meth:`.Trials.truths` with coefficients from the records without the fold, (4.14) as ``likelihood`` and with the
    price of the coefficients as ``bic`` (lower is better, within one order and one stretch), ``skill``: mean time for
    which held-out forecasts hold, in oscillations, ``error``: their rms error in std, at most 1 each."""

    identified: Identified
    held_out: FloatArray
    likelihood: float
    bic: float
    skill: float
    error: float
    form: str
    dt: float

    @property
    def free(self) -> int:
        """Free coefficients, without the modes of a curve."""
        terms = self.identified.terms
        return int(terms.free.sum() - curve_modes(terms).sum())

    @property
    def has_curve(self) -> bool:
        """Whether a function in it has no name."""
        return bool(np.any(curve_modes(self.identified.terms)))

    def forecasts(self, values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        """Forecasts from past-only states at ``ends``, NaN after a failure: the Rollout of :mod:`.trials`."""
        return rollout(self.identified, self.dt)(values, ends, steps)


def rollout(model: Identified, dt: float) -> Callable[[FloatArray, IntArray, int], FloatArray]:
    """Forecasts of an equation from the filter's states."""

    def run(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        out = np.full((len(ends), steps + 1), np.nan)
        record = Series(values, dt)
        for row, end in zip(out, ends.tolist(), strict=True):
            try:
                state = past_state(model, record, end).last.state
            except (InputError, Unsuitable):
                continue
            reached = _ahead(model, state, steps, dt / model.time)
            row[: reached.size] = reached * model.amplitude
        return out

    return run


def _ahead(model: Identified, state: FloatArray, steps: int, spacing: float) -> FloatArray:
    """The signal from a dimensionless state on, as far as it goes."""
    if not np.isfinite(state).all():
        return np.empty(0)
    run = integrate(
        model.scaled.field,
        state,
        steps + 1,
        spacing,
        rtol=SETTINGS.rtol,
        atol=np.full(state.size, 0.01 * SETTINGS.rtol),
        max_step=max(0.5, 5.0 * spacing),
        bound=SETTINGS.bound + np.abs(state),
    )
    return run.states[:, 0]


def approximations(
    request: Request,
    trials: Trials,
    start: JointFit | None = None,
    interrupt: Interrupt = lambda: False,
    least: float = 0.0,
) -> tuple[Approximation, ...]:
    """A few readable equations, those with the longest held-out forecasts first; none where nothing can be fitted, or
    where forecasts into the first fold hold for less than ``least`` oscillations."""
    try:
        fitted = fitted_forms(request, start, interrupt, lambda trial: _within(trial, trials, least))
    except Unsuitable:
        return ()
    out: list[tuple[Approximation, Trial]] = []
    for trial in sorted(fitted, key=lambda t: t.weak.free):
        if interrupt() or any(_perfect(found, trials) for found, _ in out):
            break
        found = _held_out(trial, request.records, trials, interrupt, least)
        if found is not None:
            out.append((found, trial))
    best = max(out, key=lambda pair: (pair[0].skill, -pair[0].error), default=None)
    for trial in shortened(best[1], interrupt) if best is not None else ():
        shorter = _held_out(trial, request.records, trials, interrupt, least)
        if shorter is None or not as_good([a for a, _ in out], shorter):
            break
        out.append((shorter, trial))
    return ranked([approximation for approximation, _ in out])[: SETTINGS.kept]


def _within(trial: Trial, trials: Trials, least: float) -> Holds:
    """How forecasts from the path of a fit hold on the stretch that it was made on: better than any ahead."""
    model, data = identified_of(trial.weak, trial.prepared, trial.driven), trial.weak.data
    longest = max((p.indices(data.y.size)[:2] for p in trial.prepared.jets.pieces()), key=lambda p: p[1] - p[0])
    steps = min(trials.steps, (longest[1] - longest[0]) // 2)
    known = np.where(data.weight > 0, data.y, trial.prepared.jets.u[: data.y.size, 0])
    at = data.layout.first
    usable = np.flatnonzero((at >= longest[0]) & (at < longest[1] - steps))
    if not usable.size or steps < 2:
        return Holds(True, False)
    nodes = usable[np.linspace(0, usable.size - 1, SETTINGS.looks).astype(int)]
    errors = np.full((nodes.size, steps + 1), np.nan)
    for row, node in zip(errors, nodes.tolist(), strict=True):
        run = _ahead(model, trial.weak.fit.states[node], steps, data.layout.spacing)
        row[: run.size] = run - known[at[node] : at[node] + run.size]
    errors *= model.amplitude / trials.spread
    held = float(np.mean(windowed_vpt(errors, trials.period)))
    enough = min(least, SETTINGS.part * steps / trials.period)
    return Holds(held >= enough, bool(np.max(windowed_rms(errors, errors.shape[1])) < SETTINGS.follows))


def _perfect(one: Approximation, trials: Trials) -> bool:
    """Whether nothing longer could be better: every held-out forecast holds to the end, and near the record."""
    return one.skill >= SETTINGS.whole * trials.steps / trials.period and one.error <= SETTINGS.unseen


def as_good(found: Sequence[Approximation], one: Approximation) -> bool:
    """Whether held-out forecasts of one hold as long as those of the best, and are as near."""
    best = max(found, key=lambda a: (a.skill, -a.error))
    near = one.error <= SETTINGS.worse * best.error + SETTINGS.unseen
    return near and one.skill >= (1.0 - SETTINGS.as_good) * best.skill


def ranked(found: Sequence[Approximation]) -> tuple[Approximation, ...]:
    """Those about as good as the best by their simplicity (coefficients and coordinates; of equals, a function that has
    a name before powers that imitate one), then the others by skill."""
    good = [a for a in found if as_good(found, a)]

    def simplicity(a: Approximation) -> tuple[int, bool, float]:
        terms = a.identified.terms
        return a.free + terms.dimension, not terms.elements, -a.skill

    simple = sorted(good, key=simplicity)
    return (*simple, *sorted((a for a in found if a not in good), key=lambda a: (-a.skill, a.free)))


def identified_of(weak: WeakFit, prepared: Prepared, driven: int | None = None) -> Identified:
    """The equation of a fit with model error, with the covariance of its coefficients."""
    linear = Linearisation(weak.data, weak.fit.terms)
    linear.at(weak.fit.states, weak.fit.terms.coefficients)
    covariance = linear.eliminate(weak.q, 0.0).coefficient_covariance()
    units = prepared.amplitude, prepared.time
    return Identified(weak.fit.terms, *units, weak.sigma, covariance, prepared.robust, jump_of(weak), driven)


def _held_out(
    trial: Trial, records: Sequence[Series], trials: Trials, interrupt: Interrupt, least: float
) -> Approximation | None:
    """The approximation of a fitted form with its held-out forecasts and their skill; None where those into the first
    fold hold for less than ``least`` oscillations."""
    model, dt = identified_of(trial.weak, trial.prepared, trial.driven), records[0].dt
    truth = trials.truths(records)
    forecasts = np.empty((0, trials.steps + 1))
    for fold in trials.folds:
        if fold.ends:
            run = rollout(_without(trial, model, records, trials, fold, interrupt), dt)
            found = run(records[fold.record].values, np.array(fold.ends, dtype=np.int64), trials.steps)
            forecasts = np.concatenate([forecasts, found])
            missed = (found - truth[: len(found)]) / trials.spread
            if len(forecasts) == len(found) and np.mean(windowed_vpt(missed, trials.period)) < least:
                return None
    errors = (forecasts - truth) / trials.spread
    skill = float(np.mean(windowed_vpt(errors, trials.period))) if errors.size else 0.0
    sizes = np.minimum(np.where(np.isfinite(errors), np.abs(errors), 1.0), 1.0)
    error = float(np.sqrt(np.mean(sizes**2))) if errors.size else 1.0
    return Approximation(model, forecasts, trial.weak.likelihood, trial.bic, skill, error, trial.name, dt)


def _without(
    trial: Trial, model: Identified, records: Sequence[Series], trials: Trials, fold: Fold, interrupt: Interrupt
) -> Identified:
    """The model with coefficients from the records without a fold; the same σ, jumps and path to begin with, and the
    same correction of the joint fit's bias."""
    rest = trials.without(records, fold)
    numbers = [i for i in range(len(records)) if len(rest) == len(records) or i != fold.record]
    units, sigma = (model.amplitude, model.time), model.sigma * model.amplitude
    try:
        prepared = prepare(rest, model.terms.dimension, sigma, units, SHORTEST_PAST, model.loss)
    except Unsuitable:
        return model
    data = weak_data(prepared, model.sigma, model.terms, fitted_samples(trial.prepared), trial.driven)
    offsets = np.cumsum((0, *(r.n for r in records)))
    places = np.concatenate([np.arange(p.start, p.stop) + offsets[p.record] for p in trial.prepared.pieces])
    wanted = np.concatenate([np.arange(p.start, p.stop) + offsets[numbers[p.record]] for p in prepared.pieces])
    rows = np.clip(np.searchsorted(places, wanted), 0, places.size - 1)
    path = path_states(trial.weak.fit, trial.weak.data)
    nodes = path[np.minimum(rows[data.layout.first], len(path) - 1)]
    joint = model.terms.with_coefficients(trial.joint)
    fit = minimise(data, joint, nodes, trial.weak.q, SETTINGS.refits, interrupt=interrupt)
    if not np.isfinite(fit.cost):
        return model
    coefficients = fit.terms.coefficients + (model.terms.coefficients - trial.joint)
    return replace(model, terms=model.terms.with_coefficients(coefficients))
