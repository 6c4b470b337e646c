"""One writer of polynomials and of the rows of an equation, with a back end per notation.

:class:`Infix` writes sums with signs: :func:`text_writer` for people, :func:`latex_writer`, and :data:`CODE`, which
Python, C, Julia and XPPAUT read alike; :class:`ContentMathML` writes trees, as SBML wants them.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jetode.equations.numbers import written
from jetode.equations.polynomials import Exponents, graded_order

Terms = Sequence[tuple[float, Sequence[str]]]  # (coefficient, written powers of the coordinates)
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Written(str):
    """A factor that is written already, where the name of a coordinate could be."""


class Writer(ABC):
    """How numbers, powers, sums and ratios look in one notation; ``readable`` where people read it, for whom no digit
    and no overflow needs care."""

    readable: bool

    @abstractmethod
    def power(self, name: str, exponent: int) -> str:
        """name^exponent for an exponent ≥ 1."""

    @abstractmethod
    def sum(self, terms: Terms) -> str:
        """Σ coefficient · product of powers."""

    @abstractmethod
    def ratio(self, above: str, below: str) -> str:
        """above/below."""

    @abstractmethod
    def over(self, above: str, below: str) -> str:
        """above/below within a larger expression."""

    @abstractmethod
    def call(self, name: str, argument: str) -> str:
        """One of sin, cos, tanh, arctan, exp, cosh, log, abs, curve of an expression."""

    @abstractmethod
    def odd_power(self, base: str, exponent: float) -> str:
        """sign(base) |base|^exponent."""

    @abstractmethod
    def constant(self, value: float) -> str:
        """A number that is a factor."""

    @abstractmethod
    def joined(self, factors: Sequence[str]) -> str:
        """The product of the factors."""

    @abstractmethod
    def group(self, expression: str) -> str:
        """A sum as a factor."""

    @abstractmethod
    def squared(self, factor: str) -> str:
        """The square of a factor."""

    def terms(self, p: Mapping[Exponents, float], names: Sequence[str]) -> list[tuple[float, list[str]]]:
        """The terms of a polynomial that do not vanish, in graded order."""
        return [
            (p[e], [n if isinstance(n, Written) else self.power(n, k) for n, k in zip(names, e, strict=True) if k])
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
    functions: Mapping[str, str] = field(default_factory=dict)  # from name to a pattern
    readable: bool = True

    def power(self, name: str, exponent: int) -> str:
        """name^exponent, the name itself for 1."""
        return name if exponent == 1 else self.raised(name, exponent)

    def ratio(self, above: str, below: str) -> str:
        """above/below as the notation writes it."""
        return self.fraction(above, below)

    def over(self, above: str, below: str) -> str:
        """A fraction in LaTeX; else a quotient with brackets where they are needed."""
        if self.brackets[0] != "(":
            return self.fraction(above, below)
        above, below = (part if _is_plain(part) else f"({part})" for part in (above, below))
        return f"{above}/{below}" if self.times == "*" else f"{above} / {below}"

    def call(self, name: str, argument: str) -> str:
        """By the pattern of the function."""
        return self.functions[name].format(argument)

    def odd_power(self, base: str, exponent: float) -> str:
        """By the pattern of the notation."""
        return self.functions["power"].format(base, self.number(exponent))

    def constant(self, value: float) -> str:
        """A number, in brackets where it has a sign."""
        shown = self.number(value)
        return f"{self.brackets[0]}{shown}{self.brackets[1]}" if shown.startswith("-") else shown

    def joined(self, factors: Sequence[str]) -> str:
        """With the sign of the product between them."""
        return self.times.join(factors)

    def group(self, expression: str) -> str:
        """In brackets where it needs them."""
        return expression if _is_plain(expression) else f"{self.brackets[0]}{expression}{self.brackets[1]}"

    def squared(self, factor: str) -> str:
        """As the notation writes a power."""
        return self.raised(factor, 2)

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


def _is_plain(expression: str) -> bool:
    """Whether an expression is one name or number."""
    return re.fullmatch(r"[\w.{}]+|\(.*\)", expression) is not None and expression.count("(") <= 1


TEXT_FUNCTIONS = {name: name + "({})" for name in ("sin", "cos", "tanh", "arctan", "exp", "cosh", "log", "curve")} | {
    "abs": "|{}|",
    "power": "sign({0}) |{0}|^{1}",
}
LATEX_FUNCTIONS = {
    name: rf"\{name}\left({{}}\right)" for name in ("sin", "cos", "tanh", "arctan", "exp", "cosh", "log")
} | {
    "abs": r"\left|{}\right|",
    "curve": r"\mathrm{{curve}}\left({}\right)",
    "power": r"\mathrm{{sign}}\left({0}\right)\,\left|{0}\right|^{{{1}}}",
}
CODE_FUNCTIONS = {name: name + "({})" for name in ("sin", "cos", "tanh", "exp", "cosh", "log", "abs")} | {
    "arctan": "atan({})",
    "power": "sign({0})*abs({0})^{1}",
}


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
        functions=TEXT_FUNCTIONS,
    )


def latex_writer(digits: int = 6) -> Infix:
    """LaTeX source; names are LaTeX too (:func:`latex_name`)."""
    return Infix(
        number=lambda value: _latex_number(value, digits),
        raised=lambda name, k: f"{name}^{{{k}}}",
        fraction=lambda above, below: rf"\frac{{{above}}}{{{below}}}",
        times=r"\,",
        brackets=(r"\left(", r"\right)"),
        functions=LATEX_FUNCTIONS,
    )


CODE = Infix(
    number=lambda value: repr(float(value)),  # the shortest digits that read back as the same double
    raised=lambda name, k: "*".join([name] * k),  # no two of these languages agree on a power sign
    fraction=lambda above, below: f"({above})/({below})",
    times="*",
    zero="0.0",
    functions=CODE_FUNCTIONS,
    readable=False,
)


def code_writer(**functions: str) -> Infix:
    """:data:`CODE` for a language with other names of functions: ``abs="fabs({})"``."""
    return replace(CODE, functions=CODE_FUNCTIONS | functions)


NUMPY = code_writer(
    **{name: f"np.{name}({{}})" for name in ("sin", "cos", "tanh", "arctan", "exp", "cosh", "log", "abs")},
    power="np.sign({0})*np.abs({0})**{1}",
)


class ContentMathML(Writer):
    """Content MathML: operators before their arguments."""

    readable = False

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

    def over(self, above: str, below: str) -> str:
        """divide."""
        return self.ratio(above, below)

    def call(self, name: str, argument: str) -> str:
        """An operator of one argument; the logarithm is the natural one."""
        return f"<apply><{'ln' if name == 'log' else name}/>{argument}</apply>"

    def odd_power(self, base: str, exponent: float) -> str:
        """base · |base|^(exponent − 1), which has no sign of its own to ask for."""
        size = self.call("abs", base)
        return self.joined([base, self._apply("power", [size, self._number(exponent - 1.0)])])

    def constant(self, value: float) -> str:
        """A number."""
        return self._number(value)

    def joined(self, factors: Sequence[str]) -> str:
        """times."""
        return self._apply("times", factors)

    def group(self, expression: str) -> str:
        """Trees need no brackets."""
        return expression

    def squared(self, factor: str) -> str:
        """times of two."""
        return self.joined([factor, factor])

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
