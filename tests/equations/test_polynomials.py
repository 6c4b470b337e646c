"""Monomial libraries and exact algebra against SymPy and finite differences."""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from jetode.equations import polynomials as poly
from jetode.equations import writers

NAMES = ("u0", "u1", "w")
EXPONENTS = st.tuples(*(st.integers(0, 3) for _ in NAMES))
POLYNOMIALS = st.dictionaries(EXPONENTS, st.integers(-5, 5).filter(bool).map(float), min_size=1, max_size=5)


def symbolic(p):
    symbols = sympy.symbols(NAMES)
    return sum(c * sympy.Mul(*(s**k for s, k in zip(symbols, e, strict=True))) for e, c in p.items())


def same(p, expression):
    return sympy.expand(symbolic(p) - expression) == 0


@settings(deadline=None, max_examples=40)
@given(POLYNOMIALS, POLYNOMIALS)
def test_algebra_is_exact(p, q):
    assert same(poly.add(p, q), symbolic(p) + symbolic(q))
    assert same(poly.multiply(p, q), sympy.expand(symbolic(p) * symbolic(q)))
    assert same(poly.power(p, 2, 3), sympy.expand(symbolic(p) ** 2))
    for i, symbol in enumerate(sympy.symbols(NAMES)):
        assert same(poly.derivative(p, i), sympy.diff(symbolic(p), symbol))
    assert poly.from_json(poly.to_json(p)) == p


@pytest.mark.parametrize(("n", "degree", "count"), [(2, 3, 10), (3, 4, 35), (4, 2, 15)])
def test_a_total_degree_library_has_every_monomial_once(n, degree, count):
    library = poly.Library.total_degree(n, degree)
    assert len(library) == len(set(library.exponents)) == count
    assert max(map(sum, library.exponents)) == degree


@settings(deadline=None)
@given(st.sets(EXPONENTS, min_size=1, max_size=6))
def test_sparse_libraries_evaluate_as_powers_do(exponents):
    library = poly.Library(tuple(exponents), 3)
    points = np.random.default_rng(0).normal(size=(5, 3))
    expected = np.stack([np.prod(points**e, axis=1) for e in np.array(library.exponents)], axis=1)
    assert np.allclose(library.evaluate(points), expected, rtol=1e-12, atol=1e-14)


def test_gradients_are_those_of_finite_differences():
    library = poly.Library.total_degree(3, 4)
    point = np.array([[0.7, -1.2, 0.4]])
    step = 1e-6
    for j in range(3):
        shift = step * np.eye(3)[j]
        slope = (library.evaluate(point + shift) - library.evaluate(point - shift)) / (2 * step)
        assert np.allclose(library.gradient(point)[:, :, j], slope, atol=1e-8)


def test_a_change_of_units_is_a_substitution():
    p = {(1, 2, 0): 3.0, (0, 0, 1): -2.0}
    points = np.random.default_rng(1).normal(size=(4, 3))
    factors = np.array([2.0, 0.5, 10.0])
    assert np.allclose(poly.evaluate(poly.rescale(p, factors), points), poly.evaluate(p, points * factors))


def test_polynomials_are_written_as_in_a_textbook():
    p = {(0, 0, 0): 720.0, (0, 0, 1): -8 / 3, (1, 1, 0): -1.0, (2, 0, 0): -10.0, (0, 3, 0): 0.0}
    assert writers.text(p, NAMES, 4) == "720 - 2.667 w - 10 u0² - u0 u1"
    assert writers.latex({(2, 0, 0): -1e-9}, ("u_0", "u_1", "w")) == r"-1 \times 10^{-9}\,u_0^{2}"
    assert writers.text({}, NAMES) == "0"


def test_every_notation_of_one_polynomial_has_its_value():
    p = {(0, 0, 0): -2.5, (2, 0, 1): 1.0, (0, 1, 0): -1.0, (1, 0, 0): 1e-12}
    x = dict(zip(NAMES, (1.5, -2.0, 0.5), strict=True))
    expected = float(poly.evaluate(p, np.array(list(x.values()))))
    assert eval(writers.CODE.polynomial(p, NAMES), dict(x)) == pytest.approx(expected, rel=1e-15)
    assert writers.CODE.polynomial({}, NAMES) == "0.0"
    tree = writers.ContentMathML().polynomial({(2, 0, 0): -1e-9, (0, 0, 0): 1.0}, NAMES)
    assert tree == ('<apply><plus/><cn>1.0</cn><apply><times/><cn type="e-notation">-1<sep/>-9</cn>'
                    "<ci>u0</ci><ci>u0</ci></apply></apply>")  # fmt: skip


def test_coupled_rows_put_sums_in_brackets():
    row = writers.text_writer(4).coupled({(0, 1): -11.0}, {(1, 0): 1.0, (0, 0): -2.0}, ("u0", "u1"), "w")
    assert row == "-11 u1 + (-2 + u0) w"
    assert writers.text_writer(4).coupled({(0, 1): 1.0}, {(1, 0): -3.0}, ("u0", "u1"), "w") == "u1 - 3 u0 w"
    assert writers.text_writer(4).coupled({}, {(0, 0): 1.0}, ("u0", "u1"), "w") == "w"
