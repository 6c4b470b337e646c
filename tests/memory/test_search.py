"""The search beside the best memory: neighbours, the same degrees in each, and members that no first grid had."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetode import systems
from jetode.memory.ground import Ground
from jetode.memory.search import like, neighbours, search
from jetode.memory.settings import DEFAULT
from jetode.records.series import Series
from jetode.signal.trials import plan

QUICK = replace(DEFAULT, memories=((3, 0.45),), degree=2, lengths=(), kept=())


def test_neighbours_of_the_best_memory_are_tried_with_its_degrees():
    record = Series(systems["rossler"].simulate(200.0, dt=0.2, transient=100.0).states[:, 0], 0.2)
    trials = plan([record])
    ground = Ground.of([record], trials, QUICK)
    truth = trials.truths([record])
    alone = search(ground, truth, replace(QUICK, rounds=0), lambda: False)
    assert {c.memory.template.q for c in alone} == {3}
    best = max(alone, key=lambda c: c.score)
    spans = neighbours(best, QUICK)
    assert spans == [(3, round(0.45 / 1.15, 3)), (3, round(0.45 * 1.15, 3)), (2, 0.3), (4, 0.6)]
    found = search(ground, truth, replace(QUICK, rounds=1), lambda: False)
    tried = {(c.memory.template.q, round(c.memory.template.theta / c.memory.template.period, 3)) for c in found}
    assert tried == {(3, 0.45), *spans}
    assert max(c.score for c in found) >= best.score
    beside = next(c for c in found if c.memory.template.q == 4)
    assert {sum(e) for e in like(best, beside.memory)} == {sum(e) for e in best.exponents}
    assert len(search(ground, truth, replace(QUICK, rounds=1), lambda: True)) == 0


def test_an_odd_library_stays_odd_beside():
    record = Series(np.sin(0.2 * np.arange(1200)) + 0.3 * np.sin(0.6 * np.arange(1200)), 0.2)
    trials = plan([record])
    ground = Ground.of([record], trials, replace(QUICK, degree=3))
    found = search(ground, trials.truths([record]), replace(QUICK, degree=3, rounds=0), lambda: False)
    odd = next(c for c in found if {sum(e) for e in c.exponents} == {1, 3})
    assert {sum(e) for e in like(odd, odd.memory)} == {1, 3}


def test_scores_do_not_depend_on_how_early_failures_are_left():
    """A forecast that has failed for every threshold counts no further: a look at its beginning gives its score."""
    states = systems["rossler"].simulate(200.0, dt=0.2, transient=100.0).states
    record = Series(states[:, 0] + np.random.default_rng(0).normal(0.0, 0.3, len(states)), 0.2)
    trials = plan([record])
    truth, rounds = trials.truths([record]), replace(QUICK, rounds=0)
    early, late = (
        search(Ground.of([record], trials, rounds), truth, replace(rounds, look=look), lambda: False)
        for look in (0.5, 100.0)
    )
    assert min(np.min(c.scores) for c in late) < 0.5 < max(np.max(c.scores) for c in late)
    for one, other in zip(early, late, strict=True):
        np.testing.assert_array_equal(one.scores, other.scores)
        np.testing.assert_array_equal(one.forecasts, other.forecasts)
