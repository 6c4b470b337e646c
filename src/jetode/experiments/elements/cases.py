"""Systems whose equation holds a function that is no polynomial (docs/elements.md): what is to be found in one channel.

Right-hand sides are plain Python and integrated by SciPy, which shares nothing with what is under test.
Sources: J. C. Sprott, Phys. Lett. A 266, 19 (2000) for the jerk systems with |x| and a saturation (there sgn x, here
tanh 2x); Sprott, IEEE Trans. Circuits Syst. II 58, 240 (2011) for the diode
(there so sharp that a record would have to be sampled far more densely); L. O. Chua, the double scroll; R. D. Bliss,
P. R. Painter and A. G. Marr, J. Theor. Biol. 97, 177 (1982) for Michaelis–Menten kinetics; YuWang2 as in dysts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np
from scipy.integrate import solve_ivp

from jetode.records.series import Series
from jetode.support.arrays import FloatArray

Rates = Callable[[FloatArray], list[float]]
RTOL, ATOL = 1e-9, 1e-11  # far below any noise that is added
STRETCH = 0.3  # of a record's length: by how much the starts of two seeds of a chaotic system differ
AMPLITUDE = 0.02  # relative spread of the start of a decaying one: each seed has its own


@dataclass(frozen=True)
class TrueElement:
    """A function in the equation: its name, what it is of (a key of :data:`ARGUMENTS`), its parameters in the record's
    unit, and the names of others of its family, which are counted apart."""

    name: str
    variable: str
    parameters: Mapping[str, float]
    family: tuple[str, ...] = ()

    def argument(self, jets: FloatArray) -> FloatArray:
        """What it is of, at samples of the channel and its derivatives."""
        return ARGUMENTS[self.variable](jets)


ARGUMENTS: Mapping[str, Callable[[FloatArray], FloatArray]] = MappingProxyType(
    {
        "u0": lambda u: u[:, 0],
        "u1": lambda u: u[:, 1],
        "Chua's x in z": lambda z: z[:, 2] + z[:, 1] + 100.0 / 7.0 * z[:, 0],  # −100/7 x
        "the panel's Chua x in z": lambda z: z[:, 2] + z[:, 1] + 28.0 * z[:, 0],  # −28 x
        "YuWang2's x y in x": lambda x: x[:, 0] * (10.0 * x[:, 0] + x[:, 1]),  # 10 x y
    }
)


@dataclass(frozen=True, eq=False)
class ElementCase:
    """One channel of one system: its rates, where it starts, what is recorded, and the elements of its equation."""

    name: str
    rates: Rates
    start: tuple[float, ...]
    channel: int
    order: int
    dt: float
    samples: int
    transient: float
    elements: tuple[TrueElement, ...]

    @property
    def decays(self) -> bool:
        """Whether the record begins with the start itself: its motion dies out, or settles on a cycle."""
        return self.transient == 0.0

    def signal(self, seed: int) -> FloatArray:
        """The channel without noise, of a start that is drawn by the seed, and as much again beyond the record."""
        rng = np.random.default_rng([seed, 0])
        start = np.array(self.start)
        length = self.samples * self.dt
        first = self.transient + (0.0 if self.decays else STRETCH * length * rng.random())
        if self.decays:
            start = start * (1.0 + AMPLITUDE * (2.0 * rng.random(start.size) - 1.0))
        times = first + self.dt * np.arange(2 * self.samples)
        longest = 5.0 * self.dt  # a step that jumps over a kink would not see it
        run = solve_ivp(
            lambda _, x: self.rates(x),
            (0.0, times[-1]),
            start,
            "LSODA",
            times,
            rtol=RTOL,
            atol=ATOL,
            max_step=longest,
        )
        return np.asarray(run.y[self.channel], dtype=np.float64)

    def record(self, noise: float, seed: int) -> tuple[Series, FloatArray]:
        """The first half of :meth:`signal` with white noise of ``noise`` times its std, and the whole truth."""
        truth = self.signal(seed)
        values = truth[: self.samples]
        drawn = np.random.default_rng([seed, 1]).standard_normal(values.size)
        return Series(values + noise * float(np.std(values)) * drawn, self.dt, name="x"), truth


def _element(name: str, variable: str = "u0", **parameters: float) -> TrueElement:
    return TrueElement(name, variable, MappingProxyType(parameters))


def _pendulum(x: FloatArray) -> list[float]:
    return [x[1], -np.sin(x[0]) - 0.02 * x[1]]


def _dry(x: FloatArray) -> list[float]:
    return [x[1], -np.sin(x[0]) - 0.01 * x[1] - 0.01 * np.tanh(x[1] / 1e-3)]


def _abs_jerk(x: FloatArray) -> list[float]:
    return [x[1], x[2], -0.6 * x[2] - x[1] + abs(x[0]) - 1.0]


def _tanh_jerk(x: FloatArray) -> list[float]:
    return [x[1], x[2], -0.6 * x[2] - x[1] - 1.2 * x[0] + 2.0 * np.tanh(2.0 * x[0])]


def _diode_jerk(x: FloatArray) -> list[float]:
    return [x[1], x[2], -x[2] - x[0] - 0.01 * (np.exp(10.0 * x[1]) - 1.0)]


def _chua(x: FloatArray) -> list[float]:
    element = -5.0 / 7.0 * x[0] - 1.5 / 7.0 * (abs(x[0] + 1.0) - abs(x[0] - 1.0))
    return [9.0 * (x[1] - x[0] - element), x[0] - x[1] + x[2], -100.0 / 7.0 * x[1]]


def _bliss(x: FloatArray) -> list[float]:
    return [1210.0 / (1.0 + x[2]) - x[0], x[0] - x[1], x[1] - 121.0 * x[2] / (1.0 + x[2])]


def _yu_wang(x: FloatArray) -> list[float]:
    return [10.0 * (x[1] - x[0]), 30.0 * x[0] - 2.0 * x[0] * x[2], np.cosh(x[0] * x[1]) - 2.5 * x[2]]


_SATURATION = _element("tanh", centre=0.0, width=0.5)
_ENZYME = _element("michaelis-menten", half=1.0)
_SINE = _element("sin", frequency=1.0, phase=0.0)
_KINKS = _element("piecewise-linear", first=-1.0, second=1.0, ratio=-1.0)
_COSH = replace(
    _element("cosh", "YuWang2's x y in x", rate=0.1), family=("exp",)
)  # e^v + e^−v, of which noise hides one
_KINKS_IN_Z = _element("piecewise-linear", "Chua's x in z", first=-100.0 / 7.0, second=100.0 / 7.0, ratio=-1.0)

CASES: Mapping[str, ElementCase] = MappingProxyType(
    {
        case.name: case
        for case in (
            ElementCase("pendulum", _pendulum, (2.5, 0.0), 0, 2, 0.06, 4000, 0.0, (_SINE,)),
            ElementCase("dry friction", _dry, (2.5, 0.0), 0, 2, 0.06, 3000, 0.0, (_SINE, _element("sign", "u1"))),
            ElementCase("abs jerk", _abs_jerk, (0.0, 0.0, 0.1), 0, 3, 0.06, 6000, 200.0, (_element("abs", kink=0.0),)),
            ElementCase(
                "tanh jerk",
                _tanh_jerk,
                (0.1, 0.0, 0.1),
                0,
                3,
                0.08,
                6000,
                200.0,
                (_SATURATION,),
            ),
            ElementCase(
                "diode jerk", _diode_jerk, (0.1, 0.0, 0.1), 0, 3, 0.06, 6000, 200.0, (_element("exp", "u1", rate=10.0),)
            ),
            ElementCase("Chua x", _chua, (0.1, 0.0, 0.0), 0, 3, 0.02, 6000, 100.0, (_KINKS,)),
            ElementCase("Chua z", _chua, (0.1, 0.0, 0.0), 2, 3, 0.02, 6000, 100.0, (_KINKS_IN_Z,)),
            ElementCase(
                "Michaelis–Menten",
                _bliss,
                (50.0, 50.0, 3.0),
                2,
                3,
                0.05,
                4000,
                0.0,
                (_ENZYME,),
            ),
            ElementCase("YuWang2 x", _yu_wang, (0.1, 0.1, 1.0), 0, 3, 0.01, 6000, 50.0, (_COSH,)),
        )
    }
)
