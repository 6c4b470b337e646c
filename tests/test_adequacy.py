"""The score test: silent for a right closure, loud for one that lacks a term."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

import jetode
from jetode.adequacy import score_test
from jetode.annealing import Schedule, anneal
from jetode.elimination import Quadratic
from jetode.forms import Form
from jetode.prepare import prepare
from jetode.regular import RegularClosure
from jetode.search import states_for
from jetode.systems import systems

FULL = {(1, 0, 0): -1.0, (0, 2, 0): 1.0, (0, 0, 1): -2.017}


def fitted(seed, terms):
    """The jerk system's fit with given terms of P, and its problem."""
    clean = systems["sprott_jerk"].simulate(400.0, dt=0.1, transient=100.0, initial=(0.0, 0.0, 1.0)).observe("x")
    noisy = clean.with_values(jetode.add_noise(clean.values, 0.1, np.random.default_rng(seed)))
    prepared = prepare([noisy], 3)
    data = prepared.data(prepared.sigma)
    regular = RegularClosure({}, {(0, 0): 1.0}, {e: FULL[e] for e in terms}, 3).in_units(
        1 / prepared.amplitude, 1 / prepared.time
    )
    form = Form(3, (0, 0), (), (), tuple(terms))
    start = states_for(prepared, regular, data)
    fit = anneal(data, form.terms(regular), start, Schedule((0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4), 12))
    return data, form, fit


@pytest.mark.parametrize("seed", range(3))
def test_right_closure_needs_nothing(seed):
    """Beyond 3 on either side is no chance."""
    data, form, fit = fitted(seed, tuple(FULL))
    assert fit.cost < 1.1 * data.n_samples
    assert -3.0 < score_test(data, form, fit) < 3.0


def test_the_scale_is_that_of_a_normal_variable(monkeypatch):
    """A fall at the q-quantile of χ² with k degrees of freedom is the q-quantile of the normal distribution."""
    data, form, fit = fitted(0, tuple(FULL))
    for share in (0.05, 0.5, 0.95, 0.999):
        monkeypatch.setattr(Quadratic, "restricted_cost", lambda self, keep, q=share: chi2.ppf(q, np.sum(~keep)))
        assert score_test(data, form, fit) == pytest.approx(norm.ppf(share), abs=0.03)


def test_missing_term_is_missed():
    data, form, fit = fitted(0, ((1, 0, 0), (0, 0, 1)))
    assert score_test(data, form, fit) > 10.0
