"""A forecaster with scikit-learn's manners: parameters in the constructor, ``fit``, ``predict``, ``score``.

It needs no scikit-learn; where that is installed, ``clone`` and model selection work with it.  X is the record as one
column (n, 1) or (n,); y is ignored.
"""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.conversion import as_series
from jetode.support.arrays import FloatArray
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
        info = self.model_.record
        self.dt_ = record.dt
        self.lag_ = round((record.t0 + record.duration - info.end) / self.dt_)  # samples that a decimation uses up
        self.n_features_in_ = 1
        return self

    def _fitted(self) -> Model:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()
        return self.model_

    def predict(self, X: ArrayLike) -> FloatArray:
        """The continuation: one value per row of X, beginning one step after the fitted record.

        Only the number of rows of X counts (as fh does elsewhere).  NaN where the forecast stopped early.
        """
        model = self._fitted()
        steps = int(np.asarray(X).shape[0])
        run = model.forecast((self.lag_ + steps) * self.dt_, samples=0, step=self.dt_)
        ahead = run.values[self.lag_ + 1 :]
        return np.append(ahead, np.full(steps - ahead.size, np.nan))

    def score(self, X: ArrayLike, y: Any = None) -> float:
        """Valid prediction time against the continuation X, in units of dt's time (larger is better)."""
        truth = _channel(X)
        return float(valid_prediction_time(self.predict(truth), truth, self.dt_))


def _channel(X: ArrayLike) -> FloatArray:
    values = np.asarray(X, dtype=np.float64)
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
