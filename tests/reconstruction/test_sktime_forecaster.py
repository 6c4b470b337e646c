"""The forecaster by sktime's and scikit-learn's own checks, and on a record whose continuation is known."""

import numpy as np
import pandas as pd
import pytest

import jetode
from jetode.reconstruction.estimator import JetForecaster

# sktime announces a new default, which the forecaster does not leave to chance
pytestmark = pytest.mark.filterwarnings("ignore:The default of config:FutureWarning")
PAPER = {"method": "paper", "options": {"denominator_degree": 1, "numerator_degree": 4}}


@pytest.fixture(scope="module")
def lorenz():
    return jetode.systems["lorenz"].simulate(33.0).observe("x").values


def test_steps_are_those_asked_for(lorenz):
    fitted = JetForecaster(dt=0.01, **PAPER).fit(lorenz[:3001])
    first = fitted.predict(fh=100)
    np.testing.assert_allclose(first, lorenz[3001:3101], atol=0.02)
    np.testing.assert_array_equal(fitted.predict(fh=[3, 50, 100]), first[[2, 49, 99]])
    np.testing.assert_array_equal(fitted.predict(range(100)), first)  # rows of X count
    for wrong in (0, [0, 1], 2.5, []):
        with pytest.raises(jetode.InputError, match="'fh'"):
            fitted.predict(fh=wrong)
    with pytest.raises(jetode.InputError, match="how many"):
        fitted.predict()


def test_records_of_every_kind_give_the_same(lorenz):
    values = lorenz[:3001]
    stamps = pd.date_range("2026-01-01", periods=3001, freq="10ms")
    given = [
        jetode.Series(values, 0.01),
        pd.Series(values, index=0.01 * np.arange(3001)),
        pd.Series(values, index=stamps),
    ]
    first = JetForecaster(dt=0.01, **PAPER).fit(values).predict(fh=50)
    for record in given:
        np.testing.assert_allclose(JetForecaster(**PAPER).fit(record).predict(fh=50), first, rtol=1e-6)


def test_clone_of_scikit_learn():
    base = pytest.importorskip("sklearn.base")
    copy = base.clone(JetForecaster(dt=0.5, seed=3))
    assert copy.get_params() == JetForecaster(dt=0.5, seed=3).get_params()


@pytest.fixture
def sktime():
    pytest.importorskip("sktime")
    from jetode.reconstruction.sktime_forecaster import JetodeForecaster

    return JetodeForecaster


@pytest.mark.slow
def test_it_forecasts_updates_and_bounds(sktime, lorenz):
    noisy = jetode.add_noise(lorenz, 0.05, np.random.default_rng(0))
    y = pd.Series(noisy, index=pd.RangeIndex(noisy.size), name="x")
    forecaster = sktime().fit(y[:3001])
    assert forecaster.reason_ == ""
    shown = forecaster.predict(fh=np.arange(1, 101))
    assert shown.name == "x" and list(shown.index) == list(range(3001, 3101))
    assert np.std(shown.to_numpy() - lorenz[3001:3101]) < 0.1 * np.std(lorenz)
    bands = forecaster.predict_interval(fh=np.arange(1, 101), coverage=[0.5, 0.9])
    inside = [
        float(np.mean((noisy[3001:3101] >= bands["x"][c]["lower"]) & (noisy[3001:3101] <= bands["x"][c]["upper"])))
        for c in (0.5, 0.9)
    ]
    assert 0.25 < inside[0] < 0.8 and inside[1] > 0.75
    forecaster.update(y[3001:3201])
    later = forecaster.predict(fh=np.arange(1, 51))
    assert later.index[0] == 3201 and np.std(later.to_numpy() - lorenz[3201:3251]) < 0.1 * np.std(lorenz)


def test_a_short_series_goes_on_with_its_last_value(sktime):
    y = pd.Series([1.0, 3.0, 2.0, 5.0] * 5, index=pd.period_range("2020-01", periods=20, freq="M"))
    forecaster = sktime().fit(y)
    assert "last value" in forecaster.reason_
    assert forecaster.predict(fh=[1, 5]).tolist() == [5.0, 5.0]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_sktimes_own_checks(sktime):
    from sktime.utils.estimator_checks import check_estimator

    found = check_estimator(sktime, raise_exceptions=False, verbose=False)
    assert len(found) > 500 and {name: v for name, v in found.items() if v != "PASSED"} == {}
