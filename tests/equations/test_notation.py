"""Symbols, units and rounded numbers: every unit is checked by rescaling the equation itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jetode.equations.closure import Closure
from jetode.equations.equation import Equation, Readout
from jetode.equations.notation import RESERVED, Notation, slope_labels, symbol
from jetode.equations.numbers import Rounded, with_error, written
from jetode.equations.rows import is_factor_part, row_of_part
from jetode.equations.writers import text_writer
from truths import FOURTH, LORENZ, ROSSLER, SECOND, TILTED

CHAIN = ROSSLER.__class__({}, {(0, 0): 1.0}, {(0, 0, 0): -5.9, (1, 1, 0): -1.0}, 3, {(0,): 0.2}, {(1,): 1.0})
MEMORY = Equation(
    ({(1, 0, 0): -2.0, (0, 0, 1): 2.0}, {(0, 1, 0): -3.0, (1, 0, 0): 1.0}, {(0, 0, 2): -0.5, (0, 1, 0): 1.0}),
    ("m0", "m1", "y"), 1, Readout(2, 3.0, -1.0),
)  # fmt: skip


@pytest.mark.parametrize("equation", [LORENZ, ROSSLER, TILTED, SECOND, FOURTH, CHAIN])
def test_units_are_what_a_change_of_units_does(equation):
    """With values × 10 and times × 1000, each canonical coefficient changes by its own unit's power of them."""
    notation = Notation.of(equation, "x", "V", "s")
    other = equation.in_units(10.0, 1000.0).canonical()
    values = {(part, e): c for part, e, c in other.coefficients()}
    for part, powers, before in equation.canonical().coefficients():
        i, factor = row_of_part(part, equation.dimension), is_factor_part(part)
        unit = notation.coefficient_unit(i, powers, factor)
        power = dict.fromkeys(("V", "s"), 0)
        for word in unit.split():
            power[word[0]] = int(word[1:].translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")) or 1)
        assert values[part, powers] == pytest.approx(before * 10.0 ** power["V"] * 1000.0 ** power["s"]), (part, powers)


def test_slopes_and_hidden_coordinates_have_letters():
    assert Notation.of(LORENZ, "x").names == ("x", "v", "w")
    assert Notation.of(FOURTH, "current").names == ("current", "v", "a", "w")
    assert Notation.of(SECOND, "x").names == ("x", "w")
    plain = LORENZ.__class__({}, {(0, 0): 1.0}, {(1, 0, 0): -1.0}, 3)
    assert Notation.of(plain, "x").names == ("x", "v", "a")  # nothing hidden: w is a slope
    assert Notation.of(CHAIN, "z").names == ("z", "v", "w")
    assert Notation.of(Closure({(0, 0, 0): 1.0}, {(0, 0, 0): 1.0}, 3), "V").names == ("V", "V1", "V2")
    assert Notation.of(MEMORY, "x").names == ("m0", "m1", "y")  # the signal is no coordinate
    read = Equation(MEMORY.rows, MEMORY.labels, 1, Readout(2))
    assert Notation.of(read, "x").names == ("m0", "m1", "x")


@given(st.text(max_size=15))
def test_names_are_always_symbols_and_differ_without_capitals(name):
    for equation in (LORENZ, FOURTH, CHAIN, MEMORY):
        names = Notation.of(equation, name).names
        assert all(n.isidentifier() and n.isascii() for n in names)
        assert len({n.lower() for n in names}) == len(names)


def test_names_that_a_language_keeps_are_not_used():
    assert {symbol(word) for word in RESERVED} == {"x"} and symbol("Lambda") == "x"
    assert symbol("CH1") == "CH1" and symbol("lead II") == "lead_II" and symbol("Membrane potential") == "x"
    assert symbol("φ") == "x"


def test_units_that_are_not_told_are_not_invented():
    assert Notation.of(LORENZ, "x", "", "s").coefficient_unit(1, (0, 1)) == "s⁻¹"
    assert Notation.of(LORENZ, "x", "", "s").coefficient_unit(2, (2, 0, 0)) == ""
    assert Notation.of(LORENZ, "x", "m/s", "s").coefficient_unit(2, (2, 0, 0)) == "(m/s)⁻² s⁻³"
    assert slope_labels("x", "mV", "s", 3) == ["x [mV]", "v [mV s⁻¹]", "a [mV s⁻²]"]
    assert slope_labels("", "", "", 2) == ["x", "v"]


def test_numbers_are_rounded_to_two_digits_of_their_errors():
    assert with_error(713.8541, 6.2) == "713.9 ± 6.2"
    assert with_error(713.8541, 62.0) == "714 ± 62" and with_error(713.8541, 620.0) == "710 ± 620"
    assert with_error(-0.00001234, 5e-7) == "(-1.234 ± 0.050)e-05"
    assert with_error(3.0, float("nan")) == "3" and with_error(3.0, 0.0) == "3"
    assert written(Rounded(-11.0, 1e-12)) == "-11.0000" and written(-11.0) == "-11"
    assert written(abs(Rounded(-11.004, 0.1))) == "11.00" and isinstance(-Rounded(1.0, 0.1), Rounded)
    assert text_writer().polynomial({(1,): Rounded(-1.0, 0.01), (0,): Rounded(2.0, 0.1)}, ("x",)) == "2.00 - 1.000 x"


@given(st.floats(-1e9, 1e9), st.floats(1e-9, 1e9))
def test_rounding_moves_no_number_by_more_than_its_error(value, error):
    shown = float(written(Rounded(value, error)))
    assert abs(shown - value) <= 0.051 * error + 1e-5 * abs(value)


def test_pieces_join_to_the_whole():
    for equation in (LORENZ, TILTED, FOURTH, MEMORY):
        names = Notation.of(equation, "x").names
        pieces = equation.pieces(text_writer(), names)
        assert [" ".join(p) for p in pieces] == equation.written(text_writer(), names)
        assert sum(len(p) for p in pieces) > equation.dimension
    assert np.isfinite(float(Rounded(1.0, 2.0) + 1.0))
