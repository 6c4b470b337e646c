"""One Gram matrix per memory (docs/mathematics.md (7.4), (7.5)): every degree, ridge and fold is read off it.

Rows are weak: with weights φ over a few steps, Σ φ_k (x_{k+1} − x_k)/h = Σ φ_k ⟨P⟩_k, where ⟨P⟩_k is the mean of P over
a step by the quadrature of six points.  Monomials are scaled to unit mean square.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from jetode.equations.polynomials import Library, evaluate_table
from jetode.support.arrays import BoolArray, FloatArray

QUADRATURE = np.array([11.0, -93.0, 802.0, 802.0, -93.0, 11.0]) / 1440.0  # ∫ over the middle step of six points
CHUNK = 2048  # rows of monomials at a time: a few megabytes


@dataclass(frozen=True, eq=False)
class Rows:
    """States (x, m) at consecutive steps (n, d), and what may be done with them."""

    states: FloatArray
    usable: BoolArray  # steps that a row may touch
    held: BoolArray  # (folds, n): a row that touches the step is no row without the fold


@dataclass(frozen=True, eq=False)
class Gram:
    """Sums over all rows and over those of each fold; monomials in graded order, so that a degree is a prefix."""

    library: Library
    scale: FloatArray
    matrix: FloatArray
    vector: FloatArray
    square: float
    count: float
    fold_matrices: FloatArray
    fold_vectors: FloatArray
    fold_squares: FloatArray
    fold_counts: FloatArray

    def terms(self, degree: int) -> int:
        """Monomials up to a degree."""
        return sum(1 for e in self.library.exponents if sum(e) <= degree)

    def without(self, fold: int | None) -> tuple[FloatArray, FloatArray, float]:
        """(G, g, rows) without a fold, or of all rows."""
        if fold is None:
            return self.matrix, self.vector, self.count
        return (
            self.matrix - self.fold_matrices[fold],
            self.vector - self.fold_vectors[fold],
            float(self.count - self.fold_counts[fold]),
        )

    def solve(self, terms: int, ridge: float, fold: int | None = None) -> FloatArray:
        """Coefficients of the first ``terms`` monomials by (7.5), of unscaled monomials; zeros after them."""
        matrix, vector, count = self.without(fold)
        left = matrix[:terms, :terms] / count
        left[np.diag_indices(terms)] += ridge
        out = np.zeros(len(self.library))
        try:
            out[:terms] = cho_solve(cho_factor(left, check_finite=False), vector[:terms] / count, check_finite=False)
        except np.linalg.LinAlgError:
            out[:] = np.nan
        return out / self.scale


def weak_weights(width: int) -> FloatArray:
    """φ: a bump over ``width`` steps, of sum 1."""
    s = (2.0 * np.arange(1, width + 1) / (width + 1)) - 1.0
    bump = (1.0 - s * s) ** 2
    return bump / bump.sum()


def gram(parts: list[Rows], library: Library, step: float, width: int) -> Gram:
    """The sums of weak rows of ``width`` steps over all parts."""
    weights = weak_weights(width)
    smear = np.convolve(weights, QUADRATURE)  # over the states from two before the first step to two after the last
    m, folds = len(library), parts[0].held.shape[0]
    sums = np.zeros((folds + 1, m, m))
    vectors = np.zeros((folds + 1, m))
    squares, counts = np.zeros(folds + 1), np.zeros(folds + 1)
    stride = max(1, width // 2)
    for part in parts:
        n = part.states.shape[0]
        reach = smear.size
        slopes = np.convolve(np.diff(part.states[:, 0]), weights, mode="valid") / step
        for first in range(0, n - reach + 1, CHUNK * stride):
            starts = np.arange(first, min(first + CHUNK * stride, n - reach + 1), stride)
            whole = np.array([part.usable[s : s + reach].all() for s in starts])
            if not whole.any():
                continue
            last = int(starts[-1]) + reach
            table = evaluate_table(part.states[first:last], library.parent, library.variable)[library.slots]
            smeared = np.zeros((m, starts.size))
            for k, w in enumerate(smear):
                smeared += w * table[:, k : k + starts[-1] - first + 1 : stride]
            rows = np.ascontiguousarray(smeared.T[whole])
            target = slopes[starts[whole] + 2]
            masks = [np.ones(rows.shape[0], dtype=np.bool_)]
            for fold in range(folds):
                masks.append(np.array([part.held[fold, s : s + reach].any() for s in starts[whole]]))
            for i, mask in enumerate(masks):
                if mask.any():
                    chosen = rows if mask.all() else rows[mask]
                    sums[i] += chosen.T @ chosen
                    vectors[i] += target[mask] @ chosen
                    squares[i] += target[mask] @ target[mask]
                    counts[i] += mask.sum()
    size = np.sqrt(np.maximum(np.diag(sums[0]) / max(counts[0], 1.0), 1e-300))
    sums /= size[:, None] * size
    vectors /= size
    return Gram(
        library, size, sums[0], vectors[0], squares[0], counts[0], sums[1:], vectors[1:], squares[1:], counts[1:]
    )
