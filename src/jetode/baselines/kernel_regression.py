"""Weights of kernel ridge regression on windows of blocks, dx = Σ_c w_c k(window, c), with and without each fold.

Two ways, by the same penalty λ |f|² of the change in units of its std: *whole*, every window of a sample of them is a
centre, (K + λ) w = dx, which follows a clean record most closely; *spanned* by fewer centres (Nyström), with
K_cc = L Lᵀ and features φ = L⁻¹ k(c, ·), so that many more noisy windows are averaged over, whose Gram matrix serves
every λ and, less what a fold holds out, every fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import factorial

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from jetode.baselines.blocks import Blocks
from jetode.signal.trials import Fold
from jetode.support.arrays import BoolArray, FloatArray, IntArray, diagonal
from jetode.support.compiled import kernel as compiled

JITTER = 1e-9  # of the kernel's 1: keeps nearly equal centres apart
SERIES = tuple(1.0 / factorial(k) for k in range(9, 0, -1))  # of (e^r − 1)/r, the highest power first
LEAST = -64.0  # of an exponent: weights are not large enough for smaller bells to show
ROUNDING = 1e-12  # of a Gram matrix: a smaller penalty is lost in it

_Sum = tuple[FloatArray, FloatArray, int]  # Gram matrix, moment with the targets, windows


class Bells:
    """exp(−γ |x_i − c_j|²) of fixed ``centres`` c, its exponent one product of matrices: −γ|x|² + 2γ x·c − γ|c|².

    The result is overwritten by the next call: fresh memory for every step of a rollout would cost more than the
    arithmetic."""

    def __init__(self, centres: FloatArray, gamma: float) -> None:
        self._gamma = gamma
        own = -gamma * np.einsum("ij,ij->i", centres, centres)
        self._right = np.vstack([centres.T, np.ones(own.size), own])
        self._room = np.empty((0, own.size))

    def __call__(self, x: FloatArray) -> FloatArray:
        """At the rows of x."""
        if x.shape[0] > self._room.shape[0]:
            self._room = np.empty((x.shape[0], self._right.shape[1]))
        left = np.empty((x.shape[0], x.shape[1] + 2))
        left[:, :-2] = 2.0 * self._gamma * x
        left[:, -2] = -self._gamma * np.einsum("ij,ij->i", x, x)
        left[:, -1] = 1.0
        out = np.matmul(left, self._right, out=self._room[: x.shape[0]])
        _exponentials(out)
        return out


@compiled(error_model="numpy", _nrt=False)
def _exponentials(x: FloatArray) -> None:
    """exp of every x ≤ 0 (:data:`LEAST` at least), in place, to the rounding of 1: a short series of s = e^{x/512} − 1,
    then nine times s (2 + s), four numbers side by side; the library's exp takes them one by one and twice as long."""
    for i in range(x.shape[0]):
        row = x[i]
        for j in range(row.shape[0]):
            at = row[j] if row[j] > LEAST else LEAST
            r = (at if at < 0.0 else 0.0) / 512.0
            s = SERIES[0]
            for k in range(1, 9):
                s = s * r + SERIES[k]
            s *= r
            for _ in range(9):
                s *= 2.0 + s
            row[j] = 1.0 + s


def kernel(a: FloatArray, b: FloatArray, gamma: float) -> FloatArray:
    """exp(−γ |a_i − b_j|²)."""
    return Bells(b, gamma)(a)


def gamma_of(length: int, width: float) -> float:
    """The kernel's γ for windows of ``length`` blocks that differ by ``width`` std per block."""
    return 1.0 / (2.0 * length * width**2)


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of one length, the change that follows each in units of ``size``, and for every fold which of them show
    it."""

    x: FloatArray
    dx: FloatArray
    inside: tuple[BoolArray, ...]
    size: float = 1.0

    @classmethod
    def of(cls, blocks: Blocks, folds: Sequence[Fold], length: int) -> Windows:
        """All windows of ``length`` blocks."""
        x, following, owners, places = blocks.windows(length)
        inside = tuple(_inside(blocks, fold, owners, places, length) for fold in folds)
        change = following[:, 0] - x[:, -1]
        size = float(np.std(change)) if change.size else 1.0
        return cls(x, change / size if size > 0 else change, inside, size if size > 0 else 1.0)

    def fewest(self) -> int:
        """Windows that are left without the fold that most of them show."""
        return min(self.x.shape[0] - int(m.sum()) for m in self.inside)

    def some(self, most: int) -> Windows:
        """So many of them at most, drawn by chance, in their order."""
        count = self.x.shape[0]
        if count <= most:
            return self
        chosen = np.sort(np.random.default_rng(0).choice(count, most, replace=False))
        return Windows(self.x[chosen], self.dx[chosen], tuple(m[chosen] for m in self.inside), self.size)

    def sums(self, features: FloatArray) -> tuple[_Sum, tuple[_Sum, ...]]:
        """Of all windows and of those of each fold; folds share windows, which are multiplied once."""
        m = features.shape[1]
        totals: list[_Sum] = [(np.zeros((m, m)), np.zeros(m), 0)] * (len(self.inside) + 1)
        shown = np.zeros(self.dx.size, dtype=np.int64)
        for i, mask in enumerate(self.inside):
            shown += 2**i * mask
        for which in np.unique(shown).tolist():
            rows, targets = features[shown == which], self.dx[shown == which]
            part = rows.T @ rows, rows.T @ targets, targets.size
            for i in (0, *(1 + fold for fold in range(len(self.inside)) if which >> fold & 1)):
                gram, moment, n = totals[i]
                totals[i] = gram + part[0], moment + part[1], n + part[2]
        return totals[0], tuple(totals[1:])


def _inside(blocks: Blocks, fold: Fold, owners: IntArray, places: IntArray, length: int) -> BoolArray:
    """Windows that a fold's samples, or what follows a window, are part of."""
    record, end = blocks.ends(owners, places)
    first, last = end + 1 - blocks.factor * length, end + 1 + blocks.factor
    return np.asarray((record == fold.record) & (last > fold.start) & (first < fold.stop))


@dataclass(frozen=True, eq=False)
class Spanned:
    """A regression of all windows in the span of a few ``centres``, with the Gram matrices of all and of each fold."""

    centres: FloatArray
    gamma: float
    factor: FloatArray  # L
    whole: _Sum
    held: tuple[_Sum, ...]
    size: float

    @classmethod
    def of(cls, windows: Windows, width: float, count: int) -> Spanned:
        """With ``count`` centres, drawn by chance."""
        centres, gamma = windows.some(count).x, gamma_of(windows.x.shape[1], width)
        own = kernel(centres, centres, gamma)
        diagonal(own)[:] += JITTER
        factor = cholesky(own, lower=True, overwrite_a=True, check_finite=False)
        shown = kernel(centres, windows.x, gamma)
        features = solve_triangular(factor, shown, lower=True, overwrite_b=True, check_finite=False).T
        return cls(centres, gamma, factor, *windows.sums(features), windows.size)

    def weights(self, ridge: float, fold: int | None = None) -> FloatArray:
        """Of the centres; without a fold's windows where one is given."""
        less, lost, count = (0.0, 0.0, 0) if fold is None else self.held[fold]
        gram, moment, n = self.whole[0] - less, self.whole[1] - lost, self.whole[2] - count
        diagonal(gram)[:] += ridge + ROUNDING * n
        factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
        solved = cho_solve((factor, True), moment, check_finite=False)
        return np.asarray(self.size * solve_triangular(self.factor, solved, lower=True, trans="T", check_finite=False))


@dataclass(frozen=True, eq=False)
class Whole:
    """A regression of some windows, each of which is a centre."""

    windows: Windows
    gamma: float
    matrix: FloatArray  # K

    @classmethod
    def of(cls, windows: Windows, width: float, count: int) -> Whole:
        """With ``count`` windows, drawn by chance."""
        some, gamma = windows.some(count), gamma_of(windows.x.shape[1], width)
        return cls(some, gamma, kernel(some.x, some.x, gamma))

    @property
    def centres(self) -> FloatArray:
        """The windows."""
        return self.windows.x

    def weights(self, ridge: float, fold: int | None = None) -> FloatArray:
        """Of the centres; 0 for a fold's windows where one is given."""
        left = np.ones(self.matrix.shape[0], dtype=np.bool_) if fold is None else ~self.windows.inside[fold]
        part = self.matrix.copy() if left.all() else self.matrix[np.ix_(left, left)]
        diagonal(part)[:] += ridge + ROUNDING
        out = np.zeros(left.size)
        factor = cholesky(part, lower=True, overwrite_a=True, check_finite=False)
        out[left] = self.windows.size * cho_solve((factor, True), self.windows.dx[left], check_finite=False)
        return out
