"""Order and pole of a clean record from the null space."""

import numpy as np
import pytest

import jetode
from jetode.catalogue.systems import systems
from jetode.joint.null_space_proposals import proposals, substantial
from jetode.joint.problem import prepare


def widest(record, order):
    """The proposal with the widest gap, its D brought to the record's units and largest coefficient 1."""
    prepared = prepare([record], order)
    best = max(proposals(prepared, order), key=lambda p: p.gap, default=None)
    if best is None:
        return None, {}
    denominator = best.closure.rescaled(prepared.amplitude, prepared.time).denominator
    largest = max(denominator.values(), key=abs)
    return best, {e: c / largest for e, c in denominator.items()}


@pytest.mark.parametrize(("name", "initial", "dt"), [("lorenz", (1, 0, 0), 0.01), ("rossler", (1, 0, 0), 0.04)])
def test_null_space_has_the_exact_denominator(name, initial, dt):
    system = systems[name]
    record = system.simulate(6000 * dt, dt=dt, transient=50.0, initial=initial).observe("x")
    best, denominator = widest(record, 3)
    exact = system.closure("x").denominator
    largest = max(exact.values(), key=abs)
    assert best.gap > 1e6
    assert denominator == pytest.approx({e: c / largest for e, c in exact.items()}, rel=1e-6)


def test_too_low_an_order_proposes_nothing():
    record = systems["lorenz"].simulate(60.0, dt=0.01, transient=50.0).observe("x")
    assert widest(record, 2)[0] is None


def test_van_der_pol_is_of_order_two():
    record = systems["van_der_pol"].simulate(120.0, dt=0.02, transient=20.0, initial=(1.0, 0.0)).observe("x")
    model = jetode.reconstruct(record)
    assert model.order == 2 and model.verdict.trusted
    errors = jetode.relative_l2(model.closure, systems["van_der_pol"].closure("x"))
    assert max(errors) < 1e-6


@pytest.mark.long
def test_lorenz_z_needs_order_four():
    """z of Lorenz leaves the sign of x open: no closure of order 3, an exact one of order 4."""
    trajectory = systems["lorenz"].simulate(45.0, dt=0.005, transient=50.0)
    record = trajectory.observe("z")
    shorter = record.slice(0, 6001)
    model = jetode.reconstruct(shorter)
    assert model.order == 4
    ahead = model.forecast(5.0, samples=0).values
    truth = record.values[6000:7001]
    assert np.max(np.abs(ahead - truth)) < 0.05 * np.std(truth)


def test_substantial_terms_are_judged_by_their_size_on_the_record():
    points = np.array([[10.0], [-10.0]])
    assert substantial({(0,): 1.0, (2,): 0.02, (1,): 1e-6}, points, 1e-3) == {(0,): 1.0, (2,): 0.02}


def test_rossler_z_has_a_rational_closure_and_no_regular_form():
    """D = u0²: the equation that the null space finds is taken as it is, and forecasts."""
    trajectory = systems["rossler"].simulate(140.0, dt=0.02, transient=50.0)
    record = trajectory.observe("z")
    model = jetode.reconstruct(record.slice(0, 6001))
    assert model.order == 3 and model.verdict.trusted
    assert set(model.closure.denominator) >= {(2, 0, 0)}
    ahead = model.forecast(15.0).values
    assert ahead == pytest.approx(record.values[6000 : 6000 + ahead.size], abs=0.05 * record.std)


def test_a_closure_is_proposed_once():
    """Libraries with a larger D that is stripped to that of a smaller one propose nothing new."""
    record = systems["van_der_pol"].simulate(120.0, dt=0.02, transient=20.0, initial=(1.0, 0.0)).observe("x")
    found = list(proposals(prepare([record], 2), 2))
    kept = [(p.degrees[1], frozenset(p.closure.denominator)) for p in found]
    assert found and len(kept) == len(set(kept))
