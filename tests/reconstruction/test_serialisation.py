"""Model files: those of version 2 load and forecast as they did, today's obey the schema, bad ones are refused."""

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import jetode
from jetode.reconstruction.verdict import Baseline, Holds, Verdict
from jetode.support.errors import InputError

SAVED = Path(__file__).parent / "saved"  # written by commit cac35eb (version 2), with the forecasts it made of them
NAMES = ["joint_lorenz", "chain_rossler_z", "refused_rossler_z", "paper_lorenz", "paper_refused"]
EXACT = ["joint_lorenz", "chain_rossler_z", "paper_lorenz"]
SCHEMA = json.loads((files("jetode.reconstruction") / "schemas" / "model.schema.json").read_text())


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


def test_saved_models_forecast_as_they_did(name):
    before = np.genfromtxt(SAVED / f"{name}.csv", delimiter=",", names=True)
    stopped = jetode.load(SAVED / f"{name}.json").forecast(before["t"][-1])
    scale = np.abs(before["value"]).max()
    np.testing.assert_allclose(stopped.values, before["value"], rtol=0, atol=1e-6 * scale)
    # chaos turns the last bit of another machine's rounding into 1e-6 by the end; the beginning is the same to rounding
    np.testing.assert_allclose(stopped.values[:20], before["value"][:20], rtol=0, atol=1e-10 * scale)
    if "lower" in before.dtype.names:
        for edge in ("lower", "upper"):
            np.testing.assert_allclose(getattr(stopped, edge), before[edge], rtol=0, atol=1e-4 * scale)


def test_saved_models_say_what_they_said(name):
    data = json.loads((SAVED / f"{name}.json").read_text())
    model = jetode.load(SAVED / f"{name}.json")
    assert model.verdict.grade == ("exact" if name in EXACT else "none")
    assert model.verdict.trusted == data["verdict"]["trusted"] and model.verdict.reason == data["verdict"]["reason"]
    assert model.verdict.holds is None and model.verdict.baseline is None
    assert model.order == data["order"] and model.noise_sigma == data["noise"]["sigma"]
    assert model.closure.to_json() == data["closure"]
    assert (model.regular is None) == (data["regular"] is None)
    assert model.evidence is not None and model.oscillation > 0
    assert model.coefficients() and model.equation()


def test_files_of_both_versions_obey_the_schema(name):
    old = json.loads((SAVED / f"{name}.json").read_text())
    jsonschema.validate(old, SCHEMA)
    new = json.loads(json.dumps(jetode.load(SAVED / f"{name}.json").to_json(), allow_nan=False))
    assert old["version"] == 2 and new["version"] == 3
    jsonschema.validate(new, SCHEMA)
    del new["verdict"]["grade"]
    with pytest.raises(jsonschema.ValidationError, match="grade"):
        jsonschema.validate(new, SCHEMA)


def test_a_round_trip_changes_nothing(name, tmp_path):
    model = jetode.load(SAVED / f"{name}.json")
    model.save(tmp_path / "model.json")
    again = jetode.load(tmp_path / "model.json")
    assert again.to_json() == model.to_json()
    np.testing.assert_array_equal(again.forecast(0.5).values, model.forecast(0.5).values)


@pytest.mark.parametrize("grade", ["exact", "approximate", "forecast", "none"])
def test_every_grade_is_kept(grade):
    verdict = Verdict(grade, "Because.", "Do.", Holds(2.0, 1.0, 3.0), Baseline("repetition", 0.5))
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json()))) == verdict
    assert verdict.trusted == (grade == "exact")
    model = replace(jetode.load(SAVED / "paper_refused.json"), verdict=verdict)
    jsonschema.validate(json.loads(json.dumps(model.to_json())), SCHEMA)


def test_bad_grades_and_kinds_are_refused():
    with pytest.raises(InputError, match="grade"):
        Verdict("splendid", "")
    data = json.loads((SAVED / "paper_refused.json").read_text())
    with pytest.raises(InputError, match="oracle"):
        jetode.Model.from_json({**data, "kind": "oracle"})
    for name in ("closure", "spread", "verdict", "record"):
        with pytest.raises(InputError, match="damaged"):
            jetode.Model.from_json({k: v for k, v in data.items() if k != name})


def test_another_equation_may_forecast_for_a_refused_one():
    """With fewer free coefficients: its arrays have sizes of their own."""
    refused, other = (jetode.load(SAVED / f"{name}.json") for name in ("refused_rossler_z", "joint_lorenz"))
    data = json.loads(json.dumps(replace(refused, forecaster=other.dynamics).to_json(), allow_nan=False))
    jsonschema.validate(data, SCHEMA)
    again = jetode.Model.from_json(data)
    runs = [model.forecast(0.2, step=0.01).values for model in (again, other)]
    np.testing.assert_allclose(*runs, rtol=1e-12)
    data["forecaster"]["end"]["state"].append(0.0)
    with pytest.raises(InputError, match="size"):
        jetode.Model.from_json(data)


def test_standard_errors_belong_to_their_terms_after_loading():
    """A file lists terms in another order than a fit: errors go by name."""
    loaded = jetode.load(SAVED / "chain_rossler_z.json")
    fitted = replace(loaded.dynamics, regular=loaded.dynamics.identified.regular)
    listed = [{(c.part, c.powers): c.standard_error for c in d.coefficients()} for d in (loaded.dynamics, fitted)]
    assert list(listed[0]) != list(listed[1])
    assert listed[0] == pytest.approx(listed[1], rel=1e-9)


def test_an_equation_without_the_terms_of_its_fit_is_refused():
    data = json.loads((SAVED / "chain_rossler_z.json").read_text())
    data["regular"]["P"].pop()
    with pytest.raises(InputError, match="terms of its fit"):
        jetode.Model.from_json(data)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("settings", "seed"), "exact"),
        (("settings", "seed"), {}),
        (("diagnostics", "stability"), [{"part": "P", "powers": [0, 0, 1]}]),
        (("diagnostics", "stability"), [{"part": "P", "share": 1.0}]),
        (("diagnostics", "oscillation"), "long"),
        (("diagnostics", "evidence"), {"kind": "contest"}),
        (("diagnostics", "evidence"), [1.0]),
        (("identified", "amplitude"), 5e-324),
        (("identified", "time"), 1e300),
    ],
)
def test_what_a_forecast_or_an_export_reads_later_is_checked_when_loading(place, value):
    data = json.loads((SAVED / "joint_lorenz.json").read_text())
    data[place[0]][place[1]] = value
    with pytest.raises(InputError, match="damaged"):
        jetode.Model.from_json(data)
