"""From a record to a model: the joint fit of the regular closure, or the paper's workflow (Fig. pipeline).

The only module that composes the stages.  ``METHODS`` maps a method's name to the function that runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from inspect import signature
from types import MappingProxyType
from typing import Any, get_args

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.equilibria import equilibria
from jetode.equations.polynomials import Exponents
from jetode.equations.regular import RegularClosure
from jetode.equations.regularise import regularise
from jetode.joint.constraints import Constraints
from jetode.joint.fit import JointFit, Refusal, Request, fit_joint
from jetode.joint.null_space_proposals import NULL_SPACE, Proposal
from jetode.joint.problem import Loss
from jetode.joint.progress import Budget
from jetode.paper.degree_selection import DegreeChoice, select, skill
from jetode.paper.identify import Denominator, Embedding, Form, PaperSettings, Smoothing, embed, identify
from jetode.paper.weakform import Placement, Quadrature
from jetode.reconstruction import advice
from jetode.reconstruction.dynamics.rational import RationalDynamics, end_state
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.evidence import Evidence, PaperEvidence, RefusalEvidence, bounded_runs, gather
from jetode.reconstruction.model import Model
from jetode.reconstruction.record_info import RecordInfo, SplineInfo
from jetode.reconstruction.settings import FEWEST_SAMPLES, LIMITS
from jetode.reconstruction.verdict import Verdict, judge, judge_paper, judge_refusal
from jetode.records.conversion import as_records
from jetode.records.series import Series, require_complete, require_samples
from jetode.signal.decimate import reduce_all
from jetode.signal.embedding import embedding_diagnostics
from jetode.signal.jets_against_delays import sufficiency
from jetode.signal.suitability import SUITABILITY
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

SPECTRUM_SAMPLES = 20_000  # of the record, for the singular values that are shown beside a joint fit


def reconstruct(record: Any, method: str | None = None, dt: float | None = None, **options: Any) -> Model:
    """The differential equation of a record, as a :class:`jetode.reconstruction.model.Model`.

    ``record``: a Series, an array with its ``dt``, pandas, xarray or a path (:func:`.as_series`), or a list of these.
    ``method="joint"`` takes the options of :func:`joint`, ``method="paper"`` those of :func:`paper`; without a method
    it is the paper's where the degrees of its closure are given, else the joint fit.
    """
    method = method_of({"method": method, **options})
    if method not in METHODS:
        allowed = ", ".join(METHODS)
        raise InputError(f"The 'method' parameter must be one of {allowed}. Got {method!r} instead.")
    known = signature(METHODS[method]).parameters
    for name in options:
        if name not in known:
            raise InputError(f"The method {method!r} takes no option {name!r}. It takes {', '.join(known)}.")
    return METHODS[method](as_records(record, dt), **options)


def method_of(options: Mapping[str, Any]) -> str:
    """The method asked for, else the paper's where the degrees of its closure are given, else the joint fit."""
    default = "paper" if {"denominator_degree", "numerator_degree"} & options.keys() else "joint"
    return options.get("method") or default


# -- the joint fit ----------------------------------------------------------------------------------------------------


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
) -> Model:
    """Regular closure by the joint fit of coefficients and path (docs/mathematics.md §4).

    ``record``: one record or several of one system, NaN where samples are missing; forecasts start at the end of the
    last.  ``order``: 2, 3, 4 … (default: found from the record; 3 where terms are required, forbidden or fixed).
    ``sigma``: std of the noise (default: estimated, then refined).  ``max_seconds``: the fit ends by then with the best
    model so far; ``budget`` does the same with a handle to cancel it.  ``progress`` is called with each stage's name.
    ``required``, ``forbidden``: exponents by part, e.g. ``{"P": [(0, 0, 1)]}``; ``fixed``: known coefficients, e.g.
    ``{"a": {(0, 1): -11.0}}``, in the record's units and the canonical gauge; ``symmetric`` imposes u → −u.
    ``loss``: "gaussian", "student" for heavy tails and outliers, "auto" to decide from the record.  ``seed`` draws the
    resamples that tell how stable each term is, and the members of forecast bands.
    """
    given = _records(record)
    _check_joint(order, sigma, max_seconds, loss)
    constrained = required or forbidden or fixed or symmetric
    wanted = int(order) if order is not None else 3 if constrained else None
    constraints = Constraints.of(wanted or 3, required, forbidden, fixed, symmetric)
    budget = budget or Budget(max_seconds)
    records, notes = reduce_all(given)
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
        "reduction": list(notes),
    }
    rational: list[Model] = []

    def accept(proposal: Proposal) -> bool:
        """Whether the paper's model of a proposal that has no regular form is exact; it is then the result."""
        if len(records) == 1 and not records[0].has_gaps:
            rational.append(_rational_model(records[0], proposal))
        return bool(rational) and rational[-1].verdict.trusted

    request = Request(records, wanted, sigma, loss, constraints, seed)
    fitted = _too_far(records) or fit_joint(request, budget, progress, accept)
    if isinstance(fitted, Proposal):
        found = rational[-1]
    elif isinstance(fitted, Refusal):
        found = _no_model(records[-1], wanted or 3, fitted.reason)
    else:
        if progress:
            progress("checking the model")
        return _joint_model(fitted, records, info, settings, budget)
    notes_only = {name: settings[name] for name in ("reduction", "seed")}
    info = replace(info, n=found.record.n, t0=found.record.t0, std=found.record.std)
    return replace(found, record=info, settings={**found.settings, **notes_only})


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


def check_order(order: Any) -> None:
    """Bad orders are refused in one sentence."""
    if not isinstance(order, int | np.integer) or isinstance(order, bool) or order < 2:
        raise InputError(f"The 'order' parameter must be an int ≥ 2. Got {order} instead.")


def _plain(terms: Mapping[str, Any] | None) -> dict[str, Any]:
    """Constraints as plain data."""
    return {
        part: [[list(e), v] for e, v in given.items()] if isinstance(given, Mapping) else [list(e) for e in given]
        for part, given in (terms or {}).items()
    }


def _joint_model(
    fitted: JointFit, records: Sequence[Series], info: RecordInfo, settings: dict[str, Any], budget: Budget
) -> Model:
    """The model of a joint fit, with its evidence and verdict."""
    model = fitted.identified
    dynamics = RegularDynamics.of(model, records, fitted.paths)
    evidence, verdict = _judged(fitted, records, budget)
    return Model(
        method="joint",
        noise_sigma=model.sigma * model.amplitude,
        record=info,
        verdict=verdict,
        dynamics=dynamics,
        spline=SplineInfo.of(fitted.prepared.spline),
        settings={**settings, "order": dynamics.order, "loss": model.loss},
        diagnostics={
            "clean": fitted.prepared.clean,
            "amplitude": model.amplitude,
            "characteristic_time": model.time,
            "oscillation": sum(r.n for r in records) * info.dt / max(evidence.oscillations, 1.0),
            "evidence": evidence.to_json(),
            "lyapunov_spectrum": {
                "exponents": list(evidence.exponents),
                "standard_errors": list(evidence.exponent_errors),
                "kaplan_yorke_dimension": evidence.dimension if evidence.exponents else None,
            },
            "stability": [asdict(term) for term in fitted.stability],
            "rivals": [{"delta_bic": r.delta_bic, "text": r.regular.text()} for r in fitted.rivals],
            "equilibria": _equilibria(dynamics.regular),
            **_spectrum(records[-1], dynamics.order),
            **_embedding(fitted.paths[-1].states[:, 0], model.time / info.dt),
        },
    )


def _judged(fitted: JointFit, records: Sequence[Series], budget: Budget) -> tuple[Evidence, Verdict]:
    """Evidence and verdict; where the model is refused, jets are also tried against delays, which may explain it."""
    evidence = gather(fitted, records, lambda: budget.spent)
    verdict = judge(evidence)
    if evidence.complete and not verdict.trusted:
        longest = max((r.longest_stretch() for r in records), key=len)
        evidence = replace(evidence, sufficiency=sufficiency(longest.values))
        verdict = judge(evidence)
    return evidence, verdict


def _equilibria(regular: RegularClosure) -> list[dict[str, Any]]:
    """Where the equation stands still, as plain data."""
    return [
        {"state": list(e.state), "eigenvalues": [[z.real, z.imag] for z in e.eigenvalues], "kind": e.kind}
        for e in equilibria(regular)
    ]


def _spectrum(record: Series, order: int) -> dict[str, Any]:
    """Singular values of the paper's default system on the longest stretch, beside the joint fit; none if too short."""
    try:
        found = identify(embed(record.longest_stretch().slice(0, SPECTRUM_SAMPLES), order), PaperSettings())
    except InputError:
        return {}
    return {"singular_values": found.singular_values.tolist(), "gap": found.gap}


def _embedding(signal: FloatArray, tc: float) -> dict[str, Any]:
    """The paper's embedding diagnostics of the smoothed record's longest stretch; none if too short."""
    present = ~np.isnan(signal)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], present, [0])))).reshape(-1, 2)
    start, stop = max(edges.tolist(), key=lambda e: e[1] - e[0])
    try:
        return {"embedding": embedding_diagnostics(signal[start:stop], tc).to_json()}
    except InputError:
        return {}


def _rational_model(record: Series, proposal: Proposal) -> Model:
    """The paper's model of a clean record, in the library its null space chose."""
    order, (d_degree, n_degree) = proposal.closure.order, proposal.degrees
    used = [i for i in range(order) if any(e[i] for e in proposal.closure.denominator)]
    return paper(
        record,
        order=order,
        denominator_degree=d_degree,
        numerator_degree=n_degree,
        spline_degree=NULL_SPACE.spline_degree,
        windows=NULL_SPACE.windows,
        half_width=proposal.half_width,
        exponent=NULL_SPACE.exponent,
        denominator_variables=used or (0,),
    )


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


# -- the paper's workflow ---------------------------------------------------------------------------------------------


def paper(
    record: Series,
    *,
    order: int = 3,
    denominator_degree: int | None = None,
    numerator_degree: int | None = None,
    spline_degree: int | None = None,
    smoothing: Smoothing | float | None = None,
    sigma: float | None = None,
    windows: int = 200,
    half_width: int | None = None,
    exponent: int | None = None,
    placement: Placement = "even",
    quadrature: Quadrature = "parts",
    form: Form = "weak",
    denominator: Denominator | None = None,
    denominator_variables: Sequence[int] = (0,),
    crossing: bool = False,
    seed: int = 0,
) -> Model:
    """Rational closure by spline, weak form and null space.

    With both degrees given, the window is the paper's (half-width 20, exponent 4) unless given too; otherwise
    what is left out is selected by VPT against the record itself.  ``smoothing``, ``sigma``: see
    :func:`jetode.paper.identify.embed`.  ``denominator`` (default: "global" on clean data, "pooled-samples" under
    noise), ``form``, ``windows``, ``placement``, ``crossing`` …: see :class:`jetode.paper.identify.PaperSettings`.
    """
    check_order(order)
    if not isinstance(record, Series):
        raise InputError("The 'record' parameter must be one Series for method='paper'.")
    require_complete(record, "paper")
    require_samples(record, FEWEST_SAMPLES, "the 'paper' method")
    embedding = embed(record, int(order), spline_degree, smoothing, sigma)
    base = PaperSettings(
        denominator_degree=1 if denominator_degree is None else denominator_degree,
        numerator_degree=4 if numerator_degree is None else numerator_degree,
        denominator_variables=tuple(denominator_variables),
        form=form,
        windows=windows,
        half_width=20 if half_width is None else half_width,
        exponent=4 if exponent is None else exponent,
        placement=placement,
        quadrature=quadrature,
        denominator=denominator or ("global" if embedding.clean else "pooled-samples"),
        crossing=bool(crossing),
        seed=seed,
    )
    if denominator_degree is None or numerator_degree is None:
        chosen = select(embedding, record.values, base, denominator_degree, numerator_degree, half_width, exponent)
    else:
        identification = identify(embedding, base)
        chosen = DegreeChoice(base, identification, skill(identification, embedding, record.values))
    return _paper_model(record, embedding, chosen)


METHODS: Mapping[str, Callable[..., Model]] = MappingProxyType({"joint": joint, "paper": paper})


def _paper_model(record: Series, embedding: Embedding, chosen: DegreeChoice) -> Model:
    found, spline = chosen.identification, SplineInfo.of(embedding.spline)
    evidence = PaperEvidence(
        tuple(chosen.skill.vpt.tolist()),
        chosen.skill.horizon,
        embedding.oscillation,
        bounded_runs(found.closure, embedding, embedding.jets[chosen.skill.starts, : embedding.order]),
    )
    jets = embedding.jets[:, : embedding.order]
    return Model(
        method="paper",
        noise_sigma=embedding.noise_sigma,
        record=RecordInfo.of(record),
        verdict=judge_paper(evidence),
        dynamics=RationalDynamics(
            found.closure,
            embedding.spread,
            end_state(found.closure, jets, embedding.spread, record.dt, embedding.margin),
            spline,
            record.dt,
            embedding.noise_sigma,
            _regular_form(found.closure, embedding),
            jets,
            (record,),
        ),
        spline=spline,
        settings=asdict(chosen.settings) | {"denominator_variables": list(chosen.settings.denominator_variables)},
        diagnostics={
            "clean": embedding.clean,
            "singular_values": found.singular_values.tolist(),
            "gap": found.gap,
            "oscillation": embedding.oscillation,
            "valid_prediction_times": chosen.skill.vpt.tolist(),
            "horizon": chosen.skill.horizon,
            "evidence": evidence.to_json(),
            **_embedding(jets[:, 0], embedding.scales.time / record.dt),
        },
    )


def _regular_form(closure: Closure, embedding: Embedding) -> RegularClosure | None:
    """The pole-free form of a closure that obeys the crossing conditions as well as clean data allow."""
    result = regularise(closure, embedding.spread)
    return result.regular if result.misfit < LIMITS.regular_misfit else None
