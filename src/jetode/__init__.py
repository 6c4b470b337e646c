"""jetode: one noisy channel in, its differential equation and its forecast out.

>>> import jetode
>>> record = jetode.read("record.csv")
>>> model = jetode.reconstruct(record)
>>> model.forecast(20.0).values

The names below are imported when first used, so that ``import jetode`` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jetode.catalogue.systems import systems as systems
    from jetode.equations.closure import Closure as Closure
    from jetode.equations.closure import cosine as cosine
    from jetode.equations.closure import relative_l2 as relative_l2
    from jetode.equations.regular import RegularClosure as RegularClosure
    from jetode.equations.regularise import regularise as regularise
    from jetode.integration.forecast import Forecast as Forecast
    from jetode.integration.valid_prediction_time import interior_starts as interior_starts
    from jetode.integration.valid_prediction_time import valid_prediction_time as valid_prediction_time
    from jetode.joint.path import fit_state as fit_state
    from jetode.joint.pole_scan import pole_scan as pole_scan
    from jetode.joint.progress import Budget as Budget
    from jetode.reconstruction.estimator import JetForecaster as JetForecaster
    from jetode.reconstruction.model import Model as Model
    from jetode.reconstruction.model import load as load
    from jetode.reconstruction.reconstruct import reconstruct as reconstruct
    from jetode.records.reading import read as read
    from jetode.records.series import Series as Series
    from jetode.reporting.exports import export as export
    from jetode.reporting.report import report as report
    from jetode.signal.diagnose import diagnose as diagnose
    from jetode.signal.noise import add_noise as add_noise
    from jetode.support.errors import InputError as InputError

__version__ = "0.1.0"

_HOMES = {
    "Budget": "joint.progress",
    "Closure": "equations.closure",
    "Forecast": "integration.forecast",
    "InputError": "support.errors",
    "JetForecaster": "reconstruction.estimator",
    "Model": "reconstruction.model",
    "RegularClosure": "equations.regular",
    "Series": "records.series",
    "add_noise": "signal.noise",
    "cosine": "equations.closure",
    "diagnose": "signal.diagnose",
    "export": "reporting.exports",
    "fit_state": "joint.path",
    "interior_starts": "integration.valid_prediction_time",
    "load": "reconstruction.model",
    "pole_scan": "joint.pole_scan",
    "read": "records.reading",
    "reconstruct": "reconstruction.reconstruct",
    "regularise": "equations.regularise",
    "relative_l2": "equations.closure",
    "report": "reporting.report",
    "systems": "catalogue.systems",
    "valid_prediction_time": "integration.valid_prediction_time",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'jetode' has no attribute {name!r}")
    value = getattr(import_module(f"jetode.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
