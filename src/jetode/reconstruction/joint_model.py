"""The model of a joint fit (docs/mathematics.md §4) with its evidence and its verdict: exact, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from jetode.equations.equilibria import equilibria
from jetode.joint.fit import JointFit
from jetode.joint.progress import Budget
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.embedding_shown import embedding_shown, spectrum_shown
from jetode.reconstruction.evidence import Evidence
from jetode.reconstruction.gathering import gather
from jetode.reconstruction.model import Model
from jetode.reconstruction.record_info import RecordInfo, SplineInfo
from jetode.reconstruction.verdict import Verdict, judge
from jetode.records.series import Series
from jetode.signal.jets_against_delays import sufficiency
from jetode.support.threads import Beside


def joint_model(
    fitted: JointFit, records: Sequence[Series], info: RecordInfo, settings: dict[str, Any], budget: Budget
) -> Model:
    """The model of a joint fit, with its evidence and verdict."""
    model = fitted.identified
    dynamics = RegularDynamics.of(model, records, fitted.paths)
    shown = Beside(
        lambda: {
            **spectrum_shown(records[-1], dynamics.order),
            **embedding_shown(fitted.paths[-1].states[:, 0], model.time / info.dt),
        }
    )
    evidence, verdict = _judged(fitted, records, budget)
    found = Model(
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
            "equilibria": equilibria_shown(dynamics),
            **shown.result(),
        },
    )
    return found if verdict.grade == "none" else with_ranges(found)


def with_ranges(model: Model) -> Model:
    """The model with a verdict that says where its elements are known."""
    if not model.elements:
        return model
    reason = " ".join([model.verdict.reason, *(element.sentence() for element in model.elements)])
    return replace(model, verdict=replace(model.verdict, reason=reason))


def _judged(fitted: JointFit, records: Sequence[Series], budget: Budget) -> tuple[Evidence, Verdict]:
    """Evidence and verdict; where the model is refused, jets are also tried against delays, which may explain it."""
    evidence = gather(fitted, records, lambda: budget.spent)
    verdict = judge(evidence)
    if evidence.complete and verdict.grade == "none":
        longest = max((r.longest_stretch() for r in records), key=len)
        evidence = replace(evidence, sufficiency=sufficiency(longest.values))
        verdict = judge(evidence)
    return evidence, verdict


def equilibria_shown(dynamics: RegularDynamics) -> list[dict[str, Any]]:
    """Where the equation stands still, as plain data; with elements, those in or near the range of the record."""
    within = None
    if dynamics.regular.elements:
        values = np.concatenate([path.states[:, 0] for path in dynamics.paths])
        within = float(np.nanmin(values)), float(np.nanmax(values))
    return [
        {"state": list(e.state), "eigenvalues": [[z.real, z.imag] for z in e.eigenvalues], "kind": e.kind}
        for e in equilibria(dynamics.regular, within)
    ]
