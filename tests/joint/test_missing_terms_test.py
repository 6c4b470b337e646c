"""The score test: silent for a right closure, loud for one that lacks a term."""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from jetode.joint.missing_terms_test import score_test
from jetode.joint.term_selection import Quadratic
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
    for share in (0.05, 0.5, 0.95, 0.999):
        monkeypatch.setattr(Quadratic, "restricted_cost", lambda self, keep, q=share: chi2.ppf(q, np.sum(~keep)))
        assert score_test(data, form, fit) == pytest.approx(norm.ppf(share), abs=0.03)


def test_missing_term_is_missed():
    data, form, fit = fitted_sprott_jerk(0, ((1, 0, 0), (0, 0, 1)))
    assert score_test(data, form, fit) > 10.0
