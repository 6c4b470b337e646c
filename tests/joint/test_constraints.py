"""Known terms: what is fixed stays at its value in the record's units, what is forbidden is absent, u → −u holds."""

import numpy as np
import pytest

import jetode
from jetode.equations.regular import RegularClosure
from jetode.joint.constraints import Constraints
from jetode.joint.forms.affine_pole import affine_pole
from jetode.joint.forms.pole_free import pole_free
from jetode.joint.parts import equation_of
from jetode.signal.noise import add_noise


def test_a_fixed_coefficient_survives_units_and_the_scale_of_w():
    lorenz = RegularClosure({(0, 1): -11.0}, {(1, 0): 1.0}, {(0, 0, 1): -8 / 3, (1, 0, 1): 0.5, (2, 0, 0): -10.0}, 3)
    amplitude, time = 8.0, 0.18
    known = Constraints.of(3, fixed={"a": {(0, 1): -11.0}, "P": {(0, 0, 1): -8 / 3, (1, 0, 1): 0.5, (2, 0, 0): -10.0}})
    form = known.apply(affine_pole(3, 0, (), 2, 2), amplitude, time)
    assert form is not None
    lead = 2.9  # any leading coefficient of the dimensionless D, i.e. any scale of w
    terms = form.terms(RegularClosure({}, {(1, 0): lead, (0, 0): 0.0}, {}, 3))
    back = equation_of(terms).in_units(amplitude, time).canonical()
    assert back.a[(0, 1)] == pytest.approx(lorenz.a[(0, 1)])
    for e, value in lorenz.P.items():
        assert back.P[e] == pytest.approx(value)


@pytest.mark.parametrize("form", [affine_pole(3, 0, (), 3, 3), pole_free(3, 3)])
def test_symmetric_forms_are_odd(form):
    """Every term allowed changes sign with its row under (u, w) → (−u, ±w)."""
    allowed = Constraints.of(3, symmetric=True).apply(form, 1.0, 1.0)
    assert allowed is not None
    hidden = 1.0 if sum(form.lead) % 2 else -1.0
    for e in allowed["a"]:
        assert (-1.0) ** sum(e) == -1.0
    for e in allowed["D"]:
        assert (-1.0) ** sum(e) * hidden == -1.0
    for e in allowed["P"]:
        assert (-1.0) ** sum(e[:-1]) * hidden ** e[-1] == hidden


def test_contradictions_and_nonsense_are_refused_in_one_sentence():
    for options in (
        {"required": {"P": [(0, 0, 1)]}, "forbidden": {"P": [(0, 0, 1)]}},
        {"required": {"Q": [(0, 0, 1)]}},
        {"forbidden": {"a": [(0, 0, 1)]}},
        {"fixed": {"P": {(0, -1, 0): 1.0}}},
    ):
        with pytest.raises(jetode.InputError):
            Constraints.of(3, **options)


@pytest.mark.long
def test_the_fit_obeys_its_constraints(noisy_lorenz):
    fixed = jetode.reconstruct(noisy_lorenz, fixed={"a": {(0, 1): -11.0}, "P": {(0, 0, 1): -8 / 3}})
    assert fixed.regular.a[(0, 1)] == pytest.approx(-11.0)
    assert fixed.regular.P[(0, 0, 1)] == pytest.approx(-8 / 3)
    wanted = jetode.reconstruct(noisy_lorenz, required={"P": [(1, 0, 0)]}, forbidden={"P": [(0, 2, 0)]})
    assert (1, 0, 0) in wanted.regular.P and (0, 2, 0) not in wanted.regular.P
    odd = jetode.reconstruct(noisy_lorenz, symmetric=True)
    assert odd.regular.D[(0, 0)] == 0.0 and set(odd.regular.a) == {(0, 1)}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["student", "outliers"])
def test_heavy_tails_do_not_spoil_the_terms(kind):
    values = jetode.systems["lorenz"].simulate(60.0).observe("x").values
    noisy = add_noise(values, 0.1, np.random.default_rng(2))
    noisy = add_noise(noisy, 0.15, np.random.default_rng(1), kind=kind)
    model = jetode.reconstruct(jetode.Series(noisy, dt=0.01))
    assert model.settings["loss"] == "student"
    assert set(model.regular.a) == {(0, 1)}
    assert set(model.regular.P) == {(0, 0, 0), (0, 0, 1), (1, 1, 0), (2, 0, 0)}
