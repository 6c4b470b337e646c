"""Exact linear algebra modulo a prime below 2³¹, and the way back to rational numbers.

Used for analytic closures: a null vector of a matrix with rational entries is found modulo several primes,
joined by the Chinese remainder theorem and turned into fractions by Wang's rational reconstruction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from jetode.support.arrays import IntArray

# The largest primes below 2³¹: products of two residues fit into 64 bits.
PRIMES = (
    2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549,
    2147483543, 2147483497, 2147483489, 2147483477, 2147483423, 2147483399,
)  # fmt: skip
CHECK_PRIME = 2147483353


def echelon(matrix: IntArray, prime: int) -> tuple[IntArray, list[int]]:
    """Row echelon form with unit pivots, and the columns of the pivots."""
    m = np.mod(matrix, prime)
    pivots: list[int] = []
    for column in range(m.shape[1]):
        row = len(pivots)
        candidates = np.flatnonzero(m[row:, column])
        if candidates.size == 0:
            continue
        best = row + int(candidates[0])
        m[[row, best]] = m[[best, row]]
        m[row, column:] = m[row, column:] * pow(int(m[row, column]), -1, prime) % prime
        factors = m[row + 1 :, column].copy()
        m[row + 1 :, column:] -= factors[:, None] * m[row, column:] % prime
        m[row + 1 :, column:] %= prime
        pivots.append(column)
        if len(pivots) == m.shape[0]:
            break
    return m, pivots


def null_vector(matrix: IntArray, prime: int) -> tuple[int, IntArray] | None:
    """``(free column, v)`` with matrix·v = 0, v = 1 at the first column without a pivot and 0 beyond it."""
    m, pivots = echelon(matrix, prime)
    free = next((c for c in range(m.shape[1]) if c >= len(pivots) or pivots[c] != c), None)
    if free is None:
        return None
    vector = np.zeros(m.shape[1], dtype=np.int64)
    vector[free] = 1
    for row in range(free - 1, -1, -1):
        products = m[row, row + 1 : free + 1] * vector[row + 1 : free + 1] % prime
        vector[row] = -int(products.sum()) % prime
    return free, vector


def combine(residues: Sequence[int], modulus: int, others: IntArray, prime: int) -> list[int]:
    """Residues modulo ``modulus · prime`` that agree with both lists (Chinese remainder theorem)."""
    inverse = pow(modulus, -1, prime)
    return [r + modulus * ((int(o) - r) * inverse % prime) for r, o in zip(residues, others, strict=True)]


def rational(residue: int, modulus: int) -> Fraction | None:
    """The fraction a/b ≡ residue with |a|, b ≤ √(modulus/2), if there is one."""
    bound = math.isqrt(modulus // 2)
    a, b = (modulus, 0), (residue % modulus, 1)
    while b[0] > bound:
        quotient = a[0] // b[0]
        a, b = b, (a[0] - quotient * b[0], a[1] - quotient * b[1])
    if b[1] == 0 or abs(b[1]) > bound or math.gcd(b[0], b[1]) != 1:
        return None
    return Fraction(b[0], b[1])
