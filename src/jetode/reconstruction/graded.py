"""Where no equation is exact: the contest of all that could forecast the record, and the model of its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jetode.baselines.contest import FittedBaseline
from jetode.baselines.linear import persistence
from jetode.equations.field import Field
from jetode.integration.dop853 import Stop
from jetode.integration.lyapunov import lyapunov_spectrum
from jetode.joint.approximate import Approximation, approximations
from jetode.joint.fit import JointFit
from jetode.joint.path import paths_through
from jetode.joint.progress import Budget
from jetode.joint.request import Request
from jetode.memory.fit import choose_memory
from jetode.reconstruction import advice
from jetode.reconstruction.contest import (
    BLACK_BOXES,
    MEMORY,
    SIMPLE,
    Contest,
    Contestant,
    Scored,
    simple_contestants,
    together,
)
from jetode.reconstruction.dynamics.base import Dynamics
from jetode.reconstruction.dynamics.black_box import BlackBoxDynamics
from jetode.reconstruction.dynamics.memory import MemoryDynamics
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.embedding_shown import embedding_shown
from jetode.reconstruction.evidence import RefusalEvidence
from jetode.reconstruction.held_out import held_out_forecasts
from jetode.reconstruction.joint_model import equilibria_shown, with_ranges
from jetode.reconstruction.model import Model
from jetode.reconstruction.record_info import RecordInfo
from jetode.reconstruction.settings import INTEGRATION
from jetode.reconstruction.verdict import Baseline, Holds, Verdict, judge_contest, judge_screen
from jetode.records.series import Series
from jetode.signal.scales import Unsuitable, derivative_scale, filled
from jetode.signal.screen import Screen
from jetode.signal.spline import smooth
from jetode.signal.trials import Trials, plan, samples_per_oscillation
from jetode.support.arrays import FloatArray

Say = Callable[[str], None]


def graded(found: Model, fitted: JointFit | None, request: Request, budget: Budget, say: Say) -> Model:
    """The refused model ``found``, graded by the contest; or what forecasts the record instead of it."""
    records = tuple(request.records)
    trials = plan(records)
    if trials is None:
        return found
    contest = Contest.of(_quick(records, trials, budget, say), trials, records)
    if contest.open and not budget.spent:
        say("trying black boxes")
        contest = contest.joined_by(simple_contestants(records, trials, BLACK_BOXES, contest.rival))
        contest = contest.joined_by(together(contest, records))
    if not budget.spent:
        say("fitting equations with model error")
        contest = contest.joined_by(_equations(fitted, request, trials, budget, contest.least))
    chosen, readable = contest.forecaster, contest.readable
    evidence = contest.evidence(chosen, found.diagnostics.get("evidence"))
    verdict = judge_contest(evidence, None if readable is None else readable.contestant.name, found.verdict)
    if budget.spent:
        verdict = replace(verdict, reason=f"{advice.STOPPED} {verdict.reason}", advice=advice.LONGER)
    return _model(found, contest, chosen, readable or chosen, verdict)


EQUATION = "the equation"  # that is measured beside the simple methods


def measured(found: Model, fitted: JointFit | None, request: Request, budget: Budget, say: Say) -> Model:
    """An equation that leaves only noise.  One that is not exact all the same, since the record cannot tell it from
    another or its curve has no name, gets its bands, and for how long it holds beside the simple methods, from held-out
    forecasts: the posterior of one equation among several that may be true makes bands that are too narrow."""
    records = tuple(request.records)
    trials = None if found.verdict.trusted or budget.spent else plan(records)
    if trials is None or fitted is None:
        return found
    say("measuring forecasts")
    runs = held_out_forecasts(fitted, records, trials, lambda: budget.spent)
    own = Contestant(EQUATION, "equation", runs, lambda: found.dynamics)
    contest = Contest.of([own, *simple_contestants(records, trials, SIMPLE)], trials, records)
    return replace(
        found, verdict=_timed(found.verdict, contest, contest.field[0]), bands=contest.bands(contest.field[0])
    )


def _timed(verdict: Verdict, contest: Contest, one: Scored) -> Verdict:
    """The verdict with the times for which ``one`` and the best simple method hold."""
    seen = contest.evidence(one, None)
    own, base = seen.entry(seen.chosen), seen.entry(seen.baseline)
    return replace(verdict, holds=Holds(own.time, own.lower, own.upper), baseline=Baseline(base.name, base.time))


def _quick(records: Sequence[Series], trials: Trials, budget: Budget, say: Say) -> Iterator[Contestant]:
    """Simple methods and the memory closure; a budget that is spent leaves the rest out."""
    say("trying simple forecasts")
    yield from simple_contestants(records, trials, SIMPLE)
    if budget.spent:
        return
    say("fitting memory closures")
    memory = choose_memory(records, trials, interrupt=lambda: budget.spent)
    if memory is not None:
        yield Contestant(MEMORY, "memory", memory.held_out, lambda: MemoryDynamics.of(memory.complete(), records))


def _equations(
    fitted: JointFit | None, request: Request, trials: Trials, budget: Budget, least: float
) -> Iterator[Contestant]:
    """Readable equations that hold for ``least`` oscillations; last, since the others tell what is hopeless."""
    for one in approximations(request, trials, fitted, lambda: budget.spent, least):
        size = f"{one.free} coefficient{'' if one.free == 1 else 's'}" + " and a curve" * one.has_curve
        name = f"an equation of order {one.identified.terms.dimension} with {size}"
        yield Contestant(name, "equation", one.held_out, _regular_of(one, request.records), one.free)


def _regular_of(one: Approximation, records: Sequence[Series]) -> Callable[[], RegularDynamics]:
    def made() -> RegularDynamics:
        return RegularDynamics.of(one.identified, records, paths_through(one.identified, records))

    return made


def _model(found: Model, contest: Contest, chosen: Scored, shown: Scored, verdict: Verdict) -> Model:
    """The refused attempt replaced by what the contest has to show (itself where there is nothing), with bands from the
    held-out errors of what was chosen for forecasts."""
    evidence = contest.evidence(chosen, found.diagnostics.get("evidence")).to_json()
    kept = replace(found, verdict=verdict, bands=contest.bands(chosen))
    if verdict.grade == "none":
        diagnostics = {**found.diagnostics, "evidence": evidence}
        return replace(kept, diagnostics=diagnostics, forecaster=chosen.contestant.dynamics())
    dynamics = shown.contestant.dynamics()
    graded = replace(
        kept,
        dynamics=dynamics,
        forecaster=None if shown is chosen else chosen.contestant.dynamics(),
        noise_sigma=_noise(contest.records),
        settings={**found.settings, "order": dynamics.order},
        diagnostics={**_own(found), **_of_equation(dynamics, found.characteristic_time), "evidence": evidence},
    )
    return with_ranges(graded)


OF_THE_RECORD = ("clean", "amplitude", "oscillation", "embedding", "singular_values", "gap")


def _own(found: Model) -> dict[str, Any]:
    """What the diagnostics of a refused attempt say of the record itself, and tc, which a black box does not know."""
    said = {name: found.diagnostics[name] for name in OF_THE_RECORD if name in found.diagnostics}
    return {**said, "characteristic_time": found.characteristic_time}


def _of_equation(dynamics: Dynamics, tc: float) -> dict[str, Any]:
    """Lyapunov spectrum and equilibria of dynamics that have an equation."""
    if isinstance(dynamics, RegularDynamics):
        shown = {"equilibria": equilibria_shown(dynamics)}
        return shown | _spectrum(dynamics.regular.field, dynamics.end_state, tc)
    if isinstance(dynamics, MemoryDynamics):
        return _spectrum(dynamics.best.equation.field, dynamics.end_state, tc)
    return {}


def _spectrum(field: Field, state: FloatArray, tc: float) -> dict[str, Any]:
    """The Lyapunov spectrum where a long run stays; nothing else."""
    run = lyapunov_spectrum(field, state, INTEGRATION.rollout * tc, tc / INTEGRATION.rollout_density)
    if run.stop is not Stop.COMPLETED:
        return {}
    exponents, errors = run.exponents.tolist(), run.standard_errors.tolist()
    shown = {"exponents": exponents, "standard_errors": errors, "kaplan_yorke_dimension": run.dimension}
    return {"lyapunov_spectrum": shown}


def _noise(records: Sequence[Series]) -> float:
    """The noise's std as the smoothing spline of the longest stretch sees it: the one statement that is made of it."""
    longest = max((r.longest_stretch() for r in records), key=len)
    spline = smooth(longest.values, 1.0, 5, "gcv")
    return float(np.sqrt(spline.rss / max(longest.n - spline.dof, 1.0)))


# -- nothing to be found --------------------------------------------------------------------------------------------


def hopeless_model(records: Sequence[Series], info: RecordInfo, settings: dict[str, Any], seen: Screen) -> Model:
    """What is returned at once where the screen has found nothing: the best of the simple forecasts, with its bands."""
    trials = plan(records)
    verdict, bands = judge_screen(seen), None
    period = samples_per_oscillation(records)
    if trials is None:
        fitted = FittedBaseline("persistence", persistence(records, period), np.empty((0, 0)))
        dynamics: Dynamics = BlackBoxDynamics.of(fitted, records, period)
    else:
        contest = Contest.of(simple_contestants(records, trials, SIMPLE), trials, records)
        chosen = contest.baseline
        dynamics, bands = chosen.contestant.dynamics(), contest.bands(chosen)
        verdict = _timed(verdict, contest, chosen)
    spline = smooth(filled(records[-1].values), info.dt, 5, "gcv")
    try:
        tc = derivative_scale(spline)[1]
    except Unsuitable:
        tc = info.dt
    return Model(
        method="joint",
        noise_sigma=_noise(records),
        record=info,
        verdict=verdict,
        dynamics=dynamics,
        settings=settings,
        diagnostics={
            "clean": False,
            "characteristic_time": tc,
            "oscillation": period * info.dt,
            "screen": seen.to_json(),
            "evidence": RefusalEvidence(verdict.reason, verdict.advice).to_json(),
            **embedding_shown(spline.jets(0)[:, 0], tc / info.dt),
        },
        bands=bands,
    )
