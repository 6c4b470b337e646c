import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

import jetode
from jetode.equations.closure import Closure
from jetode.reconstruction.dynamics.rational import RationalDynamics
from jetode.reconstruction.model import Model, load
from jetode.reconstruction.record_info import RecordInfo, SplineInfo
from jetode.reconstruction.verdict import Verdict
from jetode.support.errors import InputError

DT = 0.1


def oscillator(record=None) -> Model:
    """u1' = −u0, at the end of a sine."""
    t = DT * np.arange(500)
    record = jetode.Series(np.sin(t), DT, name="angle") if record is None else record
    spline = SplineInfo(5, "interpolate", 0.0, 500.0, 0.0)
    jets = np.stack([np.sin(t), np.cos(t)], axis=1)
    closure = Closure({(1, 0): -1.0}, {(0, 0): 1.0}, 2)
    dynamics = RationalDynamics(closure, np.array([0.7, 0.7]), jets[-1], spline, DT, jets=jets)
    verdict = Verdict("exact", "It is exact.")
    return Model("paper", 0.0, RecordInfo.of(record), verdict, dynamics, spline, settings={"windows": 200})


def test_forecasts_start_where_they_are_told():
    model = oscillator()
    ahead = model.forecast(10.0)
    np.testing.assert_allclose(ahead.values, np.sin(499 * DT + ahead.t), atol=1e-7)
    assert ahead.t[0] == 0 and ahead.t[-1] == pytest.approx(10.0)
    for start, run in zip((0, 100), model.forecasts(5.0, [0, 100]), strict=True):
        np.testing.assert_allclose(run.values, np.sin(start * DT + run.t), atol=1e-7)
        np.testing.assert_array_equal(run.values, model.forecast(5.0, start=start).values)


def test_save_and_load(tmp_path):
    model = oscillator()
    model.save(tmp_path / "model.json")
    loaded = load(tmp_path / "model.json")
    assert loaded.to_json() == model.to_json()
    np.testing.assert_array_equal(loaded.forecast(5.0).values, model.forecast(5.0).values)
    with pytest.raises(InputError, match="with_record"):
        loaded.forecast(5.0, start=3)
    record = jetode.Series(np.sin(DT * np.arange(500)), DT)
    again = loaded.with_record(record).forecast(5.0, start=250)
    np.testing.assert_allclose(again.values, np.sin(250 * DT + again.t), atol=1e-5)


def test_the_file_obeys_its_schema():
    schema = json.loads((files("jetode.reconstruction") / "schemas" / "model.schema.json").read_text())
    jsonschema.validate(json.loads(json.dumps(oscillator().to_json())), schema)


def test_arrays_are_read_only_copies():
    model = oscillator()
    with pytest.raises(ValueError, match="read-only"):
        model.end_state[0] = 1.0


def test_bad_starts_and_records_are_refused():
    model = oscillator()
    with pytest.raises(InputError, match="start"):
        model.forecast(1.0, start=500)
    with pytest.raises(InputError, match="sampling interval"):
        model.with_record(jetode.Series(np.sin(np.arange(50)), 0.2))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": "other"}',
        '{"format": "jetode-model", "version": 99}',
        '{"format": "jetode-model", "version": 1}',
    ],
)
def test_damaged_files_are_refused(tmp_path, text):
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(InputError):
        load(path)
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "absent.json")


def test_a_model_can_be_extended():
    assert replace(oscillator(), diagnostics={"note": 1}).summary()["diagnostics"] == {"note": 1}


def test_the_package_can_be_sent_to_a_worker_process():
    """joblib pickles the modules that a script's functions use."""
    cloudpickle = pytest.importorskip("cloudpickle", reason="joblib's own pickler is not there")
    assert cloudpickle.loads(cloudpickle.dumps(jetode)) is jetode
