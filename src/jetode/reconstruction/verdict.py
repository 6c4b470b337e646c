"""Whether an identified closure may be relied on (mathematics.md §4–§6): evidence from the record, then one sentence.

χ² and whiteness find gross failures only; a wrong form shows on stretches it was not fitted to, in a long rollout
that leaves the attractor or visits it differently, and in rivals or terms that the data cannot tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from math import inf, isfinite, nan, pi
from typing import Any

import numpy as np

from jetode.integration.dop853 import Stop
from jetode.integration.forecast import forecast
from jetode.integration.lyapunov import lyapunov_spectrum
from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.joint.fit import JointFit
from jetode.joint.path import Identified, estimate_path, final_q, past_state
from jetode.joint.problem import FEWEST_SAMPLES, prepare, stretches
from jetode.joint.search import MAX_SCORE, MIN_MARGIN, states_for
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import path_states
from jetode.reconstruction.model import Verdict
from jetode.records.series import Series
from jetode.signal.decimate import samples_per_oscillation
from jetode.signal.jets_against_delays import Sufficiency, sufficiency
from jetode.signal.oscillations import count_oscillations, mean_drift
from jetode.signal.scales import Unsuitable
from jetode.support.arrays import FloatArray

FITTED_SHARE = 0.75  # of each record, for the held-out test; the rest is held out
ROLLOUT = 400.0  # tc
BLOCK = 0.5  # tc: residuals are averaged over blocks this long to see structure beneath the noise
SHORTEST_PART = 1.0  # tc: of the fitted and of the held-out share
STARTS = 4  # past-only forecasts into the held-out stretch
SHORTEST_HORIZON = 8  # samples of such a forecast

MAX_NOISE_RATIO = 1.12
MAX_BLOCK_RATIO = 1.6
MAX_HELD_OUT = 1.25
MAX_DISTANCE = 0.8  # a switching attractor such as Lorenz's reaches 0.5 against itself over 300 tc
SPREAD_RATIOS = (0.6, 1.6)
MAX_CLEAN_RESIDUAL = 0.005  # of std
MIN_RIVAL = 10.0
MIN_OSCILLATIONS = 5.0
MAX_TERMS = 10  # coefficients: with more, a polynomial imitates what it cannot state
EXACT = 1e-6  # of std: a residual that no imitation leaves, however many its coefficients
MIN_SKILL = 0.25
MAX_COLOUR = 0.1

# for advice only
COARSE = 10.0  # samples per oscillation
DRIFT, DRIFT_SIGNIFICANCE = 0.25, 3.0  # std, standard errors
FEW_OSCILLATIONS = 30.0
HEAVY_NOISE = 0.3
FAR_OFFSET = 6.0  # std of the mean from 0
SEGMENT = 40.0  # tc: of a periodogram
BAND = 1.0  # 1/tc: frequencies compared
ANOTHER = "Try another channel of the same system, or order 4 (`jetode diagnose` says what the record shows)."


@dataclass(frozen=True)
class Evidence:
    """Everything the verdict looks at; times in tc unless said otherwise.

    ``noise_ratio``: residual over estimated noise; ``block_ratio``: variance of block means over that of white
    residuals; ``colour``: their lag-1 correlation; ``held_out``: cost per held-out sample with coefficients from the
    rest; ``skill``: median past-only valid prediction time there, in oscillations; ``bounded``, ``distance``: long
    rollout, how far its distribution is from the record's (in std) and its std over the record's (``spread_ratio``);
    ``residual``: rms residual in std; ``margin``, ``rival``: smallest rise of BIC over
    a change of one term, and over another form; ``oscillations``: how many the record holds; ``drift``: of its mean
    between halves (in std); ``lyapunov``: largest exponent in 1/time unit of the record;
    ``score``: gain of all absent terms of a larger library over chance, as a standard normal variable; ``terms``: free
    coefficients; ``sampling``: samples per oscillation (2π tc); ``drift_z``: drift in its standard errors;
    ``spectrum_distance``: share of power at other frequencies in the long rollout than in the record;
    ``exponents``: Lyapunov spectrum with ``exponent_errors``, ``dimension``: that of Kaplan and Yorke;
    ``sufficiency``: jets against delays, tested where the model is refused; ``exhausted``: the search ended at its
    bound of iterations, not at its last form; ``offset``: distance of the record's mean from 0 (in std).
    """

    chi2: float
    noise_ratio: float
    block_ratio: float
    colour: float
    held_out: float
    skill: float
    bounded: bool
    distance: float
    spread_ratio: float
    residual: float
    margin: float
    rival: float
    oscillations: float
    drift: float
    lyapunov: float
    lyapunov_error: float
    terms: int
    complete: bool
    sampling: float = inf
    drift_z: float = 0.0
    spectrum_distance: float = nan
    score: float = nan
    exponents: tuple[float, ...] = ()
    exponent_errors: tuple[float, ...] = ()
    dimension: float = nan
    sufficiency: Sufficiency | None = None
    exhausted: bool = False
    offset: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain data; numbers that do not exist become null."""
        plain = {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in asdict(self).items()}
        return plain | {
            "exponents": list(self.exponents),
            "exponent_errors": list(self.exponent_errors),
            "sufficiency": None if self.sufficiency is None else self.sufficiency.to_json(),
        }


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
    ``BAND`` or the lower Nyquist frequency: 0 for the same, 1 where they share no frequency."""
    top = min(BAND, 0.5 / spacing_a, 0.5 / spacing_b)
    length = min(SEGMENT, a.size * spacing_a, b.size * spacing_b)
    at = np.arange(1, int(top * length) + 1) / length
    p, q = (_power(v, spacing, length, at) for v, spacing in ((a, spacing_a), (b, spacing_b)))
    return 0.5 * float(np.sum(np.abs(p - q)))


def _power(values: FloatArray, spacing: float, length: float, at: FloatArray) -> FloatArray:
    """Normalised Welch periodogram at the frequencies ``at`` (1/tc), segments ``length`` tc long."""
    from scipy.signal import welch

    segment = min(values.size, max(8, round(length / spacing)))
    frequency, power = welch(values, 1.0 / spacing, nperseg=segment)
    shown = np.interp(at, frequency, power)
    return np.asarray(shown / (np.sum(shown) or 1.0))


def held_out_evidence(joint: JointFit, records: Sequence[Series], interrupt: Callable[[], bool]) -> tuple[float, float]:
    """(cost per held-out sample, past-only skill in oscillations) with coefficients from the first part."""
    model = joint.identified
    order = model.terms.dimension
    units, sigma = (model.amplitude, model.time), model.sigma * model.amplitude
    cuts = [round(FITTED_SHARE * r.n) for r in records]

    def usable(index: int, start: int, stop: int) -> bool:
        return bool(stretches(records[index].values[start:stop], records[index].dt, model.time, SHORTEST_PART))

    first = [i for i, c in enumerate(cuts) if usable(i, 0, c)]
    rest = [i for i, c in enumerate(cuts) if usable(i, c, records[i].n)]
    if not first or not rest:
        return np.nan, np.nan
    prepared = prepare([records[i].slice(0, cuts[i]) for i in first], order, sigma, units, SHORTEST_PART, model.loss)
    data = prepared.data(model.sigma)
    whole = np.full((sum(r.n for r in records), order), np.nan)
    offsets = np.cumsum((0, *(r.n for r in records)))
    places = np.concatenate([np.arange(p.start, p.stop) + offsets[p.record] for p in joint.prepared.pieces])
    whole[places] = path_states(joint.fit, joint.data)
    rows = np.concatenate([np.arange(p.start, p.stop) + offsets[first[p.record]] for p in prepared.pieces])
    nodes = whole[rows][data.layout.first]
    nodes = np.where(np.isnan(nodes), states_for(prepared, model.scaled, data), nodes)  # pieces too short for the fit
    last = final_q(model.sigma)
    fit = anneal(data, model.terms, nodes, Schedule((30 * last, last), 8), interrupt, rescale=False)
    earlier = Identified(fit.terms, model.amplitude, model.time, model.sigma, model.covariance)
    held = prepare(
        [records[i].slice(cuts[i], records[i].n) for i in rest], order, sigma, units, SHORTEST_PART, model.loss
    )
    held_data, held_fit = estimate_path(earlier, held, interrupt)
    cost = held_fit.cost / max(held_data.n_samples, 1)
    longest = max(rest, key=lambda i: records[i].n)
    return cost, _skill(earlier, records[longest], cuts[longest], joint.paths[longest].states)


def _skill(model: Identified, record: Series, cut: int, path: FloatArray) -> float:
    """Median valid prediction time of past-only forecasts into the held-out stretch, in oscillations."""
    known = ~np.isnan(path[:, 0])
    per = np.count_nonzero(known) / max(count_oscillations(path[known, 0]), 1.0)
    horizon = min(round(3.0 * per), (record.n - cut) // 2)
    if horizon < SHORTEST_HORIZON:
        return np.nan
    wrong = min(5, horizon // 4)  # samples in a row that end a forecast
    spread = np.std(path[known], axis=0)
    lead = max(FEWEST_SAMPLES, round(SHORTEST_PART * model.time / record.dt))
    times = []
    for start in np.linspace(cut, record.n - 1 - horizon, STARTS).astype(int):
        if not known[max(0, start - lead) : start + horizon + 1].all():
            continue
        state = past_state(model, record, int(start)).end
        run = forecast(model.regular.field, state, spread, horizon * record.dt, record.dt)
        truth = path[start : start + horizon + 1, 0]
        times.append(valid_prediction_time(run.values, truth, record.dt, threshold=0.4, run=wrong))
    return float(np.median(times)) / (per * record.dt) if times else np.nan


def gather(joint: JointFit, records: Sequence[Series], interrupt: Callable[[], bool]) -> Evidence:
    """All evidence for a fit."""
    model = joint.identified
    regular = model.regular
    residuals = np.concatenate([p.residuals for p in joint.paths])
    block = max(3, round(BLOCK / joint.prepared.jets.spacing))
    states = np.concatenate([p.states for p in joint.paths])
    present = states[~np.isnan(states[:, 0])]
    spread = np.std(present, axis=0)
    step = model.time / 20.0
    rollout = forecast(regular.field, present[-1], spread, ROLLOUT * model.time, step, rtol=1e-7)
    middle = 0.5 * (present[:, 0].max() + present[:, 0].min())
    reach = 2.0 * (present[:, 0].max() - present[:, 0].min())
    bounded = rollout.completed and bool(np.all(np.abs(rollout.values - middle) < reach))
    exponents: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()
    dimension = nan
    if bounded:
        found = lyapunov_spectrum(regular.field, present[-1], ROLLOUT * model.time, step)
        if found.stop is Stop.COMPLETED:
            exponents, errors = tuple(found.exponents.tolist()), tuple(found.standard_errors.tolist())
            dimension = found.dimension
    smooth = joint.prepared.jets.u[:, 0]
    drift, drift_error = mean_drift(smooth)
    try_held = bounded and joint.complete
    held_out, skill = held_out_evidence(joint, records, interrupt) if try_held else (np.nan, np.nan)
    enough = rollout.values.size > 50
    spacing = joint.prepared.jets.spacing
    evidence = Evidence(
        chi2=joint.chi2,
        exhausted=joint.exhausted,
        noise_ratio=joint.noise_ratio,
        block_ratio=block_ratio(residuals, block),
        colour=lag_correlation(residuals),
        held_out=held_out,
        skill=skill,
        bounded=bounded,
        distance=quantile_distance(present[:, 0], rollout.values) if enough else np.inf,
        spread_ratio=float(np.std(rollout.values) / spread[0]),
        residual=model.sigma,
        margin=joint.margin,
        rival=min((r.delta_bic for r in joint.rivals), default=np.inf),
        oscillations=count_oscillations(smooth),
        drift=drift / float(np.std(smooth)),
        lyapunov=exponents[0] if exponents else nan,
        lyapunov_error=errors[0] if errors else nan,
        terms=int(model.terms.free.sum()),
        complete=joint.complete and not interrupt(),
        sampling=2.0 * pi / spacing,
        score=joint.score,
        drift_z=drift / drift_error if drift_error > 0 else 0.0,
        spectrum_distance=spectrum_distance(present[:, 0], rollout.values, spacing, 0.05) if enough else nan,
        exponents=exponents,
        exponent_errors=errors,
        dimension=dimension,
        offset=abs(float(np.mean(smooth))) / float(np.std(smooth)),
    )
    if not evidence.complete or judge(evidence, joint.prepared.clean).trusted:
        return evidence
    longest = max((r.longest_stretch() for r in records), key=len)
    return replace(evidence, sufficiency=sufficiency(longest.values))


def judge(e: Evidence, clean: bool) -> Verdict:
    """One sentence; the first test that fails decides, and what would help goes with it."""
    verdict = _first_failure(e, clean)
    if verdict is None:
        return _trusted(e, clean)
    if e.offset > FAR_OFFSET:
        verdict = replace(
            verdict,
            advice=f"Subtract a constant from the record: its mean lies {e.offset:.0f} std from 0, so far that powers "
            "of the signal are hard to tell apart.",
        )
    if e.complete and e.sufficiency is not None and e.sufficiency.hidden:
        return replace(verdict, reason=f"{verdict.reason} {e.sufficiency.sentence()}")
    return verdict


def _trusted(e: Evidence, clean: bool) -> Verdict:
    if clean:
        return Verdict(
            True,
            f"The record is clean and the equation leaves {e.residual:.1g} of its std; forecasts follow a "
            "held-out stretch and a long run stays on the attractor.",
        )
    return Verdict(
        True,
        f"Residuals are white, a held-out stretch is followed (χ² {e.held_out:.2f}) and a long run stays on the "
        "attractor.",
    )


def _faster(sampling: float) -> str:
    return f"Sample faster: there are {sampling:.2g} samples per oscillation, {COARSE:.0f} or more are wanted."


def _longer(oscillations: float) -> str:
    return f"Record longer: there are {oscillations:.0f} oscillations, {FEW_OSCILLATIONS:.0f} or more are wanted."


def unfit_advice(e: Evidence) -> str:
    """What would help most where no equation of the family fits."""
    if e.sampling < COARSE:
        return _faster(e.sampling)
    if e.drift > DRIFT and e.drift_z > DRIFT_SIGNIFICANCE:
        return f"Use a stationary stretch: the mean drifts by {e.drift:.2g} std between the halves of the record."
    if e.sufficiency is not None and e.sufficiency.hidden:
        return "Record another channel, or forecast from delays (kernel ridge), which see more than the jets."
    if e.oscillations < FEW_OSCILLATIONS:
        return _longer(e.oscillations)
    if e.colour > MAX_COLOUR:
        return "Give the size of the noise (sigma) if you know it, and record without a filter: the noise is coloured."
    if e.residual > HEAVY_NOISE:
        size = f"{100 * e.residual:.0f} % of the signal here"
        return f"Record at lower noise ({size}) or sample faster: motion faster than the sampling looks like noise."
    return ANOTHER


def refused_advice(record: Series) -> str:
    """What would help most where nothing could be fitted at all."""
    try:
        density = samples_per_oscillation(record)
    except Unsuitable:
        return "Sample faster or record another channel: nothing but noise is seen here."
    if density < COARSE:
        return _faster(density)
    if record.n < FEW_OSCILLATIONS * density:
        return _longer(record.n / density)
    return ANOTHER


def undecided_advice(e: Evidence) -> str:
    """What would help where the record cannot decide."""
    cleaner = " or at lower noise" if e.residual > 0.02 else ""
    return f"Record longer{cleaner} (there are {e.oscillations:.0f} oscillations): the choice then becomes clear."


def _first_failure(e: Evidence, clean: bool) -> Verdict | None:
    """The verdict of the first test that fails."""
    if not e.complete:
        return Verdict(
            False, "The fit was stopped before it had finished; this is the best model so far.", "Let it run longer."
        )
    if e.oscillations < MIN_OSCILLATIONS:
        return Verdict(False, f"The record holds only {e.oscillations:.0f} oscillations.", undecided_advice(e))
    if not clean and e.noise_ratio > MAX_NOISE_RATIO:
        return Verdict(
            False,
            f"The equation leaves {e.noise_ratio:.2f} times the estimated noise unexplained: no equation of the "
            "family fits this channel.",
            unfit_advice(e),
        )
    if clean and e.residual > MAX_CLEAN_RESIDUAL:
        return Verdict(
            False,
            f"The record is clean, but the equation leaves {e.residual:.2g} of its std unexplained: no equation of the "
            "family fits this channel.",
            unfit_advice(e),
        )
    if not e.bounded:
        return Verdict(False, "A long run of the equation leaves the range of the record.", unfit_advice(e))
    if not clean and e.block_ratio > MAX_BLOCK_RATIO:
        coloured = " or the noise is coloured" if e.colour > MAX_COLOUR else ""
        return Verdict(
            False,
            f"The residuals are not white (block variance ratio {e.block_ratio:.1f}): the equation misses "
            f"something{coloured}.",
            unfit_advice(e),
        )
    if np.isnan(e.held_out):
        return Verdict(
            False,
            "No stretch of the record could be held out to test the equation on.",
            "Record longer, or fill its gaps.",
        )
    if not (clean or e.held_out <= MAX_HELD_OUT):
        return Verdict(
            False,
            f"On a stretch it was not fitted to, the equation misses the record (χ² {e.held_out:.2f}).",
            unfit_advice(e),
        )
    if not SPREAD_RATIOS[0] < e.spread_ratio < SPREAD_RATIOS[1]:
        return Verdict(False, f"A long run has {e.spread_ratio:.2f} times the spread of the record.", unfit_advice(e))
    if e.distance > MAX_DISTANCE:
        return Verdict(
            False, f"A long run visits other values than the record (distance {e.distance:.2f} std).", unfit_advice(e)
        )
    if not e.skill >= MIN_SKILL:
        return Verdict(
            False, f"Forecasts fail within {e.skill:.2g} oscillations on a held-out stretch.", unfit_advice(e)
        )
    if e.terms > MAX_TERMS and not (clean and e.residual < EXACT):
        return Verdict(
            False,
            f"The equation needs {e.terms} coefficients: it forecasts {e.skill:.2g} held-out oscillations, but "
            "approximates the dynamics rather than stating them.",
            "Use it to forecast only; for an equation, try another channel of the same system or order 4.",
        )
    if not clean and e.score > MAX_SCORE:
        return Verdict(
            False,
            f"Terms beyond its own would improve the equation ({e.score:.1f} standard deviations more than chance): it "
            f"forecasts {e.skill:.2g} held-out oscillations, but approximates the dynamics rather than stating them.",
            undecided_advice(e),
        )
    if e.rival < MIN_RIVAL:
        return Verdict(
            False, f"Another form fits as well (ΔBIC {e.rival:.1f}): the record cannot decide.", undecided_advice(e)
        )
    if e.margin < MIN_MARGIN:
        return Verdict(
            False,
            f"One term more or less fits as well (ΔBIC {e.margin:.1f}): the record cannot decide.",
            undecided_advice(e),
        )
    return None
