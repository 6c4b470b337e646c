"""Progress of a fit, and how it ends early: a stage is a sentence, and whether there is a model yet is a flag."""

from __future__ import annotations

import time as clock
from collections.abc import Callable


class WithModel(str):
    """The name of a stage from which on the fit can end with a model."""


class Budget:
    """A time limit and a way to stop early: the fit then ends with the best model so far, where it ``has_model``.

    ``now``: which seconds count, by default a person's; ``time.process_time`` gives the same fit on a busy machine.
    """

    def __init__(self, max_seconds: float | None = None, now: Callable[[], float] = clock.monotonic) -> None:
        self._now = now
        self._end = None if max_seconds is None else now() + max_seconds
        self._cancelled = False
        self._has_model = False

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

    def watching(self, progress: Callable[[str], None] | None) -> Callable[[str], None]:
        """A callback for the stages that notes when there is a model and tells ``progress``."""

        def say(stage: str) -> None:
            if isinstance(stage, WithModel):
                self.model_found()
            if progress is not None:
                progress(stage)

        return say
