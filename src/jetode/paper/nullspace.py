"""Null space of the closure system (paper, App. nullspace) and the two-stage recovery (docs/mathematics.md (1.6)).

The coefficients are the right singular vector of the smallest singular value of the column-normalised joint
matrix [M_D, −M_N].  Its resolution is set by the gap σ_next − σ_min.  Under noise only the denominator is
kept, pooled over local windows; the numerator follows by least squares M_N θ_N = M_D θ_D on scaled columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jetode.equations.polynomials import Library
from jetode.paper.weakform import ClosureSystem
from jetode.support.arrays import FloatArray
from jetode.support.compiled import kernel


@dataclass(frozen=True, eq=False)
class NullSpace:
    """Coefficients of D and N and the singular values (descending) of the normalised matrix."""

    denominator: FloatArray
    numerator: FloatArray
    singular_values: FloatArray

    @property
    def gap(self) -> float:
        """σ_next − σ_min: a perturbation δM rotates the null vector by about ‖δM‖ over this."""
        return float(self.singular_values[-2] - self.singular_values[-1])


def null_space(system: ClosureSystem) -> NullSpace:
    """Joint SVD of the whole system; D has unit norm and the sign of :func:`oriented`."""
    triangle, sizes = _normalised_triangle(system.matrix)
    singular_values, vectors = _singular(triangle)
    theta = vectors[-1] / sizes
    split = len(system.denominator)
    norm = float(np.linalg.norm(theta[:split]))
    if not norm > 0.0:  # the numerator's columns are dependent on their own: any D will do
        return NullSpace(np.eye(split)[0], np.zeros(theta.shape[0] - split), singular_values)
    denominator = oriented(theta[:split] / norm, system.denominator)
    sign = 1.0 if denominator @ theta[:split] >= 0 else -1.0
    return NullSpace(denominator, sign * theta[split:] / norm, singular_values)


def singular_values(system: ClosureSystem) -> FloatArray:
    """Those of :func:`null_space` alone, by LAPACK: a model that shows them does not compile a kernel for it."""
    columns = _unit_columns(system.matrix)[0]
    if not np.isfinite(columns).all():
        return np.full(columns.shape[1], np.nan)
    values = np.linalg.svd(columns, compute_uv=False)
    return np.pad(values, (0, columns.shape[1] - values.size))  # fewer rows than columns: the others are 0


def oriented(coefficients: FloatArray, library: Library) -> FloatArray:
    """The same direction with a positive coefficient of u0 (else of the largest one)."""
    linear = library.index.get((1,) + (0,) * (library.n_variables - 1))
    leading = coefficients[linear] if linear is not None else coefficients[np.argmax(np.abs(coefficients))]
    return coefficients * float(np.copysign(1.0, leading))


def pooled_denominator(systems: Sequence[ClosureSystem], unit: float = 1.0) -> FloatArray:
    """Unit-norm, sign-aligned local denominators, averaged and renormalised.

    Which of two local poles weighs more in this mean depends on the ``unit`` of amplitude, in that of the systems.  The
    paper averages in raw units, which ties the model to the unit of the record.  The default is the unit that the
    record itself brings, std(u0), in which the systems are built; no true closure has had a say in it.
    """
    powers = unit ** np.array([sum(e) for e in systems[0].denominator.exponents], dtype=float)
    local = np.array([null_space(system).denominator for system in systems]) * powers
    mean = np.mean(local / np.linalg.norm(local, axis=1, keepdims=True), axis=0) / powers
    return mean / np.linalg.norm(mean)


def solve_numerator(system: ClosureSystem, denominator: FloatArray) -> FloatArray:
    """Least squares of M_N θ_N = M_D θ_D on unit columns; directions below rounding are left out."""
    target = system.m_d @ denominator
    triangle, sizes = _normalised_triangle(np.column_stack([system.m_n, target]))
    size = np.finfo(float).eps * max(system.m_n.shape)
    return _least_squares(triangle, size) * sizes[-1] / sizes[:-1]


def _normalised_triangle(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R of the matrix with unit columns (row j holds column j of R), and the columns' sizes."""
    columns, sizes = _unit_columns(matrix)
    return _triangle(np.ascontiguousarray(columns.T)), sizes


def _unit_columns(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    sizes = np.linalg.norm(matrix, axis=0)
    sizes[~((sizes > 0.0) & np.isfinite(sizes))] = 1.0
    return matrix / sizes, sizes


# The matrices are small and many: LAPACK's threads would spend most of their time waiting for each other.


def _triangle(columns: FloatArray) -> FloatArray:
    """Householder's R; row j of the argument and of the result is column j of the matrix."""
    n, m = columns.shape
    a = columns.copy()
    _reflect(a, np.empty(m))
    out = np.zeros((n, n))
    out[:, : min(n, m)] = a[:, : min(n, m)]
    return out


def _singular(triangle: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Singular values, descending, and right singular vectors, in rows."""
    n = triangle.shape[0]
    x, v = triangle.copy(), np.eye(n)
    _orthogonalise(x, v, np.empty(n))
    values = np.sqrt(np.sum(x * x, axis=1))
    order = np.argsort(-values)
    return values[order], v[order]


def _least_squares(triangle: FloatArray, cutoff: float) -> FloatArray:
    """Coefficients of all columns but the last that come closest to the last one."""
    n = triangle.shape[0] - 1
    x, v = triangle[:n].copy(), np.eye(n)
    _orthogonalise(x, v, np.empty(n))
    sizes = np.sum(x * x, axis=1)
    shares = np.divide(x @ triangle[n], sizes, out=np.zeros(n), where=sizes > cutoff * cutoff * sizes.max())
    return shares @ v


@kernel(fastmath={"reassoc", "contract"}, error_model="numpy", _nrt=False)
def _reflect(a: FloatArray, v: FloatArray) -> None:
    """Householder's reflections of the columns in the rows of ``a``, in place; ``v`` is scratch space, one column."""
    n, m = a.shape
    for j in range(min(n, m)):
        own = a[j, j:]
        norm = 0.0
        for i in range(m - j):
            v[i] = own[i]
            norm += v[i] * v[i]
            own[i] = 0.0
        norm = np.sqrt(norm)
        if norm == 0.0:
            continue
        corner = -norm if v[0] > 0.0 else norm
        v[0] -= corner
        half = norm * abs(v[0])
        for c in range(j + 1, n):
            rest = a[c, j:]
            share = 0.0
            for i in range(m - j):
                share += v[i] * rest[i]
            share /= half
            for i in range(m - j):
                rest[i] -= share * v[i]
        own[0] = corner


@kernel(fastmath={"reassoc", "contract"}, error_model="numpy", _nrt=False)
def _orthogonalise(x: FloatArray, v: FloatArray, norms: FloatArray) -> None:
    """Rotate the rows of x in pairs until all are orthogonal (one-sided Jacobi); v is rotated alike.

    ``norms`` is scratch space, one number per row.
    """
    n, m = x.shape
    for _ in range(60):
        for i in range(n):
            row, total = x[i], 0.0
            for k in range(m):
                total += row[k] * row[k]
            norms[i] = total
        for i in range(n - 1):  # largest first: de Rijk's order converges fastest
            top = i
            for j in range(i + 1, n):
                top = j if norms[j] > norms[top] else top
            if top != i:
                norms[i], norms[top] = norms[top], norms[i]
                for k in range(m):
                    x[i, k], x[top, k] = x[top, k], x[i, k]
                for k in range(n):
                    v[i, k], v[top, k] = v[top, k], v[i, k]
        floor = 1e-36 * norms[0]
        rotated = False
        for p in range(n - 1):
            for q in range(p + 1, n):
                a, b = x[p], x[q]
                c = 0.0
                for k in range(m):
                    c += a[k] * b[k]
                if norms[q] <= floor or not c * c > 1e-30 * abs(norms[p] * norms[q]):
                    continue
                rotated = True
                zeta = (norms[q] - norms[p]) / (2.0 * c)
                t = (1.0 if zeta > 0.0 else -1.0) / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / np.sqrt(1.0 + t * t)
                sine = cosine * t
                for k in range(m):
                    first, second = a[k], b[k]
                    a[k] = cosine * first - sine * second
                    b[k] = sine * first + cosine * second
                first_row, second_row = v[p], v[q]
                for k in range(n):
                    first, second = first_row[k], second_row[k]
                    first_row[k] = cosine * first - sine * second
                    second_row[k] = sine * first + cosine * second
                norms[p] -= t * c
                norms[q] += t * c
        if not rotated:
            break
