"""Every object that holds the same record gives the same Series, and the functions take it directly."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pandas as pd
import pytest

from jetode.reconstruction.estimator import JetForecaster
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.conversion import as_records, as_series
from jetode.records.series import Series
from jetode.signal.diagnose import diagnose
from jetode.support.errors import InputError

N = 60
X = np.sin(np.arange(N) / 4)
T = 2.0 + 0.5 * np.arange(N)
DATES = pd.date_range("2024-02-28 23:59:50", periods=N, freq="500ms")
START = np.datetime64("2024-02-28T23:59:50")

SAME = {
    "array": (X, {"dt": 0.5}),
    "list": (X.tolist(), {"dt": 0.5}),
    "column vector": (X[:, None], {"dt": 0.5}),
    "row vector": (X[None, :], {"dt": 0.5}),
    "float32": (X.astype(np.float32), {"dt": 0.5}),
    "objects": (X.astype(object), {"dt": 0.5}),
    "masked": (np.ma.masked_invalid(X), {"dt": 0.5}),
    "array of times and values": (np.stack([T, X], axis=1), {}),
    "Series": (Series(X, 0.5), {}),
    "pandas, dt": (pd.Series(X), {"dt": 0.5}),
    "pandas, numbers": (pd.Series(X, index=T), {}),
    "pandas, dates": (pd.Series(X, index=DATES), {}),
    "pandas, zoned dates": (pd.Series(X, index=DATES.tz_localize("Europe/Berlin")), {}),
    "pandas, durations": (pd.Series(X, index=pd.timedelta_range("2s", periods=N, freq="500ms")), {}),
    "frame, one column": (pd.DataFrame({"x": X}, index=DATES), {}),
    "frame, time column": (pd.DataFrame({"t": T, "x": X}), {}),
    "frame, column of many": (pd.DataFrame({"x": X, "y": -X, "note": "a"}, index=DATES), {"column": "x"}),
    "frame, dates in a column": (pd.DataFrame({"when": DATES, "x": X}), {}),
    "frame, dt": (pd.DataFrame({"x": X}), {"dt": 0.5}),
}


@pytest.mark.parametrize("case", SAME)
def test_objects_in_memory(case):
    obj, options = SAME[case]
    series = as_series(obj, **options)
    np.testing.assert_allclose(series.values, X, atol=1e-6)
    assert series.dt == pytest.approx(0.5)
    dated = "date" in case or "DATES" in case or case in ("frame, one column", "frame, column of many")
    assert (series.start is not None) == dated
    if dated and "zoned" not in case:
        assert series.timestamps[0] == START and series.timestamps[-1] == DATES[-1].to_datetime64()


def test_zoned_dates_are_kept_in_utc():
    series = as_series(pd.Series(X, index=DATES.tz_localize("Europe/Berlin")))
    assert series.start == START - np.timedelta64(1, "h")


def test_names_and_units_come_along():
    series = as_series(pd.Series(X, index=pd.Index(T, name="t [ms]"), name="current [mA]"))
    assert (series.name, series.unit, series.time_unit, series.t0) == ("current", "mA", "ms", 2.0)
    series = as_series(pd.DataFrame({"t [ms]": T, "current [mA]": X}))
    assert (series.name, series.unit, series.time_unit, series.t0) == ("current", "mA", "ms", 2.0)


def test_xarray():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(X, coords={"time": DATES}, dims="time", name="u", attrs={"units": "m/s"})
    series = as_series(array)
    assert (series.name, series.unit, series.dt, series.time_unit, series.start) == ("u", "m/s", 0.5, "s", START)
    np.testing.assert_array_equal(series.values, X)
    numbers = xarray.DataArray(X, coords={"s": ("s", T, {"units": "ms"})}, dims="s")
    assert (as_series(numbers).t0, as_series(numbers).time_unit) == (2.0, "ms")
    assert as_series(xarray.DataArray(X, dims="s"), dt=0.5).dt == 0.5
    assert as_series(array.to_dataset(), column="u").n == N
    with pytest.raises(InputError, match=r"one dimension. Got the shape \(60, 2\)"):
        as_series(xarray.DataArray(np.stack([X, X], axis=1), dims=("time", "k")), dt=1)


def test_a_path_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("t,x\n" + "".join(f"{t},{x}\n" for t, x in zip(T, X, strict=True)))
    np.testing.assert_allclose(as_series(tmp_path / "a.csv").values, X)
    assert as_series(str(tmp_path / "a.csv")).dt == 0.5


def test_several_records():
    records = as_records([X, pd.Series(2 * X)], dt=0.5)
    assert isinstance(records, tuple) and [r.values[1] / X[1] for r in records] == [1.0, 2.0]
    assert isinstance(as_records(X.tolist(), dt=0.5), Series)


@pytest.mark.parametrize(
    ("obj", "options", "words"),
    [
        (X, {}, "give the sampling interval as 'dt'"),
        (pd.Series(X), {}, "give the sampling interval as 'dt'"),
        (pd.DataFrame({"x": X}), {}, "The DataFrame has no time column"),
        (pd.DataFrame({"x": X, "y": X}, index=DATES), {}, "several columns"),
        (pd.DataFrame({"x": ["a"] * N}), {"dt": 1}, "does not hold real numbers"),
        (pd.DataFrame(), {}, "no columns"),
        (np.ones((3, 3, 3)), {"dt": 1}, r"Got an array of shape \(3, 3, 3\)"),
        (X + 1j, {"dt": 1}, "type complex128"),
        ([[1, 2], [3]], {"dt": 1}, "unequal parts"),
        (None, {"dt": 1}, "Got NoneType"),
        ({"x": 1}, {"dt": 1}, "Got dict"),
        (3.0, {"dt": 1}, r"shape \(\)"),
        (Series(X, 0.5), {"dt": 1.0}, "steps of 0.5 but 'dt' is 1"),
        (X, {"dt": -1}, "'dt' parameter must be a number > 0"),
        ("no/such/file.csv", {}, "There is no file"),
    ],
)
def test_what_is_no_record_is_one_sentence(obj, options, words):
    with pytest.raises(InputError, match=words):
        as_series(obj, **options)


def test_start_is_a_date():
    assert Series(X, 1, start=datetime(2024, 1, 2)).start == np.datetime64("2024-01-02")
    with pytest.raises(InputError, match="'start'"):
        Series(X, 1, start="soon")
    assert Series(X, 1, start=np.datetime64("2024-01-02")).timestamps is None  # in which unit t counts is unknown
    back = as_series(as_series(pd.Series(X, index=DATES)).to_pandas())
    assert (back.start, back.dt) == (START, 0.5)


def test_diagnose_reconstruct_and_the_forecaster_take_them():
    """Four descriptions of one clean oscillation give one and the same result."""
    rng = np.random.default_rng(0)
    values = np.sin(0.1 * np.arange(600)) + 0.01 * rng.standard_normal(600)
    dates = pd.date_range("2024", periods=600, freq="100ms")
    plain = diagnose(Series(values, 0.1))
    assert diagnose(values, dt=0.1).to_json() == plain.to_json()
    assert diagnose(pd.Series(values, index=dates)).delay == plain.delay
    options = {"denominator_degree": 0, "numerator_degree": 1, "order": 2}
    models = [
        reconstruct(Series(values, 0.1), **options),
        reconstruct(values, dt=0.1, **options),
        reconstruct(pd.Series(values, index=dates), **options),
        JetForecaster(order=2, options={k: v for k, v in options.items() if k != "order"})
        .fit(pd.Series(values, index=dates))
        .model_,
    ]
    for model in models[1:]:
        assert model.closure.numerator == pytest.approx(models[0].closure.numerator, rel=1e-6)
    assert models[3].record.dt == pytest.approx(0.1)
