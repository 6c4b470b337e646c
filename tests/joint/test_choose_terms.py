"""Cooling again: while it makes a fit cheaper, and no farther than it can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jetode.joint import choose_terms
from jetode.joint.search_settings import COOLING
from jetode.joint.shooting.gaussnewton import Data, Fit
from jetode.joint.shooting.layout import RK4, Terms, make_layout

N = 400
DATA = Data(np.zeros(N), np.ones(N), make_layout([N], 0.1, 0.1, 0.5), RK4)
EMPTY = np.zeros(0)
TERMS = Terms(1, 0, np.zeros(0, np.int64), (), EMPTY, np.zeros(0, bool), EMPTY, EMPTY)


def fit_of(per_sample):
    return Fit(TERMS, np.zeros((DATA.layout.first.size, 1)), 1e-3, per_sample * N, 0.0, 1, True)


@pytest.mark.parametrize(
    ("first", "cooled", "rounds", "last"),
    [
        (1.0, [], 0, 1.0),  # satisfies
        (5.0, [], 0, 5.0),  # grossly wrong
        (2.0, [2.1], 1, 2.0),  # not cheaper: once, and left as it was
        (3.5, [2.5], 1, 2.5),  # cheaper, but no terms could be selected
        (3.5, [1.5, 1.02], 2, 1.02),
        (3.5, [1.02], 1, 1.02),
    ],
)
def test_cooling_is_repeated_while_it_makes_a_fit_cheaper(monkeypatch, first, cooled, rounds, last):
    costs, seen = iter(cooled), []

    def anneal(data, terms, states, schedule, interrupt, ceiling):
        seen.append((schedule, ceiling))
        found = fit_of(next(costs))
        return found if found.cost <= ceiling else replace(found, misfit=np.inf)

    monkeypatch.setattr(choose_terms, "anneal", anneal)
    found = choose_terms.reheat(DATA, fit_of(first), lambda: False)
    assert found.cost == pytest.approx(last * N)
    assert [schedule for schedule, _ in seen] == list(COOLING.reheats[:rounds])
    assert [ceiling for _, ceiling in seen] == pytest.approx([N * c for c in [first, *cooled][:rounds]])
