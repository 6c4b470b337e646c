"""An exponential that is sharper than smoothing shows it: a diode of 26 mV in a jerk circuit."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.equations.elements import Element
from jetode.experiments.elements.cases import CASES
from jetode.joint.elements.discover import Discovery
from jetode.joint.elements.likeness import sharper
from jetode.joint.elements.naming import CATALOGUE, search_elements
from jetode.joint.elements.sharp import blunt_exponentials, sharp_exponentials
from jetode.joint.elements.weak_form import WeakForm
from jetode.joint.problem import prepare
from jetode.joint.unscanned import compared_on
from jetode.records.series import Series

RATE = 1.0 / 0.026


def circuit(noise: float, n: int = 6000, dt: float = 0.05) -> Series:
    """Sprott's x''' = −0.3 x'' − x − 1e-9 (exp(x'/0.026) − 1)."""

    def rates(_, s):
        return [s[1], s[2], -0.3 * s[2] - s[0] - 1e-9 * (np.exp(RATE * s[1]) - 1.0)]

    t = 200.0 + dt * np.arange(n)
    x = solve_ivp(rates, (0, t[-1]), [0.1, 0.1, 0.0], "LSODA", t, rtol=1e-9, atol=1e-11).y[0]
    return Series(x + noise * np.std(x) * np.random.default_rng(0).standard_normal(n), dt)


def test_twice_the_rate_where_it_can_be_computed_with():
    v = np.linspace(-1.0, 2.0, 100)
    blunt, steep, sine = (Element(kind, 0, p) for kind, p in (("exp", (3.0,)), ("exp", (30.0,)), ("sin", (1.0, 0.0))))
    assert [e.parameters for e in sharper(blunt, v)] == [(3.0,), (6.0,)]
    assert sharper(steep, v) == [steep] and sharper(sine, v) == [sine]


@pytest.mark.slow
def test_a_diode_is_no_kink():
    """A kink of x' follows the record as well as the noise that the search assumes allows, and costs more."""
    prepared = prepare([circuit(0.01)], 3)
    problem = compared_on(prepared, 3, fine=True)
    found = search_elements(problem, 3, CATALOGUE, lambda: False, lambda _: None)
    assert found is not None and found.satisfies()
    (element,) = found.candidates[0].form.elements
    assert element.kind in ("exp", "cosh") and element.variable == 1  # on one side of 0 they are the same
    (rate,) = found.candidates[0].fit.terms.element_parameters(0)
    assert abs(rate) * prepared.time / prepared.amplitude == pytest.approx(RATE, rel=0.05)


def blunt(record: Series) -> list[Element]:
    """What the look for sharp exponentials would begin from."""
    weak = WeakForm.of(prepare([record], 3), 3)
    assert weak is not None
    return [e for suggestion in blunt_exponentials(Discovery.of(weak)) for e in suggestion.elements]


def test_only_spikes_are_looked_at():
    """Blurred spikes show which coordinate the diode is across; other functions and their records pay for a glance."""
    assert blunt(circuit(0.01))[0].variable == 1
    assert {e.variable for e in blunt(circuit(0.0))} == {0, 1}
    for case in ("Chua x", "Michaelis–Menten", "tanh jerk"):
        assert not blunt(CASES[case].record(0.05, 0)[0])


@pytest.mark.long
def test_a_diode_without_noise():
    """Nothing but sharpening finds it there: the weak form of smoothed spikes is off by more than the record is."""
    prepared = prepare([circuit(0.0)], 3)
    found = sharp_exponentials(prepared, 3, CATALOGUE, lambda: False, lambda _: None)
    assert found is not None and found.satisfies()
    (rate,) = found.candidates[0].fit.terms.element_parameters(0)
    assert rate * prepared.time / prepared.amplitude == pytest.approx(RATE, rel=0.01)
