"""How far a model may be relied on: a grade, a reason, what would help, and for how long its forecasts hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from jetode.reconstruction import advice
from jetode.reconstruction.check import Check, first_failure
from jetode.reconstruction.checks import AMBIGUITY, CONTESTED, JOINT, PAPER, UNNAMED
from jetode.reconstruction.evidence import ContestEvidence, Evidence, PaperEvidence, RefusalEvidence
from jetode.reconstruction.settings import EXAMINATION
from jetode.signal.screen import Screen
from jetode.signal.suitability import SUITABILITY
from jetode.support import markup
from jetode.support.errors import InputError

Grade = Literal["exact", "approximate", "forecast", "none"]
GRADES: tuple[str, ...] = get_args(Grade)

# what forecasts are made by beside equations, in words
METHODS = {
    "repetition": "the last oscillations again",
    "persistence": "as it is now",
    "autoregression": "a weighted mean of past samples",
    "analogue": "what followed where the record looked alike",
    "kernel ridge": "a smooth function of past samples, without a formula",
    "memory closure": "an equation whose state is a fading memory of the past",
    "memory closure with kernel ridge": "the mean of an equation whose state is a fading memory of the past and of a "
    "smooth function of past samples",
}


@dataclass(frozen=True)
class Holds:
    """Time for which held-out forecasts stay within 0.4 std, in the record's unit: median and quartiles over starts."""

    median: float
    lower: float
    upper: float

    @classmethod
    def of(cls, times: Sequence[float]) -> Holds | None:
        """Of the times of single forecasts; None without any."""
        if not times:
            return None
        lower, median, upper = np.quantile(np.asarray(times, dtype=np.float64), (0.25, 0.5, 0.75))
        return cls(float(median), float(lower), float(upper))


@dataclass(frozen=True)
class Baseline:
    """The best of the methods that know nothing of the system (persistence, repetition, AR, …) and for how long its
    held-out forecasts hold, as :class:`Holds` measures it (median)."""

    name: str
    time: float


@dataclass(frozen=True)
class Verdict:
    """``grade``: "exact" (the equation explains the record down to its noise), "approximate" (a readable equation whose
    forecasts hold for a measured time and beat the baselines), "forecast" (forecasts that do, without such an equation)
    or "none"; why; what would help most; ``holds`` and ``baseline`` where they were measured."""

    grade: Grade
    reason: str
    advice: str = ""
    holds: Holds | None = None
    baseline: Baseline | None = None

    def __post_init__(self) -> None:
        if self.grade not in GRADES:
            raise InputError(
                f"The 'grade' of a verdict must be one of {', '.join(GRADES)}. Got {self.grade!r} instead."
            )

    @property
    def trusted(self) -> bool:
        """Whether the equation itself may be relied on."""
        return self.grade == "exact"

    def _repr_html_(self) -> str:
        rows = [("grade", self.grade), ("why", self.reason)]
        if self.holds is not None:
            rows.append(("holds", f"{self.holds.median:.3g} ({self.holds.lower:.3g} to {self.holds.upper:.3g})"))
        if self.baseline is not None:
            rows.append((f"best simple method, {self.baseline.name}", f"{self.baseline.time:.3g}"))
        return markup.card("Verdict", [*rows, *([("what would help", self.advice)] if self.advice else [])])

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        return {
            "grade": self.grade,
            "trusted": self.trusted,
            "reason": self.reason,
            "advice": self.advice,
            "holds": None if self.holds is None else vars(self.holds) | {},
            "baseline": None if self.baseline is None else vars(self.baseline) | {},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Verdict:
        """Inverse of :meth:`to_json`; a file that knows only trusted or not gives exact or none."""
        holds, baseline = data.get("holds"), data.get("baseline")
        return cls(
            data.get("grade") or ("exact" if data["trusted"] else "none"),
            str(data["reason"]),
            str(data.get("advice", "")),
            None if holds is None else Holds(**holds),
            None if baseline is None else Baseline(**baseline),
        )


def judge(evidence: Evidence, checks: Sequence[Check[Evidence]] = JOINT) -> Verdict:
    """The verdict on a joint fit: the first check that fails decides, and what would help goes with it.  An equation
    that fails the last ones only, since its curve has no name or the record cannot tell it from another, is approximate
    without a contest: nothing can forecast farther than what leaves no more than noise."""
    holds = Holds.of(evidence.held)
    failed = first_failure(checks, evidence)
    if failed is None:
        return Verdict("exact", _exact(evidence), holds=holds)
    if failed in (UNNAMED, *AMBIGUITY):
        reason = f"{failed.sentence(evidence)} {_exact(evidence)}"
        return Verdict("approximate", reason, failed.advice(evidence), holds)
    verdict = Verdict("none", failed.sentence(evidence), failed.advice(evidence), holds)
    if evidence.offset > SUITABILITY.far_offset:
        verdict = replace(verdict, advice=advice.nearer_zero(evidence.offset))
    if evidence.complete and evidence.sufficiency is not None and evidence.sufficiency.hidden:
        verdict = replace(verdict, reason=f"{verdict.reason} {evidence.sufficiency.sentence()}")
    return verdict


def _exact(e: Evidence) -> str:
    runs = "a run from the first state follows the decay" if e.transient else "a long run stays on the attractor"
    if e.clean:
        return (
            f"The record is clean and the equation leaves {e.residual:.1g} of its std; forecasts follow a "
            f"held-out stretch and {runs}."
        )
    followed = f"a held-out stretch is followed (χ² {e.held_out:.2f})"
    white = "white" if not e.memory else f"noise that remembers itself (correlation {e.memory:.2f}) and nothing else"
    return f"Residuals are {white}, {followed} and {runs}."


def judge_contest(evidence: ContestEvidence, readable: str | None, refused: Verdict) -> Verdict:
    """The verdict where no equation is exact: on what forecasts farthest, and on the equation that can be read
    (``readable``, its name) where one comes near it; ``refused`` says why it is not exact."""
    chosen, base = evidence.entry(evidence.chosen), evidence.entry(evidence.baseline)
    holds, baseline = Holds(chosen.time, chosen.lower, chosen.upper), Baseline(base.name, base.time)
    failed = first_failure(CONTESTED, evidence)
    if failed is not None:
        reason = f"{failed.sentence(evidence)} {refused.reason}"
        return Verdict("none", reason, refused.advice or failed.advice(evidence), holds, baseline)
    as_far = f" {_capital(base.name)} forecasts it as far: the motion is nearly linear or periodic."
    also = as_far if evidence.equals_to_the_end else ""
    if readable is None:
        what = f" ({METHODS[chosen.name]})" if chosen.name in METHODS else ""
        reason = f"Forecasts are made by {chosen.name}{what}.{also} {refused.reason}"
        return Verdict("forecast", reason, refused.advice, holds, baseline)
    own = evidence.entry(readable)
    farther = "" if readable == chosen.name else f"; {chosen.name} forecasts farther and is used for that"
    size = f"{own.time / evidence.oscillation:.2g} oscillations"
    reason = f"{_capital(own.name)} holds for {size} in the median of {evidence.trials} trials{farther}.{also}"
    return Verdict("approximate", f"{reason} Not exact: {refused.reason}", refused.advice, holds, baseline)


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def judge_screen(found: Screen) -> Verdict:
    """The verdict on a record in which nothing can be found."""
    return Verdict("none", found.sentence(), advice.NOTHING)


def judge_refusal(evidence: RefusalEvidence) -> Verdict:
    """The verdict where nothing could be fitted."""
    return Verdict("none", evidence.reason, evidence.advice)


def judge_paper(evidence: PaperEvidence, checks: Sequence[Check[PaperEvidence]] = PAPER) -> Verdict:
    """The verdict on the paper's closure: half of the starts follow the record, and half of the long runs stay."""
    failed = first_failure(checks, evidence)
    if failed is not None:
        return Verdict("none", failed.sentence(evidence), failed.advice(evidence))
    return Verdict(
        "exact",
        f"{evidence.follow} of {evidence.count} forecasts follow the record for one oscillation and "
        f"{evidence.bounded} of {evidence.count} rollouts of {EXAMINATION.paper_rollout:g} oscillations stay bounded.",
    )
