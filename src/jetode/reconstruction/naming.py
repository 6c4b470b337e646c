"""A model's equation in the words of its record: its symbols, its units, coefficients rounded to their errors, and what
each coordinate is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

from jetode.equations import mathml
from jetode.equations.closure import Closure
from jetode.equations.element_terms import Placed, PlacedElement, gain_key, in_rows
from jetode.equations.elements import Element
from jetode.equations.equation import Equation, Readout
from jetode.equations.notation import Notation, symbol
from jetode.equations.numbers import Rounded, with_error, written
from jetode.equations.polynomials import Exponents, Polynomial, to_sympy
from jetode.equations.rows import (
    Coupled,
    Row,
    element_of_part,
    is_factor_part,
    is_parameter_part,
    part_names,
    rate,
    row_of_part,
)
from jetode.equations.writers import Infix, latex_name, latex_writer, text, text_writer
from jetode.reconstruction.dynamics.base import Coefficient
from jetode.reconstruction.dynamics.written import RationalEquation, RegularEquation
from jetode.reconstruction.record_info import RecordInfo
from jetode.support.plotting import label

if TYPE_CHECKING:
    from jetode.reconstruction.model import Model

DIGITS = 6  # of coefficients whose errors are not known


@dataclass(frozen=True)
class Line:
    """One equation: left-hand side and the terms of its right-hand side, between which a line may break."""

    left: str
    pieces: tuple[str, ...]

    @property
    def right(self) -> str:
        """The whole right-hand side."""
        return " ".join(self.pieces)


@dataclass(frozen=True)
class Term:
    """One coefficient as it is shown: in the rate of which coordinate, of which term, with its unit."""

    rate: str
    term: str
    coefficient: Coefficient
    unit: str

    @property
    def value(self) -> str:
        """``713.9``, to two digits of its error."""
        return written(Rounded(self.coefficient.value, self.coefficient.standard_error))

    def __str__(self) -> str:
        """``v' has 713.9 ± 6.2 mV s⁻³ · 1``."""
        size = with_error(self.coefficient.value, self.coefficient.standard_error)
        return f"{self.rate}: {size} {self.unit}".rstrip() + f" × {self.term}"


@dataclass(frozen=True, eq=False)
class NamedEquation:
    """``form``: rows, or the paper's N/D; ``coefficients``: with their errors; ``record``: whose words to use."""

    form: Equation | Closure
    coefficients: tuple[Coefficient, ...]
    record: RecordInfo

    @cached_property
    def notation(self) -> Notation:
        """Symbols and units."""
        return Notation.of(self.form, self.record.name, self.record.unit, self.record.time_unit)

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates."""
        return self.notation.names

    # -- writing it down -------------------------------------------------------------------------------------

    def text(self, digits: int | None = None) -> str:
        """One line per coordinate; coefficients to two digits of their errors unless ``digits`` is given."""
        return "\n".join(f"{line.left} = {line.right}" for line in self.lines(digits))

    def lines(self, digits: int | None = None) -> list[Line]:
        """The same by its terms, as Unicode text."""
        return self._lines(text_writer(digits or DIGITS), self.names, "{}'", digits)

    def latex_lines(self, digits: int | None = None) -> list[Line]:
        """The same as LaTeX."""
        names = tuple(latex_name(name) for name in self.names)
        return self._lines(latex_writer(digits or DIGITS), names, r"\dot{{{}}}", digits)

    def latex(self, digits: int | None = None) -> str:
        """One LaTeX ``aligned`` block."""
        lines = [f"{line.left} &= {line.right}" for line in self.latex_lines(digits)]
        return r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"

    def html(self, digits: int | None = None) -> list[str]:
        """Each equation as HTML with MathML that breaks between its terms where the page is narrow."""
        return [mathml.wrapping(line.left, line.pieces) for line in self.latex_lines(digits)]

    def mathml(self, digits: int | None = None) -> list[str]:
        """Each equation as one MathML element."""
        return [mathml.line(line.left, line.right) for line in self.latex_lines(digits)]

    def rates(self) -> dict[str, Any]:
        """From coordinate to rate, as SymPy expressions."""
        import sympy

        if isinstance(self.form, Closure):
            slopes = {a: sympy.Symbol(b) for a, b in pairwise(self.names)}
            above, below = (to_sympy(p, self.names) for p in (self.form.numerator, self.form.denominator))
            return slopes | {self.names[-1]: above / below}
        found = self.form.sympy_rates()
        symbols = dict(zip(self.form.names(), map(sympy.Symbol, self.names), strict=True))
        moved = [rate.subs(symbols, simultaneous=True) for rate in found.values()]
        return dict(zip(self.names, moved, strict=True))

    def _lines(self, writer: Infix, names: tuple[str, ...], dot: str, digits: int | None) -> list[Line]:
        if isinstance(self.form, Closure):
            rows = [[name] for name in names[1:]]
            pieces = writer.pieces(writer.terms(self.form.numerator, names))
            last = dot.format(names[-1])
            if not self.form.is_polynomial:
                below = writer.polynomial(self.form.denominator, names)
                last = f"{writer.brackets[0]}{below}{writer.brackets[1]}{writer.times}{last}"
            lefts = [*(dot.format(name) for name in names[:-1]), last]
            return [Line(left, tuple(row)) for left, row in zip(lefts, [*rows, pieces], strict=True)]
        form = self.form if digits is not None else self._rounded(self.form)
        lines = [
            Line(dot.format(name), tuple(row) or (writer.zero,))
            for name, row in zip(names, form.pieces(writer, names), strict=True)
        ]
        read = form.readout
        if read != Readout(read.index):  # the signal is no coordinate itself
            signal = Notation.of(Closure({}, {(0,): 1.0}, 1), self.record.name).names[0]
            shown = writer.pieces([(read.offset, ()), (read.gain, (names[read.index],))])
            lines.append(Line(signal, tuple(shown)))
        return lines

    def _rounded(self, form: Equation) -> Equation:
        """The equation with coefficients that know their errors; the leading 1 of a factor has none."""
        errors = {(c.part, c.powers): c.standard_error for c in self.coefficients}

        def of(part: str, polynomial: Mapping[Exponents, float]) -> Polynomial:
            return {e: Rounded(c, errors.get((part, e), 0.0)) for e, c in polynomial.items()}

        rows: list[Row] = []
        for i, row in enumerate(form.rows):
            offset, factor, rate = part_names(i, form.dimension)
            if isinstance(row, Coupled):
                rows.append(Coupled(of(offset, row.offset), of(factor, row.factor)))
            else:
                rows.append(of(rate, row))
        return Equation(tuple(rows), form.names(), form.n_jets, form.readout, elements=self._rounded_elements(form))

    def _rounded_elements(self, form: Equation) -> Placed:
        """The same for elements: their gains and their parameters."""
        errors = {(c.part, c.powers): c.standard_error for c in self.coefficients}
        out = []
        for m, one in enumerate(form.elements):
            gains: dict[int, Polynomial] = {
                i: {e: Rounded(c, errors.get(gain_key(form.rows, m, i, e), 0.0)) for e, c in p.items()}
                for i, p in one.multipliers.items()
            }
            values = enumerate(one.element.parameters)
            element = one.element.with_parameters([Rounded(p, errors.get((f"e{m}", (i,)), 0.0)) for i, p in values])
            out.append(PlacedElement(element, gains))
        return tuple(out)

    # -- explaining it ---------------------------------------------------------------------------------------

    def terms(self) -> list[Term]:
        """All coefficients with the term they stand before."""
        out = []
        for c in self.coefficients:
            if c.value == 0.0 and c.standard_error == 0.0:  # a pole that was put at 0
                continue
            if isinstance(self.form, Closure):
                rate, shown = c.part, text({c.powers: 1.0}, self.names)
                out.append(Term(rate, shown, c, ""))
                continue
            if is_parameter_part(c.part):
                out.append(self._parameter(self.form, c))
                continue
            i, factor, m = row_of_part(c.part, self.form.dimension), is_factor_part(c.part), element_of_part(c.part)
            powers: Polynomial = {(*c.powers, int(factor)): 1.0} if factor else {c.powers: 1.0}
            shown = text(powers, self.names[: len(next(iter(powers)))])
            unit = self.notation.coefficient_unit(i, c.powers, factor)
            if m is not None:
                element = self.form.elements[m].element
                function = f"{element.kind}({element.argument_name(self.names)})"
                shown = function if shown == "1" else f"{shown} {function}"
                unit = self._gain_unit(element, i, c.powers, factor)
            out.append(Term(f"{self.names[i]}'", shown, c, unit))
        return out

    def _parameter(self, form: Equation, c: Coefficient) -> Term:
        """A parameter of an element as it is shown."""
        element = form.elements[int(c.part[1:])].element
        (i,) = c.powers
        amount, time = self.notation.product_dimension(element.coordinates)
        power = element.info.powers[i]
        unit = self.notation.unit_of((power * amount, power * time))
        return Term(f"{element.kind}({element.argument_name(self.names)})", element.info.parameters[i], c, unit)

    def _gain_unit(self, element: Element, i: int, powers: Exponents, factor: bool) -> str:
        """Unit of what stands before an element: f has that of a power of its coordinate."""
        if element.kind == "power":
            return ""
        spent = [*powers, *(0,) * (len(self.names) - len(powers))]
        for v in element.coordinates:
            spent[v] += element.info.degree
        spent[min(i + 1, len(spent) - 1)] += int(factor)
        return self.notation.coefficient_unit(i, tuple(spent))

    def meanings(self) -> list[tuple[str, str]]:
        """What each coordinate is: its symbol, and a sentence."""
        name, unit = self.record.name, self.record.unit
        own = f" {name}" if name and symbol(name) != name else ""
        channel = f"the recorded channel{own}" + (f" [{unit}]" if unit else "")
        if isinstance(self.form, Closure):
            return [self._meaning(i, channel) for i in range(self.form.order)]
        return [self._meaning(i, channel) for i in range(self.form.dimension)]

    def _meaning(self, i: int, channel: str) -> tuple[str, str]:
        name, unit = self.names[i], self.notation.coordinate_unit(i)
        form = self.form
        reads = i == 0 if isinstance(form, Closure) else form.readout == Readout(i)
        if reads:
            return name, f"{channel} without its noise"
        before = Coupled.shift(i - 1) if isinstance(form, Closure) else form.rows[i - 1] if i else None
        if isinstance(form, Equation) and i == form.readout.index:
            return name, f"{channel} without its noise, shifted and scaled (see the last line)"
        if not isinstance(before, Coupled):
            return name, "a hidden coordinate, found from the record’s past"
        if isinstance(form, Equation) and i - 1 in in_rows(form.elements):
            return label(name, unit), f"a hidden coordinate, which the rate of {self.names[i - 1]} determines"
        return label(name, unit), self._introduced(i, before)

    def _introduced(self, i: int, before: Coupled) -> str:
        """What a coordinate is that the row before it introduces."""
        form, name, previous = self.form, self.names[i], self.names[i - 1]
        if before.is_shift:
            return f"the slope of {previous}: how fast {previous} changes"
        rounded = self._rounded(form).rows[i - 1] if isinstance(form, Equation) else before
        assert isinstance(rounded, Coupled)
        writer, names = text_writer(DIGITS), self.names[:i]
        offset = writer.terms({e: -c for e, c in rounded.offset.items()}, names)
        signed = writer.pieces([(0.0, ()), *offset])[1:]  # as they follow something
        above = " ".join([f"{previous}'", *signed])
        below = writer.polynomial(rounded.factor, names)
        below = f"({below})" if len(writer.terms(rounded.factor, names)) > 1 else below
        shown = above if below == "1" else f"({above}) / {below}" if offset else f"{above} / {below}"
        hidden = "a hidden coordinate, which the record does not show but determines"
        if isinstance(form, Equation) and form.is_drive(i):
            hidden = f"what drives it from outside, {_sine(form)}"
        return f"{hidden}: {name} = {shown}"


def _sine(driven: Equation) -> str:
    """The period of a drive g' = −ω² f, which the last row states; in words where it is another."""
    last = list(rate(driven.rows, driven.dimension - 1).values())
    if len(last) == 1 and last[0] < 0.0:
        return f"a sine of period {2.0 * pi / sqrt(-last[0]):.4g}"
    return "with a motion of its own"


def named(model: Model) -> NamedEquation | None:
    """The equation of a model in its record's words; None where it has none."""
    shown: Any = model.dynamics.equation
    form: Any = None
    if isinstance(shown, RegularEquation):
        form = shown.regular
    elif isinstance(shown, RationalEquation):
        form = shown.closure
    elif isinstance(shown, Equation | Closure):
        form = shown
    return None if form is None else NamedEquation(form, model.coefficients(), model.record)
