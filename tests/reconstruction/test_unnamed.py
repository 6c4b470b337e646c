"""A function that the catalogue does not hold: found as a curve, and everything downstream works with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jetode
from jetode.reconstruction.evidence import Evidence
from jetode.reconstruction.model import Model
from jetode.reconstruction.verdict import judge
from jetode.records.series import Series
from jetode.reporting.element_figures import curve_error
from jetode.reporting.exports import export
from jetode.reporting.forecast_reach import outlook, sentence
from jetode.reporting.report import report
from jetode.support.arrays import FloatArray

SAMPLES, DT, NOISE, FRICTION = 1500, 100.0 / 1499.0, 0.02, 0.04

pytestmark = pytest.mark.slow  # no name satisfies: every one is tried, some 7 s


def force(x: FloatArray) -> FloatArray:
    """A force that is strongest at 0.76 and fades: no function of the catalogue beside a line."""
    return np.asarray(-2.5 * x / (1.0 + x**4))


@pytest.fixture(scope="module")
def truth() -> FloatArray:
    """The motion, and as much again."""
    times = DT * np.arange(2 * SAMPLES)

    def rates(_: float, s: FloatArray) -> list[float]:
        return [s[1], float(force(s[0])) - FRICTION * s[1]]

    return np.asarray(solve_ivp(rates, (0.0, times[-1]), [2.2, 0.0], t_eval=times, rtol=1e-10, atol=1e-10).y[0])


@pytest.fixture(scope="module")
def model(truth: FloatArray) -> Model:
    noise = NOISE * np.std(truth[:SAMPLES]) * np.random.default_rng(0).standard_normal(SAMPLES)
    return jetode.reconstruct(Series(truth[:SAMPLES] + noise, DT, name="x"))


def test_it_is_a_curve_and_not_exact(model: Model) -> None:
    (element,) = model.elements
    assert (element.name, element.variable) == ("curve", "x")
    assert model.verdict.grade == "approximate" and "without a name" in model.verdict.reason
    assert isinstance(model.evidence, Evidence) and model.evidence.unnamed == 14
    named = replace(model.evidence, unnamed=0, terms=model.evidence.terms - 14)
    assert judge(named).grade == "exact"  # the name is all that it lacks


def test_the_curve_with_its_line_is_the_force(model: Model) -> None:
    assert model.regular is not None
    x = np.linspace(-1.6, 2.1, 60)
    found = model.regular.field(np.column_stack([x, np.zeros_like(x)]))[:, 1]
    assert np.sqrt(np.mean((found - force(x)) ** 2)) < 0.02 * np.std(force(x))
    friction = next(c for c in model.coefficients() if c.part == "P" and c.powers == (0, 1))
    assert abs(friction.value + FRICTION) < 4.0 * friction.standard_error


def test_its_band_is_narrow_where_the_record_has_been(model: Model) -> None:
    (element,) = model.elements
    inside = curve_error(model, 0, np.linspace(*element.visited, 30))
    assert 0.0 < np.median(inside) < 0.03 * np.ptp(element.curve(np.linspace(*element.visited, 30)))
    assert "A curve without a name" in report(model, model.forecast(10.0, samples=20))


def test_it_forecasts(model: Model, truth: FloatArray) -> None:
    """Ten oscillations ahead within a tenth of the motion that is left."""
    steps = round(40.0 / DT)
    ahead = truth[SAMPLES : SAMPLES + steps]
    run = model.forecast(steps * DT)
    assert np.sqrt(np.mean((run.values[1 : steps + 1] - ahead) ** 2)) < 0.1 * np.std(ahead)


def test_bands_and_times_are_those_of_held_out_forecasts(model: Model, truth: FloatArray) -> None:
    """What is not exact has bands of what is measured, and is held against the simple methods."""
    assert model.bands is not None and model.verdict.holds is not None and model.verdict.baseline is not None
    assert model.verdict.holds.median >= model.verdict.baseline.time > 0.0
    assert model.verdict.holds.median > 0.98 * model.bands.longest
    assert "at least" in sentence(model, outlook(model, model.forecast(10.0)))  # no trial has seen an end
    steps = round(4.0 / DT)  # an oscillation
    run = model.forecast(steps * DT)
    assert run.lower is not None and run.upper is not None
    noise = NOISE * np.std(truth[:SAMPLES]) * np.random.default_rng(1).standard_normal((200, steps))
    seen = truth[SAMPLES : SAMPLES + steps] + noise
    assert 0.8 < np.mean((seen > run.lower[1:]) & (seen < run.upper[1:])) <= 1.0


def test_files_and_exports_say_the_same(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model.json")
    again = jetode.load(tmp_path / "model.json")
    states = np.array([[0.4, 0.3], [1.7, -0.8], [-1.2, 0.1]])
    assert model.regular is not None and again.regular is not None
    assert np.array_equal(again.regular.field(states), model.regular.field(states))
    assert again.elements[0].name == "curve" and again.verdict == model.verdict
    assert "curve" in model.equation() and "curve" in model.equation("latex")
    space: dict[str, object] = {"__name__": "exported"}
    exec(compile(export(model, "python"), "python", "exec"), space)
    for state in states:
        assert np.allclose(space["rhs"](0.0, state), model.regular.field(state), rtol=1e-9)  # type: ignore[operator]
