"""Every export, compiled or evaluated, runs the model's own trajectory to 1e-9."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.equations.equation import Equation, Readout
from jetode.equations.field import Field
from jetode.equations.regular import RegularClosure
from jetode.integration.dop853 import integrate
from jetode.reconstruction.dynamics.base import Coefficient
from jetode.reconstruction.dynamics.rational import RationalDynamics
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.dynamics.written import RegularEquation
from jetode.reconstruction.model import Model
from jetode.reconstruction.record_info import RecordInfo, SplineInfo
from jetode.reconstruction.verdict import Verdict
from jetode.records.series import Series
from jetode.reporting import exports
from jetode.reporting.exports import FORMATS, export
from jetode.reporting.motion import equations
from jetode.support.errors import InputError

LORENZ = RegularClosure(
    {(0, 1): -11.0}, {(1, 0): 1.0, (0, 0): 1e-5},
    {(0, 0, 0): 720.0, (0, 0, 1): -8 / 3, (1, 1, 0): -1.0, (2, 0, 0): -10.0}, 3,
)  # fmt: skip
STATE = np.array([-5.0, -30.0, 60.0])
SPREAD = np.array([8.0, 40.0, 50.0])
STEPS, DT = 100, 0.01


def model_of(regular: RegularClosure | None) -> Model:
    record = Series(np.sin(np.arange(100.0)), DT, name='x */ \n -- """ <&', unit="mA", time_unit="s")
    # an export needs nothing of the fit but errors
    dynamics = in_jets(None) if regular is None else RegularDynamics(None, regular, SPREAD, STATE, None)
    vars(dynamics)["covariance"] = np.zeros((6, 6))
    return Model("joint", 0.1, RecordInfo.of(record), Verdict("exact", 'Made "by hand".'), dynamics)


def in_jets(regular: RegularClosure | None) -> RationalDynamics:
    spline = SplineInfo(5, "gcv", 1.0, 10.0, 1.0)
    return RationalDynamics(LORENZ.rational(), SPREAD, LORENZ.jets(STATE), spline, DT, 0.1, regular)


@pytest.fixture(params=["regular", "rational"])
def model(request):
    return model_of(LORENZ if request.param == "regular" else None)


def trajectory(model: Model) -> np.ndarray:
    """States of the model's own field integrated by jetode."""
    field = Field.from_closure(model.closure) if model.regular is None else model.regular.field
    n = 20 if model.regular is None else STEPS  # the rational form meets its pole
    return integrate(field, model.end_state, n + 1, DT, rtol=1e-12, atol=1e-13, max_step=5 * DT).states


def agrees(model: Model, rhs) -> None:
    """``rhs`` integrated by SciPy against the model's own trajectory."""
    own = trajectory(model)
    times = DT * np.arange(len(own))
    run = solve_ivp(rhs, (0, times[-1]), model.end_state, "DOP853", times, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(run.y.T / np.abs(own).max(axis=0), own / np.abs(own).max(axis=0), rtol=0, atol=1e-9)


def test_python(model):
    namespace = {}
    exec(compile(export(model, "python"), "model.py", "exec"), namespace)
    agrees(model, namespace["rhs"])
    np.testing.assert_array_equal(namespace["X0"], model.end_state)
    states = namespace["trajectory"](10, substeps=100)
    run = solve_ivp(namespace["rhs"], (0, 10 * DT), model.end_state, "DOP853", rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(states[-1], run.y[:, -1], rtol=1e-8)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_c(model, tmp_path):
    (tmp_path / "model.c").write_text(export(model, "c"))
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", tmp_path / "model.so", tmp_path / "model.c"], check=True)
    library = ctypes.CDLL(str(tmp_path / "model.so"))
    vector = ctypes.c_double * 3
    assert list(vector.in_dll(library, "jetode_x0")) == list(model.end_state)

    def rhs(t, x):
        out = vector()
        library.jetode_rhs(ctypes.c_double(t), vector(*x), out)
        return list(out)

    agrees(model, rhs)


def test_julia(model):
    text = export(model, "julia")
    names = re.search(r"^    (.*) = u$", text, re.M)[1].split(", ")
    rows = re.findall(r"^    du\[(\d)\] = (.*)$", text, re.M)
    assert [int(i) for i, _ in rows] == [1, 2, 3] and "function jetode_rhs!(du, u, p, t)" in text
    assert all(line.startswith("#") or "using" not in line for line in text.splitlines())
    agrees(model, lambda t, x: [eval(row, dict(zip(names, x, strict=True))) for _, row in rows])


def test_ode_text(model):
    text = export(model, "ode")
    rows = dict(re.findall(r"^(\w+)' = (.*)$", text, re.M))
    start = dict(re.findall(r"^init (\w+)=(.*)$", text, re.M))
    assert [float(v) for v in start.values()] == list(model.end_state) and text.endswith("done\n")
    agrees(model, lambda t, x: [eval(row, dict(zip(start, x, strict=True))) for row in rows.values()])


def test_sbml(model):
    root = ET.fromstring(export(model, "sbml"))
    sbml, math = "{http://www.sbml.org/sbml/level3/version2/core}", "{http://www.w3.org/1998/Math/MathML}"
    start = {p.get("id"): float(p.get("value")) for p in root.iter(f"{sbml}parameter")}
    assert list(start.values()) == list(model.end_state)

    def value(node, x):
        if node.tag == f"{math}ci":
            return x[node.text]
        if node.tag == f"{math}cn":
            return float(node.text) * 10.0 ** int(node[0].tail) if len(node) else float(node.text)
        values = [value(child, x) for child in node[1:]]
        operator = node[0].tag.removeprefix(math)
        return {"plus": sum, "times": prod, "divide": lambda v: v[0] / v[1]}[operator](values)

    rules = {r.get("variable"): r[0][0] for r in root.iter(f"{sbml}rateRule")}
    assert list(rules) == list(start)
    agrees(model, lambda t, x: [value(n, dict(zip(start, x, strict=True))) for n in rules.values()])


def test_sbml_is_consistent_for_its_own_library(model):
    libsbml = pytest.importorskip("libsbml")
    document = libsbml.readSBMLFromString(export(model, "sbml"))
    document.checkConsistency()
    assert document.getNumErrors(libsbml.LIBSBML_SEV_ERROR) == document.getNumErrors(libsbml.LIBSBML_SEV_FATAL) == 0
    assert document.getModel().getNumRules() == len(model.end_state)


def test_scipy(model, tmp_path):
    """The module runs, agrees, and its own test passes; with a wrong sign it would not."""
    source = export(model, "scipy")
    (tmp_path / "found.py").write_text(source)
    done = subprocess.run([sys.executable, "found.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "as they do in jetode" in done.stdout, done.stderr
    (tmp_path / "wrong.py").write_text(re.sub(r"return \[\n        ", "return [\n        -", source))
    assert subprocess.run([sys.executable, "wrong.py"], cwd=tmp_path, capture_output=True).returncode == 1
    namespace = {"__name__": "found"}
    exec(compile(source, "found.py", "exec"), namespace)
    agrees(model, namespace["rhs"])


def test_modelica(model):
    """By its text, whatever the machine has."""
    text = export(model, "modelica")
    rows = dict(re.findall(r"^  der\((\w+)\) = (.*);$", text, re.M))
    start = dict(re.findall(r"^  Real (\w+)\(start = (\S+), fixed = true\) \"[^\"]*\";$", text, re.M))
    assert [float(v) for v in start.values()] == list(model.end_state) and list(rows) == list(start)
    assert text.startswith("model JetodeModel ") and text.endswith("end JetodeModel;\n")
    agrees(model, lambda t, x: [eval(row, dict(zip(start, x, strict=True))) for row in rows.values()])


def test_modelica_in_a_compiler(model):
    """Compiled and simulated by Rumoca (OpenModelica is not among Debian's packages) to its tolerance."""
    rumoca = pytest.importorskip("rumoca")
    compiled = rumoca.Session().loads(export(model, "modelica"), model="JetodeModel")
    own = trajectory(model)
    tight = rumoca.SimConfig(rtol=1e-10, atol=1e-10)
    run = compiled.simulate(t=(0.0, DT * (len(own) - 1)), dt=DT, config=tight)
    got = np.array([run[name] for name in compiled.states.names]).T
    scale = np.abs(own).max(axis=0)
    np.testing.assert_allclose(got / scale, own / scale, rtol=0, atol=1e-6)


def test_modelingtoolkit(model):
    """By its text: Julia is in no registry that is reached here."""
    text = export(model, "modelingtoolkit")
    names = re.search(r"^@variables (.*)$", text, re.M)[1].replace("(t)", "").split()
    rows = dict(re.findall(r"^    D\((\w+)\) ~ (.*),$", text, re.M))
    start = dict(pair.split(" => ") for pair in re.search(r"jetode_u0 = \[(.*)\]", text)[1].split(", "))
    assert names == list(rows) == list(start) and [float(v) for v in start.values()] == list(model.end_state)
    agrees(model, lambda t, x: [eval(row, dict(zip(names, x, strict=True))) for row in rows.values()])


@pytest.mark.parametrize("format", ["julia", "modelingtoolkit"])
def test_julia_parses(model, format):
    """By a grammar of the language; it knows ~ as an operator, but not inside brackets, where == stands in for it."""
    tree_sitter = pytest.importorskip("tree_sitter")
    grammar = tree_sitter.Language(pytest.importorskip("tree_sitter_julia").language())
    text = export(model, format).replace(" ~ ", " == ")
    parser = tree_sitter.Parser(grammar)
    assert not parser.parse(text.encode()).root_node.has_error
    assert parser.parse(f"{text}\n)\n".encode()).root_node.has_error  # it sees a mistake


OCTAVE = shutil.which("octave-cli") or shutil.which("octave")


def octave(folder, script):
    done = subprocess.run([OCTAVE, "--no-gui", "--quiet", "--eval", script], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.array([[float(v) for v in line.split()] for line in done.stdout.splitlines()])


@pytest.mark.skipif(OCTAVE is None, reason="needs Octave (Debian: apt-get install octave)")
def test_matlab_in_octave(model, tmp_path):
    (tmp_path / "jetode_model.m").write_text(export(model, "matlab"))
    script = (
        "[rhs, x0, signal] = jetode_model(); o = odeset('RelTol', 1e-10, 'AbsTol', 1e-10);"
        f"[t, s] = ode45(rhs, {DT} * (0:20), x0, o); printf('%.17g %.17g %.17g %.17g\\n', [s, signal(s)]');"
    )
    shown = octave(tmp_path, script)
    field = Field.from_closure(model.closure) if model.regular is None else model.regular.field
    own = integrate(field, model.end_state, 21, DT, rtol=1e-12, atol=1e-13, max_step=5 * DT).states
    np.testing.assert_allclose(shown[:, :3] / np.abs(own).max(axis=0), own / np.abs(own).max(axis=0), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(shown[:, 3], shown[:, 0])


MEMORY = Equation(
    ({(1, 0, 0): -2.0, (0, 0, 1): 2.0}, {(0, 1, 0): -3.0, (1, 0, 0): 1.0}, {(0, 1, 0): 1.0, (0, 0, 1): -0.5}),
    ("m0", "m1", "y"), 1, Readout(2, 3.0, -1.0),
)  # fmt: skip


@dataclass(frozen=True)
class Remembering:
    """Dynamics with plain rows and a signal that is read off the state, as a memory closure has them."""

    equation: RegularEquation
    end_state: np.ndarray
    kind = "memory"
    coordinates = "memory"
    order = 3

    def coefficients(self):
        return tuple(Coefficient(part, e, c, float("nan")) for part, e, c in self.equation.regular.coefficients())


@pytest.mark.parametrize("format", sorted(FORMATS))
def test_every_format_reads_the_signal_off_the_state(format):
    model = replace(model_of(LORENZ), dynamics=Remembering(RegularEquation(MEMORY), np.array([1.0, 2.0, 3.0])))
    text = export(model, format)
    assert "m0" in text and "y" in text
    assert ("3.0" in text and "-1.0" in text) if format != "sbml" else "assignmentRule" in text
    if format in ("python", "scipy"):
        namespace = {"__name__": "found"}
        exec(compile(text, "found.py", "exec"), namespace)
        np.testing.assert_allclose(namespace["signal"](namespace["X0"]), 8.0)
        np.testing.assert_allclose(namespace["rhs"](0.0, namespace["X0"]), MEMORY.field(model.end_state))


@pytest.mark.skipif(OCTAVE is None, reason="needs Octave (Debian: apt-get install octave)")
def test_the_signal_in_octave(tmp_path):
    model = replace(model_of(LORENZ), dynamics=Remembering(RegularEquation(MEMORY), np.array([1.0, 2.0, 3.0])))
    (tmp_path / "jetode_model.m").write_text(export(model, "matlab"))
    shown = octave(tmp_path, "[rhs, x0, signal] = jetode_model(); printf('%.17g\\n', signal(x0'))")
    np.testing.assert_allclose(shown, [[8.0]])


def test_a_model_in_jets_starts_at_its_hidden_coordinate():
    found = equations(replace(model_of(LORENZ), dynamics=in_jets(LORENZ)))
    np.testing.assert_allclose(found.start, STATE)


def test_other_formats_are_refused():
    known = {"python", "c", "julia", "ode", "sbml", "scipy", "matlab", "modelica", "modelingtoolkit"}
    assert set(FORMATS) == known
    with pytest.raises(InputError, match="fortran"):
        export(model_of(LORENZ), "fortran")


def test_a_new_format_is_one_file(tmp_path, monkeypatch):
    """A module in the package's folders is a format, by its name; nothing else has to know."""
    source = (
        "from jetode.equations.writers import Infix\n"
        "FORTRAN = Infix(lambda v: f'{v:.17e}'.replace('e', 'd'), lambda n, k: f'{n}**{k}',\n"
        "                lambda a, b: f'({a})/({b})', '*', '0d0')\n"
        "def write(motion):\n"
        "    return '\\n'.join(f'd{n} = {r}' for n, r in zip(motion.names, motion.written(FORTRAN)))\n"
    )
    (tmp_path / "toy_fortran.py").write_text(source)
    monkeypatch.setattr(exports, "__path__", [*exports.__path__, str(tmp_path)])
    assert "toy_fortran" in FORMATS
    lines = export(model_of(LORENZ), "toy_fortran").splitlines()
    assert lines[0] == "dx = v" and "- 1.00000000000000000d+01*x**2" in lines[2]
