"""A model with an element: what it says, saves, exports, reports, and where it admits to extrapolate."""

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jetode.equations.element_terms import PlacedElement
from jetode.equations.elements import KINDS, Element
from jetode.equations.equation import Equation
from jetode.equations.regular import RegularClosure
from jetode.equations.rows import Coupled
from jetode.integration.dop853 import integrate
from jetode.integration.lyapunov import lyapunov_spectrum
from jetode.joint.candidates import states_for
from jetode.joint.fit import polish
from jetode.joint.forms.base import Form
from jetode.joint.own_noise import covariance_of
from jetode.joint.path import Identified, describe
from jetode.joint.problem import prepare
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.reconstruction.bootstrap import parametric_bootstrap
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.joint_model import equilibria_shown, with_ranges
from jetode.reconstruction.model import Model
from jetode.reconstruction.record_info import RecordInfo
from jetode.reconstruction.verdict import Verdict
from jetode.records.series import Series
from jetode.reporting.exports import FORMATS, export
from jetode.reporting.motion import equations
from jetode.reporting.report import report
from jetode.support.errors import InputError

K, DAMPING, DT = 2.0, 0.05, 0.05


def truth() -> RegularClosure:
    sine = PlacedElement(Element("sin", 0, (1.0, 0.0)), {1: {(0, 0): -K}})
    return RegularClosure({}, {(0,): 1.0}, {(0, 1): -DAMPING}, 2, elements=(sine,))


def faster() -> RegularClosure:
    (one,) = truth().elements
    return replace(truth(), elements=(one.with_gain(1.5),))


def swing(samples: int) -> np.ndarray:
    """The first samples of one noisy record."""
    run = integrate(truth().field, np.array([2.5, 0.0]), 2001, DT, rtol=1e-10, atol=1e-11, max_step=0.2)
    return (run.states[:, 0] + 0.01 * np.random.default_rng(0).normal(size=2001))[:samples]


@pytest.fixture(scope="module")
def model() -> Model:
    """A damped pendulum."""
    return fitted_model(Series(swing(1501), DT, name="angle", unit="rad", time_unit="s"), truth())


def fitted_model(record: Series, true: RegularClosure) -> Model:
    """The right form fitted to a record, as the search would hand it over."""
    prepared = prepare([record], true.order)
    scaled = true.in_units(1.0 / prepared.amplitude, 1.0 / prepared.time)
    form = Form(true.order, tuple((part, tuple(p)) for part, p in scaled.parts().items()))
    form = form.with_element(scaled.elements[0].element, "P")
    data = prepared.data(prepared.sigma)
    start = states_for(prepared, scaled, data)
    fit = anneal(data, form.terms(scaled), start, Schedule((0.1, 0.01), 6))
    data, fit = polish(prepared, fit, prepared.sigma, lambda: False)
    found = Identified(fit.terms, prepared.amplitude, prepared.time, prepared.sigma, covariance_of(data, fit))
    dynamics = RegularDynamics.of(found, [record], describe(found, prepared, data, fit, [record.n]))
    info = RecordInfo.of((record,), 1, ())
    made = Model("joint", 0.01, info, Verdict("exact", "It holds."), dynamics, diagnostics={"oscillation": 5.0})
    return with_ranges(made)


def test_the_element_by_its_name(model: Model) -> None:
    (sine,) = model.elements
    assert (sine.name, sine.variable, sine.rate, sine.times) == ("sin", "angle", "v", "1")
    for name, true in (("gain", -K), ("frequency", 1.0), ("phase", 0.0)):
        value, error = sine.parameters[name]
        assert 0.0 < error < 0.02 and abs(value - true) < 4.0 * error, name
    v = np.linspace(-2.0, 2.0, 9)
    assert np.allclose(sine.curve(v), -K * np.sin(v), atol=0.02)
    assert sine.visited[1] == pytest.approx(2.5, abs=0.02)
    assert "extrapolated" in model.verdict.reason


def test_it_is_written_by_its_name(model: Model) -> None:
    lines = model.equation().splitlines()
    assert lines[0] == "angle' = v"
    assert "sin(" in lines[1] and "angle" in lines[1]
    assert r"\sin" in model.equation("latex")
    rates = model.equation("sympy")
    value = float(rates["v"].subs({"angle": 0.7, "v": 0.2}))
    assert value == pytest.approx(float(model.regular.field(np.array([0.7, 0.2]))[1]), rel=1e-12)  # type: ignore[union-attr]
    units = {(t.rate, t.term): t.unit for t in model.named.terms()}  # type: ignore[union-attr]
    assert units["v'", "sin(angle)"] == "rad s⁻²"
    assert units["sin(angle)", "frequency"] == "rad⁻¹" and units["sin(angle)", "phase"] == ""


def test_saving_keeps_it(model: Model, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    from jetode.reconstruction.model import load
    from jetode.reconstruction.serialisation import schema

    model.save(tmp_path / "model.json")
    jsonschema.validate(json.loads((tmp_path / "model.json").read_text()), schema())
    again = load(tmp_path / "model.json")
    assert again.elements[0].parameters == model.elements[0].parameters
    assert again.equation() == model.equation()
    ahead = [m.forecast(20 * DT, samples=20) for m in (model, again)]
    assert np.array_equal(ahead[0].values, ahead[1].values)
    assert np.array_equal(ahead[0].lower, ahead[1].lower)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rational closure"):
        _ = again.closure


@pytest.mark.slow
def test_a_function_of_a_product_is_named_saved_and_forecast(tmp_path: Path) -> None:
    """YuWang2 in x: what it is of has the units of x · x/s."""
    from jetode.experiments.elements.cases import CASES
    from jetode.reconstruction.model import load

    noisy, clean = CASES["YuWang2 x"].record(0.01, 0)
    record = Series(noisy.values[:1500], noisy.dt, name="x", unit="V", time_unit="s")
    rows = (Coupled({(1,): -10.0}, {(0,): 10.0}), Coupled({}, {(1, 0): 10.0, (0, 0): 0.0}))
    placed = PlacedElement(Element("cosh", 0, (1.0,), 1), {2: {(0, 0, 0): -0.2}})
    last = {(0, 0, 0): 7.5, (0, 0, 1): -2.5}
    found = fitted_model(record, RegularClosure.of(Equation((*rows, last), elements=(placed,))))
    (cosh,) = found.elements
    assert (cosh.name, cosh.variable, cosh.rate, cosh.times) == ("cosh", "x v", "w", "1")
    for name, true in (("gain", -20.0), ("rate", 0.1)):
        value, error = cosh.parameters[name]
        assert abs(value - true) < 4.0 * error, name
    units = {(t.rate, t.term): t.unit for t in found.named.terms()}  # type: ignore[union-attr]
    assert units["cosh(x v)", "rate"] == "V⁻² s"
    assert "cosh(0." in found.equation() and "Element: cosh of x v" in report(found, found.forecast(0.5))
    found.save(tmp_path / "model.json")
    again = load(tmp_path / "model.json")
    assert again.equation() == found.equation() and again.elements[0].element == cosh.element
    ahead = again.forecast(0.5)
    assert np.allclose(ahead.values, clean[1499 : 1499 + ahead.values.size], atol=0.1 * np.std(clean))
    assert "cosh(" in export(again, "c") and "cosh(" in export(again, "julia")


@pytest.mark.parametrize("damage", ["parameter", "visited", "kind", "powers"])
def test_a_damaged_element_is_refused(model: Model, damage: str) -> None:
    data = json.loads(json.dumps(model.to_json()))
    if damage == "parameter":
        data["identified"]["terms"].pop()
    elif damage == "visited":
        data["visited"] = []
    elif damage == "kind":
        data["regular"]["elements"][0]["kind"] = "sinh"
    else:
        data["identified"]["terms"][0]["powers"].append(0)
    with pytest.raises(InputError, match="damaged"):
        Model.from_json(data)


def test_where_it_stands_still(model: Model) -> None:
    """Within half a range of the record: the bottom, and the top on both sides."""
    assert isinstance(model.dynamics, RegularDynamics)
    found = equilibria_shown(model.dynamics)
    assert [e["state"][0] for e in found] == pytest.approx([-np.pi, 0.0, np.pi], abs=0.02)
    assert [e["kind"] for e in found] == ["saddle", "stable focus", "saddle"]
    assert np.sum(found[1]["eigenvalues"], axis=0)[0] == pytest.approx(-DAMPING, abs=0.01)
    spectrum = lyapunov_spectrum(model.dynamics.regular.field, model.end_state, 50.0, DT)
    assert np.sum(spectrum.exponents) == pytest.approx(-DAMPING, abs=0.005), "the divergence of the field"


def test_a_forecast_that_leaves_the_range_says_so(model: Model) -> None:
    assert model.forecast(40 * DT, samples=0).notes == ()
    assert isinstance(model.dynamics, RegularDynamics)
    over = model.dynamics.regular.field
    from jetode.integration.forecast import forecast
    from jetode.reconstruction.found_elements import left_range

    run = forecast(over, np.array([2.4, 3.0]), model.spread, 4.0, DT)
    (note,) = left_range(model.dynamics.regular.elements, model.dynamics.visited, run)
    assert "extrapolated" in note


def test_the_report_draws_it(model: Model) -> None:
    page = report(model, model.forecast(40 * DT, samples=20))
    assert 'id="element0"' in page and "Element: sin of angle" in page
    assert "its denominator vanishes nowhere" not in page


# -- exports -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[*KINDS, "product"])
def exported(request: pytest.FixtureRequest, model: Model) -> Model:
    """The same model with another element."""
    assert isinstance(model.dynamics, RegularDynamics)
    rng = np.random.default_rng(7)
    kind, partner = ("cosh", 1) if request.param == "product" else (request.param, None)
    element = replace(Element.start(kind, 0), partner=partner)
    element = element.with_parameters(p + 0.2 for p in element.parameters)
    if request.param == "curve":
        element = element.with_parameters([-2.0, 2.5, *(0.1 * rng.normal(size=len(element.parameters) - 2))])
    placed = PlacedElement(element, {1: {(0, 0): -1.5, (1, 1): 0.1}})
    closure = RegularClosure({}, {(0,): 1.0}, {(0, 1): -0.3, (1, 0): -1.0}, 2, elements=(placed,))
    dynamics = replace(model.dynamics, regular=closure)
    made = replace(model, dynamics=dynamics)
    made.__dict__["named"] = None
    from jetode.reconstruction.naming import NamedEquation

    made.__dict__["named"] = NamedEquation(closure, (), model.record)
    return made


STATES = [np.array([0.4, 0.3]), np.array([1.7, -0.8]), np.array([0.05, 2.0])]


def test_python_modules_run(exported: Model) -> None:
    field = exported.dynamics.regular.field  # type: ignore[union-attr]
    for name in ("python", "scipy"):
        space: dict[str, object] = {"__name__": "exported"}
        exec(compile(export(exported, name), name, "exec"), space)
        for state in STATES:
            rate = space["rhs"](0.0, state)  # type: ignore[operator]
            assert np.allclose(rate, field(state), rtol=1e-9, atol=1e-10)
    if exported.dynamics.regular.elements[0].element.kind in ("sin", "diode"):  # type: ignore[union-attr]
        space["test_solve"]()  # type: ignore[operator]


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_c_runs(exported: Model, tmp_path: Path) -> None:
    field = exported.dynamics.regular.field  # type: ignore[union-attr]
    (tmp_path / "model.c").write_text(export(exported, "c"))
    library = tmp_path / "model.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, tmp_path / "model.c", "-lm"], check=True)
    import ctypes

    rhs = ctypes.CDLL(str(library)).jetode_rhs
    for state in STATES:
        given, out = (ctypes.c_double * 2)(*state), (ctypes.c_double * 2)()
        rhs(ctypes.c_double(0.0), given, out)
        assert np.allclose(list(out), field(state), rtol=1e-9, atol=1e-10)


def test_other_languages_by_their_text(exported: Model) -> None:
    """The right-hand sides of languages that share one infix notation, read by Python; MathML by its tree."""
    import math
    import xml.etree.ElementTree as tree

    field = exported.dynamics.regular.field  # type: ignore[union-attr]
    functions = {n: getattr(math, n) for n in ("sin", "cos", "tanh", "atan", "exp", "cosh", "log")}
    functions |= {"abs": abs, "sign": lambda v: math.copysign(1.0, v)}
    motion = equations(exported)
    from jetode.equations.writers import CODE

    shown = motion.written(CODE)[1]
    for name in set(FORMATS) - {"python", "scipy", "c", "sbml", "matlab"}:
        assert shown in export(exported, name)
    sbml = tree.fromstring(export(exported, "sbml"))
    rule = next(r for r in sbml.iter() if r.get("variable") == "v")
    for state in STATES:
        names = dict(zip(motion.names, state.tolist(), strict=True))
        expected = field(state)[1]
        assert eval(shown.replace("^", "**"), functions | names) == pytest.approx(expected, rel=1e-9, abs=1e-10)
        assert _content(rule[0][0], names) == pytest.approx(expected, rel=1e-9, abs=1e-10)


def _content(node: "object", names: dict[str, float]) -> float:
    """Content MathML evaluated."""
    import math

    tag = node.tag.partition("}")[2]  # type: ignore[attr-defined]
    if tag == "ci":
        return names[node.text]  # type: ignore[attr-defined]
    if tag == "cn":
        parts = [node.text, *(child.tail for child in node)]  # type: ignore[attr-defined]
        return float("e".join(parts))
    operator = node[0].tag.partition("}")[2]  # type: ignore[index]
    values = [_content(child, names) for child in node[1:]]  # type: ignore[index]
    if operator == "plus":
        return math.fsum(values)
    if operator == "times":
        return math.prod(values)
    if operator in ("divide", "power"):
        return values[0] / values[1] if operator == "divide" else values[0] ** values[1]
    own = {"ln": math.log, "abs": abs, "arctan": math.atan}
    return float(own.get(operator, getattr(math, operator, None))(values[0]))  # type: ignore[misc]


@pytest.mark.skipif(shutil.which("octave") is None, reason="needs Octave")
def test_octave_runs(exported: Model, tmp_path: Path) -> None:
    field = exported.dynamics.regular.field  # type: ignore[union-attr]
    if field.elements[0].kind not in ("sin", "power", "diode", "curve"):
        pytest.skip("one of each way to write a function is enough: Octave takes a second to start")
    (tmp_path / "jetode_model.m").write_text(export(exported, "matlab"))
    state = STATES[1]
    call = f"rhs = jetode_model(); printf('%.17g ', rhs(0, [{state[0]}; {state[1]}]))"
    found = subprocess.run(["octave", "--eval", call], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert np.allclose([float(v) for v in found.split()], field(state), rtol=1e-9)


def test_more_samples_move_its_parameters_within_their_errors(model: Model) -> None:
    longer = Series(swing(2001), DT, name="angle", unit="rad", time_unit="s")
    after = model.update(longer)
    assert after.diagnostics["update"]["holds"] and after.verdict.grade == "exact"
    (before,), (element,) = model.elements, after.elements
    for name, true in (("frequency", 1.0), ("phase", 0.0), ("gain", -K)):
        value, error = element.parameters[name]
        assert abs(value - true) < 4.0 * error and error < before.parameters[name][1]
    assert element.visited == pytest.approx(before.visited, abs=0.05)


def test_another_pendulum_no_longer_holds(model: Model) -> None:
    """Shorter by half from its 1501st sample on."""
    other = integrate(faster().field, np.array([1.0, 0.0]), 400, DT, rtol=1e-9, atol=1e-10, max_step=0.2).states[:, 0]
    after = model.update(Series(np.concatenate([swing(1501), other]), DT, name="angle"))
    assert not after.diagnostics["update"]["holds"]


@pytest.mark.slow
def test_refits_of_simulated_records_scatter_as_the_errors_say(model: Model) -> None:
    found = parametric_bootstrap(model, realizations=20, seed=1)
    parts = {c.part for c in found.coefficients}
    assert {"e0", "P.0"} <= parts
    assert np.all((found.ratios > 0.5) & (found.ratios < 1.7))
    assert np.mean(found.distances) == pytest.approx(len(found.coefficients), rel=0.5)
