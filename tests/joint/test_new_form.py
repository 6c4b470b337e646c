"""A form in one file: a test registers one of its own, and the search finds an equation that no shipped form has."""

from dataclasses import dataclass

import numpy as np
import pytest

import jetode
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Library
from jetode.equations.rows import Coupled
from jetode.integration.dop853 import integrate
from jetode.joint.fit import fit_joint
from jetode.joint.forms.base import Candidate, Family, Form, Start, Step, hidden_library
from jetode.joint.forms.registry import families, ladder, registered
from jetode.joint.forms.starts import hidden_states, regress_increments

# -- the form -----------------------------------------------------------------------------------------------

SLOPE = (0,)


@dataclass(frozen=True)
class Pumped(Form):
    """Order 2, u0' = f + d w with constants f and d, w' = P up to the fifth power of u0: rows and monomials that are
    no shipped form's."""

    def start(self, jets, guess):
        shape = Equation((Coupled({}, dict(guess)), {}))
        w = hidden_states(jets, shape)[:, 1]
        states = np.column_stack([jets.u[:, 0], w / np.std(w)])
        library = Library(self["P"], 2)
        big_p = library.polynomial(regress_increments(jets, states, library))
        factor = {e: c * float(np.std(w)) for e, c in guess.items()}
        return Start(self.terms(Equation((Coupled({}, factor), big_p))), states)


PUMPED = Pumped(2, (("a", (SLOPE,)), ("D", (SLOPE,)), ("P", (*hidden_library(2, 3), (4, 0), (5, 0)))))
FAMILY = Family(lambda order: (Step(1.5, "pumped", lambda jets: [Candidate(PUMPED, {SLOPE: 1.0})], scanned=False),)
                if order == 2 else ())  # fmt: skip

# -- and what it is for -------------------------------------------------------------------------------------

TRUTH = Equation(({(0, 1): 1.0}, {(1, 0): 1.0, (5, 0): -1.0, (0, 1): 0.4, (2, 1): -0.5}))


@pytest.fixture(scope="module")
def record():
    """A limit cycle whose force has a fifth power."""
    states = integrate(TRUTH.field, np.array([0.1, 0.0]), 6000, 0.02, 1e-10, 1e-10, 0.1).states[2000:]
    values = jetode.add_noise(states[:, 0], 0.02, np.random.default_rng(1))
    return jetode.Series(values, 0.02)


def test_the_search_finds_it_only_with_its_form(record):
    without = fit_joint([record], order=2)
    assert not hasattr(without, "identified") or (5, 0) not in without.identified.equation.parts()["P"]
    with registered(FAMILY):
        assert "pumped" in [rung.name for rung in ladder(2)]
        found = fit_joint([record], order=2)
    assert FAMILY not in families()
    big_p = found.identified.equation.parts()["P"]
    assert set(big_p) == {(1, 0), (5, 0), (0, 1), (2, 1)}
    for e, c in TRUTH.parts()["P"].items():
        assert big_p[e] == pytest.approx(c, rel=0.05)
