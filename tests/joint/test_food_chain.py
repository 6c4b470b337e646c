"""The top of a food chain (docs/mathematics.md §3.11): polynomials whose zeros stay, found from its spikes."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.equations.regular import RegularClosure
from jetode.joint.food_chain_search import search_food_chain
from jetode.joint.forms.food_chain import food_chains, spikes_from_nothing
from jetode.joint.parts import equation_of
from jetode.joint.problem import prepare
from jetode.records.series import Series

# Blasius' system with k1 = 0.05: x' = x − 0.2 x y / (1 + k1 x), y' = −y + 0.2 x y / (1 + k1 x) − y z, …
PARTS = {
    "f0": {(0,): 0.06, (1,): -10.0},
    "c": {(1,): 1.0},
    "a": {(0, 1): -1.0, (1, 1): -1.0},
    "D": {(0, 1): 1.0},
    "P": {(0, 0, 1): 1.0, (0, 0, 2): -0.25, (0, 1, 1): -0.2, (0, 1, 2): 0.1, (0, 1, 3): -0.0125},
}


def rates(_, s):
    x, y, z = s
    eaten = 0.2 * x * y / (1.0 + 0.05 * x)
    return [x - eaten, eaten - y - y * z, -10.0 * (z - 0.006) + y * z]


def states(first: float, count: int = 6000, dt: float = 0.0242) -> np.ndarray:
    t = 100.0 + first + dt * np.arange(count)
    return solve_ivp(rates, (0, t[-1]), [4.03, 5.11, 0.0165], "LSODA", t, rtol=1e-10, atol=1e-12).y


def record(noise: float, first: float = 0.0) -> Series:
    z = states(first)[2]
    return Series(z + noise * np.std(z) * np.random.default_rng(5).standard_normal(z.size), 0.0242)


def chain() -> RegularClosure:
    return RegularClosure(PARTS["a"], PARTS["D"], PARTS["P"], 3, PARTS["f0"], PARTS["c"])


def test_a_ratio_is_a_polynomial_in_the_share_of_the_prey():
    x, y, z = states(0.0, 50)
    share = 0.2 * x / (1.0 + 0.05 * x)
    flow = np.array([chain().field(np.array(s)) for s in zip(z, y, share, strict=True)]).T
    own = np.array([rates(0.0, s) for s in zip(x, y, z, strict=True)]).T
    np.testing.assert_allclose(flow, [own[2], own[1], 0.2 * own[0] / (1.0 + 0.05 * x) ** 2], rtol=1e-11)


def test_no_shift_hides_that_what_is_0_stays_0():
    """Canonical coordinates of a food chain are its own up to their sizes; of any other chain they may be shifted."""
    moved = chain().changed(1, 3.0, {}).changed(2, 0.5, {})
    canonical = moved.canonical()
    assert canonical.is_food_chain
    found = {part: {e: v for e, v in p.items() if v} for part, p in canonical.parts().items()}
    assert found.keys() == PARTS.keys()
    for part, expected in PARTS.items():
        assert found[part] == pytest.approx(expected)
    here = np.array([0.2, 3.0, 0.7])
    np.testing.assert_allclose(moved.canonical_states(here * [1.0, 3.0, 0.5]), here)
    fed = RegularClosure(PARTS["a"], PARTS["D"], {**PARTS["P"], (1, 0, 0): 1.0}, 3, PARTS["f0"], PARTS["c"])
    assert not fed.is_food_chain and not fed.canonical().parts()["a"]


def test_other_records_are_not_looked_at():
    t = 0.05 * np.arange(3000)
    assert spikes_from_nothing(prepare([record(0.05)], 3).jets)
    for signal in (np.sin(t), 1.0 + 0.5 * np.sin(t), np.exp(np.sin(t)) - 1.0):
        assert not spikes_from_nothing(prepare([Series(signal, 0.05)], 3).jets)


def test_a_stretch_without_a_spike_begins_nothing():
    """A record that spikes only late: no start, and no warning."""
    t = 0.05 * np.arange(6000)
    prepared = prepare([Series(1e-3 * (2.0 + np.sin(t)) + np.exp(-((t - 290.0) ** 2)), 0.05)], 3)
    assert spikes_from_nothing(prepared.jets) and not list(food_chains(prepared.jets.head(1000)))
    assert search_food_chain(prepared, 3, lambda: False, lambda _: None) is None


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
def test_it_is_found_from_its_spikes(noise):
    """On two of three stretches and more exactly the nine terms, and the rates of z to the noise."""
    right = 0
    for first in (0.0, 150.0, 300.0):
        prepared = prepare([record(noise, first)], 3)
        found = search_food_chain(prepared, 3, lambda: False, lambda _: None)
        if found is None:
            continue
        assert found.satisfies()
        equation = equation_of(found.candidates[0].fit.terms).in_units(prepared.amplitude, prepared.time).canonical()
        parts = {part: {e: v for e, v in p.items() if v} for part, p in equation.parts().items()}
        if all(parts[part].keys() == PARTS[part].keys() for part in PARTS):
            right += 1
            tolerance = 1e-3 + 3.0 * noise
            assert parts["f0"] == pytest.approx(PARTS["f0"], rel=tolerance)
            assert parts["P"][0, 0, 1] == pytest.approx(1.0, rel=1e-3 + 8.0 * noise)
    assert right >= 2
