"""What a verdict looks at (docs/mathematics.md §4–§6), measured on the record alone.

χ² and whiteness find gross failures only; a wrong form shows on stretches it was not fitted to, in a long run that
leaves the attractor or visits it differently, and in rivals or terms that the data cannot tell apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from math import inf, isfinite, nan
from typing import Any, Protocol

from jetode.reconstruction.settings import CONTEST
from jetode.signal.jets_against_delays import Sufficiency


class EvidenceLike(Protocol):
    """Evidence of any kind of model: ``kind`` names its list of checks."""

    kind: str

    def to_json(self) -> dict[str, Any]:
        """Plain data."""


@dataclass(frozen=True)
class Evidence:
    """Everything the verdict on a joint fit looks at; times in tc unless said otherwise.

    ``noise_ratio``: residual over estimated noise; ``block_ratio``: variance of block means over that of white
    residuals; ``colour``: their lag-1 correlation; ``held_out``: cost per held-out sample with coefficients from the
    rest; ``skill``: median past-only valid prediction time there, in oscillations, ``held``: each of them in the
    record's time; ``bounded``, ``distance``: long run, how far its distribution is from the record's (in std) and its
    std over the record's (``spread_ratio``); ``residual``: rms residual in std; ``margin``, ``rival``: smallest rise of
    BIC over one term more or less, and over another form (but for functions with more coefficients that are not
    significant); ``oscillations``: how many the record holds; ``drift``: of its mean between halves (in std);
    ``lyapunov``: largest exponent in 1/time unit of the record;
    ``score``: gain of all absent terms of a larger library over chance, as a standard normal variable; ``terms``: free
    coefficients; ``resolution``: samples per tc; ``drift_z``: drift in its standard errors;
    ``spectrum_distance``: share of power at other frequencies in the long run than in the record;
    ``exponents``: Lyapunov spectrum with ``exponent_errors``, ``dimension``: that of Kaplan and Yorke;
    ``sufficiency``: jets against delays, tested where the model is refused; ``exhausted``: the search ended at its
    bound of iterations, not at its last form; ``offset``: distance of the record's mean from 0 (in std);
    ``clean``: the record shows no noise; ``transient``: the equation settles at rest, so that the long run is one from
    the first state of every record over its own span; ``certainty``: of the least certain coefficient, in its standard
    errors; ``own_motion``: of a decay, the share of its last coordinate's variance that is no function of the others;
    ``unnamed``: how many of the coefficients are the modes of a curve without a name; ``functions``: how many functions
    of one coordinate stand in the equation; ``told``: how many numbers a record tells that repeats itself, else inf;
    ``repeated``: the chance that noise repeats as much with that record's period as the residuals do, else 1;
    ``memory``: correlation of neighbouring samples of coloured noise, beyond which residuals are meant, 0 for white;
    ``uncertainty``: how far the equation may be off on the motion by its own standard errors (6.7), NaN with functions;
    ``exchange``: smallest rise of BIC over exchanging one term for another.
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
    resolution: float = inf
    drift_z: float = 0.0
    spectrum_distance: float = nan
    score: float = nan
    exponents: tuple[float, ...] = ()
    exponent_errors: tuple[float, ...] = ()
    dimension: float = nan
    sufficiency: Sufficiency | None = None
    exhausted: bool = False
    offset: float = 0.0
    clean: bool = False
    held: tuple[float, ...] = ()
    transient: bool = False
    certainty: float = 0.0
    own_motion: float = nan
    unnamed: int = 0
    functions: int = 0
    told: float = inf
    repeated: float = 1.0
    memory: float = 0.0
    uncertainty: float = nan
    exchange: float = inf
    kind: str = field(default="joint", init=False)

    def to_json(self) -> dict[str, Any]:
        """Plain data; numbers that do not exist become null."""
        plain = {k: None if isinstance(v, float) and not isfinite(v) else v for k, v in asdict(self).items()}
        lists = {name: list(getattr(self, name)) for name in ("exponents", "exponent_errors", "held")}
        return plain | lists | {"sufficiency": None if self.sufficiency is None else self.sufficiency.to_json()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], clean: bool = False) -> Evidence:
        """Inverse of :meth:`to_json`; what a file does not have is unknown, and ``clean`` may stand beside it."""
        missing = {
            "margin": inf,
            "exchange": inf,
            "rival": inf,
            "distance": inf,
            "resolution": inf,
            "transient": False,
            "certainty": 0.0,
            "unnamed": 0,
            "functions": 0,
            "told": inf,
            "repeated": 1.0,
        }
        given: dict[str, Any] = {"clean": clean}
        for item in fields(cls):
            value: Any = data.get(item.name)
            if not item.init or (value is None and item.name in ("sufficiency", "clean")):
                continue
            if item.name in ("exponents", "exponent_errors", "held"):
                given[item.name] = tuple(value or ())
            elif item.name == "sufficiency":
                given[item.name] = Sufficiency.from_json(value)
            else:
                given[item.name] = missing.get(item.name, nan) if value is None else value
        return cls(**given)


@dataclass(frozen=True)
class PaperEvidence:
    """What the verdict on the paper's closure looks at: valid prediction times from interior starts of the record up to
    ``horizon``, the length of one ``oscillation`` (all in the record's time), and how many of as many long runs stay
    ``bounded`` (None where that was not kept)."""

    times: tuple[float, ...]
    horizon: float
    oscillation: float
    bounded: int | None
    kind: str = field(default="paper", init=False)

    @property
    def wanted(self) -> float:
        """What a forecast has to hold: an oscillation, or all there is."""
        return min(self.oscillation, self.horizon)

    @property
    def follow(self) -> int:
        """How many do."""
        return sum(time >= self.wanted for time in self.times)

    @property
    def count(self) -> int:
        """Of how many."""
        return len(self.times)

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        return asdict(self) | {"times": list(self.times)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PaperEvidence:
        """Inverse of :meth:`to_json`."""
        return cls(tuple(data["times"]), float(data["horizon"]), float(data["oscillation"]), data["bounded"])


@dataclass(frozen=True)
class RefusalEvidence:
    """Why nothing could be fitted at all, and what would help; the model is then only what was tried."""

    reason: str
    advice: str
    kind: str = field(default="refusal", init=False)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class Entry:
    """One contestant: how long its held-out forecasts hold in the record's time (median and quartiles), its score over
    all thresholds in oscillations, and the coefficients of an equation that can be read."""

    name: str
    kind: str
    time: float
    lower: float
    upper: float
    score: float
    terms: int | None = None


@dataclass(frozen=True)
class ContestEvidence:
    """What the verdict on a model that is not exact looks at: ``chosen`` among the ``entries`` (best first) beside the
    best simple method (``baseline``): its score over the baseline's (``ratio``) and the difference in standard errors
    (``advantage``), over ``trials`` of at most ``longest`` oscillations of length ``oscillation``; ``exact``: the
    evidence, as plain data, on which an exact equation was refused."""

    chosen: str
    baseline: str
    entries: tuple[Entry, ...]
    ratio: float
    advantage: float
    oscillation: float
    trials: int
    longest: float
    exact: Mapping[str, Any] | None = None
    kind: str = field(default="contest", init=False)

    def entry(self, name: str) -> Entry:
        """One contestant by its name."""
        return next(e for e in self.entries if e.name == name)

    @property
    def skill(self) -> float:
        """Median time for which the chosen one's forecasts hold, in oscillations."""
        return self.entry(self.chosen).time / self.oscillation

    @property
    def equals_to_the_end(self) -> bool:
        """Whether an equation holds as long as trials can show, and so does the best simple method."""
        chosen, base = self.entry(self.chosen), self.entry(self.baseline)
        return CONTEST.level_to_the_end(chosen.kind, chosen.time, base.time, self.longest * self.oscillation)

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        return asdict(self) | {"entries": [asdict(e) for e in self.entries]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ContestEvidence:
        """Inverse of :meth:`to_json`."""
        given = {f.name: data[f.name] for f in fields(cls) if f.init}
        return cls(**given | {"entries": tuple(Entry(**e) for e in data["entries"])})


AnyEvidence = Evidence | PaperEvidence | RefusalEvidence | ContestEvidence


def evidence_of(diagnostics: Mapping[str, Any]) -> AnyEvidence | None:
    """The evidence that a model's diagnostics hold as plain data, those of older files included."""
    found = diagnostics.get("evidence")
    if found and found.get("kind") == "refusal":
        return RefusalEvidence(str(found["reason"]), str(found["advice"]))
    if found and found.get("kind") == "paper":
        return PaperEvidence.from_json(found)
    if found and found.get("kind") == "contest":
        return ContestEvidence.from_json(found)
    if found:
        return Evidence.from_json(found, bool(diagnostics.get("clean")))
    times = diagnostics.get("valid_prediction_times")
    if times:
        return PaperEvidence(tuple(times), float(diagnostics["horizon"]), float(diagnostics["oscillation"]), None)
    return None
