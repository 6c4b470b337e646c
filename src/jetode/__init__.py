"""jetode: one noisy channel in, its differential equation and its forecast out.

>>> import jetode
>>> record = jetode.read("record.csv")
>>> model = jetode.reconstruct(record)
>>> model.forecast(20.0).values

The names below are imported when first used, so that ``import jetode`` costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jetode.closure import Closure as Closure
    from jetode.closure import cosine as cosine
    from jetode.closure import relative_l2 as relative_l2
    from jetode.crossing_conditions import regularise as regularise
    from jetode.errors import InputError as InputError
    from jetode.forecast import Forecast as Forecast
    from jetode.joint import Budget as Budget
    from jetode.model import Model as Model
    from jetode.model import load as load
    from jetode.noise import add_noise as add_noise
    from jetode.reading import read as read
    from jetode.reconstruct import reconstruct as reconstruct
    from jetode.regular import RegularClosure as RegularClosure
    from jetode.score import interior_starts as interior_starts
    from jetode.score import valid_prediction_time as valid_prediction_time
    from jetode.series import Series as Series
    from jetode.states import fit_state as fit_state
    from jetode.systems import systems as systems

__version__ = "0.1.0"

_HOMES = {
    "Budget": "joint",
    "Closure": "closure",
    "Forecast": "forecast",
    "InputError": "errors",
    "Model": "model",
    "Series": "series",
    "add_noise": "noise",
    "cosine": "closure",
    "interior_starts": "score",
    "load": "model",
    "read": "reading",
    "reconstruct": "reconstruct",
    "RegularClosure": "regular",
    "fit_state": "states",
    "regularise": "crossing_conditions",
    "relative_l2": "closure",
    "systems": "systems",
    "valid_prediction_time": "score",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'jetode' has no attribute {name!r}")
    value = getattr(import_module(f"jetode.{_HOMES[name]}"), name)
    setattr(sys.modules[__name__], name, value)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


class _Package(ModuleType):
    """Keeps the import of a submodule from hiding what it exports under its own name.

    Python binds an imported submodule to its package; ``jetode.reconstruct`` and ``jetode.systems`` are to
    stay the function and the mapping.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        """By name, as other modules: functions of a script that use it can be sent to worker processes."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package
