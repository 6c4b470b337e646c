"""A check, and the walk through a list of them: what is measured, what is allowed, where it applies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isnan
from typing import Any, Generic, TypeVar

E = TypeVar("E")


def _always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Check(Generic[E]):
    """``measure`` must lie in [``at_least``, ``at_most``] wherever the check ``applies``.

    A measure that does not exist (NaN) fails a check that is ``needed`` and says nothing in another.
    """

    name: str
    measure: Callable[[E], float]
    sentence: Callable[[E], str]
    advice: Callable[[E], str]
    at_least: float = -inf
    at_most: float = inf
    applies: Callable[[E], bool] = _always
    needed: bool = True
    yes_or_no: bool = False

    @property
    def limit(self) -> str:
        """The limit as a person writes it."""
        if self.yes_or_no:
            return "yes"
        if self.at_least == -inf:
            return f"≤\u00a0{self.at_most:.3g}"
        if self.at_most == inf:
            return f"≥\u00a0{self.at_least:.3g}"
        return f"{self.at_least:.3g}\u202f–\u202f{self.at_most:.3g}"


@dataclass(frozen=True)
class Outcome(Generic[E]):
    """What a check found; ``passed`` is None where its measure does not exist and that says nothing."""

    check: Check[E]
    value: float
    passed: bool | None

    @property
    def measured(self) -> str:
        """The measure as a person writes it."""
        if isnan(self.value):
            return "not measured"
        if self.check.yes_or_no:
            return "yes" if self.value else "no"
        return f"{self.value:.3g}".replace("inf", "∞")


def walk(checks: Sequence[Check[E]], evidence: E) -> tuple[Outcome[E], ...]:
    """All checks that apply, in order.

    Behind a failure a missing measure is no second one: a run that leaves the record is not followed on held-out
    stretches either.
    """
    out: list[Outcome[E]] = []
    failed = False
    for check in checks:
        if not check.applies(evidence):
            continue
        value = float(check.measure(evidence))
        passed: bool | None = check.at_least <= value <= check.at_most
        if isnan(value) and (failed or not check.needed):
            passed = None
        failed = failed or passed is False
        out.append(Outcome(check, value, passed))
    return tuple(out)


def first_failure(checks: Sequence[Check[E]], evidence: E) -> Check[E] | None:
    """The check that decides, or None where all pass."""
    return next((o.check for o in walk(checks, evidence) if o.passed is False), None)
