"""Is this channel suitable?  Noise, delay, dimension, sampling, drift and determinism of one record.

Composes the paper's embedding diagnostics (average mutual information, false nearest neighbours) with the
noise scale and a surrogate-data test.  A record with gaps is judged by its longest complete stretch.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from jetode.records.conversion import as_series
from jetode.records.series import require_samples
from jetode.signal.artefacts import NONE as NO_ARTEFACTS
from jetode.signal.artefacts import Artefacts, find_artefacts
from jetode.signal.delay import embedding_delay, false_nearest_neighbours
from jetode.signal.jets_against_delays import Sufficiency, sufficiency
from jetode.signal.noise import is_clean, noise_floor, noise_scale
from jetode.signal.oscillations import mean_drift, oscillation
from jetode.signal.screen import Screen, screen
from jetode.signal.spline import smooth
from jetode.signal.suitability import SUITABILITY
from jetode.signal.surrogate_test import surrogate_test
from jetode.support import markup
from jetode.support.blas import one_thread

MINIMUM_SAMPLES = 200
SURROGATE_DIMENSION = 3
SIGNIFICANCE = 0.05
ROUNDING = 1e-9  # slopes below this share of std/duration are rounding


@dataclass(frozen=True)
class Effort:
    """How much of a long record is looked at: the first ``samples`` give delay and dimension, the first ``tested`` of
    them, thinned until a delay has ``per_delay``, are ranked among ``surrogates``, and ``jets`` are tried against
    delays or not."""

    samples: int = 50_000
    tested: int = 50_000
    per_delay: int | None = None  # None: not thinned
    surrogates: int = 39
    jets: bool = True


FULL = Effort()
# for a person who waits: 20,000 samples place the first minimum and the false neighbours as 50,000 do, 19 surrogates
# are the fewest that can reject at 5 %, and half of 4,000 samples are a library dense enough to predict from
QUICK = Effort(samples=20_000, tested=4_000, per_delay=8, surrogates=19, jets=False)


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """What is known of a record before any model; times in samples unless said otherwise."""

    n: int
    dt: float
    std: float
    time_unit: str
    missing: int
    noise_sigma: float  # the paper's σ̂
    noise_floor: float  # the same without curvature
    noise_fraction: float  # floor in units of the signal's std
    clean: bool
    delay: int | None
    dimension: int | None
    false_neighbours: tuple[float, ...]
    samples_per_tc: float  # in std(s)/std(s'), the time in which the signal changes by its own size
    samples_per_oscillation: float
    oscillations: float  # counted: falls of half a std or more after a rise as large
    drift_mean: float  # between halves, in units of std
    drift_z: float  # the same in units of its standard error
    drift_std: float  # ratio of the halves' stds minus 1
    surrogate_p: float
    sufficiency: Sufficiency | None  # None: too short to tell, or not asked for
    screened: Screen | None  # whether the recent past tells the future; None: too short to tell
    artefacts: Artefacts = NO_ARTEFACTS  # what the way of recording left in it

    @property
    def deterministic(self) -> bool:
        """Whether linear noise with the same spectrum and histogram is rejected."""
        return self.surrogate_p <= SIGNIFICANCE

    @property
    def advice(self) -> tuple[str, ...]:
        """What stands against a trustworthy reconstruction, in sentences; empty when nothing does."""
        found = list(self.artefacts.sentences())
        limits = SUITABILITY
        if self.samples_per_tc < limits.coarse:
            found.append(
                f"Only {self.samples_per_tc:.2g} samples in the time in which the signal changes by its own size "
                f"({self.samples_per_oscillation:.1f} samples per oscillation); sample faster if you can."
            )
        if self.oscillations < limits.few_oscillations:
            found.append(
                f"The record holds about {self.oscillations:.2g} oscillations; {limits.few_oscillations:.0f} or more "
                "are needed."
            )
        if limits.drifts(self.drift_mean, self.drift_z):
            found.append(f"The mean drifts by {self.drift_mean:.2g} std between the halves; use a stationary stretch.")
        if self.noise_fraction > limits.heavy_noise:
            size = f"{100 * self.noise_fraction:.0f} % of" if self.noise_fraction < 1 else "larger than"
            found.append(f"The noise is {size} the signal.")
        if not self.deterministic:
            found.append("Linear noise of the same spectrum looks just like this record.")
        if self.dimension is None:
            found.append("No embedding dimension brings false neighbours below 1 %.")
        if self.sufficiency is not None and self.sufficiency.hidden:
            found.append("Jets do not show all that determines the future; another channel may.")
        return tuple(found)

    @property
    def suitability(self) -> tuple[str, str]:
        """One of suitable, doubtful and unsuitable, and why in a sentence."""
        if self.screened is not None and self.screened.hopeless:
            return "unsuitable", self.screened.sentence()
        if self.advice:
            return "doubtful", self.advice[0]
        seen = "Nothing stands against it." if self.screened is None else self.screened.sentence()
        return "suitable", seen

    def to_json(self) -> dict[str, Any]:
        """Plain data with the derived judgements."""
        word, why = self.suitability
        return {
            **asdict(self),
            "sufficiency": None if self.sufficiency is None else self.sufficiency.to_json(),
            "screened": None if self.screened is None else self.screened.to_json(),
            "deterministic": self.deterministic,
            "advice": list(self.advice),
            "suitability": word,
            "because": why,
        }

    def rows(self) -> list[tuple[str, str]]:
        """The diagnosis as pairs of a name and a text."""
        unit = f" {self.time_unit}" if self.time_unit else ""
        gaps = f", {self.missing} missing" if self.missing else ""
        noise = f"σ {self.noise_floor:.3g}, {100 * self.noise_fraction:.2g} % of the signal"
        found = "more than linear noise" if self.deterministic else "could be linear noise"
        fnn = ", ".join(f"{100 * share:.2g} %" for share in self.false_neighbours)
        lag = "none found" if self.delay is None else f"{self.delay} samples ({self.delay * self.dt:g}{unit})"
        rows = [
            ("record", f"{self.n} samples{gaps}, dt {self.dt:g}{unit}, std {self.std:.4g}"),
            ("noise", "clean: σ̂ shows only curvature" if self.clean else noise),
            ("delay", lag),
            ("dimension", f"{self.dimension or 'none found'} (false neighbours for m = 1, 2, …: {fnn})"),
            (
                "sampling",
                f"{self.samples_per_oscillation:.3g} samples per oscillation, {self.oscillations:.3g} oscillations",
            ),
            (
                "drift",
                f"mean {self.drift_mean:.2g} std, std {100 * self.drift_std:+.0f} % between the halves",
            ),
            ("surrogates", f"p = {self.surrogate_p:.2g}: {found}"),
        ]
        if self.sufficiency is not None:
            rows.append(("jets", self.sufficiency.sentence()))
        word, why = self.suitability
        notes = [("note", sentence) for sentence in self.advice if sentence != why]
        return [*rows, *notes, ("verdict", f"{word}, because: {why}")]

    def text(self) -> str:
        """The diagnosis as lines for a terminal."""
        return "\n".join(f"{name:<10} {text}" for name, text in self.rows())

    def __repr__(self) -> str:
        against = f"{len(self.advice)} notes" if self.advice else "nothing stands against it"
        return f"Diagnosis({self.n} samples, noise {100 * self.noise_fraction:.2g} % of the signal: {against})"

    def _repr_html_(self) -> str:
        return markup.card("Diagnosis", self.rows())


@one_thread()
def diagnose(record: Any, seed: int = 0, dt: float | None = None, effort: Effort = FULL) -> Diagnosis:
    """Examine a record (anything that :func:`.as_series` takes); ``seed`` draws the surrogates, ``effort`` says how
    much of a long record is looked at (:data:`QUICK` takes about a second for 100,000 samples)."""
    record = as_series(record, dt)
    stretch = record.longest_stretch()
    require_samples(stretch, MINIMUM_SAMPLES, "a diagnosis (of its longest stretch without gaps)")
    values = stretch.values
    clean = is_clean(values)
    jets = smooth(values, record.dt, rule="interpolate" if clean else "reml").jets(1)
    signal, rate = jets.std(axis=0)
    # a record without any slope of its own is taken as one oscillation
    tc = float(signal / rate) / record.dt if rate > ROUNDING * signal / record.duration else record.n / (2 * math.pi)
    period = oscillation(jets[:, 0])
    smoothed = jets[: effort.samples, 0]
    delay = embedding_delay(smoothed)
    lag = delay or max(1, round(0.5 * math.pi * tc))
    neighbours = false_nearest_neighbours(smoothed, lag, _deepest(smoothed.size, lag))
    dimension = neighbours.dimension
    thin = 1 if effort.per_delay is None else max(1, lag // effort.per_delay)
    tested = values[::thin][: effort.tested]
    test = surrogate_test(
        tested,
        min(max(1, lag // thin), _longest_lag(tested.size)),
        dimension=SURROGATE_DIMENSION,
        rng=np.random.default_rng(seed),
        n_surrogates=effort.surrogates,
    )
    floor = noise_floor(values)
    present = record.values[~np.isnan(record.values)]
    first, second = np.array_split(present, 2)
    drift, error = mean_drift(present)
    return Diagnosis(
        n=record.n,
        dt=record.dt,
        std=record.std,
        time_unit=record.time_unit,
        missing=record.n - present.size,
        noise_sigma=noise_scale(values),
        noise_floor=floor,
        noise_fraction=floor / float(signal),
        clean=clean,
        delay=delay,
        dimension=dimension,
        false_neighbours=tuple(neighbours.fractions.tolist()),
        samples_per_tc=tc,
        samples_per_oscillation=period,
        oscillations=record.n / period,
        drift_mean=drift / record.std,
        drift_z=drift / error if error > 0 else 0.0,
        drift_std=float(second.std() / first.std()) - 1.0 if np.ptp(first) > 0 else math.inf,
        surrogate_p=test.p_value,
        sufficiency=sufficiency(values) if effort.jets else None,
        screened=screen([record]),
        artefacts=find_artefacts(record),
    )


def _deepest(n: int, lag: int) -> int:
    """Most delay coordinates, up to six, that a record of ``n`` samples has room for."""
    return max(1, min(6, (n - 2 * lag - 3) // lag))


def _longest_lag(n: int) -> int:
    """Longest delay for which the surrogate test has enough delay vectors."""
    return max(1, (n - 20) // (4 * (SURROGATE_DIMENSION + 1)))
