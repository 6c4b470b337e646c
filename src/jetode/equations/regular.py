"""The regular closure (docs/mathematics.md (3.1)–(3.5)): the rational closure D u' = N without its pole.

For order n (jet coordinates u0 … u_{n−1}) the last coordinate is replaced by the hidden coordinate w:

    u_i' = u_{i+1}  (i < n−2),     u_{n−2}' = a(u0 … u_{n−2}) + D(u0 … u_{n−2}) w,     w' = P(u0 … u_{n−2}, w)

so that u_{n−1} = a + D w.  Nothing here is singular; differentiating u_{n−1} = a + D w gives N/D back exactly.
The change w → α w + g(u) leaves the model unchanged; :meth:`RegularClosure.canonical` fixes it.

A *chain* (order 3, docs/mathematics.md (3.9)) has a second hidden coordinate v in place of u1, seen through a factor
that can vanish:

    u0' = f0(u0) + c(u0) v,     v' = a(u0, v) + D(u0, v) w,     w' = P(u0, v, w)

with the further freedom v → α v + g(u0); canonically c is monic and f0 reduced modulo c.  c = 1, f0 = 0 is u0' = u1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jetode.equations.chains import SHIFT, record_closure, substitute_second
from jetode.equations.closure import Closure
from jetode.equations.field import Field
from jetode.equations.polynomials import (
    Exponents,
    Polynomial,
    add,
    derivative,
    embed,
    evaluate,
    from_json,
    latex,
    multiply,
    power,
    rescale,
    scale,
    text,
    to_json,
    to_sympy,
)
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError


def leading_monomial(polynomial: Mapping[Exponents, float]) -> Exponents:
    """Highest total degree; among those, the highest power of the last coordinate (u1 before u0)."""
    return max(polynomial, key=lambda e: (sum(e), e[::-1]))


@dataclass(frozen=True, eq=False)
class RegularClosure:
    """a, D over (u0 … u_{n−2}) and P over (u0 … u_{n−2}, w), as dictionaries from exponents to coefficients; in a chain
    v stands in place of u1, and ``f0`` and ``c`` are over u0 alone."""

    a: Polynomial
    D: Polynomial
    P: Polynomial
    order: int
    f0: Polynomial = field(default_factory=dict)
    c: Polynomial = field(default_factory=lambda: dict(SHIFT))

    def __post_init__(self) -> None:
        if self.order < 2:
            raise InputError(f"The 'order' parameter must be an int ≥ 2. Got {self.order} instead.")
        for name, polynomial, length in (
            ("a", self.a, self.order - 1),
            ("D", self.D, self.order - 1),
            ("P", self.P, self.order),
            ("f0", self.f0, 1),
            ("c", self.c, 1),
        ):
            for e in polynomial:
                if len(e) != length:
                    raise InputError(f"Exponents of '{name}' must have {length} entries. Got {e} instead.")
        for name, polynomial in (("D", self.D), ("c", self.c)):
            if not polynomial:
                raise InputError(f"The '{name}' parameter must have at least one term. Got an empty one instead.")
        if self.is_chain and self.order != 3:
            raise InputError(f"The 'order' parameter must be 3 for a chain (f0, c). Got {self.order} instead.")

    # -- coordinates --------------------------------------------------------------------------------

    @property
    def is_chain(self) -> bool:
        """Whether the second coordinate is v with u0' = f0 + c v, and not u1."""
        return bool(self.f0) or self.c != SHIFT

    def jets(self, states: FloatArray) -> FloatArray:
        """Jet coordinates (…, n) of regular states (…, n)."""
        last = evaluate(self.a, states[..., :-1]) + evaluate(self.D, states[..., :-1]) * states[..., -1]
        if not self.is_chain:
            return np.concatenate([states[..., :-1], last[..., None]], axis=-1)
        u0, v = states[..., :1], states[..., 1]
        factor, slope = evaluate(self.c, u0), evaluate(derivative(self.c, 0), u0)
        u1 = evaluate(self.f0, u0) + factor * v
        u2 = (evaluate(derivative(self.f0, 0), u0) + slope * v) * u1 + factor * last
        return np.stack([u0[..., 0], u1, u2], axis=-1)

    def states(self, jets: FloatArray) -> FloatArray:
        """Regular states of jets, the inverse of :meth:`jets`; not finite on the pole itself."""
        lower, last = jets[..., :-1], jets[..., -1]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.is_chain:
                u0, u1 = jets[..., :1], jets[..., 1]
                factor, slope = evaluate(self.c, u0), evaluate(derivative(self.c, 0), u0)
                v = (u1 - evaluate(self.f0, u0)) / factor
                last = (last - (evaluate(derivative(self.f0, 0), u0) + slope * v) * u1) / factor
                lower = np.stack([u0[..., 0], v], axis=-1)
            w = (last - evaluate(self.a, lower)) / evaluate(self.D, lower)
        return np.concatenate([lower, w[..., None]], axis=-1)

    def hidden(self, jets: FloatArray) -> FloatArray:
        """w at jets, e.g. (u_{n−1} − a)/D without a chain; not finite on the pole itself."""
        return self.states(jets)[..., -1]

    @property
    def field(self) -> Field:
        """The vector field on (u0 … u_{n−2}, w)."""
        rates = self.lower_rates()
        return Field(self.order, (*(rates if self.is_chain else rates[-1:]), dict(self.P)))

    def lower_rates(self) -> list[Polynomial]:
        """Rates of u0 … u_{n−2} (of u0 and v in a chain) over (u0 … u_{n−2}, w)."""
        n = self.order
        unit: list[Polynomial] = [{tuple(int(j == i) for j in range(n)): 1.0} for i in range(n)]
        rates = unit[1 : n - 1]
        if self.is_chain:
            rates = [add(embed(self.f0, n), multiply(embed(self.c, n), unit[1]))]
        return [*rates, add(embed(self.a, n), multiply(embed(self.D, n), unit[-1]))]

    @property
    def lead(self) -> Exponents:
        """D's leading monomial."""
        return leading_monomial(self.D)

    def pole_factor(self) -> Polynomial | None:
        """D where it vanishes somewhere, None where it is a constant."""
        return None if all(not any(e) for e in self.D) else dict(self.D)

    # -- gauge --------------------------------------------------------------------------------------

    def with_hidden_scaled(self, alpha: float) -> RegularClosure:
        """The same model in w̃ = α w."""
        n = self.order
        return replace(
            self,
            D={e: c / alpha for e, c in self.D.items()},  # a division: the leading coefficient becomes exactly 1
            P=scale(rescale(self.P, [1.0] * (n - 1) + [1.0 / alpha]), alpha),
        )

    def with_hidden_shifted(self, g: Mapping[Exponents, float]) -> RegularClosure:
        """The same model in w̃ = w + g(u0 … u_{n−2})."""
        a, substituted, drift = _shift(self, g)
        return replace(self, a=a, P=add(substituted, drift))

    def with_second_changed(self, alpha: float, g: Mapping[Exponents, float]) -> RegularClosure:
        """The same chain in ṽ = α v + g(u0)."""
        old_v = scale(add({(0, 1): 1.0}, scale(embed(g, 2), -1.0)), 1.0 / alpha)
        rate = multiply(embed(derivative(g, 0), 2), add(embed(self.f0, 2), multiply(embed(self.c, 2), old_v)))
        return RegularClosure(
            add(scale(substitute_second(self.a, old_v), alpha), rate),
            scale(substitute_second(self.D, old_v), alpha),
            substitute_second(self.P, embed(old_v, 3)),
            3,
            add(self.f0, scale(multiply(self.c, g), -1.0 / alpha)),
            {e: c / alpha for e, c in self.c.items()},
        )

    def gauge(self) -> tuple[float, Polynomial]:
        """(α, g) with which w̃ = α w + g(u) is the hidden coordinate of the canonical form, that of v being fixed."""
        return _division(self.a, self.D)

    def second_gauge(self) -> tuple[float, Polynomial]:
        """(α, g) with which ṽ = α v + g(u0) is the second coordinate of the canonical form."""
        return _division(self.f0, self.c) if self.is_chain else (1.0, {})

    def canonical_states(self, states: FloatArray) -> FloatArray:
        """Regular states (…, n) in the coordinates of the canonical form."""
        out = np.array(states, dtype=np.float64)
        alpha, g = self.second_gauge()
        if self.is_chain:
            out[..., 1] = alpha * out[..., 1] + evaluate(g, out[..., :1])
        alpha, g = self._with_second_reduced().gauge()
        out[..., -1] = alpha * out[..., -1] + evaluate(g, out[..., :-1])
        return out

    def canonical_jacobian(self, state: FloatArray) -> FloatArray:
        """∂(canonical state)/∂(state) at one regular state."""
        n = self.order
        second, last = np.eye(n), np.eye(n)
        alpha, g = self.second_gauge()
        if self.is_chain:
            second[1, 1], second[1, 0] = alpha, float(evaluate(derivative(g, 0), state[:1]))
        alpha, g = self._with_second_reduced().gauge()
        lower = self.canonical_states(state)[:-1]
        last[-1] = [*(float(evaluate(derivative(g, i), lower)) for i in range(n - 1)), alpha]
        return last @ second

    def _with_second_reduced(self) -> RegularClosure:
        """c monic and f0 reduced modulo c."""
        alpha, g = self.second_gauge()
        if not g and alpha == 1.0:
            return self
        out = self.with_second_changed(alpha, g)
        degree = leading_monomial(out.c)
        return replace(out, f0={e: c for e, c in out.f0.items() if e < degree})

    def canonical(self, tolerance: float = 1e-13) -> RegularClosure:
        """D's leading coefficient 1, and no term of ``a`` divisible by D's leading monomial; likewise c and ``f0``.

        Terms of ``a`` and P that cancel to less than ``tolerance`` of what they are made of are dropped.
        """
        reduced = self._with_second_reduced()
        alpha, g = reduced.gauge()
        out = reduced.with_hidden_scaled(alpha)
        if not g:
            return out
        a_abs, d_abs, p_abs, f_abs, c_abs = (
            {e: abs(c) for e, c in p.items()} for p in (out.a, out.D, out.P, out.f0, out.c)
        )
        sizes = RegularClosure(a_abs, d_abs, p_abs, self.order, f_abs, c_abs)
        a_size, substituted, drift = _shift(sizes, {e: -abs(c) for e, c in g.items()})
        p_size = add(substituted, scale(drift, -1.0))
        out = out.with_hidden_shifted(g)
        lead = leading_monomial(out.D)
        rest = {e: c for e, c in out.a.items() if any(i < j for i, j in zip(e, lead, strict=True))}
        return replace(
            out,
            a={e: c for e, c in rest.items() if abs(c) > tolerance * a_size[e]},
            P={e: c for e, c in out.P.items() if abs(c) > tolerance * p_size[e]},
        )

    def in_units(self, amplitude: float, time: float) -> RegularClosure:
        """From dimensionless coordinates ũ_i = u_i time^i/amplitude, τ = t/time to physical ones (v, w kept)."""
        n = self.order
        factors = [1.0 / amplitude, 1.0] if self.is_chain else [time**i / amplitude for i in range(n - 1)]
        rate = 1.0 / time if self.is_chain else amplitude / time ** (n - 1)
        return RegularClosure(
            scale(rescale(self.a, factors), rate),
            scale(rescale(self.D, factors), rate),
            scale(rescale(self.P, [*factors, 1.0]), 1.0 / time),
            n,
            scale(rescale(self.f0, factors[:1]), amplitude / time) if self.is_chain else {},
            scale(rescale(self.c, factors[:1]), amplitude / time) if self.is_chain else dict(SHIFT),
        )

    # -- the rational closure -------------------------------------------------------------------------

    def rational(self) -> Closure:
        """D^(m−1) u_{n−1}' = N with m = max(2, degree of P in w); constant D gives a plain polynomial.

        In a chain that is the closure of v'; with v = (u1 − f0)/c and v' = (u2 − (f0' + c' v) u1)/c the derivative of
        u2 follows, multiplied by the power of c that leaves no fraction.
        """
        n = self.order
        a, big_d = embed(self.a, n), embed(self.D, n)
        top: Polynomial = {(0,) * (n - 1) + (1,): 1.0}
        above = add(top, scale(a, -1.0))
        following: list[Polynomial] = [{tuple(int(j == i + 1) for j in range(n)): 1.0} for i in range(n - 1)]
        if self.is_chain:
            following[0] = self.lower_rates()[0]
        a_rate = add(*(multiply(derivative(a, i), u) for i, u in enumerate(following)))
        d_rate = add(*(multiply(derivative(big_d, i), u) for i, u in enumerate(following)))
        degree = max(2, max((e[-1] for e in self.P), default=0))
        parts = [
            multiply(power(big_d, degree - 1, n), a_rate),
            multiply(power(big_d, degree - 2, n), multiply(d_rate, above)),
        ]
        for e, c in self.P.items():
            monomial: Polynomial = {(*e[:-1], 0): c}
            parts.append(multiply(monomial, multiply(power(big_d, degree - e[-1], n), power(above, e[-1], n))))
        closure = Closure(add(*parts), power(big_d, degree - 1, n), n)
        return record_closure(self.f0, self.c, closure) if self.is_chain else closure

    # -- writing down ---------------------------------------------------------------------------------

    def names(self) -> tuple[str, ...]:
        """Names of the state's coordinates."""
        return ("u0", "v", "w") if self.is_chain else (*(f"u{i}" for i in range(self.order - 1)), "w")

    def rows(self) -> list[tuple[Polynomial, Polynomial, str]]:
        """The rates of u0 … u_{n−2} as offset + factor · coordinate, over as many coordinates as each needs."""
        names = self.names()
        shift: list[tuple[Polynomial, Polynomial, str]] = [({}, dict(SHIFT), name) for name in names[1:-1]]
        if self.is_chain:
            shift = [(self.f0, self.c, "v")]
        return [*shift, (self.a, self.D, "w")]

    def text(self, digits: int = 6) -> str:
        """The equations, one per line."""
        names = self.names()
        lines = []
        for name, (offset, factor, coordinate) in zip(names, self.rows(), strict=False):
            known = names[: len(next(iter(factor)))]
            row, times = text(offset, known, digits) if offset else "", text(factor, known, digits)
            times = f"({times})" if " " in times else times
            coupled = coordinate if times == "1" else f"{times} {coordinate}"
            lines.append(f"{name}' = " + (f"{row} + {coupled}" if row else coupled))
        return "\n".join([*lines, "w' = " + text(self.P, names, digits)])

    def latex(self, digits: int = 6) -> str:
        """The equations as one LaTeX ``aligned`` block."""
        names = [n if len(n) == 1 else f"{n[0]}_{{{n[1:]}}}" for n in self.names()]
        lines = []
        for name, (offset, factor, letter) in zip(names, self.rows(), strict=False):
            coordinate = letter if len(letter) == 1 else f"{letter[0]}_{{{letter[1:]}}}"
            known = names[: len(next(iter(factor)))]
            row, times = latex(offset, known, digits) if offset else "", latex(factor, known, digits)
            single = sum(x != 0.0 for x in factor.values()) == 1
            coupled = rf"{times}\,{coordinate}" if single else rf"\left({times}\right) {coordinate}"
            coupled = coordinate if times == "1" else coupled
            lines.append(rf"\dot {name} &= " + (f"{row} + {coupled}" if row else coupled))
        lines.append(r"\dot w &= " + latex(self.P, names, digits))
        return r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}"

    def _repr_latex_(self) -> str:
        return f"$${self.latex(4)}$$"

    def sympy(self) -> dict[str, Any]:
        """``{"a": …, "D": …, "P": …}`` as SymPy expressions in u0, u1, …, w; in a chain "f0" and "c" too."""
        names = self.names()
        head = {"f0": to_sympy(self.f0, names[:1]), "c": to_sympy(self.c, names[:1])} if self.is_chain else {}
        return head | {
            "a": to_sympy(self.a, names[:-1]),
            "D": to_sympy(self.D, names[:-1]),
            "P": to_sympy(self.P, names),
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        head = {"f0": to_json(self.f0), "c": to_json(self.c)} if self.is_chain else {}
        return {"order": self.order, **head, "a": to_json(self.a), "D": to_json(self.D), "P": to_json(self.P)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RegularClosure:
        """Inverse of :meth:`to_json`."""
        head = {part: from_json(data[part]) for part in ("f0", "c") if part in data}
        return cls(from_json(data["a"]), from_json(data["D"]), from_json(data["P"]), int(data["order"]), **head)


def _division(dividend: Polynomial, divisor: Polynomial) -> tuple[float, Polynomial]:
    """Leading coefficient of the divisor, and the quotient by the monic one: no term of the rest has its lead."""
    lead = leading_monomial(divisor)
    alpha = divisor[lead]
    monic = scale(divisor, 1.0 / alpha)
    quotient: Polynomial = {}
    rest = dict(dividend)
    while divisible := [e for e in rest if all(i >= j for i, j in zip(e, lead, strict=True))]:
        top = leading_monomial({e: rest[e] for e in divisible})
        factor = {tuple(i - j for i, j in zip(top, lead, strict=True)): rest[top]}
        quotient = add(quotient, factor)
        rest = add(rest, scale(multiply(monic, factor), -1.0))
        rest.pop(top, None)
    return alpha, quotient


def _shift(regular: RegularClosure, g: Mapping[Exponents, float]) -> tuple[Polynomial, Polynomial, Polynomial]:
    """a − D g, and the two parts of P in w̃ = w + g: P(u, w̃ − g), and g' along the flow."""
    n = regular.order
    a = add(regular.a, scale(multiply(regular.D, g), -1.0))
    shift = embed(g, n)
    hidden: Polynomial = {(0,) * (n - 1) + (1,): 1.0}
    old_w = add(hidden, scale(shift, -1.0))
    substituted: list[Polynomial] = []
    for e, c in regular.P.items():
        monomial: Polynomial = {(*e[:-1], 0): c}
        substituted.append(multiply(monomial, power(old_w, e[-1], n)))
    rates = replace(regular, a=a).lower_rates()
    drift = [multiply(derivative(shift, i), rate) for i, rate in enumerate(rates)]
    return a, add(*substituted), add(*drift)
