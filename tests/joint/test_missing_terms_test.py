"""The score test: silent for a right closure, loud for one that lacks a term."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2, norm

from jetode.joint import missing_terms_test
from jetode.joint.missing_terms_test import LARGER_DEGREE, TOLD, around, larger_form, score_test, told_fall
from jetode.joint.parts import equation_of
from jetode.joint.shooting.layout import Terms
from jetode.joint.term_selection import Quadratic, expand, quadratic_model
from truths import SPROTT_JERK, fitted_sprott_jerk


@pytest.mark.parametrize("seed", range(3))
def test_right_closure_needs_nothing(seed):
    """Beyond 3 on either side is no chance."""
    data, form, fit = fitted_sprott_jerk(seed, tuple(SPROTT_JERK))
    assert fit.cost < 1.1 * data.n_samples
    assert -3.0 < score_test(data, form, fit) < 3.0


def test_the_scale_is_that_of_a_normal_variable(monkeypatch):
    """A fall at the q-quantile of χ² with k degrees of freedom is the q-quantile of the normal distribution."""
    data, form, fit = fitted_sprott_jerk(0, tuple(SPROTT_JERK))
    absent = len(larger_form(form, LARGER_DEGREE)["P"]) - len(SPROTT_JERK)
    for share in (0.05, 0.5, 0.95, 0.999):
        monkeypatch.setattr(missing_terms_test, "_fall", lambda *_, q=share: chi2.ppf(q, absent))
        assert score_test(data, form, fit) == pytest.approx(norm.ppf(share), abs=0.03)


def test_missing_term_is_missed():
    data, form, fit = fitted_sprott_jerk(0, ((1, 0, 0), (0, 0, 1)))
    assert score_test(data, form, fit) > 10.0


def moved_by(offset, data, form, fit):
    """The same fit of the same record plus a constant: its field is written around the new origin."""
    terms, _ = around(fit.terms, -offset)
    states = fit.states + offset * np.eye(3)[0]
    other = form.with_parts(P=tuple(e for row, e in zip(terms.rows, terms.exponents, strict=True) if row == 2))
    return replace(data, y=data.y + offset), other, replace(fit, terms=terms, states=states)


def test_a_field_around_another_origin_is_the_same():
    rng = np.random.default_rng(0)
    exponents = ((0, 1, 0), (3, 0, 1), (2, 1, 0), (0, 0, 1))
    ones = np.ones(4)
    terms = Terms(3, 1, np.array([1, 2, 2, 2]), exponents, rng.normal(size=4), ones > 0, 0 * ones, ones)
    moved, matrix = around(terms, 1.7)
    assert moved.coefficients == pytest.approx(matrix @ terms.coefficients)
    x = rng.normal(size=3)

    def rates(of, at):
        values = of.coefficients * np.prod(np.power(at, np.array(of.exponents)), axis=1)
        return [values[of.rows == row].sum() for row in (1, 2)]

    assert rates(moved, x - np.array([1.7, 0.0, 0.0])) == pytest.approx(rates(terms, x))


@pytest.mark.parametrize("offset", [5.0, 20.0, 50.0])
def test_the_origin_does_not_matter(offset):
    """A library of total degree is the same space of functions around any origin."""
    fitted = fitted_sprott_jerk(0, tuple(SPROTT_JERK))
    assert score_test(*moved_by(offset, *fitted)) == pytest.approx(score_test(*moved_by(0.0, *fitted)), abs=0.02)


def test_near_the_origin_it_is_the_quadratic_model_of_the_larger_library():
    data, form, fit = fitted_sprott_jerk(1, tuple(SPROTT_JERK))
    full = larger_form(form, LARGER_DEGREE).terms(equation_of(fit.terms))
    present = expand(full, fit.terms)[0]
    fall = missing_terms_test._fall(data, full, fit, present)
    assert fall == pytest.approx(quadratic_model(data, full, fit).restricted_cost(present[full.free]), rel=1e-3)


@pytest.mark.parametrize("seed", range(3))
def test_beside_a_function_it_is_what_all_absent_terms_would_gain(seed):
    rng = np.random.default_rng(seed)
    root, theta = rng.standard_normal((6, 8)), rng.standard_normal(6)
    keep = np.array([True, False, True, False, False, True])
    information = root @ root.T
    expected = Quadratic(theta, information).restricted_cost(keep)
    assert told_fall(information, -information @ theta, keep) == (pytest.approx(expected, rel=1e-8), 3)


def test_a_direction_that_nothing_tells_does_not_count():
    """Two absent terms that say the same to a millionth, and an optimum that lies far out along their difference."""
    root = np.random.default_rng(4).standard_normal((4, 40))
    other = np.random.default_rng(5).standard_normal(40)
    other -= root.T @ np.linalg.solve(root @ root.T, root @ other)
    root = np.vstack([root, root[3] + 1e-6 * other])
    keep = np.array([True, True, True, False, False])
    far, near = 1e6 * np.array([0, 0, 0, 1.0, -1.0]), np.array([0, 0, 0, 1.0, 1.0])
    assert Quadratic(far, root @ root.T).restricted_cost(keep) > 10.0  # of that difference alone
    fall, directions = told_fall(root @ root.T, -root @ (root.T @ far), keep)
    assert fall < 1e-3 and directions == 1
    needed = Quadratic(near, root @ root.T).restricted_cost(keep)
    assert told_fall(root @ root.T, -root @ (root.T @ near), keep)[0] == pytest.approx(needed, rel=1e-4)


@pytest.mark.parametrize(("least", "error"), [(0.4, 1e-3), (0.6, 0.5)])
def test_rounding_does_not_decide_where_terms_say_nearly_the_same(least, error):
    """Powers on a short interval, as they are beside a saturation, and residuals of noise: an orthonormal basis tells
    what the absent ones gain without squaring.  By way of the optimum 6.6 comes out for the 1.0 of the last case."""
    places, keep = np.linspace(least, 1.0, 400), np.arange(9) < 4
    root, noise = places ** np.arange(9)[:, None], np.random.default_rng(0).standard_normal(400)
    basis = np.linalg.qr(root[keep].T)[0]
    absent = root[~keep].T
    for _ in range(2):
        absent = absent - basis @ (basis.T @ absent)
    directions, sizes, _ = np.linalg.svd(absent / np.linalg.norm(absent, axis=0), full_matrices=False)
    told = sizes**2 > TOLD * sizes[0] ** 2
    expected = float(np.sum((directions[:, told].T @ noise) ** 2))
    fall, count = told_fall(root @ root.T, -root @ noise, keep)
    assert count == told.sum() and fall == pytest.approx(expected, abs=error)
