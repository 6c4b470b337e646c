"""Null vectors modulo a prime and the way back to fractions."""

from fractions import Fraction

import numpy as np
import pytest

from jetode.catalogue.finite_field import PRIMES, combine, echelon, null_vector, rational


def test_primes_are_primes() -> None:
    import sympy

    assert all(sympy.isprime(p) and p < 2**31 for p in PRIMES)


def test_null_vector_of_a_singular_matrix() -> None:
    rng = np.random.default_rng(0)
    prime = PRIMES[0]
    matrix = rng.integers(0, 1000, size=(12, 8))
    matrix[:, 5] = 3 * matrix[:, 0] - 2 * matrix[:, 4]
    found = null_vector(matrix, prime)
    assert found is not None
    free, vector = found
    assert free == 5
    assert [rational(int(v), prime) for v in vector] == [-3, 0, 0, 0, 2, 1, 0, 0]
    assert len(echelon(matrix, prime)[1]) == 7


def test_regular_matrix_has_none() -> None:
    assert null_vector(np.random.default_rng(1).integers(0, 1000, size=(9, 6)), PRIMES[0]) is None


@pytest.mark.parametrize("value", [Fraction(0), Fraction(-7, 3), Fraction(123456789, 987654321), Fraction(10**12, 7)])
def test_fractions_come_back(value: Fraction) -> None:
    residues, modulus = [0], 1
    for prime in PRIMES[:4]:
        residue = value.numerator * pow(value.denominator, -1, prime) % prime
        residues = combine(residues, modulus, np.array([residue]), prime)
        modulus *= prime
    assert rational(residues[0], modulus) == value
