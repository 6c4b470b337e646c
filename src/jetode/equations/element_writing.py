"""Elements in every notation: text, LaTeX, code, MathML, SymPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import pi
from typing import Any

import numpy as np

from jetode.equations.curve_basis import cubes
from jetode.equations.elements import Element
from jetode.equations.writers import Writer, Written


def written(writer: Writer, element: Element, names: Sequence[str]) -> Written:
    """f as a factor of a product."""
    return Written(_Writing(writer, element, [names[v] for v in element.coordinates]).write())


class _Writing:
    """One element in one notation."""

    def __init__(self, writer: Writer, element: Element, names: Sequence[str]) -> None:
        self.writer, self.element = writer, element
        self.v = writer.joined([writer.power(name, 1) for name in names])

    def write(self) -> str:
        """By its kind."""
        method: Any = getattr(self, "_" + self.element.kind.replace("-", "_"))
        return str(method(*self.element.parameters))

    def _sum(self, *terms: tuple[float, list[str]]) -> str:
        return self.writer.sum([term for term in terms if term[0] != 0.0])

    def _less(self, place: float) -> str:
        return self._sum((1.0, [self.v]), (-place, []))

    def _relative(self, centre: float, width: float) -> str:
        above = self._less(centre)
        return above if width == 1.0 else self.writer.over(above, self.writer.constant(width))

    def _call(self, name: str, argument: str) -> str:
        return self.writer.call(name, argument)

    def _sin(self, frequency: float, phase: float) -> str:
        if phase == pi / 2:
            return self._call("cos", self._sum((frequency, [self.v])))
        return self._call("sin", self._sum((frequency, [self.v]), (phase, [])))

    def _tanh(self, centre: float, width: float) -> str:
        return self._call("tanh", self._relative(centre, width))

    def _sign(self, width: float) -> str:
        return self._call("tanh", self._relative(0.0, width))

    def _arctan(self, centre: float, width: float) -> str:
        return self._call("arctan", self._relative(centre, width))

    def _exp(self, rate: float) -> str:
        return self._call("exp", self._sum((rate, [self.v])))

    def _cosh(self, rate: float) -> str:
        return self._call("cosh", self._sum((rate, [self.v])))

    def _diode(self, threshold: float, width: float) -> str:
        if self.writer.readable:
            raised = self._call("exp", self._relative(threshold, width))
            return self._product(width, self._call("log", self._sum((1.0, []), (1.0, [raised]))))
        z = self.writer.group(self._relative(threshold, width))  # without the overflow of exp
        size = self._call("abs", z)
        rest = self._call("log", self._sum((1.0, []), (1.0, [self._call("exp", self._sum((-1.0, [size])))])))
        return self._product(width, self.writer.group(self._sum((0.5, [z]), (0.5, [size]), (1.0, [rest]))))

    def _product(self, gain: float, factor: str) -> str:
        return self.writer.joined([self.writer.constant(gain), factor])

    def _abs(self, kink: float) -> str:
        return self._call("abs", self._less(kink))

    def _drag(self) -> str:
        return self.writer.joined([self.v, self._call("abs", self.v)])

    def _piecewise_linear(self, first: float, second: float, ratio: float) -> str:
        kinks = [self._call("abs", self._less(kink)) for kink in (first, second)]
        return self.writer.group(self._sum((1.0, [kinks[0]]), (ratio, [kinks[1]])))

    def _power(self, exponent: float) -> str:
        return self.writer.odd_power(self.v, exponent)

    def _michaelis_menten(self, half: float) -> str:
        return self.writer.group(self.writer.over(self.v, self._sum((half, []), (1.0, [self.v]))))

    def _holling(self, half: float) -> str:
        square = [self.v, self.v] if not self.writer.readable else [self.writer.squared(self.writer.group(self.v))]
        below = self._sum((half * half, []), (1.0, square))
        return self.writer.group(self.writer.over(self._sum((1.0, square)), below))

    def _gaussian(self, centre: float, width: float) -> str:
        z = self.writer.group(self._relative(centre, width))
        square = [z, z] if not self.writer.readable else [self.writer.squared(z)]
        return self._call("exp", self._sum((-0.5, square)))

    def _curve(self, low: float, high: float, *modes: float) -> str:
        if self.writer.readable:
            return self._call("curve", self.v)
        knots, weights, constant, slope = cubes(low, high, np.array(modes))
        terms: list[tuple[float, list[str]]] = [(constant, []), (slope, [self.v])]
        for knot, weight in zip(knots, weights, strict=True):
            terms.append((float(weight), 3 * [self._call("abs", self._less(float(knot)))]))
        return self.writer.group(self._sum(*terms))


# f(v; p) of every kind with the functions of a module: SymPy's
FORMULAS: Mapping[str, Callable[..., Any]] = {
    "sin": lambda m, v, k, phase: m.cos(k * v) if float(phase) == pi / 2 else m.sin(k * v + phase),
    "tanh": lambda m, v, centre, width: m.tanh((v - centre) / width),
    "sign": lambda m, v, width: m.tanh(v / width),
    "arctan": lambda m, v, centre, width: m.atan((v - centre) / width),
    "exp": lambda m, v, rate: m.exp(rate * v),
    "cosh": lambda m, v, rate: m.cosh(rate * v),
    "diode": lambda m, v, threshold, width: width * m.log(1 + m.exp((v - threshold) / width)),
    "abs": lambda m, v, kink: m.Abs(v - kink),
    "drag": lambda m, v: v * m.Abs(v),
    "piecewise-linear": lambda m, v, first, second, ratio: m.Abs(v - first) + ratio * m.Abs(v - second),
    "power": lambda m, v, exponent: m.sign(v) * m.Abs(v) ** exponent,
    "michaelis-menten": lambda m, v, half: v / (half + v),
    "holling": lambda m, v, half: v**2 / (half**2 + v**2),
    "gaussian": lambda m, v, centre, width: m.exp(-((v - centre) ** 2) / (2 * width**2)),
}


def sympy_function(element: Element, v: Any) -> Any:
    """f(v) as a SymPy expression."""
    import sympy

    if element.kind in FORMULAS:
        return FORMULAS[element.kind](sympy, v, *(sympy.Float(value, 17) for value in element.parameters))
    low, high, *modes = element.parameters
    knots, weights, constant, slope = cubes(low, high, np.array(modes))
    bent = [sympy.Float(w, 17) * sympy.Abs(v - sympy.Float(t, 17)) ** 3 for t, w in zip(knots, weights, strict=True)]
    return sympy.Add(sympy.Float(constant, 17), sympy.Float(slope, 17) * v, *bent)
