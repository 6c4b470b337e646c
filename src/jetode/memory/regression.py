"""One Gram matrix per memory (docs/mathematics.md (7.4), (7.5)): every degree, ridge and fold is read off it.

Rows are integrals over a step: (x_{k+1} − x_k)/h is the mean of P over the step, by a quadrature of six points.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from jetode.equations.polynomials import Exponents, Library, evaluate_table
from jetode.support.arrays import BoolArray, FloatArray, IntArray, diagonal

QUADRATURE = np.array([11.0, -93.0, 802.0, 802.0, -93.0, 11.0]) / 1440.0  # ∫ over the middle step of six points
BEFORE = 2  # points of the quadrature before the step
CHUNK = 2048  # rows of monomials at a time: a few megabytes


@dataclass(frozen=True, eq=False)
class Gram:
    """Sums over all rows [0] and over those of each fold [1 …], monomials scaled to unit mean square (``scale``).

    Any set of ``exponents`` is a part of it.
    """

    exponents: tuple[Exponents, ...]
    scale: FloatArray
    matrices: FloatArray
    vectors: FloatArray
    counts: FloatArray

    def chosen(self, wanted: Collection[Exponents]) -> IntArray:
        """The places of some monomials."""
        return np.array([i for i, e in enumerate(self.exponents) if e in wanted], dtype=np.int64)

    def solve(self, chosen: IntArray, ridge: float, fold: int | None = None) -> FloatArray:
        """Coefficients of the chosen monomials by (7.5), without the rows of a fold; NaN where none exist."""
        return self.solutions(chosen, (ridge,), fold)[0]

    def solutions(self, chosen: IntArray, ridges: Sequence[float], fold: int | None = None) -> list[FloatArray]:
        """The same for several ridges."""
        first = chosen.size and int(chosen[-1]) == chosen.size - 1  # all up to a degree: no need to gather them
        square = (slice(chosen.size),) * 2 if first else np.ix_(chosen, chosen)
        left, vector, count = self.matrices[0][square] + 0.0, self.vectors[0, chosen], self.counts[0]
        if fold is not None:
            left -= self.matrices[1 + fold][square]
            vector = vector - self.vectors[1 + fold, chosen]
            count = count - self.counts[1 + fold]
        if not count > 0:  # all rows are the fold's
            return [np.full(chosen.size, np.nan) for _ in ridges]
        left /= count
        return [_solved(left, vector / count, ridge) / self.scale[chosen] for ridge in ridges]


def _solved(matrix: FloatArray, vector: FloatArray, ridge: float) -> FloatArray:
    """(matrix + ridge)⁻¹ vector; NaN where there is none."""
    raised = matrix.copy()
    diagonal(raised)[:] += ridge
    try:
        factor = cho_factor(raised, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return np.full(vector.size, np.nan)
    return np.asarray(cho_solve(factor, vector, check_finite=False))


class Sums:
    """Rows added up, all of them and those of each fold."""

    def __init__(self, exponents: tuple[Exponents, ...], folds: int) -> None:
        m = len(exponents)
        self.exponents = exponents
        self.matrices = np.zeros((folds + 1, m, m))
        self.vectors = np.zeros((folds + 1, m))
        self.counts = np.zeros(folds + 1)

    def add(self, rows: FloatArray, targets: FloatArray, held: BoolArray) -> None:
        """Rows (n, m), their targets and (folds, n) which of them a fold holds."""
        shown = (2 ** np.arange(held.shape[0])) @ held  # folds share rows, which are multiplied once
        for which in np.unique(shown):
            mask = shown == which
            chosen, wanted = (rows, targets) if mask.all() else (rows[mask], targets[mask])
            matrix, vector = chosen.T @ chosen, wanted @ chosen
            for i in (0, *(1 + fold for fold in range(held.shape[0]) if int(which) >> fold & 1)):
                self.matrices[i] += matrix
                self.vectors[i] += vector
                self.counts[i] += wanted.size

    def gram(self) -> Gram:
        """With every monomial scaled."""
        scale = np.sqrt(np.maximum(np.diag(self.matrices[0]) / max(self.counts[0], 1.0), 1e-300))
        return Gram(self.exponents, scale, self.matrices / (scale[:, None] * scale), self.vectors / scale, self.counts)


@dataclass(frozen=True, eq=False)
class Stretch:
    """States (x, m) of one record at consecutive steps (n, d); which of them have seen nothing but samples, and
    (folds, n) which of them show a fold."""

    states: FloatArray
    usable: BoolArray
    held: BoolArray

    def rows(self, length: int, stride: int = 1) -> tuple[IntArray, BoolArray]:
        """First points of the runs of ``length`` points that are usable throughout, and (folds, n) what they show."""
        first = np.arange(0, self.usable.size - length + 1, stride)
        counted = np.concatenate([[0], np.cumsum(~self.usable)])
        first = first[counted[first + length] == counted[first]]
        shown = np.concatenate([np.zeros((self.held.shape[0], 1)), np.cumsum(self.held, axis=1)], axis=1)
        return first, shown[:, first + length] > shown[:, first]


def every(stretches: Sequence[Stretch], most: int, grain: int) -> int:
    """The smallest stride, a multiple of ``grain``, that makes at most ``most`` rows of all stretches."""
    return grain * max(1, ceil(sum(int(s.usable.sum()) for s in stretches) / (grain * most)))


def one_step(stretches: Sequence[Stretch], library: Library, step: float, stride: int) -> Gram:
    """The sums of the rows of one step, from every ``stride``-th point."""
    sums = Sums(library.exponents, stretches[0].held.shape[0])
    for stretch in stretches:
        first, held = stretch.rows(QUADRATURE.size, stride)
        slopes = np.diff(stretch.states[:, 0]) / step
        for begin in range(0, first.size, CHUNK):
            chosen = first[begin : begin + CHUNK]
            offset, last = int(chosen[0]), int(chosen[-1]) + QUADRATURE.size
            table = evaluate_table(stretch.states[offset:last], library.parent, library.variable)
            means = sum(w * _columns(table, chosen, k - offset, stride) for k, w in enumerate(QUADRATURE))
            rows = np.ascontiguousarray(np.asarray(means)[library.slots].T)
            sums.add(rows, slopes[chosen + BEFORE], held[:, begin : begin + CHUNK])
    return sums.gram()


def _columns(table: FloatArray, places: IntArray, shift: int, stride: int) -> FloatArray:
    """Columns of a table, ``shift`` after some places; a view where they lie ``stride`` apart, as without gaps."""
    first, last = int(places[0]) + shift, int(places[-1]) + shift
    if last - first == stride * (places.size - 1):
        return table[:, first : last + 1 : stride]
    return table[:, places + shift]
