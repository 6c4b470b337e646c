"""The checks as data (:mod:`jetode.reconstruction.check`), with what is said and advised when one fails.

The verdict takes the first check of the list that fails; the report shows every check that applies, with the same
measure and the same limit.  A new check is one more entry.
"""

from __future__ import annotations

from math import inf, isnan, nan
from typing import Any

from jetode.reconstruction import advice
from jetode.reconstruction.check import Check, first_failure
from jetode.reconstruction.evidence import AnyEvidence, ContestEvidence, Evidence, PaperEvidence, RefusalEvidence
from jetode.reconstruction.settings import CONTEST, EXAMINATION, LIMITS


def _noisy(e: Evidence) -> bool:
    return not e.clean


def _clean(e: Evidence) -> bool:
    return e.clean


def _beyond_integration(e: Evidence) -> bool:
    """A clean record whose residual is more than the error of an integrator that may have made it."""
    return e.clean and e.residual > LIMITS.integrated


def _must_repeat(e: Evidence) -> bool:
    """Few oscillations of a decay do where no coefficient is in doubt; elsewhere they must show things twice."""
    return not (e.transient and e.certainty >= LIMITS.certainty)


def _imitates(e: Evidence) -> bool:
    """Whether another equation could leave as little."""
    return not (e.clean and e.residual < LIMITS.exact)


def _uncertain(e: Evidence) -> bool:
    """Whether its standard errors allow an equation to be far off on the motion (6.7); where the record repeats itself
    (6.5) is asked instead."""
    return e.told == inf and e.uncertainty > LIMITS.uncertainty * LIMITS.field_error(e.residual)


def _colour(e: Evidence) -> str:
    return " or the noise is coloured" if e.colour > LIMITS.colour else ""


# an equation with a curve follows the record and states everything but the curve's law
UNNAMED: Check[Evidence] = Check(
    "Every function has a name",
    lambda e: not e.unnamed,
    lambda e: "No function of the catalogue follows the record as its curve does: it is a curve without a name.",
    lambda e: advice.UNNAMED,
    at_least=1.0,
    applies=lambda e: e.unnamed > 0,
    yes_or_no=True,
)

# what else would fit as well: asked last, of an equation that leaves no more than noise, whichever of them is true
AMBIGUITY: tuple[Check[Evidence], ...] = (
    Check(
        "ΔBIC of the nearest other form",
        lambda e: e.rival,
        lambda e: f"Another form fits as well (ΔBIC {e.rival:.1f}): the record cannot decide.",
        advice.undecided,
        at_least=LIMITS.rival,
    ),
    Check(
        "ΔBIC of one term more or less",
        lambda e: e.margin,
        lambda e: f"One term more or less fits as well (ΔBIC {e.margin:.1f}): the record cannot decide.",
        advice.undecided,
        at_least=LIMITS.margin,
    ),
    Check(
        "ΔBIC of one term in the place of another",
        lambda e: e.exchange,
        lambda e: f"Another term in the place of one fits as well (ΔBIC {e.exchange:.1f}): the record cannot decide.",
        advice.undecided,
        at_least=LIMITS.exchange,
    ),
    Check(
        "ΔBIC of one term more or less, of an uncertain equation",
        lambda e: e.margin,
        lambda e: (
            f"Its coefficients are uncertain: by their standard errors it may be off by {100 * e.uncertainty:.2g} % on "
            f"the motion, and one term more or less fits nearly as well (ΔBIC {e.margin:.1f})."
        ),
        advice.undecided,
        at_least=LIMITS.strong_margin,
        applies=_uncertain,
    ),
)

CLOSED_CURVE: Check[Evidence] = Check(
    "Kaplan–Yorke dimension of what an equation of three or more coordinates settles on",
    lambda e: e.dimension,
    lambda e: f"The motion settles on a closed curve, which many equations of {len(e.exponents)} coordinates have.",
    lambda e: advice.TRANSIENT,
    at_least=LIMITS.dimension,
    applies=lambda e: _noisy(e) and not (e.transient or e.functions) and len(e.exponents) > LIMITS.plane,
    needed=False,
)
TOLD: Check[Evidence] = Check(
    "Numbers that a record which repeats itself tells, over those of the equation",
    lambda e: e.told / max(e.terms, 1),
    lambda e: (
        f"The record repeats itself and tells no more than {e.told:.0f} numbers: {e.terms} coefficients follow them, "
        "but so may others."
    ),
    lambda e: advice.TRANSIENT,
    at_least=LIMITS.told,
    applies=lambda e: _imitates(e) and e.told < inf,
)
REPEATED: Check[Evidence] = Check(
    "Chance that noise repeats as much with the record’s period as the residuals do",
    lambda e: e.repeated,
    lambda e: "What the equation leaves of the record repeats with it: the equation misses something.",
    advice.unfit,
    at_least=LIMITS.repeated,
    applies=lambda e: _noisy(e) and e.told < inf,
)

JOINT: tuple[Check[Evidence], ...] = (
    Check(
        "The fit was finished",
        lambda e: e.complete,
        lambda e: advice.STOPPED,
        lambda e: advice.LONGER,
        at_least=1.0,
        yes_or_no=True,
    ),
    Check(
        "Oscillations in the record",
        lambda e: e.oscillations,
        lambda e: f"The record holds only {e.oscillations:.0f} oscillations.",
        advice.undecided,
        at_least=LIMITS.oscillations,
        applies=_must_repeat,
    ),
    Check(
        "Residual over estimated noise",
        lambda e: e.noise_ratio,
        lambda e: (
            f"The equation leaves {e.noise_ratio:.2f} times the estimated noise unexplained: none that was tried "
            "fits this channel."
        ),
        advice.unfit,
        at_most=LIMITS.noise_ratio,
        applies=_noisy,
    ),
    Check(
        "Residual of a record without noise [std]",
        lambda e: e.residual,
        lambda e: (
            f"The record is clean, but the equation leaves {e.residual:.2g} of its std unexplained: none that was "
            "tried fits this channel."
        ),
        advice.unfit,
        at_most=LIMITS.clean_residual,
        applies=_clean,
    ),
    Check(
        "Residual over the noise that a record without any can hide",
        lambda e: e.noise_ratio,
        lambda e: (
            f"The record is clean, but the equation leaves {e.residual:.2g} of its std unexplained, "
            f"{e.noise_ratio:.2g} times the noise it can hide: it is near the dynamics and not exact."
        ),
        advice.unfit,
        at_most=LIMITS.hidden_noise,
        applies=_beyond_integration,
    ),
    Check(
        "A long run stays bounded",
        lambda e: e.bounded,
        lambda e: "A long run of the equation leaves the range of the record.",
        advice.unfit,
        at_least=1.0,
        yes_or_no=True,
    ),
    Check(
        "Slow structure in the residuals (1: white)",
        lambda e: e.block_ratio,
        lambda e: (
            f"The residuals are not white (block variance ratio {e.block_ratio:.1f}): the equation misses "
            f"something{_colour(e)}."
        ),
        advice.unfit,
        at_most=LIMITS.block_ratio,
        applies=_noisy,
    ),
    Check(
        "A stretch could be held out of the fit",
        lambda e: nan if isnan(e.held_out) else 1.0,
        lambda e: "No stretch of the record could be held out to test the equation on.",
        lambda e: advice.COMPLETE,
        at_least=1.0,
        yes_or_no=True,
    ),
    Check(
        "χ² per sample on a stretch held out of the fit",
        lambda e: e.held_out,
        lambda e: f"On a stretch it was not fitted to, the equation misses the record (χ² {e.held_out:.2f}).",
        advice.unfit,
        at_most=LIMITS.held_out,
        applies=_noisy,
    ),
    Check(
        "Spread of a long run over the record’s",
        lambda e: e.spread_ratio,
        lambda e: f"A long run has {e.spread_ratio:.2f} times the spread of the record.",
        advice.unfit,
        *LIMITS.spread_ratio,
    ),
    Check(
        "Distance of a long run’s distribution from the record’s [std]",
        lambda e: e.distance,
        lambda e: f"A long run visits other values than the record (distance {e.distance:.2f} std).",
        advice.unfit,
        at_most=LIMITS.distance,
    ),
    Check(
        "Share of a decay’s last coordinate that is no function of the others",
        lambda e: e.own_motion,
        lambda e: (
            "The last coordinate of the equation is a function of the others: the decay is of a lower order, with a "
            "law that the family does not hold."
        ),
        advice.unfit,
        at_least=LIMITS.own_motion,
        applies=lambda e: e.transient,
        needed=False,
    ),
    Check(
        "Held-out forecasts hold [oscillations]",
        lambda e: e.skill,
        lambda e: (
            f"Forecasts fail within {e.skill:.2g} oscillations on a held-out stretch."
            if not isnan(e.skill)
            else "Forecasts fail: none could be tried on a held-out stretch."
        ),
        lambda e: advice.COMPLETE if isnan(e.skill) else advice.unfit(e),
        at_least=LIMITS.skill,
    ),
    Check(
        "Free coefficients",
        lambda e: e.terms - e.unnamed,
        lambda e: (
            f"The equation needs {e.terms - e.unnamed} coefficients: it forecasts {e.skill:.2g} held-out oscillations, "
            "but approximates the dynamics rather than stating them."
        ),
        lambda e: advice.FORECAST_ONLY,
        at_most=LIMITS.terms,
        applies=_imitates,
    ),
    Check(
        "Gain of terms beyond its own over chance [standard deviations]",
        lambda e: e.score,
        lambda e: (
            f"Terms beyond its own would improve the equation ({e.score:.1f} standard deviations more than "
            f"chance): it forecasts {e.skill:.2g} held-out oscillations, but approximates the dynamics rather than "
            "stating them."
        ),
        advice.undecided,
        at_most=LIMITS.score,
        applies=_noisy,
        needed=False,
    ),
    CLOSED_CURVE,
    REPEATED,
    TOLD,
    UNNAMED,
    *AMBIGUITY,
)


def on_closed_curve(evidence: AnyEvidence | None) -> bool:
    """Whether all that is wrong with an equation of more coordinates than a plane's is that it ends on a curve."""
    if not isinstance(evidence, Evidence) or len(evidence.exponents) <= LIMITS.plane:
        return False
    curve = evidence.dimension < LIMITS.dimension or evidence.told < inf
    return curve and first_failure(JOINT, evidence) in (None, CLOSED_CURVE, REPEATED, TOLD)


PAPER: tuple[Check[PaperEvidence], ...] = (
    Check(
        "Share of forecasts from within the record that follow it for one oscillation",
        lambda e: e.follow / e.count,
        lambda e: f"Only {e.follow} of {e.count} forecasts follow the record for one oscillation.",
        lambda e: advice.PAPER,
        at_least=0.5,
    ),
    Check(
        "Share of long runs that stay bounded",
        lambda e: nan if e.bounded is None else e.bounded / e.count,
        lambda e: f"Only {e.bounded} of {e.count} rollouts of {EXAMINATION.paper_rollout:g} oscillations stay bounded.",
        lambda e: advice.PAPER,
        at_least=0.5,
        needed=False,
    ),
)

REFUSAL: tuple[Check[RefusalEvidence], ...] = (
    Check(
        "An equation could be fitted to the record",
        lambda e: False,
        lambda e: e.reason,
        lambda e: e.advice,
        at_least=1.0,
        yes_or_no=True,
    ),
)

CONTESTED: tuple[Check[ContestEvidence], ...] = (
    Check(
        "Held-out forecasts hold [oscillations]",
        lambda e: e.skill,
        lambda e: f"Held-out forecasts fail within {e.skill:.2g} oscillations, whatever makes them.",
        lambda e: advice.NOTHING,
        at_least=CONTEST.useful,
    ),
    Check(
        "Time over that of the best simple method",
        lambda e: e.ratio,
        lambda e: f"Nothing forecasts it farther than {e.baseline}.",
        lambda e: advice.NOTHING,
        at_least=CONTEST.ratio,
        applies=lambda e: not e.equals_to_the_end,
    ),
    Check(
        "Gain over the best simple method [standard errors]",
        lambda e: e.advantage,
        lambda e: f"Nothing forecasts it farther than {e.baseline} beyond doubt.",
        lambda e: advice.NOTHING,
        at_least=CONTEST.clearly,
        applies=lambda e: not e.equals_to_the_end,
    ),
)

# by the kind of the evidence
CHECKS: dict[str, tuple[Check[Any], ...]] = {"joint": JOINT, "paper": PAPER, "refusal": REFUSAL, "contest": CONTESTED}


def notes(e: AnyEvidence) -> tuple[tuple[str, str], ...]:
    """What is worth showing beside the checks but decides nothing: (name, measured)."""
    if not isinstance(e, Evidence):
        return ()
    out = []
    if not isnan(e.spectrum_distance):
        name = "Share of power at other frequencies in a long run than in the record"
        out.append((name, f"{e.spectrum_distance:.2g}"))
    if e.memory:
        out.append(("Correlation of neighbouring samples of the noise", f"{e.memory:.2f}"))
    if e.exhausted:
        out.append(("The search tried every form", "no: it ended at its bound of iterations"))
    if e.sufficiency is not None:
        found = "hidden" if e.sufficiency.hidden else "none"
        out.append((f"Jets against delays: {e.sufficiency.sentence()}", found))
    return tuple(out)
