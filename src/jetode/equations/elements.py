"""Elements: functions of one coordinate that are no polynomials (docs/mathematics.md (8.1), (8.2)), as data.

An :class:`Element` is f(x_v; p), or f(x_v x_w; p) (8.11), with a kind out of the catalogue :data:`KINDS`; how strongly
it acts, and with which monomial it is multiplied, is said by the equation that it stands in.  All kinds are evaluated
by one compiled routine, :mod:`jetode.equations.element_kernel`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import copysign, pi, remainder
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jetode.equations import element_kernel as codes
from jetode.equations.curve_basis import MODES
from jetode.support.arrays import FloatArray
from jetode.support.compiled import kernel
from jetode.support.errors import InputError


@dataclass(frozen=True)
class Kind:
    """One function of the catalogue.

    ``powers``: with v in another unit, v = A ṽ, a parameter is A^power times as large and f is A^``degree`` times
    as large (of ``power``, the exponent itself).  ``odd``: f(−v) = −f(v) for parameters of the other sign.
    ``fixed``: leading parameters that are never estimated; ``kinked``: it bends, or steps, in less than a step of an
    integrator; ``formula`` is f in words.
    """

    name: str
    code: int
    parameters: tuple[str, ...]
    powers: tuple[int, ...]
    start: tuple[float, ...]  # parameters for a coordinate of size 1
    formula: str
    degree: int = 0
    odd: bool = False
    fixed: int = 0
    kinked: bool = False


_LISTED = (
    Kind("sin", codes.SIN, ("frequency", "phase"), (-1, 0), (1.0, 0.0), "sin(frequency v + phase)"),
    Kind("tanh", codes.TANH, ("centre", "width"), (1, 1), (0.0, 1.0), "tanh((v - centre) / width)"),
    Kind("arctan", codes.ARCTAN, ("centre", "width"), (1, 1), (0.0, 1.0), "arctan((v - centre) / width)"),
    Kind("exp", codes.EXP, ("rate",), (-1,), (1.0,), "exp(rate v)"),
    Kind("cosh", codes.COSH, ("rate",), (-1,), (1.0,), "cosh(rate v)"),
    Kind("diode", codes.DIODE, ("threshold", "width"), (1, 1), (0.0, 0.3),
         "width log(1 + exp((v - threshold) / width)): exponential below, limited by a resistor above", 1, True),
    Kind("abs", codes.ABS, ("kink",), (1,), (0.0,), "|v - kink|", 1, kinked=True),
    Kind("drag", codes.DRAG, (), (), (), "v |v|", 2, True),
    Kind("sign", codes.SIGN, ("width",), (1,), (0.05,), "tanh(v / width), a smoothed sign", kinked=True),
    Kind("piecewise-linear", codes.PIECES, ("first", "second", "ratio"), (1, 1, 0), (-1.0, 1.0, -1.0),
         "|v - first| + ratio |v - second|: with a linear term, three pieces", 1, kinked=True),
    Kind("power", codes.POWER, ("exponent",), (0,), (1.5,), "sign(v) |v|^exponent", 0, True),
    Kind("michaelis-menten", codes.MICHAELIS, ("half",), (1,), (1.0,), "v / (half + v)"),
    Kind("holling", codes.HOLLING, ("half",), (1,), (1.0,), "v² / (half² + v²)"),
    Kind("gaussian", codes.GAUSSIAN, ("centre", "width"), (1, 1), (0.0, 1.0), "exp(-(v - centre)² / (2 width²))"),
    Kind("curve", codes.CURVE, ("from", "to", *(f"mode{k + 1}" for k in range(MODES))), (1, 1, *(0,) * MODES),
         (-2.0, 2.0, *(0.0,) * MODES), "a natural cubic spline between 'from' and 'to', straight beyond", fixed=2),
)  # fmt: skip
KINDS: Mapping[str, Kind] = MappingProxyType({kind.name: kind for kind in _LISTED})
CODES: Mapping[int, Kind] = MappingProxyType({kind.code: kind for kind in _LISTED})
NAMED = tuple(name for name in KINDS if name != "curve")


def kind_of(name: str) -> Kind:
    """The kind of this name; an input error with the catalogue where there is none."""
    if name not in KINDS:
        raise InputError(f"The 'kind' of an element must be one of {', '.join(KINDS)}. Got {name!r} instead.")
    return KINDS[name]


class Shape(NamedTuple):
    """An element without its parameters: its kind, the coordinate it is of, and the other factor of its argument where
    that is a product."""

    kind: str
    variable: int
    partner: int | None = None

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The factors of the argument."""
        return (self.variable,) if self.partner is None else (self.variable, self.partner)

    def with_parameters(self, values: Iterable[float]) -> Element:
        """The element with these parameters."""
        return Element(self.kind, self.variable, tuple(values), self.partner)


@dataclass(frozen=True)
class Element:
    """f(x_variable; parameters) of one kind; with a ``partner``, f(x_variable · x_partner; parameters)."""

    kind: str
    variable: int
    parameters: tuple[float, ...]
    partner: int | None = None

    def __post_init__(self) -> None:
        wanted = kind_of(self.kind).parameters
        if len(self.parameters) != len(wanted):
            raise InputError(
                f"The 'parameters' of {self.kind} must be {len(wanted)} numbers ({', '.join(wanted) or 'none'}). "
                f"Got {self.parameters} instead."
            )
        numbers = tuple(p if isinstance(p, float) else float(p) for p in self.parameters)  # a float may know its error
        object.__setattr__(self, "parameters", numbers)

    @classmethod
    def start(cls, kind: str, variable: int, size: float = 1.0) -> Element:
        """The element with parameters for a coordinate of this size."""
        return cls(kind, variable, kind_of(kind).start).in_units(size)[0]

    @property
    def info(self) -> Kind:
        """Its place in the catalogue."""
        return KINDS[self.kind]

    @property
    def shape(self) -> Shape:
        """Kind and coordinates."""
        return Shape(self.kind, self.variable, self.partner)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The coordinates whose product it is of."""
        return self.shape.coordinates

    def argument(self, states: FloatArray) -> FloatArray:
        """What it is of at states (…, n)."""
        return np.ascontiguousarray(np.prod(states[..., list(self.coordinates)], axis=-1))

    def argument_name(self, names: Sequence[str]) -> str:
        """What it is of, with these names of the coordinates."""
        return " ".join(names[v] for v in self.coordinates)

    @cached_property
    def named(self) -> dict[str, float]:
        """Parameters by name."""
        return dict(zip(self.info.parameters, self.parameters, strict=True))

    def with_parameters(self, values: Any) -> Element:
        """The same with other parameters."""
        return replace(self, parameters=tuple(values))

    def derivatives(self, v: FloatArray | float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """f, ∂f/∂v (each like v) and ∂f/∂p (…, parameters) at places v."""
        at = np.asarray(v, dtype=np.float64)
        codes.element_ready()
        out = np.zeros((at.size, codes.ROOM))
        _evaluate(self.info.code, np.ascontiguousarray(at).reshape(-1), np.array([*self.parameters, 0.0]), out)
        count = len(self.parameters)
        by_parameter = out[:, 2 : 2 + count].reshape((*at.shape, count))
        return out[:, 0].reshape(at.shape), out[:, 1].reshape(at.shape), by_parameter

    def __call__(self, v: FloatArray | float) -> FloatArray:
        """f at places v."""
        return self.derivatives(v)[0]

    def slope(self, v: FloatArray | float) -> FloatArray:
        """∂f/∂v at places v."""
        return self.derivatives(v)[1]

    # -- units and canonical form ------------------------------------------------------------------------

    def in_units(self, factor: float) -> tuple[Element, float]:
        """The element of v = factor · ṽ that says the same as this one of ṽ, and the gain it then has to have:
        f(ṽ; p̃) = gain · f(v; p), docs/mathematics.md (8.3)."""
        kind = self.info
        moved = tuple(p * factor**k for p, k in zip(self.parameters, kind.powers, strict=True))
        degree = self.parameters[0] if kind.code == codes.POWER else kind.degree
        gain = abs(factor) ** -degree
        return replace(self, parameters=moved), copysign(gain, factor) if kind.odd else gain

    def canonical(self) -> tuple[Element, float]:
        """The same function written in one way: widths and frequencies positive, phases in (−π/4, 3π/4] (sine and
        cosine well inside), kinks in order; and the factor that its gain takes."""
        p, code = self.parameters, self.info.code
        gain = 1.0
        if code == codes.SIN:
            frequency, phase = p
            if frequency < 0.0:
                frequency, phase, gain = -frequency, -phase, -gain
            phase = remainder(phase, 2.0 * pi)
            if not -pi / 4 < phase <= 3 * pi / 4:
                phase, gain = remainder(phase - pi, 2.0 * pi), -gain
            p = frequency, phase
        elif code in (codes.TANH, codes.ARCTAN, codes.SIGN) and p[-1] < 0.0:
            p, gain = (*p[:-1], -p[-1]), -gain
        elif code in (codes.GAUSSIAN, codes.HOLLING, codes.COSH):
            p = (*p[:-1], abs(p[-1]))
        elif code == codes.PIECES and p[0] > p[1] and p[2] != 0.0:
            p, gain = (p[1], p[0], 1.0 / p[2]), p[2]
        return replace(self, parameters=p), gain

    # -- plain data ----------------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        """Plain data; inverse of :meth:`from_json`."""
        product = {} if self.partner is None else {"partner": self.partner}
        return {"kind": self.kind, "variable": self.variable, **product, "parameters": self.named}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Element:
        """Inverse of :meth:`to_json`."""
        kind = kind_of(str(data["kind"]))
        partner = None if data.get("partner") is None else int(data["partner"])
        values = tuple(float(data["parameters"][n]) for n in kind.parameters)
        return cls(kind.name, int(data["variable"]), values, partner)


@kernel(error_model="numpy", _nrt=False)
def _evaluate(kind: int, places: FloatArray, p: FloatArray, out: FloatArray) -> None:
    start: Any = np.int64(0)
    for i in range(places.shape[0]):
        codes.element(kind, places[i], p, start, out[i], start)
