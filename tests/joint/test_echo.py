"""A record multiplied by its echo: the algebra, the regression, the whole search, and where it stays away."""

import numpy as np
import pytest

from jetode.experiments.panel.channels import select
from jetode.joint.candidates import Found
from jetode.joint.filtered_search import search_echo
from jetode.joint.forms.echo import FORM, TERMS, Echo, Look, eliminated
from jetode.joint.parts import equation_of
from jetode.joint.problem import prepare


def sprott_o(noise, samples=6001):
    """z of x'' = x − z, z' = (z + 1) x + 2.7 x': rates −1 and 1, p = −1, g = 2.7."""
    return select(["SprottO z"])[0].record(3, noise).series.slice(0, samples)


def test_without_the_slope_of_the_echo_the_flow_is_the_same():
    """u1' of the closure is the derivative of (u0 − p) v + g v' along the three rows, and v' is its P (3.22)."""
    rng = np.random.default_rng(1)
    v, slope = rng.normal(size=(2, 50))
    one = Echo((-0.7, 1.3), np.array([0.8, 0.5, -1.7]), v, slope, 0.0)
    terms, states = one.begun, np.column_stack([rng.normal(size=50), v / v.std(), slope / slope.std()])
    rows = np.zeros((3, 50))
    for row, powers, c in zip(terms.rows, terms.exponents, terms.coefficients, strict=True):
        rows[row] += c * np.prod(states ** np.array(powers), axis=1)
    product, held, gain = terms.coefficients[[TERMS.index((0, e)) for e in ((1, 1, 0), (0, 1, 0), (0, 0, 1))]]
    closure, reduced = eliminated(terms, states)
    np.testing.assert_allclose(reduced[:, 1], rows[0], rtol=1e-12)
    u1_rate = product * (rows[0] * states[:, 1] + states[:, 0] * rows[1]) + held * rows[1] + gain * rows[2]
    found = np.asarray(closure.field(reduced))
    np.testing.assert_allclose(found[:, 1], u1_rate, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[:, 2], rows[1], rtol=1e-9, atol=1e-9)
    assert {part: set(e) for part, e in FORM.parts} == {part: set(e) for part, e in closure.parts().items()}


def test_the_rates_of_a_clean_record_are_those_of_its_filter():
    prepared = prepare([sprott_o(0.0)], 3)
    echo = Look(prepared.jets).likeliest()
    assert echo is not None and echo.left < 0.01
    np.testing.assert_allclose(np.array(echo.rates) / prepared.time, [-1.0, 1.0], rtol=0.01)
    product, held, slope = echo.gains
    assert -held / product * prepared.amplitude == pytest.approx(-1.0, rel=0.01)
    assert slope / product * prepared.amplitude * prepared.time == pytest.approx(2.7, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.05, 0.15])
def test_the_true_terms_are_found_under_noise(noise):
    prepared = prepare([sprott_o(noise)], 3)
    found = search_echo(prepared, Found((), prepared.data(prepared.sigma), 1.0), lambda: False)
    assert found is not None and found.satisfies()
    fit = found.candidates[0].fit
    assert fit is not None
    closure = equation_of(fit.terms).in_units(prepared.amplitude, prepared.time).canonical()
    true = select(["SprottO z"])[0].regular.canonical()
    ours, theirs = ({(part, e): c for part, e, c in one.coefficients()} for one in (closure, true))
    assert ours.keys() == theirs.keys()
    assert all(ours[key] == pytest.approx(value, rel=4 * noise) for key, value in theirs.items())


@pytest.mark.parametrize("channel", ["Lorenz z", "Lorenz x", "Rossler x", "Halvorsen x"])
def test_other_channels_have_none(channel):
    """At some rates the filter would be the record and its slope, which follow anything: no minimum is there."""
    prepared = prepare([select([channel])[0].record(3, 0.05).series.slice(0, 3000)], 3)
    assert Look(prepared.jets).likeliest() is None
