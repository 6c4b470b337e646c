"""Known systems: the paper's Lorenz and Rössler (settings table) and others to test on.

A :class:`System` is data, equations as text with exact rational parameters; it can be simulated tightly,
observed through any polynomial, and asked for the exact closure of that observable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from types import MappingProxyType

import numpy as np

from jetode.catalogue.exact_closure import AnalyticClosure, derive_closure
from jetode.catalogue.system_table import TABLE
from jetode.equations.closure import Closure
from jetode.equations.elements import Element
from jetode.equations.expressions import ExactPolynomial, parse_polynomial, to_floats
from jetode.equations.field import Field
from jetode.equations.polynomials import evaluate
from jetode.integration.dop853 import Stop, integrate
from jetode.integration.lyapunov import LyapunovSpectrum, lyapunov_spectrum
from jetode.records.series import Series
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

RTOL = 1e-12
ATOL = 1e-12
LONGEST = 2e5  # units of time, ten seconds of computing; go on from the last state for more
LONGEST_TRANSIENT = 1e5  # units of time, seconds of computing: whatever contracts at all has done so by then
MOST_SAMPLES = 5_000_000  # 120 MB of states, a quarter of a minute to write
STEPS_PER_UNIT = 20_000  # attempted steps allowed per unit of time


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States (N, d) of a system at equal steps, after its transient."""

    system: System
    states: FloatArray
    dt: float

    @property
    def times(self) -> FloatArray:
        """0, dt, 2 dt, …"""
        return self.dt * np.arange(self.states.shape[0], dtype=np.float64)

    def observe(self, observable: str) -> Series:
        """The series of a polynomial expression in the variables, such as ``"x"`` or ``"x**2 + y"``."""
        polynomial = to_floats(self.system.observable(observable))
        return Series(evaluate(polynomial, self.states), self.dt, name=observable)


@dataclass(frozen=True, eq=False)
class System:
    """An autonomous system x' = F(x) with exact parameters."""

    name: str
    title: str
    variables: tuple[str, ...]
    parameters: Mapping[str, Fraction]
    equations: tuple[str, ...]
    initial: tuple[float, ...]
    exponent: float | None = None  # literature value of λ1, where the paper uses one
    time: float = 1.0  # rough time of one oscillation, for the step of the exponents

    @property
    def dimension(self) -> int:
        """Number of state variables."""
        return len(self.variables)

    @property
    def polynomial(self) -> bool:
        """Whether the right-hand side is polynomial."""
        return not any("sin(" in equation for equation in self.equations)

    @cached_property
    def rows(self) -> tuple[ExactPolynomial, ...]:
        """The right-hand side with exact coefficients (variables, then their sines unless polynomial)."""
        return tuple(
            parse_polynomial(text, self.variables, self.parameters, sines=not self.polynomial)
            for text in self.equations
        )

    @cached_property
    def field(self) -> Field:
        """The right-hand side for compiled code."""
        sines = () if self.polynomial else tuple(Element("sin", i, (1.0, 0.0)) for i in range(self.dimension))
        return Field.polynomial([to_floats(row) for row in self.rows], sines)

    def observable(self, expression: str) -> ExactPolynomial:
        """A polynomial expression in the variables (parameters may be used by name)."""
        return parse_polynomial(expression, self.variables, self.parameters)

    def simulate(
        self,
        duration: float,
        dt: float = 0.01,
        transient: float = 50.0,
        initial: Sequence[float] | None = None,
        rtol: float = RTOL,
    ) -> Trajectory:
        """A trajectory of ``duration``/dt + 1 samples that starts ``transient`` after ``initial``."""
        for name, value in (("dt", dt), ("duration", duration)):
            if not (np.isfinite(value) and value > 0):
                raise InputError(f"The '{name}' parameter must be a number > 0. Got {value} instead.")
        if not (np.isfinite(transient) and transient >= 0):
            raise InputError(f"The 'transient' parameter must be a number ≥ 0. Got {transient} instead.")
        limits = (("transient", transient, LONGEST_TRANSIENT), ("duration", duration, LONGEST), ("dt", dt, LONGEST))
        for name, given, most in limits:
            if given > most:
                raise InputError(f"The '{name}' parameter must be at most {most:g}. Got {given} instead.")
        if duration / dt > MOST_SAMPLES:
            raise InputError(f"The 'duration' parameter must be at most {MOST_SAMPLES:,} steps of {dt:g}.")
        start = np.array(self.initial if initial is None else initial, dtype=np.float64)
        if start.shape != (self.dimension,) or not np.all(np.isfinite(start)):
            raise InputError(f"The 'initial' parameter must be {self.dimension} numbers. Got {initial}.")
        if transient > 0:
            start = self._run(start, 2, transient, rtol)[-1]
        states = self._run(start, round(duration / dt) + 1, dt, rtol)
        return Trajectory(self, states, dt)

    def _run(self, start: FloatArray, n_samples: int, dt: float, rtol: float) -> FloatArray:
        limit = 10_000 + int(STEPS_PER_UNIT * n_samples * dt)
        run = integrate(self.field, start, n_samples, dt, rtol=rtol, atol=ATOL, max_steps=limit)
        if run.stop is not Stop.COMPLETED:
            raise InputError(
                f"The 'initial' state {start.tolist()} of {self.title} gives no bounded trajectory: "
                f"{run.stop.value} after {run.stop_time:g}."
            )
        return run.states

    def closure(self, observable: str) -> Closure | None:
        """The exact closure of ``observable``, whole coefficients; None where there is none."""
        return self.analytic_closure(observable).closure

    def analytic_closure(self, observable: str) -> AnalyticClosure:
        """:meth:`closure` with the reason where there is none."""
        return _analytic_closure(self, observable)

    @property
    def lyapunov(self) -> float:
        """λ1: the literature value where the paper uses one, else computed (once)."""
        return self.lyapunov_spectrum().largest if self.exponent is None else self.exponent

    def lyapunov_spectrum(self, duration: float | None = None) -> LyapunovSpectrum:
        """All exponents from the variational equation (default: over 2,000 oscillations)."""
        return _spectrum(self, 2000.0 * self.time if duration is None else duration)


@cache
def _analytic_closure(system: System, observable: str) -> AnalyticClosure:
    polynomial = system.observable(observable)
    if not system.polynomial:
        return AnalyticClosure(None, f"the equations of {system.title} are not polynomial")
    return derive_closure(system.rows, polynomial)


@cache
def _spectrum(system: System, duration: float) -> LyapunovSpectrum:
    step = system.time / 50.0
    return lyapunov_spectrum(system.field, system.initial, duration, step, transient=50.0 * system.time)


class _Systems(Mapping[str, System]):
    """All known systems by name; a wrong name gets the list."""

    def __init__(self, systems: Sequence[System]) -> None:
        self._systems = MappingProxyType({system.name: system for system in systems})

    def __getitem__(self, name: str) -> System:
        if name not in self._systems:
            raise InputError(f"The 'system' parameter must be one of {', '.join(self)}. Got {name!r} instead.")
        return self._systems[name]

    def __contains__(self, name: object) -> bool:
        return name in self._systems

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def __len__(self) -> int:
        return len(self._systems)


def _system(name: str, title: str, parameters: str, equations: str, initial: str, known: dict[str, float]) -> System:
    """One row of the table: ``"sigma=10 rho=28"``, ``"x: sigma*(y - x); …"``, ``"1 0 0"``."""
    named = dict(item.split("=") for item in parameters.split())
    lines = [line.split(":") for line in equations.split(";")]
    return System(
        name=name,
        title=title,
        variables=tuple(variable.strip() for variable, _ in lines),
        parameters=MappingProxyType({key: Fraction(value) for key, value in named.items()}),
        equations=tuple(equation.strip() for _, equation in lines),
        initial=tuple(float(value) for value in initial.split()),
        **known,
    )


systems: Mapping[str, System] = _Systems([_system(*row) for row in TABLE])
