"""Evidence gathered (docs/mathematics.md §4–§6): residuals, a long run, held-out stretches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.field import Field
from jetode.equations.polynomials import Library
from jetode.equations.regular import RegularClosure
from jetode.integration.dop853 import Stop
from jetode.integration.forecast import MAX_STEP, forecast, forecast_many
from jetode.integration.lyapunov import lyapunov_spectrum
from jetode.joint.fit import JointFit
from jetode.joint.parts import curve_modes
from jetode.paper.identify import Embedding
from jetode.reconstruction.evidence import Evidence
from jetode.reconstruction.field_uncertainty import field_uncertainty
from jetode.reconstruction.held_out import HeldOut, held_out
from jetode.reconstruction.settings import EXAMINATION, INTEGRATION
from jetode.records.series import Series
from jetode.signal.oscillations import count_oscillations, fades, mean_drift
from jetode.signal.repetition import numbers_told, numbers_told_beyond, repeated_by_chance
from jetode.signal.spectrum import welch
from jetode.support.arrays import FloatArray
from jetode.support.threads import Beside

# -- measures ---------------------------------------------------------------------------------------------------


def block_ratio(residuals: FloatArray, block: int) -> float:
    """Variance of block means × block length over the variance of the residuals; 1 for white ones."""
    present = residuals[~np.isnan(residuals)]
    count = present.size // block
    if count < 4:
        return 1.0
    blocks = present[: count * block].reshape(count, block)
    return float(np.mean(blocks.mean(axis=1) ** 2) * block / np.mean(blocks**2))


def lag_correlation(residuals: FloatArray) -> float:
    """Correlation of neighbouring residuals."""
    pairs = ~np.isnan(residuals[1:]) & ~np.isnan(residuals[:-1])
    a, b = residuals[1:][pairs], residuals[:-1][pairs]
    return float(np.mean(a * b) / np.mean(a * a))


def quantile_distance(a: FloatArray, b: FloatArray) -> float:
    """Mean distance of the quantile functions in units of the std of ``a``."""
    levels = np.linspace(0.02, 0.98, 49)
    return float(np.mean(np.abs(np.quantile(a, levels) - np.quantile(b, levels))) / np.std(a))


def spectrum_distance(a: FloatArray, b: FloatArray, spacing_a: float, spacing_b: float) -> float:
    """½ Σ |p − q| of the normalised power spectra of two signals sampled ``spacing`` tc apart, over frequencies up to
    the settings' ``band`` or the lower Nyquist frequency: 0 for the same, 1 where they share no frequency."""
    top = min(EXAMINATION.band, 0.5 / spacing_a, 0.5 / spacing_b)
    length = min(EXAMINATION.segment, a.size * spacing_a, b.size * spacing_b)
    at = np.arange(1, int(top * length) + 1) / length
    p, q = (_power(v, spacing, length, at) for v, spacing in ((a, spacing_a), (b, spacing_b)))
    return 0.5 * float(np.sum(np.abs(p - q)))


def _power(values: FloatArray, spacing: float, length: float, at: FloatArray) -> FloatArray:
    """Normalised Welch periodogram at the frequencies ``at`` (1/tc), segments ``length`` tc long."""
    frequency, power = welch(values, spacing, max(8, round(length / spacing)))
    shown = np.interp(at, frequency, power)
    return np.asarray(shown / (np.sum(shown) or 1.0))


# -- gathering ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _LongRun:
    """A long run of an equation beside the record: does it stay, where does it go, how does it diverge?"""

    bounded: bool
    distance: float
    spread_ratio: float
    spectrum_distance: float
    exponents: tuple[float, ...] = ()
    exponent_errors: tuple[float, ...] = ()
    dimension: float = nan
    transient: bool = False


def _long_run(regular: RegularClosure, states: FloatArray, tc: float, spacing: float) -> _LongRun:
    """Run ``regular`` from the last of the record's ``states``, sampled ``spacing`` tc apart; where that leaves, from
    the middle one, which samples on both sides tell: a basin may be thin."""
    last = _long_run_from(-1, regular, states, tc, spacing)
    return last if last.bounded else _long_run_from(len(states) // 2, regular, states, tc, spacing)


def _long_run_from(at: int, regular: RegularClosure, states: FloatArray, tc: float, spacing: float) -> _LongRun:
    """The run from one of them."""
    signal = states[:, 0]
    spread = np.std(states, axis=0)
    step, length = tc / INTEGRATION.rollout_density, INTEGRATION.rollout * tc
    run = forecast(regular.field, states[at], spread, length, step, rtol=INTEGRATION.rollout_rtol)
    middle = 0.5 * (signal.max() + signal.min())
    reach = EXAMINATION.reach * (signal.max() - signal.min())
    bounded = run.completed and bool(np.all(np.abs(run.values - middle) < reach))
    enough = run.values.size > EXAMINATION.shortest_run
    found = _LongRun(
        bounded,
        quantile_distance(signal, run.values) if enough else inf,
        float(np.std(run.values) / spread[0]),
        spectrum_distance(signal, run.values, spacing, 1.0 / INTEGRATION.rollout_density) if enough else nan,
    )
    lyapunov = lyapunov_spectrum(regular.field, states[at], length, step) if bounded else None
    if lyapunov is None or lyapunov.stop is not Stop.COMPLETED:
        return found
    exponents, errors = tuple(lyapunov.exponents.tolist()), tuple(lyapunov.standard_errors.tolist())
    measured = (found.bounded, found.distance, found.spread_ratio, found.spectrum_distance)
    settles = exponents[0] < 0.0 and fades(run.values)
    return _LongRun(*measured, exponents, errors, lyapunov.dimension, settles)


def _own_span(regular: RegularClosure, records: Sequence[FloatArray], dt: float, spacing: float) -> _LongRun:
    """Runs of a ``regular`` that settles at rest, from the first of every record's states over its own span: what a
    decay looks like later, no record of it shows."""
    spread = np.std(np.concatenate(records), axis=0)
    runs = [
        forecast(regular.field, s[0], spread, (len(s) - 1) * dt, dt, rtol=INTEGRATION.rollout_rtol) for s in records
    ]
    signal, values = np.concatenate([s[:, 0] for s in records]), np.concatenate([run.values for run in runs])
    if not all(run.completed for run in runs) or signal.size <= EXAMINATION.shortest_run:
        return _LongRun(False, inf, nan, nan)
    return _LongRun(
        True,
        quantile_distance(signal, values),
        float(np.std(values) / np.std(signal)),
        spectrum_distance(signal, values, spacing, spacing),
    )


def own_motion(states: FloatArray, degree: int = EXAMINATION.redundant_degree) -> float:
    """Share of the last coordinate's variance that no polynomial of the others explains (6.4): 0 where the motion is of
    a lower order than its equation; NaN for fewer than three coordinates."""
    if states.shape[1] < 3:
        return nan
    scaled = (states - states.mean(axis=0)) / np.maximum(states.std(axis=0), 1e-300)
    features = Library.total_degree(states.shape[1] - 1, degree).evaluate(np.ascontiguousarray(scaled[:, :-1]))
    fitted = features @ np.linalg.lstsq(features, scaled[:, -1], rcond=None)[0]
    return float(np.mean((scaled[:, -1] - fitted) ** 2))


def gather(joint: JointFit, records: Sequence[Series], interrupt: Callable[[], bool]) -> Evidence:
    """All evidence for a fit."""
    model, jets = joint.identified, joint.prepared.jets
    residuals = np.concatenate([p.residuals for p in joint.paths])
    states = np.concatenate([p.states for p in joint.paths])
    present = states[~np.isnan(states[:, 0])]
    run, apart = _followed(joint, records, present, interrupt)
    smooth = jets.u[:, 0]
    drift, drift_error = mean_drift(smooth)
    told, repeated = _told(joint)
    return Evidence(
        chi2=joint.chi2,
        exhausted=joint.exhausted,
        noise_ratio=joint.noise_ratio,
        block_ratio=block_ratio(residuals, max(3, round(EXAMINATION.block / jets.spacing))),
        colour=lag_correlation(residuals),
        held_out=apart.cost,
        skill=apart.skill,
        held=apart.times,
        residual=model.sigma,
        memory=model.noise.colour.correlation,
        margin=joint.margin,
        exchange=joint.exchange,
        rival=min((r.delta_bic for r in joint.rivals if not r.superfluous), default=inf),
        oscillations=count_oscillations(smooth),
        drift=drift / float(np.std(smooth)),
        drift_z=drift / drift_error if drift_error > 0 else 0.0,
        lyapunov=run.exponents[0] if run.exponents else nan,
        lyapunov_error=run.exponent_errors[0] if run.exponents else nan,
        terms=int(model.terms.free.sum()),
        unnamed=int(curve_modes(model.terms).sum()),
        functions=len(model.terms.elements),
        told=told,
        repeated=repeated,
        complete=joint.complete and not interrupt(),
        resolution=1.0 / jets.spacing,
        score=joint.score,
        offset=abs(float(np.mean(smooth))) / float(np.std(smooth)),
        clean=joint.prepared.clean,
        certainty=_certainty(joint),
        own_motion=own_motion(present) if run.transient else nan,
        uncertainty=field_uncertainty(model, present),
        **vars(run),
    )


def _followed(
    joint: JointFit, records: Sequence[Series], present: FloatArray, interrupt: Callable[[], bool]
) -> tuple[_LongRun, HeldOut]:
    """The long run from the states that are ``present`` and, beside it where a thread waits, the held-out stretches,
    which count where the run stays."""
    model, spacing = joint.identified, joint.prepared.jets.spacing
    running = Beside(lambda: _long_run(model.regular, present, model.time, spacing))
    worthwhile = joint.complete and (running.begun or running.result().bounded)
    apart = held_out(joint, records, interrupt) if worthwhile else HeldOut()
    run = running.result()
    if run.transient:
        whole = [p.states[~np.isnan(p.states[:, 0])] for p in joint.paths]
        own = _own_span(model.regular, whole, records[0].dt, spacing)
        shown = {name: getattr(own, name) for name in ("bounded", "distance", "spread_ratio", "spectrum_distance")}
        run = replace(run, **shown)
    return run, apart if run.bounded else HeldOut()


def _told(joint: JointFit) -> tuple[float, float]:
    """How many numbers the longest record tells, where it repeats itself, and the chance that noise alone repeats as
    much of what the equation leaves of it."""
    model, longest = joint.identified, max(joint.paths, key=lambda p: np.count_nonzero(~np.isnan(p.states[:, 0])))
    present = ~np.isnan(longest.states[:, 0])
    signal = longest.states[present, 0] / model.amplitude
    told = (numbers_told_beyond if joint.prepared.clean else numbers_told)(
        signal, model.sigma * model.noise.colour.slow
    )
    if told == inf or joint.prepared.clean:
        return told, 1.0
    return told, repeated_by_chance(signal, np.nan_to_num(longest.residuals[present]))


def _certainty(joint: JointFit) -> float:
    """The least certain free coefficient over its standard error; a kink or a phase may well be 0."""
    model = joint.identified
    terms, errors = model.terms, np.sqrt(np.maximum(np.diag(model.covariance), 1e-300))
    z = np.abs(terms.coefficients[terms.free]) / errors
    return float(np.min(z[~terms.is_parameter[terms.free]], initial=inf))


def bounded_runs(closure: Closure, embedding: Embedding, states: FloatArray) -> int:
    """How many long runs of the paper's closure, from ``states`` of the record, stay near its range."""
    values = embedding.jets[:, 0]
    middle = (values.max() + values.min()) / 2
    farthest = EXAMINATION.paper_reach * (values.max() - values.min())
    step = embedding.oscillation / 20
    runs = forecast_many(
        Field.from_closure(closure),
        states,
        embedding.spread,
        EXAMINATION.paper_rollout * embedding.oscillation,
        step,
        max_step=MAX_STEP * embedding.dt / step,
    )
    return sum(bool(r.completed and np.abs(r.values - middle).max() < farthest) for r in runs)
