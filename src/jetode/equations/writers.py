"""One writer of polynomials and of the rows of an equation, with a back end per notation.

:class:`Infix` writes sums with signs: :func:`text_writer` for people, :func:`latex_writer`, and :data:`CODE`, which
Python, C, Julia and XPPAUT read alike; :class:`ContentMathML` writes trees, as SBML wants them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jetode.equations.numbers import written
from jetode.equations.polynomials import Exponents, graded_order

Terms = Sequence[tuple[float, Sequence[str]]]  # (coefficient, written powers of the coordinates)
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Writer(ABC):
    """How numbers, powers, sums and ratios look in one notation."""

    @abstractmethod
    def power(self, name: str, exponent: int) -> str:
        """name^exponent for an exponent ≥ 1."""

    @abstractmethod
    def sum(self, terms: Terms) -> str:
        """Σ coefficient · product of powers."""

    @abstractmethod
    def ratio(self, above: str, below: str) -> str:
        """above/below."""

    def terms(self, p: Mapping[Exponents, float], names: Sequence[str]) -> list[tuple[float, list[str]]]:
        """The terms of a polynomial that do not vanish, in graded order."""
        return [
            (p[e], [self.power(n, k) for n, k in zip(names, e, strict=True) if k])
            for e in sorted((e for e in p if p[e] != 0.0), key=graded_order)
        ]

    def polynomial(self, p: Mapping[Exponents, float], names: Sequence[str]) -> str:
        """A polynomial in the coordinates of these names."""
        return self.sum(self.terms(p, names))


@dataclass(frozen=True)
class Infix(Writer):
    """Signed sums of products; ``times`` joins factors, ``brackets`` hold a sum that is a factor."""

    number: Callable[[float], str]
    raised: Callable[[str, int], str]
    fraction: Callable[[str, str], str]
    times: str
    zero: str = "0"
    brackets: tuple[str, str] = ("(", ")")

    def power(self, name: str, exponent: int) -> str:
        """name^exponent, the name itself for 1."""
        return name if exponent == 1 else self.raised(name, exponent)

    def ratio(self, above: str, below: str) -> str:
        """above/below as the notation writes it."""
        return self.fraction(above, below)

    def sum(self, terms: Terms) -> str:
        """Signs between the terms; a coefficient that reads 1 is left out."""
        return " ".join(self.pieces(terms)) or self.zero

    def pieces(self, terms: Terms) -> list[str]:
        """The terms with their signs, one by one: where a line may break."""
        out: list[str] = []
        one = self.number(1.0)
        for coefficient, factors in terms:
            size, product = self.number(abs(coefficient)), self.times.join(factors)
            body = size if not product else product if size == one else f"{size}{self.times}{product}"
            sign = "-" if coefficient < 0 else "+"
            out.append(f"{sign} {body}" if out else f"-{body}" if sign == "-" else body)
        return out

    def coupled(
        self, offset: Mapping[Exponents, float], factor: Mapping[Exponents, float], names: Sequence[str], next_name: str
    ) -> str:
        """offset + factor · next_name."""
        return " ".join(self.coupled_pieces(offset, factor, names, next_name))

    def coupled_pieces(
        self, offset: Mapping[Exponents, float], factor: Mapping[Exponents, float], names: Sequence[str], next_name: str
    ) -> list[str]:
        """The pieces of offset + factor · next_name, the factor in brackets where it is a sum."""
        listed, factors = self.terms(offset, names), self.terms(factor, names)
        if len(factors) == 1:
            ((coefficient, powers),) = factors
            return self.pieces([*listed, (coefficient, [*powers, next_name])])
        product = f"{self.brackets[0]}{self.sum(factors)}{self.brackets[1]}{self.times}{next_name}"
        return [*self.pieces(listed), f"+ {product}" if listed else product]


def _latex_number(value: float, digits: int) -> str:
    mantissa, _, exponent = written(value, digits).partition("e")
    return mantissa if not exponent else rf"{mantissa} \times 10^{{{int(exponent)}}}"


def text_writer(digits: int = 6) -> Infix:
    """Unicode text, e.g. ``720 - 2.667 w - u0 u1 - 10 u0²``."""
    return Infix(
        number=lambda value: written(value, digits),
        raised=lambda name, k: name + str(k).translate(SUPERSCRIPTS),
        fraction=lambda above, below: f"({above}) / ({below})",
        times=" ",
    )


def latex_writer(digits: int = 6) -> Infix:
    """LaTeX source; names are LaTeX too (:func:`latex_name`)."""
    return Infix(
        number=lambda value: _latex_number(value, digits),
        raised=lambda name, k: f"{name}^{{{k}}}",
        fraction=lambda above, below: rf"\frac{{{above}}}{{{below}}}",
        times=r"\,",
        brackets=(r"\left(", r"\right)"),
    )


CODE = Infix(
    number=lambda value: repr(float(value)),  # the shortest digits that read back as the same double
    raised=lambda name, k: "*".join([name] * k),  # no two of these languages agree on a power sign
    fraction=lambda above, below: f"({above})/({below})",
    times="*",
    zero="0.0",
)


class ContentMathML(Writer):
    """Content MathML: operators before their arguments."""

    def power(self, name: str, exponent: int) -> str:
        """The name repeated: a product's factors."""
        return f"<ci>{name}</ci>" * exponent

    def sum(self, terms: Terms) -> str:
        """plus of times."""
        products = [self._apply("times", [self._number(c), *factors]) for c, factors in terms]
        return self._apply("plus", products) if products else "<cn>0</cn>"

    def ratio(self, above: str, below: str) -> str:
        """divide."""
        return self._apply("divide", [above, below])

    @staticmethod
    def _apply(operator: str, parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else f"<apply><{operator}/>{''.join(parts)}</apply>"

    @staticmethod
    def _number(value: float) -> str:
        mantissa, _, exponent = repr(float(value)).partition("e")
        return f'<cn type="e-notation">{mantissa}<sep/>{int(exponent)}</cn>' if exponent else f"<cn>{mantissa}</cn>"


def latex_name(name: str) -> str:
    """``u0`` as ``u_{0}``, ``w`` as it is, words upright."""
    letter, rest = name[0], name[1:]
    if not rest:
        return name
    if rest.isdigit():
        return f"{letter}_{{{rest}}}"
    return rf"\mathrm{{{name}}}".replace("_", r"\_")


def text(p: Mapping[Exponents, float], names: Sequence[str], digits: int = 6) -> str:
    """A polynomial as Unicode text."""
    return text_writer(digits).polynomial(p, names)


def latex(p: Mapping[Exponents, float], names: Sequence[str], digits: int = 6) -> str:
    """A polynomial as LaTeX source."""
    return latex_writer(digits).polynomial(p, names)
