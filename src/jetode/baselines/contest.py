"""All simple methods on the same trials: which of them forecasts a record farthest (docs/mathematics.md §7.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from jetode.baselines.analogue import OPTIONS, Analogues
from jetode.baselines.kernel import KernelFit, fit_kernel
from jetode.baselines.kernel_map import KernelForecast
from jetode.baselines.linear import WINDOWS, autoregression, persistence, repetition
from jetode.baselines.nested import blend, tried
from jetode.records.series import Series
from jetode.signal.trials import Rollout, Trials, plan
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

SIMPLE = ("persistence", "repetition", "autoregression")  # what a forecast has to beat
BLACK_BOXES = ("analogue", "kernel ridge")


@dataclass(frozen=True, eq=False)
class FittedBaseline:
    """One method with its ``setting`` chosen on trials: ``forecasts`` from any end, ``held_out`` ones in the trials'
    order; kernel ridge has a ``map`` that needs the records no more."""

    name: str
    forecasts: Rollout
    held_out: FloatArray
    setting: tuple[float, ...] = ()
    kernel: KernelFit | None = None

    @property
    def map(self) -> KernelForecast | None:
        """Of kernel ridge."""
        return None if self.kernel is None else self.kernel.map


def fit_simple(name: str, records: Sequence[Series], trials: Trials, rival: float = 0.0) -> FittedBaseline | None:
    """One method by its name; None where the record is too short for it.  ``rival``: the score of another forecast,
    far behind which it need not be made as good as can be."""
    if name == "kernel ridge":
        found = fit_kernel(records, trials, rival=rival)
        return None if found is None else FittedBaseline(name, found.forecasts, found.held_out, (), found)
    runs = tried(_OPTIONS[name], records, trials, lambda rest: _MAKERS[name](rest, trials.period))
    if not runs:
        return None
    chosen = blend(runs, records, trials)
    setting = chosen.members[0]
    whole = made(name, records, trials.period, setting)
    return None if whole is None else FittedBaseline(name, whole, chosen.held_out, setting)


def made(name: str, records: Sequence[Series], period: float, setting: tuple[float, ...]) -> Rollout | None:
    """A method with given settings; ``period`` in samples."""
    return _MAKERS[name](records, period)(*setting)


# (records, period) → what makes a forecast of them by any setting
_MAKERS: dict[str, Callable[[Sequence[Series], float], Callable[..., Rollout | None]]] = {
    "persistence": partial(partial, persistence),
    "repetition": partial(partial, repetition),
    "autoregression": partial(partial, autoregression),
    "analogue": Analogues,
}
_OPTIONS: dict[str, list[tuple[float, ...]]] = {
    "persistence": [()],
    "repetition": [()],
    "autoregression": [(window,) for window in WINDOWS],
    "analogue": list(OPTIONS),
}


def fit_baseline(name: str, records: Sequence[Series]) -> FittedBaseline:
    """One of :data:`SIMPLE` and :data:`BLACK_BOXES`, its settings chosen on the records themselves."""
    if name not in (*SIMPLE, *BLACK_BOXES):
        known = ", ".join((*SIMPLE, *BLACK_BOXES))
        raise InputError(f"The 'name' parameter must be one of {known}. Got {name!r} instead.")
    trials = plan(records)
    found = None if trials is None else fit_simple(name, records, trials)
    if found is None:
        raise InputError(f"The records are too short for {name}.")
    return found
