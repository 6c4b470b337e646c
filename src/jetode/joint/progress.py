"""Progress of a fit, how it ends early, and its candidates side by side.

A stage is a sentence, whether there is a model yet is a flag, and how much is searched is counted in iterations, and in
the work that they take (:func:`charged`): neither depends on the machine.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from jetode.support.threads import side_by_side

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_ITERATIONS = 4500  # of one stage of the search: eight times what Lorenz at 15 % needs
# Of all stages together but short ones of their own, about as many seconds on the machine of docs/measured.md; of 420
# drawn records whose equation is exact the longest took 18 with everything else.
MOST_WORK = 20.0


class WithModel(str):
    """The name of a stage from which on the fit can end with a model."""


class Budget:
    """A time limit and a way to stop early: the fit then ends with the best model so far, where it ``has_model``.

    ``max_iterations`` limits the search instead, which then ends at the same place on every machine.  ``now``: which
    seconds count, by default a person's; ``time.process_time`` gives the same fit on a busy machine.
    """

    def __init__(
        self,
        max_seconds: float | None = None,
        max_iterations: int | None = None,
        now: Callable[[], float] = clock.monotonic,
    ) -> None:
        self._iterations = max_iterations
        self._now = now
        self._end = None if max_seconds is None else now() + max_seconds
        self._cancelled = False
        self._has_model = False
        self._work = Work(MOST_WORK)

    def cancel(self) -> None:
        """Stop at the next iteration."""
        self._cancelled = True

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` was called."""
        return self._cancelled

    def model_found(self) -> None:
        """From here on there is a model to stop with."""
        self._has_model = True

    @property
    def has_model(self) -> bool:
        """Whether a fit that ends now ends with a model."""
        return self._has_model

    @property
    def spent(self) -> bool:
        """Whether the fit must end."""
        return self._cancelled or (self._end is not None and self._now() >= self._end)

    def effort(self) -> Effort:
        """How many iterations the search may take."""
        return Effort(lambda: self.spent, min(self._iterations or MOST_ITERATIONS, MOST_ITERATIONS), self._work)

    def searched(self, effort: Effort) -> None:
        """The search has ended: at the limit that was given, the fit ends too."""
        self._cancelled |= self._iterations is not None and effort.exhausted

    def watching(self, progress: Callable[[str], None] | None) -> Callable[[str], None]:
        """A callback for the stages that notes when there is a model and tells ``progress``."""

        def say(stage: str) -> None:
            if isinstance(stage, WithModel):
                self.model_found()
            if progress is not None:
                progress(stage)

        return say


@dataclass
class Work:
    """What is left of the work that the stages of a search may take together."""

    left: float


class Effort:
    """A bound on the Gauss–Newton iterations of the search, the same on any machine: a channel that no form fits
    would be searched to the last rung of the ladder.  The ``work`` of them is bounded for all stages together."""

    def __init__(self, interrupt: Callable[[], bool], most: int = MOST_ITERATIONS, work: Work | None = None) -> None:
        self._interrupt = interrupt
        self._most = self._left = most
        self._work = work or Work(MOST_WORK)

    def renewed(self) -> Effort:
        """The same bound anew, for a stage of its own to which others may have left nothing."""
        return Effort(self._interrupt, self._most)

    def renew(self) -> Effort:
        """All iterations again, for a stage that another has left nothing to: one order for the next."""
        self._left = self._most
        return self

    def limit(self, most: int) -> None:
        """Allow no more than so many iterations from here on."""
        self._left, self._most = min(self._left, most), min(self._most, most)

    @property
    def exhausted(self) -> bool:
        """Whether the bound has ended the search."""
        return self._left < 0 or self._work.left < 0.0

    def __call__(self, work: float = 0.0) -> bool:
        """Asked once per iteration, which takes so much work: whether to stop."""
        self._left -= 1
        self._work.left -= work
        return self.exhausted or self._interrupt()

    def split(self, count: int) -> list[Effort]:
        """One bound for each of several fits side by side: each may take all that is left."""
        return [Effort(self._interrupt, self._left, Work(self._work.left)) for _ in range(count)]

    def charge(self, parts: Iterable[Effort]) -> None:
        """Take off what the parts of a :meth:`split` have used."""
        used = [(self._left - part._left, self._work.left - part._work.left) for part in parts]
        self._left -= sum(iterations for iterations, _ in used)
        self._work.left -= sum(work for _, work in used)


def renewed(interrupt: Callable[[], bool]) -> Callable[[], bool]:
    """Iterations of its own for a stage that is short and must not take those of the forms after it."""
    return interrupt.renewed() if isinstance(interrupt, Effort) else interrupt


def charged(interrupt: Callable[[], bool] | None, work: float) -> Callable[[], bool]:
    """The question whether to stop, for iterations that take so much work each."""
    if isinstance(interrupt, Effort):
        return partial(interrupt, work)
    return interrupt or (lambda: False)


def fitted_side_by_side(
    fit: Callable[[Item, Callable[[], bool]], Result], items: Iterable[Item], interrupt: Callable[[], bool]
) -> list[Result]:
    """``fit(item, interrupt)`` of every item, in threads.

    Iterations are counted per item and charged together at the end, so that where a search is exhausted does not
    depend on which thread was first.
    """
    items = list(items)
    if not isinstance(interrupt, Effort):
        return side_by_side(lambda item: fit(item, interrupt), items)
    parts = interrupt.split(len(items))
    out = side_by_side(lambda pair: fit(*pair), zip(items, parts, strict=True))
    interrupt.charge(parts)
    return out
