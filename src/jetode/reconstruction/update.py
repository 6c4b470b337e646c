"""A model with more samples of its record: refitted from where it was, and judged by what the new samples say.

An approximate equation and a black box keep the coefficients whose held-out forecasts were measured: they have no
standard errors within which new ones could stay.  Their forecasts from within the new samples are held against their
bands.  Under an exact equation that still holds, residuals of the new samples have the size of the noise that the old
ones showed, and the new coefficients lie within the old errors: Δθ has the covariance C − C_new of nested samples, so
that Δθᵀ C⁻¹ Δθ is at most χ² with the old covariance C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jetode.joint.refit import refit
from jetode.reconstruction.band_check import Outside, outside_band
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.record_info import RecordInfo
from jetode.reconstruction.verdict import Verdict
from jetode.records.conversion import as_records
from jetode.records.series import Series
from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.reconstruction.model import Model


@dataclass(frozen=True)
class UpdateSettings:
    """When an equation no longer holds."""

    excess: float = 0.15  # of the noise's square, whatever the number of new samples: less is no change of the equation
    chance: float = 5.0  # standard errors of a mean square: one false alarm in millions
    moved: float = 5.0  # standard deviations of χ² beyond its mean: coefficients that moved more are others
    fewest: int = 20  # new samples that can be judged


SETTINGS = UpdateSettings()
AGAIN = "Reconstruct the record anew, or only its part from the change on."


def update(model: Model, record: Any) -> Model:
    """``model`` refitted to ``record``: its own record as it is now, or the samples that follow it."""
    dynamics = model.dynamics
    measured = model.verdict.grade in ("approximate", "forecast")
    refitted = isinstance(dynamics, RegularDynamics) and dynamics.identified.jump == 0.0 and not measured
    if not refitted and not measured:
        raise InputError(
            "Only an equation of the joint fit or a model with measured forecasts can be updated; reconstruct the "
            "longer record instead."
        )
    given = as_records(record, None) if not isinstance(record, np.ndarray) else as_records(record, model.record.dt)
    records = tuple(model.as_fitted(r) for r in ((given,) if isinstance(given, Series) else given))
    records = _joined(dynamics.records, records)
    new = records[-1].n - (model.record.n if len(records) == model.record.count else 0)
    if new <= 0:
        raise InputError(
            f"The 'record' parameter must have more samples than the model's own, {model.record.n}. "
            f"Got {records[-1].n} instead."
        )
    if not refitted:
        return _kept(model, records, new)
    assert isinstance(dynamics, RegularDynamics)
    return _refitted(model, dynamics, records, new)


def _kept(model: Model, records: tuple[Series, ...], new: int) -> Model:
    """The same coefficients at the end of the longer record, judged by the forecasts of its new samples."""
    moved = model.with_record(records)
    values, end = records[-1].values, records[-1].n
    length = max(SETTINGS.fewest, round(model.oscillation / model.record.dt))
    found = Outside()
    for start in range(end - new - 1, end - 1, length):
        run = moved.forecast(length * model.record.dt, start=start)
        found += outside_band(run, values[start + 1 : min(end, start + 1 + length)], model.noise_sigma)
    holds = not found.too_many
    share = 100 * found.outside / max(found.judged, 1)
    said = (
        f"With {new} new samples its forecasts {'still hold' if holds else 'no longer hold'}: {share:.0f} % of those "
        "samples lie outside of the 90 % bands of forecasts over an oscillation."
    )
    verdict = replace(model.verdict, reason=said) if holds else Verdict("none", said, AGAIN, model.verdict.holds)
    return replace(moved, verdict=verdict, diagnostics=_noted(model, new, holds))


def _noted(model: Model, new: int, holds: bool) -> dict[str, Any]:
    return {**model.diagnostics, "update": {"new_samples": new, "holds": holds}}


def _refitted(model: Model, dynamics: RegularDynamics, records: tuple[Series, ...], new: int) -> Model:
    found = refit(dynamics.identified, records)
    info = RecordInfo.of(records, model.record.decimation, model.record.notes)
    if found is None:
        reason = f"No path of the equation can be carried through the record with its {new} new samples."
        return replace(model, record=info, verdict=Verdict("none", reason, AGAIN))
    moved = RegularDynamics.of(found.identified, records, found.paths)
    holds, said = judged(dynamics, moved, new)
    verdict = replace(model.verdict, reason=said) if holds else Verdict("none", said, AGAIN, model.verdict.holds)
    return replace(
        model,
        noise_sigma=found.identified.sigma * found.identified.amplitude,
        record=info,
        verdict=verdict,
        dynamics=moved,
        diagnostics=_noted(model, new, holds),
    )


def judged(before: RegularDynamics, after: RegularDynamics, new: int) -> tuple[bool, str]:
    """Whether the equation still holds, and a sentence; residuals are in units of the noise before."""
    left = after.paths[-1].residuals[-new:]
    left = left[~np.isnan(left)]
    size = float(np.mean(left**2)) if left.size >= SETTINGS.fewest else 1.0
    limit = 1.0 + max(SETTINGS.excess, SETTINGS.chance * np.sqrt(2.0 / max(left.size, 1)))
    moved, most = _shift(before, after)
    if size > limit:
        return False, (
            f"The equation no longer holds: its residuals over the {new} new samples are {np.sqrt(size):.2f} times the "
            "noise of the earlier ones."
        )
    if moved > most:
        return False, (
            f"The equation no longer holds: with {new} new samples its coefficients have moved farther than their "
            f"errors allow (χ² {moved:.3g}, at most {most:.3g})."
        )
    return True, (
        f"With {new} new samples the equation still holds: residuals are {np.sqrt(size):.2f} times the noise and the "
        "coefficients have stayed within their errors."
    )


def _shift(old: RegularDynamics, new: RegularDynamics) -> tuple[float, float]:
    """χ² of the change of the canonical coefficients, and the most that chance allows."""
    before = {(c.part, c.powers): c for c in old.coefficients()}
    after = {(c.part, c.powers): c.value for c in new.coefficients()}
    free = [i for i, c in enumerate(before.values()) if c.standard_error > 0.0]
    change = np.array([after.get(key, 0.0) - c.value for key, c in before.items()])[free]
    covariance = old.covariance[np.ix_(free, free)]
    scale = np.sqrt(np.diag(covariance))
    distance = float((change / scale) @ np.linalg.lstsq(covariance / np.outer(scale, scale), change / scale)[0])
    return distance, len(free) + SETTINGS.moved * float(np.sqrt(2.0 * len(free)))


def _joined(old: Sequence[Series], given: Sequence[Series]) -> tuple[Series, ...]:
    """The records as they are now: where one record follows the end of the model's own, both as one."""
    if len(given) != 1 or not old:
        return tuple(given)
    last, record = old[-1], given[0]
    follows = abs(record.t0 - (last.t0 + last.n * last.dt)) < 0.5 * last.dt and record.start == last.start
    if not follows:
        return (*old[:-1], record)
    return (*old[:-1], replace(last, values=np.append(last.values, record.values), locate=None))
