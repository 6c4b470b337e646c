"""The sparsest gauge of a closure without a pole."""

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.equations.polynomials import evaluate
from jetode.equations.regular import RegularClosure
from jetode.joint.candidates import regauge
from jetode.joint.forms.base import Candidate
from jetode.joint.forms.pole_free import pole_free
from jetode.joint.parts import equation_of
from jetode.joint.shooting.gaussnewton import Fit
from jetode.joint.sparsest_gauge import LARGEST, ShiftedRate, cancels, shifted_fits

LINEAR = ((1, 0), (0, 1))
ROSSLER_Y = RegularClosure(
    {(1, 0): -1.0, (0, 1): 0.2},
    {(0, 0): -1.0},
    {(0, 0, 0): 0.2, (0, 0, 1): -5.7, (1, 0, 1): -0.2, (0, 1, 1): 1.0},
    3,
)


def test_rossler_y_is_sparse_in_another_gauge():
    """Nine terms with a = 0; the shift that cancels u0² and u1² brings back the system's own four."""
    canonical = ROSSLER_Y.canonical()
    assert len(canonical.P) == 9
    scaled = canonical.in_units(0.2, 1.1)
    g = ShiftedRate.of(scaled, LINEAR).cancelling(((2, 0, 0), (0, 2, 0)))
    shifted = scaled.with_hidden_shifted(g)
    largest = max(map(abs, shifted.P.values()))
    assert {e for e, c in shifted.P.items() if abs(c) > 1e-7 * largest} == set(ROSSLER_Y.P)


def test_no_shift_cancels_what_is_not_there_to_cancel():
    jerk = RegularClosure({}, {(0, 0): 1.0}, {(1, 0, 0): -1.0, (0, 0, 1): -2.0, (0, 2, 0): 1.0}, 3)
    assert ShiftedRate.of(jerk, ((1, 0),)).cancelling(((0, 2, 0),)) is None  # u1² comes from no linear g


def test_shifted_rates_are_quadratic_in_the_shift():
    """Also where P is quadratic in w: what a few shifts determine holds for every other."""
    rng = np.random.default_rng(2)
    canonical = ROSSLER_Y.canonical()
    bent = RegularClosure(canonical.a, canonical.D, {**canonical.P, (0, 0, 2): 0.7}, 3)
    shift = ShiftedRate.of(bent, LINEAR)
    for c in rng.standard_normal((3, 2)):
        direct = bent.with_hidden_shifted(dict(zip(LINEAR, c.tolist(), strict=True))).parts()["P"]
        rates = shift.constant + shift.linear @ c + (shift.quadratic @ c) @ c
        assert set(direct) <= set(shift.terms)
        np.testing.assert_allclose(rates, [direct.get(e, 0.0) for e in shift.terms], atol=1e-12)


def test_every_shift_is_the_same_dynamics():
    rng = np.random.default_rng(0)
    canonical = ROSSLER_Y.canonical()
    form = pole_free(3, 2)
    fit = Fit(form.terms(canonical), rng.standard_normal((20, 3)), 1e-4, 0.0, 0.0, 0, True)
    moved = list(shifted_fits(form, fit))
    assert moved
    for other, at in moved:
        assert not set(other["a"]) - set(LINEAR) and len(other["P"]) < len(form["P"])
        a = dict(zip(other["a"], at.terms.coefficients, strict=False))
        lead = at.terms.coefficients[len(other["a"])]
        top = evaluate(a, at.states[:, :-1]) + lead * at.states[:, -1]
        np.testing.assert_allclose(top, fit.states[:, -1], atol=1e-8)  # u2 is the same


@pytest.mark.parametrize(("size", "expected"), [(0.9 * LARGEST, False), (1.1 * LARGEST, True)])
def test_small_differences_of_large_terms_are_refused(size, expected):
    assert cancels(RegularClosure({(1, 0): size}, {(0, 0): 1.0}, {(0, 0, 1): 1.0}, 3)) is expected


@pytest.mark.long
def test_rossler_y_at_fifteen_per_cent():
    """Pruning in the dense gauge loses terms; in the sparse one the fit has the system's six coefficients."""
    import jetode

    clean = systems["rossler"].simulate(290.0, dt=0.05, transient=50.0).observe("y")
    noisy = clean.with_values(jetode.add_noise(clean.values, 0.15, np.random.default_rng(4)))
    model = jetode.reconstruct(noisy)
    assert int(model.identified.terms.free.sum()) == 6
    true = systems["rossler"].closure("y")
    assert jetode.relative_l2(model.closure, true)[0] < 0.2


def test_back_in_the_canonical_gauge_the_path_is_the_same():
    """Moving a fit without a pole there and back leaves the closure, and D is one constant, not two."""
    rng = np.random.default_rng(1)
    canonical = ROSSLER_Y.canonical()
    form = pole_free(3, 2)
    fit = Fit(form.terms(canonical), rng.standard_normal((20, 3)), 1e-4, 0.0, 0.0, 0, True)
    for other, at in shifted_fits(form, fit):
        back = regauge(Candidate(other, {(0, 0): 1.0}, fit=at))
        keys = list(zip(back.fit.terms.rows.tolist(), back.fit.terms.exponents, strict=True))
        assert len(set(keys)) == len(keys) and back.form["D"] == ((0, 0),)
        again = equation_of(back.fit.terms).canonical()
        assert pytest.approx(canonical.P, abs=1e-8) == again.P
        lead = back.fit.terms.coefficients[keys.index((1, (0, 0, 1)))]
        np.testing.assert_allclose(lead * back.fit.states[:, -1], fit.states[:, -1], atol=1e-8)
