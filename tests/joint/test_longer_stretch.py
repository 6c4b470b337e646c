"""An equation of a small part of a record, carried to more of it before a path through all of it is paid for."""

from dataclasses import replace

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.joint.candidates import states_for
from jetode.joint.fit import on_longer_stretch
from jetode.joint.path import carried_through, identified_from
from jetode.joint.problem import prepare
from jetode.joint.search_settings import COOLING
from jetode.joint.shooting.annealing import anneal
from jetode.joint.shooting.gaussnewton import path_states
from jetode.signal.noise import add_noise
from truths import LORENZ

PART = 500  # samples that were searched, of 3,000


def never():
    return False


def lorenz_record():
    record = systems["lorenz"].simulate(30.0, transient=50.0).observe("x")
    return record.with_values(add_noise(record.values, 0.05, np.random.default_rng(0)))


def searched(record):
    """The true terms, each free, fitted to the first samples."""
    prepared = prepare([record], 3, None)
    scaled = identified_from(LORENZ, prepared, prepared.sigma)
    lead = np.array([row == 1 and e[2] == 1 for row, e in zip(scaled.terms.rows, scaled.terms.exponents, strict=True)])
    data = prepared.data(prepared.sigma, PART)
    start = states_for(prepared, scaled.scaled, data)
    return prepared, data, anneal(data, replace(scaled.terms, free=~lead), start, COOLING.transfer)


@pytest.fixture(scope="module")
def lorenz():
    return searched(lorenz_record())


def test_more_samples_bring_the_coefficients_nearer(lorenz):
    prepared, data, fit = lorenz
    longer = on_longer_stretch(prepared, fit, data, never)
    count = data.n_samples * 3
    assert longer.cost / count == pytest.approx(1.0, abs=0.15)
    damping = [terms.coefficients[(terms.rows == 1) & (np.array(terms.exponents)[:, 1] == 1)][0] / prepared.time
               for terms in (fit.terms, longer.terms)]  # fmt: skip
    assert abs(damping[1] + 11.0) < abs(damping[0] + 11.0)


def test_where_the_motion_goes_on_otherwise_no_path_follows():
    record = lorenz_record()
    values = record.values.copy()
    values[PART:] = values[PART:][::-1]  # backwards in time, where volumes grow
    prepared, data, fit = searched(record.with_values(values))
    assert not np.isfinite(on_longer_stretch(prepared, fit, data, never).cost)


def test_a_record_that_was_searched_as_a_whole_is_left_alone(lorenz):
    prepared, _, fit = lorenz
    assert on_longer_stretch(prepared, fit, prepared.data(prepared.sigma), never) is fit


def test_the_path_of_the_search_is_carried_through_the_record(lorenz):
    """What was searched stays where it was, the rest follows, and the coefficients are held."""
    prepared, part, fit = lorenz
    data = prepared.data(prepared.sigma, 2 * PART)
    path = carried_through(prepared, data, fit, part)
    assert path.cost / data.n_samples < 2.0 and path.terms is fit.terms  # coefficients of half of it
    known = slice(0, PART - 50)  # what comes after the end of the search moves its last states
    before, after = (path_states(*one)[known, 0] for one in ((fit, part), (path, data)))
    assert np.sqrt(np.mean((after - before) ** 2)) < prepared.sigma
    whole = carried_through(prepared, part, fit, part)
    assert whole.states == pytest.approx(fit.states) and whole.cost == fit.cost
