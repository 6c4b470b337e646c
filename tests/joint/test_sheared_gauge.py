"""The sheared gauge of a closure without a pole: the same dynamics, sparse where the record follows a simple law."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.equations.regular import equation_of_rows
from jetode.equations.rows import Coupled
from jetode.joint.candidates import Found
from jetode.joint.choose_terms import choose_terms
from jetode.joint.exchanged_terms import nearest_exchange
from jetode.joint.forms.affine_pole import u1_poles
from jetode.joint.forms.pole_free import candidate, pole_free
from jetode.joint.parts import equation_of
from jetode.joint.problem import prepare
from jetode.joint.scan import begun, cool, scan
from jetode.joint.search import compared_on
from jetode.joint.search_settings import DECISION
from jetode.joint.sheared_gauge import in_sheared_gauge, moved_states, sheared, sheared_fits, shears
from jetode.joint.shooting.gaussnewton import Fit
from jetode.records.series import Series

# u0' = −0.4 u0 + x, x' = w, w' = −x + 0.3 w − x³ − 2 x² w: five terms and the shear
SPARSE = equation_of_rows(
    (
        Coupled({(1,): -0.4}, {(0,): 1.0}),
        Coupled({}, {(0, 0): 1.0}),
        {(0, 1, 0): -1.0, (0, 0, 1): 0.3, (0, 3, 0): -1.0, (0, 2, 1): -2.0},
    )
)


def never() -> bool:
    return False


def test_where_one_term_vanishes_many_do():
    canonical = SPARSE.canonical()
    assert len(canonical.parts()["P"]) == 10
    found = [alpha for alpha, _ in shears(canonical, pole_free(3, 3)["P"]) if abs(alpha + 0.4) < 1e-6]
    assert len(found) > 3
    rates = sheared(canonical, found[0])[0].parts()["P"]
    assert {e for e, c in rates.items() if abs(c) > 1e-6} == set(SPARSE.parts()["P"])


def test_every_shear_is_the_same_dynamics():
    """Rates of the moved coordinates are those of the others: the recorded one and its derivatives do not change."""
    rng = np.random.default_rng(4)
    form, canonical = pole_free(3, 3), SPARSE.canonical()
    states = rng.standard_normal((20, 3))
    moved, gauges = sheared(canonical, 0.7)
    np.testing.assert_allclose(moved.jets(moved_states(states, gauges)), canonical.jets(states), atol=1e-12)
    fit = Fit(form.terms(canonical), states, 1e-4, 0.0, 0.0, 0, True)
    other, same = next(sheared_fits(form, fit))
    assert len(other["P"]) == len(form["P"]) - 1 and same.terms.free.sum() == fit.terms.free.sum()
    np.testing.assert_allclose(equation_of(same.terms).jets(same.states), canonical.jets(states), atol=1e-7)


def neuron(noise: float, first: float = 60.0) -> Found:
    """What is found of Hindmarsh and Rose's z, z' = −1.25 z + x, where x has a law of seven terms."""

    def rates(_, s):
        x, y, z = s
        return [-49 * x**3 / 3 + 100 * x**2 / 3 - x + 100 * (y + z) / 3, -0.49 * x**3 + z, -1.25 * (x + z) + 161 / 4000]

    t = first + 0.01565 * np.arange(4000)
    z = solve_ivp(rates, (0, t[-1]), [0.031, -0.0216, 0.0415], "LSODA", t, rtol=1e-9, atol=1e-11, max_step=0.01).y[2]
    noisy = z + noise * np.std(z) * np.random.default_rng(100).standard_normal(z.size)
    prepared = prepare([Series(noisy, 0.01565)], 3)
    problem = compared_on(prepared, 3, fine=True)
    chosen = choose_terms(problem.data, begun(problem, [candidate(3, 3)], never)[0], problem.price, never)
    shear = equation_of(chosen.fit.terms).parts()["f0"][1,] / prepared.time
    assert chosen.fit.terms.free.sum() <= 9 and shear == pytest.approx(-1.25, abs=noise)
    return Found((chosen,), problem.data, problem.price)


def exchange(found: Found) -> float:
    best = found.candidates[0]
    return nearest_exchange(found.data, best.form, best.fit, never)


@pytest.mark.slow
def test_a_neuron_seen_through_its_recovery():
    """At 5 % noise the record tells every term, on most stretches: by 1 to 19 of BIC on six."""
    stretches = [neuron(0.05, first) for first in (60.0, 100.0, 140.0)]
    assert all(found.satisfies() for found in stretches)
    assert np.median([exchange(found) for found in stretches]) > DECISION.min_exchange


@pytest.mark.slow
def test_of_a_noisy_neuron_one_term_may_stand_for_another():
    """At 15 % u0 w fits in the place of x², or the other way round: whichever is chosen, the other one is as near, also
    where it is the one that vanished with the shear."""
    found = neuron(0.15)
    kept = set(found.candidates[0].fit.terms.exponents)
    assert len({(0, 2, 0), (1, 0, 1)} & kept) == 1
    assert found.satisfies() and exchange(found) < DECISION.min_exchange


def test_order_four_whose_forms_have_no_other_first_row_is_left_as_it_is():
    """Two frequencies under noise, to which the dense closure is fitted: many terms, and it follows."""
    t = 0.1 * np.arange(1500)
    motion = np.sin(t) + 0.7 * np.sin(np.sqrt(5.0) * t + 1.0)
    noisy = motion + 0.05 * np.random.default_rng(1).standard_normal(t.size)
    problem = compared_on(prepare([Series(noisy, 0.1)], 4), 4)
    dense = begun(problem, [candidate(4, 2)], never)[0]
    assert dense.fit.terms.free.sum() > DECISION.few_terms
    assert dense.cost <= DECISION.satisfying(problem.data.n_samples) * problem.data.n_samples
    assert in_sheared_gauge(problem.data, dense, dense, problem.price, never) is None


@pytest.mark.slow
def test_order_four_with_a_pole_in_the_slope():
    """Cai's hyperchaos seen in w, whose slope multiplies the hidden z, at 5 % noise."""

    def rates(_, s):
        x, y, z, w = s
        return [27.5 * (y - x), 3 * x + 19.3 * y - x * z + w, -2.9 * z + y**2, -3.3 * x]

    t = 50.0 + 0.025 * np.arange(4000)
    w = solve_ivp(rates, (0, t[-1]), [1.0, 1.0, 20.0, 1.0], "DOP853", t, rtol=1e-9, atol=1e-11).y[3]
    noise = 0.05 * np.std(w) * np.random.default_rng(100).standard_normal(w.size)
    prepared = prepare([Series(w + noise, 0.025)], 4)
    problem = compared_on(prepared, 4)
    scanned = scan(prepared, problem.sigma, u1_poles(prepared.jets, 4), never)
    best = cool(problem, scanned, [], never)[0]
    chosen = choose_terms(problem.data, best, problem.price, never)
    assert Found((chosen,), problem.data, problem.price).satisfies()
    found = equation_of(chosen.fit.terms).canonical().parts()
    assert set(found["a"]) == {(1, 0, 0), (0, 0, 1)}
    assert set(found["P"]) == {(0,) * 4, (0, 0, 0, 1), (0, 2, 0, 0), (0, 1, 1, 0), (0, 0, 2, 0)}
    assert found["P"][0, 0, 0, 1] / prepared.time == pytest.approx(-2.9, rel=0.03)
