"""Stability of terms: the stretches add up to the record, and what the record cannot settle is not called settled."""

from itertools import pairwise

import numpy as np
import pytest

from jetode.joint.parts import equation_of
from jetode.joint.term_selection import expand, quadratic_model
from jetode.joint.term_stability import contributions, stretch, term_stability
from truths import SPROTT_JERK, fitted_sprott_jerk

PRICE = 10.0
LARGER = (*SPROTT_JERK, (2, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0))


@pytest.fixture(scope="module")
def problem():
    return fitted_sprott_jerk(0, tuple(SPROTT_JERK))


def test_stretches_cover_every_sample_once(problem):
    data, _, _ = problem
    nodes = data.layout.first.size
    cuts = [0, 7, 20, nodes - 1]
    parts = [stretch(data, a, b) for a, b in pairwise(cuts)]
    assert sum(p.n_samples for p in parts) == data.n_samples
    seen = np.concatenate([p.y[p.weight > 0] for p in parts])
    np.testing.assert_array_equal(seen, data.y[data.weight > 0])
    assert all(p.layout.spans[-1] == 0 and p.layout.spans[:-1].all() for p in parts)


@pytest.mark.parametrize("count", [1, 5, 20])
def test_stretches_add_up_to_the_quadratic_model(problem, count):
    """Information and gradient are those of the whole record, however it is cut."""
    data, form, fit = problem
    full = form.with_parts(P=LARGER).terms(equation_of(fit.terms))
    whole = quadratic_model(data, full, fit)
    information, gradients = contributions(data, full, fit, count)
    prior = np.diag(full.precision[full.free])
    np.testing.assert_allclose(information + prior, whole.information, rtol=1e-6)
    at = expand(full, fit.terms)[1][full.free]
    step = whole.theta - at
    np.testing.assert_allclose(
        gradients.sum(axis=0) + prior @ at, -whole.information @ step, rtol=1e-5, atol=1e-7 * abs(gradients).max()
    )


def test_gradients_scatter_like_the_information():
    """For a right closure and white noise F⁻¹ Σ r_s r_sᵀ is the unit matrix on average, a little less at the fit."""
    traces = []
    for seed in range(3):
        data, form, fit = fitted_sprott_jerk(seed, tuple(SPROTT_JERK))
        full = form.with_parts(P=LARGER).terms(equation_of(fit.terms))
        information, gradients = contributions(data, full, fit, 60)
        traces.append(np.trace(np.linalg.solve(information, gradients.T @ gradients)) / len(information))
    assert 0.4 < np.mean(traces) < 1.2


def test_true_terms_are_kept_and_others_are_not(problem):
    data, form, fit = problem
    found = term_stability(data, form.with_parts(P=LARGER), fit, PRICE)
    assert {t.powers for t in found} == set(LARGER)
    for term in found:
        assert term.chosen == (term.powers in SPROTT_JERK)
        assert term.share > 0.95 if term.chosen else term.share < 0.35
    assert found == term_stability(data, form.with_parts(P=LARGER), fit, PRICE)


def test_a_term_at_its_price_is_a_toss_up(problem):
    """With the price at what the weakest term is worth, about half of the resamples drop it."""
    data, form, fit = problem
    full = form.terms(equation_of(fit.terms))
    model = quadratic_model(data, full, fit)
    worth, weakest = model.ranked_removals(np.ones(3, bool), np.zeros(3, bool))[0]
    found = {t.powers: t.share for t in term_stability(data, form, fit, worth)}
    assert 0.1 < found[form["P"][weakest]] < 0.9
