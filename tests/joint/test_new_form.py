"""A form in one file: a folder with one more file than the shipped one, and the search finds an equation that no
shipped form has."""

from pathlib import Path

import numpy as np
import pytest

import jetode
import jetode.joint.forms as package
from jetode.equations.equation import Equation
from jetode.integration.dop853 import integrate
from jetode.joint.fit import fit_joint
from jetode.joint.forms.registry import families, ladder
from jetode.joint.jets import Jets
from jetode.joint.problem import prepare
from jetode.joint.request import Request

JETS = Jets(np.random.default_rng(0).standard_normal((50, 3)), (50,), 0.1, 4)
TRUTH = Equation(({(0, 1): 1.0}, {(1, 0): 1.0, (5, 0): -1.0, (0, 1): 0.4, (2, 1): -0.5}))


@pytest.fixture(scope="module")
def record():
    """A limit cycle whose force has a fifth power."""
    run = integrate(TRUTH.field, np.array([0.1, 0.0]), 3000, 0.04, rtol=1e-10, atol=1e-10, max_step=0.2)
    states = run.states[1000:]
    values = jetode.add_noise(states[:, 0], 0.02, np.random.default_rng(1))
    return jetode.Series(values, 0.04)


@pytest.mark.long
def test_the_search_finds_an_equation_that_only_this_form_has(record, monkeypatch):
    jets = prepare([record], 2).jets
    shipped = [c.form for rung in ladder(2) for scanned in (False, True) for c in rung.candidates(jets, scanned)]
    assert shipped and not any((5, 0) in form["P"] for form in shipped)
    count = len(families())
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(Path(__file__).parent / "toy_forms")])
    assert len(families()) == count + 1 and "pumped" in [rung.name for rung in ladder(2)]
    found = fit_joint(Request([record], order=2))
    big_p = found.identified.equation.parts()["P"]
    assert set(big_p) == {(1, 0), (5, 0), (0, 1), (2, 1)}
    for e, c in TRUTH.parts()["P"].items():
        assert big_p[e] == pytest.approx(c, rel=0.05)


def test_a_file_in_the_folder_is_a_form():
    assert {type(c.form).__name__ for rung in ladder(3) for s in rung.steps for c in s.candidates(JETS)} == {
        "PoleFree", "AffinePole", "Chain", "CurvedPole"
    }  # fmt: skip
    assert [rung.name for rung in ladder(3)] == ["quadratic", "tilted, cubic", "chain", "cubic", "curved"]
    assert [rung.name for rung in ladder(4)] == ["quadratic", "cubic"]
