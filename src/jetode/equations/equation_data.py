"""An equation as plain data, as SymPy expressions and as written terms; its methods of the same names are the face."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jetode.equations import element_terms, element_writing
from jetode.equations.element_terms import Placed, PlacedElement
from jetode.equations.polynomials import from_json, to_json, to_sympy
from jetode.equations.rows import Coupled, Row, Rows
from jetode.equations.writers import Infix

if TYPE_CHECKING:
    from jetode.equations.equation import Equation


def pieces(equation: Equation, writer: Infix, names: tuple[str, ...]) -> list[list[str]]:
    """The terms of the right-hand sides, coupled rows as offset + factor · next coordinate, elements last."""
    functions = [element_writing.written(writer, one.element, names) for one in equation.elements]
    out = []
    for i, row in enumerate(equation.rows):
        shown: list[str] = []
        if not isinstance(row, Coupled):
            shown = writer.pieces(writer.terms(row, names))
        elif row.factor or row.offset:
            shown = writer.coupled_pieces(row.offset, row.factor, names[: i + 1], names[i + 1])
        added = writer.terms(element_terms.rate(equation.elements, i), (*names, *functions))
        following = writer.pieces([(0.0, ()), *added])[1:] if shown else writer.pieces(added)
        out.append([*shown, *following])
    return out


def sympy_rates(equation: Equation) -> dict[str, Any]:
    """The rate of every coordinate as a SymPy expression."""
    import sympy

    names = equation.names()
    out: dict[str, Any] = {}
    for i, row in enumerate(equation.rows):
        if isinstance(row, Coupled):
            following, known = sympy.Symbol(names[i + 1]), names[: i + 1]
            coupled = to_sympy(row.offset, known) + to_sympy(row.factor, known) * following
            out[names[i]] = following if row.is_shift else coupled
        else:
            out[names[i]] = to_sympy(row, names)
        for one in equation.elements:
            argument = sympy.Mul(*(sympy.Symbol(names[v]) for v in one.element.coordinates))
            function = element_writing.sympy_function(one.element, argument)
            out[names[i]] += to_sympy(one.in_row(i), names) * function
    return out


def to_plain(equation: Equation) -> dict[str, Any]:
    """Plain data; inverse of :func:`from_plain`."""
    read = equation.readout
    return {
        "rows": [
            {"offset": to_json(row.offset), "factor": to_json(row.factor)}
            if isinstance(row, Coupled)
            else {"rate": to_json(row)}
            for row in equation.rows
        ],
        "names": list(equation.names()),
        "jets": equation.n_jets,
        "readout": {"index": read.index, "gain": read.gain, "offset": read.offset},
        **elements_to_plain(equation.elements),
    }


def rows_from_plain(data: Mapping[str, Any]) -> Rows:
    """The rows of :func:`to_plain`."""
    rows: list[Row] = [
        from_json(row["rate"]) if "rate" in row else Coupled(from_json(row["offset"]), from_json(row["factor"]))
        for row in data["rows"]
    ]
    return tuple(rows)


def elements_to_plain(placed: Placed) -> dict[str, Any]:
    """Elements as plain data; nothing where there are none."""
    return {"elements": [one.to_json() for one in placed]} if placed else {}


def elements_from_plain(data: Mapping[str, Any]) -> Placed:
    """Inverse of :func:`elements_to_plain`."""
    return tuple(PlacedElement.from_json(one) for one in data.get("elements", ()))
