"""All forms: every module of this package with a ``FAMILY``, and the ladder they make."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules

import jetode.joint.forms as package
from jetode.joint.forms.base import Candidate, Family, Step
from jetode.joint.jets import Jets


def families() -> tuple[Family, ...]:
    """Every form that the search tries: a file of this folder is found by being there."""
    modules = (import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__))
    return tuple(module.FAMILY for module in modules if hasattr(module, "FAMILY"))


@dataclass(frozen=True)
class Rung:
    """What the ladder has at one level: candidates that are fitted from the start, and those that are scanned."""

    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """The names of its steps."""
        return ", ".join(dict.fromkeys(step.name for step in self.steps))

    def candidates(self, jets: Jets, scanned: bool) -> list[Candidate]:
        """The candidates of one kind, in the order of the forms."""
        return [c for step in self.steps if step.scanned is scanned for c in step.candidates(jets)]


def ladder(order: int) -> list[Rung]:
    """The rungs for an order, from the simplest forms to the freest."""
    steps = [step for family in families() for step in family.steps(order)]
    return [Rung(tuple(s for s in steps if s.level == level)) for level in sorted({s.level for s in steps})]
