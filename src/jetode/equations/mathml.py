"""Polynomials and closures as presentation MathML, which browsers typeset without any script or network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from jetode.equations.closure import Closure
from jetode.equations.polynomials import Exponents, graded_order
from jetode.equations.regular import RegularClosure

ONE = "<mn>1</mn>"
THIN = "<mspace width='0.17em'></mspace>"


def number(value: float, digits: int = 4) -> str:
    """A number, its power of ten written out."""
    mantissa, _, exponent = f"{value:.{digits}g}".partition("e")
    if not exponent:
        return f"<mn>{mantissa}</mn>"
    return f"<mn>{mantissa}</mn><mo>×</mo><msup><mn>10</mn>{_signed(int(exponent))}</msup>"


def _signed(value: int) -> str:
    return f"<mn>{value}</mn>" if value >= 0 else f"<mrow><mo>−</mo><mn>{-value}</mn></mrow>"


def name(coordinate: str, dotted: bool = False) -> str:
    """``u0`` as u with an index, ``w`` as it is; with a dot for the rate."""
    letter = f"<mi>{coordinate[0]}</mi>"
    if dotted:
        letter = f"<mover>{letter}<mo>˙</mo></mover>"
    return f"<msub>{letter}<mn>{coordinate[1:]}</mn></msub>" if coordinate[1:] else letter


def monomial(exponents: Exponents, names: Sequence[str]) -> str:
    """Product of powers; empty for the constant."""
    factors = []
    for coordinate, k in zip(names, exponents, strict=True):
        if k == 1:
            factors.append(name(coordinate))
        elif k:
            factors.append(f"<msup><mrow>{name(coordinate)}</mrow><mn>{k}</mn></msup>")
    return THIN.join(factors)


def polynomial(p: Mapping[Exponents, float], names: Sequence[str], digits: int = 4) -> str:
    """Signed sum of monomials in graded order, without those that vanish."""
    out = ""
    for e in sorted((e for e in p if p[e]), key=graded_order):
        size, product = number(abs(p[e]), digits), monomial(e, names)
        body = THIN.join(part for part in (size if size != ONE or not product else "", product) if part)
        sign = "−" if p[e] < 0 else "+"
        out += f"<mo>{sign}</mo>{body}" if out or p[e] < 0 else body
    return f"<mrow>{out or '<mn>0</mn>'}</mrow>"


def _affine(
    offset: Mapping[Exponents, float], factor: Mapping[Exponents, float], coordinate: str, names: list[str], digits: int
) -> str:
    """offset + factor · coordinate, both polynomials over the first of ``names``."""
    width = len(next(iter(factor)))
    coupled = name(coordinate)
    if factor != {(0,) * width: 1.0}:
        alone = sum(c != 0 for c in factor.values()) == 1
        times = polynomial(factor, names[:width], digits)
        coupled = (times if alone else f"<mrow><mo>(</mo>{times}<mo>)</mo></mrow>") + THIN + coupled
    if offset:
        coupled = f"{polynomial(offset, names[:width], digits)}<mo>+</mo>{coupled}"
    return f"<mrow>{coupled}</mrow>"


def equations(model: RegularClosure | Closure, digits: int = 4) -> list[str]:
    """One ``<math>`` element per equation of motion."""
    names = [f"u{i}" for i in range(model.order)]
    if isinstance(model, Closure):
        above = polynomial(model.numerator, names, digits)
        below = polynomial(model.denominator, names, digits)
        rows = [(n, f"<mrow>{name(after)}</mrow>") for n, after in pairwise(names)]
        rows.append((names[-1], above if model.is_polynomial else f"<mfrac>{above}{below}</mfrac>"))
    else:
        names = list(model.names())
        rows = [
            (n, _affine(offset, factor, after, names, digits))
            for n, (offset, factor, after) in zip(names, model.rows(), strict=False)
        ]
        rows.append(("w", polynomial(model.P, names, digits)))
    return [f'<math display="block"><mrow>{name(left, True)}<mo>=</mo>{right}</mrow></math>' for left, right in rows]
