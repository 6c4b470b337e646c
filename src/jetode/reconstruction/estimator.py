"""A forecaster with scikit-learn's manners: parameters in the constructor, ``fit``, ``predict``, ``score``.

It needs no scikit-learn; where that is installed, ``clone`` and model selection work with it.  X is the record: a
Series, an array (n,) or (n, 1), pandas, xarray or the path of a file; y is ignored.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np

from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.conversion import as_series
from jetode.records.series import Series
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.errors import InputError


class JetForecaster:
    """Forecasts one channel by its reconstructed differential equation.

    ``dt``: sampling interval (default: that of X's own times, 1 for arrays); ``method``, ``order``, ``sigma``,
    ``max_seconds``, ``seed``: as in :func:`jetode.reconstruction.reconstruct`; ``options``: further options of the
    method, as a dictionary.
    """

    def __init__(
        self,
        dt: float | None = None,
        method: str | None = None,
        order: int = 3,
        sigma: float | None = None,
        max_seconds: float | None = None,
        seed: int = 0,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.dt = dt
        self.method = method
        self.order = order
        self.sigma = sigma
        self.max_seconds = max_seconds
        self.seed = seed
        self.options = options

    # -- parameters ----------------------------------------------------------------------------------------

    @classmethod
    def _names(cls) -> tuple[str, ...]:
        return tuple(name for name in signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **parameters: Any) -> JetForecaster:
        """Change parameters by name."""
        for name, value in parameters.items():
            if name not in self._names():
                allowed = ", ".join(self._names())
                raise ValueError(f"Invalid parameter {name!r} for JetForecaster; it has {allowed}.")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = signature(type(self).__init__).parameters
        changed = [f"{n}={v!r}" for n, v in self.get_params().items() if v is not defaults[n].default]
        return f"JetForecaster({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=True, allow_nan=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    # -- fitting and forecasting -----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> JetForecaster:
        """Reconstruct the equation of the record X; sets ``model_``, ``dt_`` and ``n_features_in_``."""
        record = as_series(X, self.dt, default_dt=1.0)
        given: dict[str, Any] = {"sigma": self.sigma, "max_seconds": self.max_seconds}
        given = {name: value for name, value in given.items() if value is not None}
        given |= {"order": self.order, "seed": self.seed, **(self.options or {})}
        self.model_ = reconstruct(record, self.method, **given)
        self.dt_ = record.dt
        self.lag_ = self._lag(record)
        self.n_features_in_ = 1
        return self

    def _fitted(self) -> Model:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()
        return self.model_

    def predict(self, X: Any = None, fh: Any = None) -> FloatArray:
        """The continuation: ``fh`` steps after the fitted record (an int: steps 1 … fh; or a list of steps ≥ 1).

        Without ``fh``, one value per row of X: only the number of its rows counts.  NaN where the forecast stopped.
        """
        steps = _steps(X, fh)
        return self.ahead(int(steps.max()), samples=0)["value"][steps]

    def ahead(self, steps: int, samples: int = 200) -> dict[str, FloatArray]:
        """Values (and bands, with ``samples`` members) at the end of the record and 1 … ``steps`` steps after it, NaN
        from where the forecast stopped on."""
        run = self._fitted().forecast((self.lag_ + steps) * self.dt_, samples=samples, step=self.dt_)
        out = {name: column[self.lag_ :] for name, column in run.columns().items() if name != "t"}
        return {name: np.append(column, np.full(steps + 1 - column.size, np.nan)) for name, column in out.items()}

    def update(self, X: Any, refit: bool = True) -> JetForecaster:
        """Go on with X, the whole record as it is now: refitted from the old coefficients where the equation can be,
        else (or without ``refit``) the same model at the end of X."""
        record, model = as_series(X, self.dt, default_dt=1.0), self._fitted()
        try:
            self.model_ = model.update(record) if refit else model.with_record(record)
        except InputError:
            self.model_ = model.with_record(record)
        self.lag_ = self._lag(record)
        return self

    def _lag(self, record: Series) -> int:
        """Samples that a decimation uses up."""
        return round((record.t0 + record.duration - self.model_.record.end) / record.dt)

    def score(self, X: Any, y: Any = None) -> float:
        """Valid prediction time against the continuation X, in units of dt's time (larger is better)."""
        truth = _channel(X)
        return float(valid_prediction_time(self.predict(fh=truth.size), truth, self.dt_))


def _steps(X: Any, fh: Any) -> IntArray:
    """Steps ahead, each ≥ 1."""
    if fh is None and X is None:
        raise InputError("Say how many steps to predict: 'fh' is an int or a list of steps.")
    wanted = np.atleast_1d(np.asarray(fh if fh is not None else len(X)))
    if wanted.dtype.kind not in "iu" or wanted.ndim != 1 or not wanted.size or wanted.min() < 1:
        raise InputError(f"The 'fh' parameter must be an int ≥ 1 or a list of them. Got {fh!r} instead.")
    several = isinstance(fh, list | tuple | np.ndarray | range)
    return wanted.astype(np.int64) if several else np.arange(1, int(wanted[0]) + 1, dtype=np.int64)


def _channel(X: Any) -> FloatArray:
    values = np.asarray(X.values if isinstance(X, Series) else X, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"The 'X' parameter must be one channel of shape (n,) or (n, 1). Got {values.shape} instead.")
    return values


def _not_fitted() -> Exception:
    """scikit-learn's own exception where it is installed."""
    message = "This JetForecaster is not fitted yet; call 'fit' first."
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return AttributeError(message)
    error: Exception = NotFittedError(message)
    return error
