"""The forecaster as sktime knows them: ``fit``, ``predict(fh)``, ``update``, ``predict_interval`` on a pandas Series.

Needs sktime (extra ``jetode[sktime]``).  Time is counted in samples.  A series that is too short for any equation, or
that one cannot be fitted to, is continued by its last value, and ``reason_`` says so.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sktime.forecasting.base import BaseForecaster

from jetode.reconstruction.estimator import JetForecaster
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

NINETY = NormalDist().inv_cdf(0.95)


class JetodeForecaster(BaseForecaster):  # type: ignore[misc]
    """Forecasts one series by its reconstructed differential equation.

    Parameters
    ----------
    method, order, sigma, max_seconds, seed
        As in :func:`jetode.reconstruct`; None: its defaults.

    Examples
    --------
    >>> from sktime.datasets import load_airline
    >>> from jetode.reconstruction.sktime_forecaster import JetodeForecaster
    >>> forecaster = JetodeForecaster(max_seconds=5.0)
    >>> forecaster.fit(load_airline()[:60])
    JetodeForecaster(...)
    >>> y_pred = forecaster.predict(fh=[1, 2, 3])
    """

    _tags: ClassVar[dict[str, Any]] = {
        "authors": ["The jetode developers"],
        "y_inner_mtype": "pd.Series",
        "X_inner_mtype": "pd.DataFrame",
        "capability:exogenous": False,
        "requires-fh-in-fit": False,
        "capability:missing_values": True,
        "capability:insample": False,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:update": True,
    }
    _config: ClassVar[dict[str, Any]] = {"remember_data": True}  # an update goes on from all samples

    def __init__(
        self,
        method: str | None = None,
        order: int | None = None,
        sigma: float | None = None,
        max_seconds: float | None = None,
        seed: int = 0,
    ) -> None:
        self.method = method
        self.order = order
        self.sigma = sigma
        self.max_seconds = max_seconds
        self.seed = seed
        super().__init__()

    def _fit(self, y: pd.Series[Any], X: Any = None, fh: Any = None) -> JetodeForecaster:
        given = {"order": self.order} if self.order is not None else {}
        estimator = JetForecaster(1.0, self.method, sigma=self.sigma, max_seconds=self.max_seconds, seed=self.seed)
        estimator.set_params(**given)
        self.reason_ = ""
        self.forecaster_: JetForecaster | None = None
        try:
            self.forecaster_ = estimator.fit(_values(y))
        except InputError as error:
            self.reason_ = f"Continued by its last value: {error}"
        self.spread_ = _step_spread(_values(y))
        return self

    def _update(self, y: pd.Series[Any], X: Any = None, update_params: bool = True) -> JetodeForecaster:
        if self.forecaster_ is None:
            return self._fit(self._y, X) if update_params else self
        try:
            self.forecaster_.update(_values(self._y), refit=update_params)
        except InputError:
            return self._fit(self._y, X)
        return self

    def _predict(self, fh: Any, X: Any = None) -> pd.Series[Any]:
        steps, index = self._steps(fh)
        found = self._ahead(int(steps.max()), 0)["value"][steps]
        return pd.Series(found, index=index, name=self._y.name)

    def _predict_interval(self, fh: Any, X: Any, coverage: Any) -> pd.DataFrame:
        steps, index = self._steps(fh)
        found = self._ahead(int(steps.max()), 200)
        name = self._y.name if self._y.name is not None else 0
        columns = {}
        for share in coverage:
            wide = NormalDist().inv_cdf(0.5 + 0.5 * share) / NINETY
            for side, band in (("lower", found["lower"]), ("upper", found["upper"])):
                columns[name, share, side] = (found["value"] + wide * (band - found["value"]))[steps]
        return pd.DataFrame(columns, index=index)

    def _steps(self, fh: Any) -> tuple[Any, Any]:
        """Steps after the last sample, and the index of the result."""
        relative = np.asarray(fh.to_relative(self.cutoff).to_numpy(), dtype=np.int64)
        return relative, fh.get_expected_pred_idx(self._y, cutoff=self.cutoff)

    def _ahead(self, steps: int, samples: int) -> dict[str, FloatArray]:
        """Values and 90 % bands of the samples to come, noise included; where a forecast stops its last value goes on,
        and without an equation that of the record, with the bands of a random walk."""
        last = _values(self._y)
        last = last[~np.isnan(last)]
        walk = NINETY * self.spread_ * np.sqrt(np.arange(steps + 1, dtype=np.float64))
        value = np.full(steps + 1, last[-1])
        lower, upper = value - walk, value + walk
        if self.forecaster_ is not None:
            found = self.forecaster_.ahead(steps, samples)
            value = _held(found["value"])
            if "lower" in found:
                noise = NINETY * self.forecaster_.model_.noise_sigma
                half = [_held(found[name]) - value for name in ("lower", "upper")]
                lower, upper = (value + np.sign(h) * np.hypot(h, noise) for h in half)
            else:
                lower, upper = value - walk, value + walk
        return {"value": value, "lower": np.minimum(lower, value), "upper": np.maximum(upper, value)}

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Settings for sktime's own tests."""
        return [{"max_seconds": 5.0}, {"max_seconds": 5.0, "seed": 1}]


def _values(y: pd.Series[Any]) -> FloatArray:
    return np.asarray(y.to_numpy(), dtype=np.float64)


def _step_spread(values: FloatArray) -> float:
    """Root mean square of the steps from sample to sample."""
    steps = np.diff(values)
    return float(np.sqrt(np.nanmean(steps**2))) if np.count_nonzero(~np.isnan(steps)) else 0.0


def _held(values: FloatArray) -> FloatArray:
    """Where values are missing, the last one before."""
    present = np.flatnonzero(~np.isnan(values))
    return values[present[np.searchsorted(present, np.arange(values.size), side="right") - 1]]
