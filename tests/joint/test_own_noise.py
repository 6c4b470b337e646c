"""The noise as a fit shows it: weights of heavy tails from its own residuals, and what they do to error bars."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import t as student

from jetode.experiments.trust.records import record
from jetode.joint.noise import STUDENT_DOF, T_SCALE, heavy_tailed, tail_factor
from jetode.joint.own_noise import grown, reweighted, weighs_tails
from jetode.joint.path import Identified
from jetode.joint.problem import prepare
from jetode.reconstruction.joint_method import joint
from jetode.records.series import Series
from jetode.signal.growth import EVEN
from jetode.signal.noise import add_noise


def mean(f, dof):
    return 2.0 * sum(quad(lambda e: f(e) * student.pdf(e, dof), *ends)[0] for ends in ((0.0, 5.0), (5.0, np.inf)))


@pytest.mark.parametrize("dof", [3.0, 6.0])
def test_the_covariance_is_that_of_an_m_estimator(dof):
    """E ψ² / (E ψ')², over E w r² / E w of a fit with weights that are held, by quadrature; in any unit."""
    scale = T_SCALE * student.ppf(0.75, dof) / 0.6744897501960817

    def weight(e):
        return min(1.0, (STUDENT_DOF + 1.0) / (STUDENT_DOF + (e / scale) ** 2))

    def psi(e):
        return weight(e) * e

    def slope(e):
        return (psi(e + 1e-6) - psi(e - 1e-6)) / 2e-6

    held = mean(lambda e: weight(e) * e * e, dof) / mean(weight, dof)
    expected = mean(lambda e: psi(e) ** 2, dof) / mean(slope, dof) ** 2 / held
    draws = student.rvs(dof, size=400_000, random_state=1)
    assert tail_factor(draws) == pytest.approx(expected, rel=0.01)
    assert tail_factor(1e5 * np.append(draws, np.nan)) == pytest.approx(tail_factor(draws))


def test_weights_follow_the_residuals_and_records_keep_their_own_noise():
    """Heavy tails are weighed by (4.2), Gaussian residuals alike; missing samples stay so, and the second record, whose
    noise is four times as large, counts as much less as before."""
    rng = np.random.default_rng(0)
    both = [Series(np.sin(0.1 * np.arange(900)) + s * rng.standard_t(3, 900), 0.1) for s in (0.05, 0.2)]
    prepared = prepare(both, 2, loss="student")
    assert weighs_tails(prepared) and not weighs_tails(prepare(both, 2, loss="gaussian"))
    assert not weighs_tails(replace(prepared, side=np.eye(1, prepared.y.size)[0]))  # a rail is no residual
    missing = prepared.present == 0.0
    heavy, light = (np.where(missing, np.nan, e) for e in (rng.standard_t(3, 1800), rng.standard_normal(1800)))
    for residuals, tails in ((heavy, True), (light, False)):
        other = reweighted(prepared, residuals, heavy_tailed([residuals]))
        assert np.array_equal(other.present == 0.0, missing) and weighs_tails(other) == other.robust == tails
        first, second = (other.present[part][~missing[part]] for part in (slice(900), slice(900, 1800)))
        highest = [prepared.present[:900].max(), prepared.present[900:].max()]
        assert highest[1] < 0.5 * highest[0] and [first.max(), second.max()] == pytest.approx(highest)
        assert (np.ptp(first) > 0.5 * first.max()) == tails


@pytest.mark.parametrize("seed", [1, 6, 7])
def test_heavy_tails_do_not_bend_the_coefficients_of_a_coarsely_sampled_record(seed):
    """A spline cuts its peaks, where its weights favour noise that points inward: with them these coefficients
    were off by 2.1 standard errors in the mean (rms), by 0.9 with weights of the path's own residuals."""
    drawn = record(122)
    flow, n = drawn.flow, drawn.about["samples"]
    begun = flow.run(np.array(flow.state), 4000, 0.05).states[-1]
    clean = flow.run(begun, n, drawn.series.dt).states[:n, drawn.coordinate]
    noisy = add_noise(clean, drawn.about["level"], np.random.default_rng([122, seed, 7]), "student")
    model = joint(Series(noisy, drawn.series.dt), order=3)
    true = drawn.truth.P
    found = {c.powers: c for c in model.coefficients() if c.part == "P" and c.standard_error > 0}
    assert found.keys() == true.keys()
    off = [(found[e].value - true[e]) / found[e].standard_error for e in true]
    assert np.sqrt(np.mean(np.square(off))) < 1.5


def test_noise_that_grows_is_weighed_by_the_path():
    """A prepared record knows its growth, and with the weights of the true path residuals are of one size, σ."""
    signal = np.sin(0.1 * np.arange(4000)) + 0.5 * np.sin(0.1618 * np.arange(4000))
    values = add_noise(signal, 0.1, np.random.default_rng(2), "multiplicative")
    values[50] = np.nan
    prepared = prepare([Series(values, 0.1)], 3, loss="auto")
    assert prepared.noise.growth.share > 0.9 and not weighs_tails(prepared)
    assert prepared.sigma == pytest.approx(0.1, rel=0.1)
    own = grown(prepared, signal / prepared.amplitude, again=True)
    assert own.present[50] == 0.0 and own.noise.growth.share > 0.9
    left = (own.y - signal / own.amplitude)[own.present > 0.0] * np.sqrt(own.present[own.present > 0.0])
    large = np.abs(signal[own.present > 0.0]) > np.std(signal)
    assert np.std(left[large]) == pytest.approx(np.std(left[~large]), rel=0.15)
    assert np.std(left) == pytest.approx(0.1, rel=0.05)
    assert prepare([Series(values, 0.1)], 3, loss="gaussian").noise.growth == EVEN  # said to be of one kind


@pytest.mark.slow  # one whole fit
def test_an_equation_under_noise_that_grows():
    """A drawn jerk flow with noise of so many per cent of the reading: the true terms, each coefficient within four
    standard errors, and the same after a file."""
    drawn = record(1014)
    model = joint(drawn.series)
    true = drawn.truth.P
    assert model.verdict.grade == "exact"
    assert {c.powers for c in model.coefficients() if c.part == "P"} == set(true)
    for c in model.coefficients():
        if c.part == "P":
            assert abs(c.value - true[c.powers]) < 4.0 * c.standard_error
    found = model.dynamics.identified
    assert Identified.from_json(found.to_json()).noise == found.noise and found.noise.growth.share > 0.9
