"""The panel of docs/mathematics.md §5: channels of public systems, their true regular forms, and records of them.

``data/panel.csv`` is made by ``scripts/make_panel.py``: equations with exact coefficients, the class of each channel
(R0 no pole, R1 affine pole in u0, R2 any other D, chain, 4-D, control), for R0–R2 the regular form (a, D, P), and for a
chain f0 and c too.
Every record is 6,001 samples at dt = tc/20 from a seeded state on the attractor; the truth goes on beyond its end for
10 Lyapunov times or 100 tc, whichever is shorter.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

import numpy as np

from jetode.equations.expressions import parse_polynomial, to_floats
from jetode.equations.field import Field
from jetode.equations.regular import RegularClosure
from jetode.experiments.core.store import Task
from jetode.integration.dop853 import Stop, integrate
from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.records.series import Series
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

SAMPLES = 6001
PER_TC = 20
TRANSIENT = 200.0  # tc
APART = 500.0  # tc between the records of one channel
LYAPUNOV_TIMES, MOST_TC = 10.0, 100.0
REGULAR = ("R0", "R1", "R2")


@dataclass(frozen=True, eq=False)
class Channel:
    """One observable of one system."""

    system: str
    observable: str
    kind: str
    equations: tuple[tuple[str, str], ...]
    initial: tuple[float, ...]
    regular: RegularClosure | None
    tc: float
    dt: float
    lyapunov: float

    @property
    def name(self) -> str:
        """ "Lorenz x"."""
        return f"{self.system} {self.observable}"

    @property
    def order(self) -> int:
        """Dimension of the system."""
        return len(self.equations)

    @property
    def steps(self) -> int:
        """Samples of the horizon."""
        return round(min(LYAPUNOV_TIMES / self.lyapunov, MOST_TC * self.tc) / self.dt)

    @property
    def index(self) -> int:
        """Which coordinate is observed."""
        return [v for v, _ in self.equations].index(self.observable)

    @cached_property
    def field(self) -> Field | None:
        """The right-hand side for compiled code, None where it is not polynomial."""
        variables = [v for v, _ in self.equations]
        try:
            return Field.polynomial([to_floats(parse_polynomial(e, variables)) for _, e in self.equations])
        except InputError:
            return None

    def states(self, start: FloatArray, count: int, dt: float) -> FloatArray:
        """A tight trajectory."""
        if self.field is not None:
            run = integrate(self.field, start, count, dt, rtol=1e-12, atol=1e-12, max_steps=1000 * count + 10**6)
            if run.stop is not Stop.COMPLETED:
                raise InputError(f"The trajectory of {self.system} ended with {run.stop.value}.")
            return run.states
        return self._interpreted(start, count, dt)

    def _interpreted(self, start: FloatArray, count: int, dt: float) -> FloatArray:
        import sympy
        from scipy.integrate import solve_ivp

        names = [v for v, _ in self.equations]
        rhs = sympy.lambdify([sympy.symbols(names)], [sympy.sympify(e) for _, e in self.equations], "numpy")
        times = dt * np.arange(count)
        return np.asarray(
            solve_ivp(lambda _, x: rhs(x), (0, times[-1]), start, "DOP853", t_eval=times, rtol=1e-11, atol=1e-12).y.T
        )

    def record(self, trajectory: int, noise: float, seed: int = 0) -> Trial:
        """Record number ``trajectory`` at a noise level, with its true continuation."""
        return self.records(trajectory, noise, seed)[0]

    def records(self, trajectory: int, noise: float, seed: int = 0, starts: int = 1, apart: int = 0) -> list[Trial]:
        """The same record as it is at first and ``apart``, 2 ``apart``, … samples later, each with what then follows:
        a forecast from each of ``starts``."""
        rng = np.random.default_rng([seed, trajectory])
        wait = (TRANSIENT + APART * trajectory + 100.0 * rng.uniform()) * self.tc
        start = self.states(np.array(self.initial), 2, wait)[-1]
        ends = [SAMPLES + apart * k for k in range(starts)]
        values = self.states(start, ends[-1] + self.steps, self.dt)[:, self.index]
        size = noise * float(np.std(values[:SAMPLES]))
        noisy = values[: ends[-1]] + size * rng.standard_normal(ends[-1])
        return [
            Trial(
                self,
                trajectory,
                noise,
                Series(noisy[:end], self.dt, name=self.observable),
                values[end - 1 : end + self.steps],
            )
            for end in ends
        ]

    def task(self, work: str, kind: str, trajectory: int, noise: float, options: Mapping[str, Any]) -> Task:
        """Work on that record, of which a worker makes its own."""
        label = f"{self.name.replace(' ', '_')}-n{noise:g}"
        given = {"channel": self.name, "noise": noise, **options}
        return Task(work, kind, label, trajectory, trajectory + 1, 0, given)


@dataclass(frozen=True, eq=False)
class Trial:
    """A record and what came after it (``ahead[0]`` is the true last sample)."""

    channel: Channel
    trajectory: int
    noise: float
    series: Series
    ahead: FloatArray

    def vpt(self, values: FloatArray) -> float:
        """Valid prediction time of a forecast, in Lyapunov times."""
        return valid_prediction_time(values, self.ahead, self.series.dt) * self.channel.lyapunov


def trial_of(task: Task) -> Trial:
    """The record that a task is about."""
    options = task.options
    return select([options["channel"]], options["table"])[0].record(task.first, options["noise"], task.seed)


def channels(table: str = "panel.csv") -> tuple[Channel, ...]:
    """All channels of a shipped table."""
    return _channels(table)


@cache
def _channels(table: str) -> tuple[Channel, ...]:
    text = (files("jetode") / "data" / table).read_text(encoding="utf-8")
    return tuple(_channel(row) for row in csv.DictReader(text.splitlines()))


def _channel(row: dict[str, str]) -> Channel:
    equations = tuple((v.strip(), e.strip()) for v, e in (part.split(":") for part in row["equations"].split(";")))
    return Channel(
        system=row["system"],
        observable=row["observable"],
        kind=row["class"],
        equations=equations,
        initial=tuple(float(v) for v in row["initial"].split()),
        regular=true_form(row["a"], row["D"], row["P"], row["f0"], row["c"]) if row["D"] else None,
        tc=float(row["tc"]),
        dt=float(row["dt"]),
        lyapunov=float(row["lyapunov"]),
    )


def true_form(a: str, big_d: str, big_p: str, f0: str = "", c: str = "") -> RegularClosure:
    """A regular form from the text of its polynomials, in the gauge given; with ``c`` a chain."""
    second = "v" if c else "u1"
    head = [to_floats(parse_polynomial(text, ("u0",))) for text in (f0, c) if c]
    return RegularClosure(
        to_floats(parse_polynomial(a, ("u0", second))),
        to_floats(parse_polynomial(big_d, ("u0", second))),
        to_floats(parse_polynomial(big_p, ("u0", second, "w"))),
        3,
        *head,
    )


def select(names: Iterable[str], table: str = "panel.csv") -> tuple[Channel, ...]:
    """Channels by name ("Lorenz x", "Lorenz.x"), system or class ("R1", "R0-R2", "controls", "all")."""
    every = channels(table)
    wanted: list[Channel] = []
    for name in names:
        word = name.strip().replace(".", " ")
        found = [c for c in every if word in ("all", c.name, c.system, c.kind)]
        found += [c for c in every if word == "R0-R2" and c.kind in REGULAR]
        found += [c for c in every if word == "controls" and c.kind not in REGULAR]
        if not found:
            known = ", ".join(c.name for c in every)
            raise InputError(
                f"The 'channels' option must name channels or classes (R0-R2, all; {known}). Got {name!r}."
            )
        wanted += [c for c in found if c not in wanted]
    return tuple(wanted)
