"""The compiled field agrees with SymPy-free independent evaluation and with finite differences."""

from types import SimpleNamespace

import numpy as np
import pytest

from jetode.equations.elements import KINDS, Element
from jetode.equations.field import Field
from jetode.equations.polynomials import Library, evaluate
from jetode.support.errors import InputError

LORENZ = [
    {(1, 0, 0): -10.0, (0, 1, 0): 10.0},
    {(1, 0, 0): 28.0, (1, 0, 1): -1.0, (0, 1, 0): -1.0},
    {(1, 1, 0): 1.0, (0, 0, 1): -8 / 3},
]

SINES = [Element("sin", i, (1.0, 0.0)) for i in range(3)]


def rational_field(seed: int = 0) -> Field:
    rng = np.random.default_rng(seed)
    library = Library.total_degree(3, 4)
    numerator = library.polynomial(rng.normal(size=len(library)))
    denominator = {(0, 0, 0): 2.0, (1, 0, 0): 0.3, (1, 1, 0): 0.2}
    return Field(3, (numerator,), denominator)


def fields() -> list[Field]:
    sine_row = [{(0, 0, 0, 0, 0, 1): 1.0, (1, 0, 0, 0, 0, 0): -0.2, (0, 1, 0, 1, 0, 0): 0.5}] * 3
    mixed = Field(3, ({(0, 0, 0): 1.0, (1, 1, 1): 2.0}, {(0, 2, 0): -1.0}))
    high = Field(3, ({(7, 1, 2): 0.3, (11, 0, 0): -0.1, (5, 0, 1): 1.0},), {(0, 0, 0): 9.0, (6, 0, 0): 1.0})
    return [Field.polynomial(LORENZ), rational_field(), Field.polynomial(sine_row, SINES), mixed, high]


def test_polynomial_rows() -> None:
    x, y, z = 1.5, -2.0, 3.0
    expected = [10 * (y - x), 28 * x - x * z - y, x * y - 8 / 3 * z]
    assert np.allclose(Field.polynomial(LORENZ)(np.array([x, y, z])), expected, rtol=1e-15)


@pytest.mark.parametrize("field", [rational_field(), fields()[4]])
def test_rational_row_and_chain(field: Field) -> None:
    points = np.random.default_rng(1).normal(size=(7, 3))
    rates = field(points)
    assert np.array_equal(rates[:, :2], points[:, 1:])
    assert field.denominator is not None
    expected = evaluate(field.rows[0], points) / evaluate(field.denominator, points)
    assert np.allclose(rates[:, 2], expected, rtol=1e-12)


def test_closure_becomes_a_chain() -> None:
    closure = SimpleNamespace(order=3, numerator={(0, 1, 0): 6.0}, denominator={(0, 0, 0): 2.0})
    field = Field.from_closure(closure)  # type: ignore[arg-type]
    assert np.allclose(field(np.array([1.0, 2.0, 3.0])), [2.0, 3.0, 6.0])
    assert field.arrays[0][3] == 0, "a constant denominator is folded into the numerator"


@pytest.mark.parametrize("field", fields())
def test_jacobian_is_the_derivative(field: Field) -> None:
    points = np.random.default_rng(2).normal(size=(5, 3))
    jacobians = field.jacobian(points)
    step = 1e-6
    for j in range(3):
        shift = step * np.eye(3)[j]
        slope = (field(points + shift) - field(points - shift)) / (2 * step)
        assert np.allclose(jacobians[:, :, j], slope, rtol=1e-6, atol=1e-6)


def test_powers_of_the_third_variable_with_gaps() -> None:
    """Horner's rule in x_2 (nested) and the table of monomials (an added x_1⁵) give the same field."""
    row = {(1, 2, 5): 0.3, (4, 0, 2): -0.2, (0, 1, 2): 1.1, (0, 0, 0): 0.7}
    nested = Field(3, (row,), {(0, 0, 0): 2.0, (0, 0, 2): 1.0})
    table = Field(3, ({**row, (0, 5, 0): 0.0},), {(0, 0, 0): 2.0, (0, 0, 2): 1.0})
    points = np.random.default_rng(3).normal(size=(9, 3))
    assert nested.arrays[0][4] and not table.arrays[0][4]
    assert nested.denominator is not None
    expected = evaluate(row, points) / evaluate(nested.denominator, points)
    for field in (nested, table):
        assert np.allclose(field(points)[:, 2], expected, rtol=1e-12)
        assert np.allclose(field.jacobian(points), nested.jacobian(points), rtol=1e-12)


def test_one_and_two_variables() -> None:
    x = np.array([0.3])
    assert Field(1, ({(3,): 2.0, (0,): 1.0},))(x) == pytest.approx(1 + 2 * 0.3**3, rel=1e-15)
    assert Field.polynomial([{(0, 1): 1.0, (1, 0): 0.5}], SINES[:1])(x) == pytest.approx(np.sin(0.3) + 0.15, rel=1e-15)
    van_der_pol = Field(2, ({(1, 0): -1.0, (0, 1): 1.0, (2, 1): -1.0},))
    assert np.allclose(van_der_pol(np.array([0.5, 2.0])), [2.0, -0.5 + 2.0 * 0.75], rtol=1e-15)


def test_sines() -> None:
    x = np.array([0.3, -0.4, 2.0])
    rate = fields()[2](x)
    assert np.allclose(rate, np.sin(2.0) - 0.2 * 0.3 - 0.4 * 0.5 * np.sin(0.3))


def test_bad_fields_are_refused() -> None:
    with pytest.raises(InputError, match="rows"):
        Field(1, ({(1,): 1.0}, {(1,): 1.0}))
    with pytest.raises(InputError, match="entries"):
        Field(2, ({(1,): 1.0},))
    with pytest.raises(InputError, match="denominator"):
        Field(2, ({(1, 0): 1.0},), {})


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("abs", "piecewise-linear")])
def test_the_jacobian_of_a_field_with_an_element(name: str) -> None:
    """f times a monomial in one row, alone in another: both by the chain rule."""
    element = Element.start(name, 1).with_parameters(0.8 * p + 0.3 for p in Element.start(name, 1).parameters)
    field = Field(
        3, ({(1, 0, 2, 1): 0.4, (0, 1, 0, 0): -1.0}, {(0, 0, 0, 1): 1.5, (2, 0, 0, 0): 0.1}), None, (element,)
    )
    points = np.random.default_rng(4).uniform(0.2, 1.4, size=(6, 3))
    f = element(points[:, 1])
    assert np.allclose(field(points)[:, 1], 0.4 * points[:, 0] * points[:, 2] ** 2 * f - points[:, 1], rtol=1e-13)
    jacobians, step = field.jacobian(points), 1e-6
    for j in range(3):
        shift = step * np.eye(3)[j]
        assert np.allclose(jacobians[:, :, j], (field(points + shift) - field(points - shift)) / (2 * step), atol=1e-7)
