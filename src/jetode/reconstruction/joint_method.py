"""The default way from a record to a model: screen, joint fit, and where no equation is exact, the contest.

An exact equation ends it.  Else readable equations with model error, memory closures, black boxes and simple methods
meet on held-out past-only forecasts, and the verdict is graded by them (docs/mathematics.md §4, §7).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from jetode.equations.elements import kind_of
from jetode.equations.polynomials import Exponents
from jetode.joint.constraints import Constraints
from jetode.joint.elements.known import Known
from jetode.joint.elements.naming import CATALOGUE, NONE, Functions
from jetode.joint.fit import JointFit, Refusal, fit_joint
from jetode.joint.null_space_proposals import Proposal
from jetode.joint.problem import Loss
from jetode.joint.progress import Budget
from jetode.joint.request import Request
from jetode.reconstruction import advice
from jetode.reconstruction.checks import on_closed_curve
from jetode.reconstruction.evidence import RefusalEvidence
from jetode.reconstruction.graded import graded, hopeless_model, measured
from jetode.reconstruction.joint_model import joint_model
from jetode.reconstruction.model import Model
from jetode.reconstruction.paper_method import check_order, paper, rational_model
from jetode.reconstruction.record_info import RecordInfo
from jetode.reconstruction.settings import FEWEST_SAMPLES, LIMITS
from jetode.reconstruction.verdict import judge_refusal
from jetode.records.series import Series, require_samples
from jetode.signal.artefacts import clipped_note, without_clipped, without_dropouts
from jetode.signal.decimate import reduce_all
from jetode.signal.hum import without_hum
from jetode.signal.screen import Screen, screen
from jetode.signal.suitability import SUITABILITY
from jetode.support.errors import InputError

STRUCTURES = ("mechanics",)
MIXED: tuple[Exponents, ...] = ((1, 1), (2, 1), (1, 2))  # what a force that is f(x) + g(x') does not have


def joint(
    record: Series | Sequence[Series],
    *,
    order: int | None = None,
    sigma: float | None = None,
    max_seconds: float | None = None,
    budget: Budget | None = None,
    progress: Callable[[str], None] | None = None,
    required: Mapping[str, Sequence[Exponents]] | None = None,
    forbidden: Mapping[str, Sequence[Exponents]] | None = None,
    fixed: Mapping[str, Mapping[Exponents, float]] | None = None,
    symmetric: bool = False,
    loss: Loss = "auto",
    seed: int = 0,
    functions: Sequence[str] | Mapping[str, Mapping[str, float]] | None = None,
    structure: str | None = None,
    contest: bool = True,
) -> Model:
    """The equation of a record by the joint fit of coefficients and path, or what forecasts it farthest.

    ``record``: one record or several of one system, NaN where samples are missing; forecasts start at the end of the
    last.  ``order``: 2, 3, 4 … (default: found from the record; 3 where terms are required, forbidden or fixed).
    ``sigma``: std of the noise (default: estimated, then refined).  ``max_seconds``: the fit ends by then with the best
    model so far; ``budget`` does the same with a handle to cancel it.  ``progress`` is called with each stage's name.
    ``required``, ``forbidden``: exponents by part, e.g. ``{"P": [(0, 0, 1)]}``; ``fixed``: known coefficients, e.g.
    ``{"a": {(0, 1): -11.0}}``, in the record's units and the canonical gauge; ``symmetric`` imposes u → −u.
    ``loss``: "gaussian", "student" for heavy tails and outliers, "auto" to decide from the record.  ``seed`` draws the
    resamples that tell how stable each term is, and the members of forecast bands.  ``functions``: which functions of
    one coordinate may stand in the equation where polynomials do not satisfy, e.g. ``("sin", "abs")`` (default: the
    whole catalogue; ``()``: none); with parameters that are known, in the record's unit,
    ``{"sin": {"frequency": 1.0, "phase": 0.0}}``, exactly the linear equation with these functions of the recorded
    quantity, its verdict, and no contest.  ``structure="mechanics"``: x'' = f(x) + g(x'), order 2 without mixed terms.
    ``contest=False``: where no equation leaves only noise, nothing else is tried, and the grade is none; in about
    half of the time.
    """
    given = _records(record)
    _check_joint(order, sigma, max_seconds, loss)
    order, forbidden = _structured(structure, order, forbidden)
    constrained = any((required, forbidden, fixed, symmetric))
    allowed = _functions(functions, structure, constrained)
    wanted = _order(order, constrained)
    constraints = Constraints.of(wanted or 3, required, forbidden, fixed, symmetric)
    budget = budget or Budget(max_seconds)
    records, notes = _as_fitted(given)
    info = RecordInfo.of(records, round(records[-1].dt / given[-1].dt), notes)
    settings = {
        "order": wanted,
        "sigma": sigma,
        "max_seconds": max_seconds,
        "required": _plain(required),
        "forbidden": _plain(forbidden),
        "fixed": _plain(fixed),
        "symmetric": symmetric,
        "loss": loss,
        "seed": seed,
        "functions": {k.kind: dict(k.parameters) for k in allowed.known} or list(allowed.kinds),
        "structure": structure,
        "contest": contest,
        "reduction": list(notes),
    }
    request = Request(records, wanted, sigma, loss, constraints, seed, functions=allowed)
    say = progress or (lambda _: None)
    request.begin(wanted or 3)
    seen = _screened(records, wanted, say)
    if seen is not None and seen.hopeless:
        return hopeless_model(records, info, settings, seen)
    request = replace(request, maybe_linear=seen is None or not seen.nonlinear)
    found, fitted = _plainest_equation(request, info, settings, budget, say)
    if found.verdict.grade != "none":
        return measured(found, fitted, request, budget, say)
    if not contest or budget.spent or constrained or allowed.known:
        return found
    return graded(found, fitted, request, budget, say)


def _as_fitted(given: Sequence[Series]) -> tuple[tuple[Series, ...], tuple[str, ...]]:
    """The records that are fitted, and what was done to them in words.  Clipped samples stay, as one-sided ones; where
    a line is subtracted or a filter applied there are no limits any more, and they are gaps."""
    whole, dropped = without_dropouts(given)
    corrected, hummed = without_hum(whole)
    records, reduced = reduce_all(corrected)
    clipped = clipped_note(whole)
    if clipped and (hummed or records[0].dt != whole[0].dt):
        corrected, hummed = without_hum(without_clipped(whole))
        records, reduced = reduce_all(corrected)
        clipped = tuple(note.split(" say ")[0] + " count as missing" for note in clipped)
    return records, (*dropped, *clipped, *hummed, *reduced)


def _screened(records: Sequence[Series], order: int | None, say: Callable[[str], None]) -> Screen | None:
    """Whether anything can be found, where it is left open what."""
    if order is not None:
        return None
    say("screening the record")
    return screen(records)


def _plainest_equation(
    request: Request, info: RecordInfo, settings: dict[str, Any], budget: Budget, say: Callable[[str], None]
) -> tuple[Model, JointFit | None]:
    """The best equation; of one that ends on a closed curve, the one in its plane where that is exact and, where both
    are, has no more terms: a polynomial, or else one with functions, which imitate polynomials on a curve."""
    found, fitted = _best_equation(request, info, settings, budget, say)
    if request.order is not None or budget.spent or not on_closed_curve(found.evidence):
        return found, fitted
    plane = replace(request, order=LIMITS.plane, constraints=Constraints.of(LIMITS.plane))
    for functions in (NONE, request.functions) if request.functions != NONE else (NONE,):
        flat = _best_equation(replace(plane, functions=functions), info, settings, budget, say)[0]
        fewer = len(flat.coefficients()) <= len(found.coefficients())
        if flat.verdict.trusted and (fewer or not found.verdict.trusted):
            return flat, fitted
    return found, fitted


def _best_equation(
    request: Request, info: RecordInfo, settings: dict[str, Any], budget: Budget, say: Callable[[str], None]
) -> tuple[Model, JointFit | None]:
    """The model of the joint fit with its verdict, or what is left where there is none."""
    records = request.records
    rational: list[Model] = []

    def accept(proposal: Proposal) -> bool:
        """Whether the paper's model of a proposal that has no regular form is exact; it is then the result."""
        if len(records) == 1 and not records[0].has_gaps:
            rational.append(rational_model(records[0], proposal))
        return bool(rational) and rational[-1].verdict.trusted

    fitted = _too_far(records) or fit_joint(request, budget, say, accept)
    if isinstance(fitted, JointFit):
        say("checking the model")
        return joint_model(fitted, records, info, settings, budget), fitted
    order = request.order or 3
    found = _no_model(records[-1], order, fitted.reason) if isinstance(fitted, Refusal) else rational[-1]
    notes_only = {name: settings[name] for name in ("reduction", "seed")}
    info = replace(info, n=found.record.n, t0=found.record.t0, std=found.record.std)
    return replace(found, record=info, settings={**found.settings, **notes_only}), None


def _records(record: Series | Sequence[Series]) -> tuple[Series, ...]:
    """One or several records, long enough."""
    records = (record,) if isinstance(record, Series) else tuple(record)
    if not records or not all(isinstance(r, Series) for r in records):
        raise InputError("The 'record' parameter must be a Series or a sequence of them.")
    for r in records:
        require_samples(r, FEWEST_SAMPLES, "the 'joint' method")
    return records


def _too_far(records: Sequence[Series]) -> Refusal | None:
    """Why a record whose mean is too far from 0 for its powers to differ is not fitted at all."""
    offset = max(abs(float(np.nanmean(r.values))) / r.std for r in records)
    if offset <= SUITABILITY.farthest_offset:
        return None
    return Refusal(f"The record's mean lies {offset:.3g} std from 0: no power of it can be told from another.")


def _check_joint(order: Any, sigma: float | None, max_seconds: float | None, loss: str) -> None:
    """Bad options are refused in one sentence."""
    if order is not None:
        check_order(order)
    if max_seconds is not None and not max_seconds > 0:
        raise InputError(f"The 'max_seconds' parameter must be > 0. Got {max_seconds} instead.")
    if sigma is not None and not (np.isfinite(sigma) and sigma > 0):
        raise InputError(f"The 'sigma' parameter must be a number > 0. Got {sigma} instead.")
    if loss not in get_args(Loss):
        raise InputError(f"The 'loss' parameter must be one of {', '.join(get_args(Loss))}. Got {loss!r} instead.")


def _order(order: int | None, constrained: bool) -> int | None:
    """The order asked for; constraints speak of the coordinates of one, the third unless said otherwise."""
    return int(order) if order is not None else 3 if constrained else None


def _structured(
    structure: str | None, order: int | None, forbidden: Mapping[str, Sequence[Exponents]] | None
) -> tuple[int | None, Mapping[str, Sequence[Exponents]] | None]:
    """Order and forbidden terms with those that a known structure says."""
    if structure is None:
        return order, forbidden
    if structure not in STRUCTURES:
        allowed = ", ".join(STRUCTURES)
        raise InputError(f"The 'structure' parameter must be one of {allowed}. Got {structure!r} instead.")
    given = forbidden or {}
    return 2, {**given, "P": [*given.get("P", ()), *MIXED]}


def _functions(
    kinds: Sequence[str] | Mapping[str, Mapping[str, float]] | None, structure: str | None, constrained: bool
) -> Functions:
    """The functions that may be used: none beside constraints on terms; those of mechanics only in the last row."""
    given = CATALOGUE.kinds if kinds is None else tuple(kinds)
    for kind in given:
        if kind not in CATALOGUE.kinds:
            allowed = ", ".join(CATALOGUE.kinds)
            raise InputError(f"The 'functions' parameter must hold some of {allowed}. Got {kind!r} instead.")
    if isinstance(kinds, Mapping) and kinds:
        if constrained:
            raise InputError(
                "The 'functions' parameter must hold names only beside constraints on terms or a structure."
            )
        return Functions(given, False, tuple(_known(kind, parameters) for kind, parameters in kinds.items()))
    return NONE if constrained and structure is None else Functions(given, structure is None)


def _known(kind: str, parameters: Mapping[str, float]) -> Known:
    """A function with parameters that are known; refused where it has none of that name, or a value is no number."""
    wanted = kind_of(kind).parameters
    for name, value in parameters.items():
        if name not in wanted or not np.isfinite(value):
            raise InputError(
                f"The 'functions' parameter must give numbers for parameters of {kind} "
                f"({', '.join(wanted) or 'none'}). Got {name}={value} instead."
            )
    return Known(kind, tuple((name, float(value)) for name, value in parameters.items()))


def _plain(terms: Mapping[str, Any] | None) -> dict[str, Any]:
    """Constraints as plain data."""
    return {
        part: [[list(e), v] for e, v in given.items()] if isinstance(given, Mapping) else [list(e) for e in given]
        for part, given in (terms or {}).items()
    }


def _no_model(record: Series, order: int, reason: str) -> Model:
    """What is left when no candidate of the joint fit can even be started: the paper's closure, not trusted.

    Of the longest stretch without a gap, or of the whole record with its gaps bridged where that one is too short.
    """
    stretch = record.longest_stretch()
    if stretch.n < FEWEST_SAMPLES:
        present = ~np.isnan(record.values)
        index = np.arange(record.n)
        stretch = record.with_values(np.interp(index, index[present], record.values[present]))
    rough = paper(stretch, order=order, denominator_degree=1, numerator_degree=2)
    evidence = RefusalEvidence(reason, advice.refused(record))
    diagnostics = {**rough.diagnostics, "evidence": evidence.to_json()}
    return replace(rough, verdict=judge_refusal(evidence), diagnostics=diagnostics)
