"""scikit-learn's manners, and its own estimator checks where they apply to one channel in time."""

from __future__ import annotations

import numpy as np
import pytest

import jetode
from jetode.reconstruction.estimator import JetForecaster
from jetode.support.errors import InputError

PAPER = {"denominator_degree": 1, "numerator_degree": 4}


@pytest.fixture(scope="module")
def lorenz():
    values = jetode.systems["lorenz"].simulate(63.0).observe("x").values
    return values[:6001], values[6001:]


def test_fit_predict_score(lorenz):
    record, ahead = lorenz
    forecaster = JetForecaster(dt=0.01, options=PAPER)
    assert forecaster.fit(record[:, None]) is forecaster
    predicted = forecaster.predict(ahead[:, None])
    assert predicted.shape == ahead.shape
    np.testing.assert_allclose(predicted[:100], ahead[:100], atol=0.1)
    assert forecaster.score(ahead) > 1.0
    assert forecaster.predict(np.empty(5)).shape == (5,)


def test_parameters():
    forecaster = JetForecaster(dt=0.5, order=4)
    assert forecaster.get_params()["order"] == 4 and repr(forecaster) == "JetForecaster(dt=0.5, order=4)"
    assert forecaster.set_params(order=3).order == 3
    with pytest.raises(ValueError, match="nosuch"):
        forecaster.set_params(nosuch=1)
    with pytest.raises(InputError, match="columns"):
        forecaster.fit(np.zeros((10, 2)))


def test_scikit_learn_accepts_it(lorenz):
    pytest.importorskip("sklearn", reason="scikit-learn is only in the bench extra")
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.estimator_checks import (
        check_estimator_cloneable,
        check_estimator_repr,
        check_estimator_tags_renamed,
        check_get_params_invariance,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
        check_set_params,
        check_valid_tag_types,
    )
    from sklearn.utils.validation import check_is_fitted

    forecaster = JetForecaster(dt=0.01, options=PAPER)
    copy = clone(forecaster)
    assert copy.get_params() == forecaster.get_params() and copy is not forecaster
    for check in (
        check_estimator_cloneable,
        check_estimator_repr,
        check_get_params_invariance,
        check_no_attributes_set_in_init,
        check_parameters_default_constructible,
        check_set_params,
        check_estimator_tags_renamed,
        check_valid_tag_types,
    ):
        check("JetForecaster", JetForecaster())
    with pytest.raises(NotFittedError):
        forecaster.predict(np.zeros(3))
    check_is_fitted(forecaster.fit(lorenz[0]))
