"""Where no equation is exact: the contest of all that could forecast the record, and the model of its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from jetode.joint.approximate import Approximation, approximations
from jetode.joint.fit import JointFit, Request
from jetode.joint.path import paths_through
from jetode.joint.progress import Budget
from jetode.memory.fit import fit_memory
from jetode.reconstruction.contest import BLACK_BOXES, SIMPLE, Contest, Contestant, Scored, simple_contestants
from jetode.reconstruction.dynamics.memory import MemoryDynamics
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.embedding_shown import embedding_shown
from jetode.reconstruction.model import Model
from jetode.reconstruction.record_info import RecordInfo
from jetode.reconstruction.verdict import Verdict, judge_contest, judge_screen
from jetode.records.series import Series
from jetode.signal.scales import filled
from jetode.signal.screen import Screen
from jetode.signal.spline import smooth
from jetode.signal.trials import Trials, plan

Say = Callable[[str], None]


def graded(found: Model, fitted: JointFit | None, request: Request, budget: Budget, say: Say) -> Model:
    """The refused model ``found``, graded by the contest; or what forecasts the record instead of it."""
    records = tuple(request.records)
    trials = plan(records)
    if trials is None:
        return found
    contest = Contest.of(_contestants(fitted, request, trials, budget, say), trials, records)
    chosen, readable = contest.forecaster, contest.readable
    evidence = contest.evidence(chosen, found.diagnostics.get("evidence"))
    verdict = judge_contest(evidence, None if readable is None else readable.contestant.name, found.verdict)
    return _model(found, contest, chosen, readable, verdict)


def _contestants(
    fitted: JointFit | None, request: Request, trials: Trials, budget: Budget, say: Say
) -> Iterator[Contestant]:
    """All of them, quickest first; a budget that is spent leaves the rest out."""
    records = request.records
    say("trying simple forecasts")
    yield from simple_contestants(records, trials, SIMPLE)
    if budget.spent:
        return
    say("fitting memory closures")
    memory = fit_memory(records, trials, interrupt=lambda: budget.spent)
    if memory is not None:
        yield Contestant("memory closure", "memory", memory.held_out, lambda: MemoryDynamics.of(memory, records))
    if budget.spent:
        return
    say("fitting equations with model error")
    for one in approximations(request, trials, fitted, lambda: budget.spent):
        name = f"an equation of order {one.identified.terms.dimension} with {one.free} coefficients"
        yield Contestant(name, "equation", one.held_out, _regular_of(one, records), one.free)
    if not budget.spent:
        say("trying black boxes")
        yield from simple_contestants(records, trials, BLACK_BOXES)


def _regular_of(one: Approximation, records: Sequence[Series]) -> Callable[[], RegularDynamics]:
    def made() -> RegularDynamics:
        return RegularDynamics.of(one.identified, records, paths_through(one.identified, records))

    return made


def _model(found: Model, contest: Contest, chosen: Scored, readable: Scored | None, verdict: Verdict) -> Model:
    """The refused attempt replaced by what the contest chose, with bands from its held-out errors."""
    diagnostics = {
        **found.diagnostics,
        "evidence": contest.evidence(chosen, found.diagnostics.get("evidence")).to_json(),
    }
    graded = replace(found, verdict=verdict, diagnostics=diagnostics, bands=contest.bands(chosen))
    if verdict.grade == "none":
        return replace(graded, forecaster=chosen.contestant.dynamics())
    if readable is None:
        return replace(graded, dynamics=chosen.contestant.dynamics())
    forecaster = None if readable is chosen else chosen.contestant.dynamics()
    return replace(graded, dynamics=readable.contestant.dynamics(), forecaster=forecaster)
