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
from jetode.equations.field import Field
from jetode.equations.polynomials import Exponents
from jetode.equations.regular import RegularClosure
from jetode.equations.regularise import regularise
from jetode.integration.forecast import forecast_many
from jetode.joint.constraints import Constraints
from jetode.joint.fit import Budget, Refusal, fit_joint
from jetode.joint.null_space_proposals import EXPONENT, SPLINE_DEGREE, WINDOWS, Proposal
from jetode.joint.problem import Loss
from jetode.paper.degree_selection import Candidate, Skill, select, skill
from jetode.paper.identify import (
    Denominator,
    Embedding,
    Form,
    Identification,
    PaperSettings,
    Smoothing,
    embed,
    identify,
)
from jetode.paper.weakform import Placement, Quadrature
from jetode.reconstruction.model import Model, RecordInfo, SplineInfo, Verdict
from jetode.reconstruction.verdict import gather, refused_advice
from jetode.reconstruction.verdict import judge as judge_joint
from jetode.records.conversion import as_records
from jetode.records.series import Series, require_complete, require_samples
from jetode.signal.decimate import reduce_all
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

FEWEST_SAMPLES = 100
ROLLOUT = 50.0  # oscillations
REGULAR_MISFIT = 1e-3  # of N: up to here a closure obeys the crossing conditions of docs/mathematics.md §3
BOUND = 3.0  # × the record's largest deviation from its middle
PAPER_ADVICE = "Leave the degrees out and use method='joint', which allows for noise and poles, or another channel."


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


def joint(
    record: Series | Sequence[Series],
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

    ``record``: one record or several of one system, NaN where samples are missing.  ``order``: 2, 3, 4 … (default:
    found from the record; 3 where terms are required, forbidden or fixed).  ``sigma``: std of the noise
    (default: estimated, then refined).  ``max_seconds``: the fit ends by then with the best model so far;
    ``budget`` does the same with a handle to cancel it.  ``progress`` is called with each stage's name.
    ``required``, ``forbidden``: exponents by part, e.g. ``{"P": [(0, 0, 1)]}``; ``fixed``: known coefficients, e.g.
    ``{"a": {(0, 1): -11.0}}``, in the record's units and the canonical gauge; ``symmetric`` imposes u → −u.
    ``loss``: "gaussian", "student" for heavy tails and outliers, "auto" to decide from the record.
    """
    records = (record,) if isinstance(record, Series) else tuple(record)
    if not records or not all(isinstance(r, Series) for r in records):
        raise InputError("The 'record' parameter must be a Series or a sequence of them.")
    if order is not None:
        check_order(order)
    for r in records:
        require_samples(r, FEWEST_SAMPLES, "the 'joint' method")
    if max_seconds is not None and not max_seconds > 0:
        raise InputError(f"The 'max_seconds' parameter must be > 0. Got {max_seconds} instead.")
    if sigma is not None and not (np.isfinite(sigma) and sigma > 0):
        raise InputError(f"The 'sigma' parameter must be a number > 0. Got {sigma} instead.")
    if loss not in get_args(Loss):
        raise InputError(f"The 'loss' parameter must be one of {', '.join(get_args(Loss))}. Got {loss!r} instead.")
    constrained = required or forbidden or fixed or symmetric
    wanted = int(order) if order is not None else 3 if constrained else None
    constraints = Constraints.of(wanted or 3, required, forbidden, fixed, symmetric)
    budget = budget or Budget(max_seconds)
    records, notes = reduce_all(records)
    fitted = fit_joint(records, wanted, sigma, budget, progress, constraints, loss)
    if isinstance(fitted, Proposal):
        whole = len(records) == 1 and not records[0].has_gaps
        rational = _rational_model(records[0], fitted) if whole else None
        if rational is not None and rational.verdict.trusted:
            return rational
        fitted = fit_joint(records, wanted, sigma, budget, progress, constraints, loss, null_space=False)
    if isinstance(fitted, Refusal | Proposal):
        reason = fitted.reason if isinstance(fitted, Refusal) else "No equation of the family could be fitted."
        return _no_model(records[0], wanted or 3, reason)
    if progress:
        progress("checking the model")
    evidence = gather(fitted, records, lambda: budget.spent)
    model, regular = fitted.identified, fitted.identified.regular
    path = fitted.paths[0]
    states = np.concatenate([p.states for p in fitted.paths])
    return Model(
        method="joint",
        order=regular.order,
        closure=regular.rational(),
        noise_sigma=model.sigma * model.amplitude,
        record=RecordInfo.of(records[0]),
        verdict=judge_joint(evidence, fitted.prepared.clean),
        spread=np.nanstd(states, axis=0),
        end_state=path.end,
        spline=SplineInfo.of(fitted.prepared.spline),
        settings={
            "order": regular.order,
            "sigma": sigma,
            "max_seconds": max_seconds,
            "required": _plain(required),
            "forbidden": _plain(forbidden),
            "fixed": _plain(fixed),
            "symmetric": symmetric,
            "loss": model.loss,
            "seed": seed,
            "reduction": notes,
        },
        diagnostics={
            "clean": fitted.prepared.clean,
            "amplitude": model.amplitude,
            "characteristic_time": model.time,
            "evidence": evidence.to_json(),
            "lyapunov_spectrum": {
                "exponents": list(evidence.exponents),
                "standard_errors": list(evidence.exponent_errors),
                "kaplan_yorke_dimension": evidence.dimension if evidence.exponents else None,
            },
            "stability": [asdict(term) for term in fitted.stability],
            "rivals": [{"delta_bic": r.delta_bic, "text": r.regular.text()} for r in fitted.rivals],
            "equilibria": [
                {
                    "state": list(e.state),
                    "eigenvalues": [[z.real, z.imag] for z in e.eigenvalues],
                    "kind": e.kind,
                }
                for e in equilibria(regular)
            ],
        },
        regular=regular,
        coordinates="regular",
        identified=model,
        end=path.last,
        records=records,
        paths=fitted.paths,
    )


def _plain(terms: Mapping[str, Any] | None) -> dict[str, Any]:
    """Constraints as plain data."""
    return {
        part: [[list(e), v] for e, v in given.items()] if isinstance(given, Mapping) else [list(e) for e in given]
        for part, given in (terms or {}).items()
    }


def _rational_model(record: Series, proposal: Proposal) -> Model:
    """The paper's model of a clean record, in the library its null space chose."""
    order, (d_degree, n_degree) = proposal.closure.order, proposal.degrees
    used = [i for i in range(order) if any(e[i] for e in proposal.closure.denominator)]
    return paper(
        record,
        order=order,
        denominator_degree=d_degree,
        numerator_degree=n_degree,
        spline_degree=SPLINE_DEGREE,
        windows=WINDOWS,
        half_width=proposal.half_width,
        exponent=EXPONENT,
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
    return replace(rough, verdict=Verdict(False, reason, refused_advice(record)))


def check_order(order: Any) -> None:
    """Bad orders are refused in one sentence."""
    if not isinstance(order, int | np.integer) or isinstance(order, bool) or order < 2:
        raise InputError(f"The 'order' parameter must be an int ≥ 2. Got {order} instead.")


def paper(
    record: Series,
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
        chosen = Candidate(base, identification, skill(identification, embedding, record.values))
    return _model(record, embedding, chosen)


METHODS: Mapping[str, Callable[..., Model]] = MappingProxyType({"joint": joint, "paper": paper})


def _model(record: Series, embedding: Embedding, chosen: Candidate) -> Model:
    found = chosen.identification
    return Model(
        method="paper",
        order=embedding.order,
        closure=found.closure,
        noise_sigma=embedding.noise_sigma,
        record=RecordInfo.of(record),
        verdict=judge(found, embedding, chosen.skill),
        spread=embedding.spread,
        end_state=_end_state(found, embedding),
        spline=SplineInfo.of(embedding.spline),
        settings=asdict(chosen.settings) | {"denominator_variables": list(chosen.settings.denominator_variables)},
        diagnostics={
            "clean": embedding.clean,
            "singular_values": found.singular_values.tolist(),
            "gap": found.gap,
            "oscillation": embedding.oscillation,
            "valid_prediction_times": chosen.skill.vpt.tolist(),
            "horizon": chosen.skill.horizon,
        },
        regular=_regular_form(found.closure, embedding),
        jets=embedding.jets[:, : embedding.order],
        records=(record,),
    )


def _regular_form(closure: Closure, embedding: Embedding) -> RegularClosure | None:
    """The pole-free form of a closure that obeys the crossing conditions as well as clean data allow."""
    result = regularise(closure, embedding.spread)
    return result.regular if result.misfit < REGULAR_MISFIT else None


def judge(found: Identification, embedding: Embedding, achieved: Skill) -> Verdict:
    """Trusted when half of the starts follow the record for one oscillation and rollouts are bounded."""
    wanted = min(embedding.oscillation, achieved.horizon)
    follow = int(np.count_nonzero(achieved.vpt >= wanted))
    count = achieved.vpt.shape[0]
    if 2 * follow < count:
        return Verdict(
            False, f"Only {follow} of {count} forecasts follow the record for one oscillation.", PAPER_ADVICE
        )
    bounded = _bounded_rollouts(found, embedding, achieved)
    if 2 * bounded < count:
        return Verdict(
            False, f"Only {bounded} of {count} rollouts of {ROLLOUT:g} oscillations stay bounded.", PAPER_ADVICE
        )
    return Verdict(
        True,
        f"{follow} of {count} forecasts follow the record for one oscillation and {bounded} of {count} "
        f"rollouts of {ROLLOUT:g} oscillations stay bounded.",
    )


def _bounded_rollouts(found: Identification, embedding: Embedding, achieved: Skill) -> int:
    values = embedding.jets[:, 0]
    middle = (values.max() + values.min()) / 2
    farthest = BOUND * (values.max() - values.min()) / 2
    rollouts = forecast_many(
        Field.from_closure(found.closure),
        embedding.jets[achieved.starts, : embedding.order],
        embedding.spread,
        ROLLOUT * embedding.oscillation,
        embedding.oscillation / 20,
        max_step=5 * 20 * embedding.dt / embedding.oscillation,
    )
    return sum(r.completed and np.abs(r.values - middle).max() < farthest for r in rollouts)


def _end_state(found: Identification, embedding: Embedding) -> FloatArray:
    """State at the last sample, carried there by the model from where the spline is good, or the spline's."""
    lead = embedding.margin
    last = embedding.jets.shape[0] - 1
    run = forecast_many(
        Field.from_closure(found.closure),
        embedding.jets[last - lead, : embedding.order],
        embedding.spread,
        lead * embedding.dt,
        embedding.dt,
    )[0]
    end = embedding.jets[last, : embedding.order]
    if run.completed and abs(run.values[-1] - end[0]) < 0.2 * embedding.spread[0]:
        return run.states[-1]
    return end
