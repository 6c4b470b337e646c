"""Gram matrices: downdating is regression without the rows; rows are integrals of fourth order and better."""

from __future__ import annotations

import numpy as np

from jetode.equations.polynomials import Library
from jetode.memory.regression import Stretch, Sums, every, one_step

RNG = np.random.default_rng(5)


def test_a_fold_taken_out_is_a_regression_without_its_rows():
    library = Library.total_degree(2, 2)
    rows, targets = RNG.standard_normal((200, len(library))), RNG.standard_normal(200)
    held = np.zeros((2, 200), dtype=bool)
    held[0, :50] = held[1, 120:] = True
    sums = Sums(library.exponents, 2)
    sums.add(rows[:130], targets[:130], held[:, :130])
    sums.add(rows[130:], targets[130:], held[:, 130:])
    gram = sums.gram()
    for fold in (0, 1):
        kept = ~held[fold]
        for wanted in (library.exponents, library.exponents[:3]):
            chosen = gram.chosen(set(wanted))
            direct = np.linalg.lstsq(rows[kept][:, chosen], targets[kept], rcond=None)[0]
            np.testing.assert_allclose(gram.solve(chosen, 0.0, fold), direct, rtol=1e-9)


def test_without_the_only_fold_that_has_rows_there_are_no_coefficients():
    library = Library.total_degree(2, 1)
    sums = Sums(library.exponents, 2)
    sums.add(RNG.standard_normal((20, 3)), RNG.standard_normal(20), np.array([[True] * 20, [False] * 20]))
    with np.errstate(all="raise"):
        assert np.isnan(sums.gram().solve(np.arange(3), 1e-3, 0)).all()
        assert np.isfinite(sums.gram().solve(np.arange(3), 1e-3, 1)).all()


def test_one_step_recovers_a_polynomial_rate():
    """x' = −x of exact samples: the coefficient to the order of the quadrature."""
    step = 0.05
    x = np.exp(-step * np.arange(80.0))
    stretch = Stretch(x[:, None], np.ones(80, dtype=bool), np.zeros((0, 80), dtype=bool))
    gram = one_step([stretch], Library(((1,),), 1), step, 1)
    np.testing.assert_allclose(gram.solve(np.array([0]), 0.0), [-1.0], rtol=1e-9)


def test_rows_do_not_touch_what_is_unusable():
    usable = np.ones(40, dtype=bool)
    usable[20] = False
    held = np.zeros((1, 40), dtype=bool)
    held[0, 30:33] = True
    first, shown = Stretch(np.zeros((40, 2)), usable, held).rows(6)
    assert not set(first) & set(range(15, 21)) and first[-1] == 34
    assert [int(f) for f in first[shown[0]]] == list(range(25, 33))
    assert every([Stretch(np.zeros((40, 2)), usable, held)], 10, 3) == 6
