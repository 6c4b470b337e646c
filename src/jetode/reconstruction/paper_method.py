"""The paper's workflow (Fig. pipeline): spline, weak form, null space, rational closure, and a verdict on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.regular import RegularClosure
from jetode.equations.regularise import regularise
from jetode.joint.null_space_proposals import NULL_SPACE, Proposal
from jetode.paper.degree_selection import DegreeChoice, select, skill
from jetode.paper.identify import Denominator, Embedding, Form, PaperSettings, Smoothing, embed, identify
from jetode.paper.weakform import Placement, Quadrature
from jetode.reconstruction.dynamics.rational import RationalDynamics, end_state
from jetode.reconstruction.embedding_shown import embedding_shown
from jetode.reconstruction.evidence import PaperEvidence
from jetode.reconstruction.gathering import bounded_runs
from jetode.reconstruction.model import Model
from jetode.reconstruction.record_info import RecordInfo, SplineInfo
from jetode.reconstruction.settings import FEWEST_SAMPLES, LIMITS
from jetode.reconstruction.verdict import judge_paper
from jetode.records.series import Series, require_complete, require_samples
from jetode.support.errors import InputError


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
            **embedding_shown(jets[:, 0], embedding.scales.time / record.dt),
        },
    )


def _regular_form(closure: Closure, embedding: Embedding) -> RegularClosure | None:
    """The pole-free form of a closure that obeys the crossing conditions as well as clean data allow."""
    result = regularise(closure, embedding.spread)
    return result.regular if result.misfit < LIMITS.regular_misfit else None


def check_order(order: Any) -> None:
    """Bad orders are refused in one sentence."""
    if not isinstance(order, int | np.integer) or isinstance(order, bool) or order < 2:
        raise InputError(f"The 'order' parameter must be an int ≥ 2. Got {order} instead.")


def rational_model(record: Series, proposal: Proposal) -> Model:
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
