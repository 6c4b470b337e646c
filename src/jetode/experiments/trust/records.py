"""One record per seed: a drawn flow seen through one coordinate under a drawn noise, or noise without dynamics.

Length, rate, coordinate, kind and size of the noise are drawn independently, so that the seeds cover what people record
rather than what the method was developed on.  The truth goes on beyond the record's end for the scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.signal import lfilter

from jetode.equations.regular import RegularClosure
from jetode.experiments.trust.systems import Flow, draw, time_scale
from jetode.integration.dop853 import Stop
from jetode.records.series import Series
from jetode.signal.noise import add_noise
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class RecordSettings:
    """What is drawn; shares and sizes."""

    random: float = 0.15  # share of records without dynamics
    clean: float = 0.15  # share of the others without noise
    noise: tuple[float, float] = (0.005, 0.5)  # std of the noise, drawn on a logarithmic scale
    gaussian: float = 0.6  # share of white Gaussian noise; the rest in equal parts
    others: tuple[str, ...] = ("student", "ar1", "multiplicative")
    samples: tuple[int, int] = (500, 20_000)  # drawn on a logarithmic scale
    per_tc: tuple[float, float] = (5.0, 40.0)  # samples per characteristic time: 30 to 250 an oscillation
    ahead: float = 20.0  # tc of truth beyond the end


SETTINGS = RecordSettings()
RANDOM = ("white", "AR(1)", "AR(2)", "random walk", "driven oscillator", "surrogate")


@dataclass(frozen=True, eq=False)
class Drawn:
    """A record, how it was made, and the truth that only scores see: ``ahead`` from its last sample on, without noise
    and with it, and true ``states`` there; None where there is nothing true."""

    series: Series
    about: dict[str, Any]
    flow: Flow | None = None
    coordinate: int = 0
    tc: float = 1.0
    ahead: FloatArray | None = None
    measured: FloatArray | None = None
    states: FloatArray | None = None

    @property
    def truth(self) -> RegularClosure | None:
        """The equation itself where it can be read off the flow: a jerk flow seen through its first coordinate."""
        if self.flow is None or self.flow.kind != "jerk" or self.coordinate:
            return None
        return RegularClosure({}, {(0, 0): 1.0}, dict(self.flow.rows[2]), 3)


def record(seed: int, settings: RecordSettings = SETTINGS) -> Drawn | None:
    """The record of a seed; None where its flow could not be drawn."""
    rng = np.random.default_rng([seed, 0])
    low, high = np.log(settings.samples)
    n = round(float(np.exp(rng.uniform(low, high))))
    per_tc = float(np.exp(rng.uniform(*np.log(settings.per_tc))))
    if rng.uniform() < settings.random:
        kind = str(rng.choice(RANDOM))
        return Drawn(Series(_random(kind, n, per_tc, seed, rng), 1.0 / per_tc, name="x"), _about(n, per_tc, kind, 1.0))
    flow = draw(seed)
    return None if flow is None else _observed(flow, n, per_tc, rng, settings)


def _about(n: int, per_tc: float, noise: str, level: float, kind: str = "random") -> dict[str, Any]:
    return {"kind": kind, "samples": n, "per_tc": round(per_tc, 2), "noise": noise, "level": round(level, 4)}


def _observed(flow: Flow, n: int, per_tc: float, rng: np.random.Generator, settings: RecordSettings) -> Drawn | None:
    coordinate = int(rng.integers(3))
    level, noise = 0.0, "none"
    if rng.uniform() >= settings.clean:
        level = float(np.exp(rng.uniform(*np.log(settings.noise))))
        noise = "gaussian" if rng.uniform() < settings.gaussian else str(rng.choice(settings.others))
    look = flow.run(np.array(flow.state), 4000, 0.05)
    tc = time_scale(look.states[:, coordinate], 0.05)
    dt, more = tc / per_tc, round(settings.ahead * per_tc)
    run = flow.run(look.states[-1], n + more, dt)
    if look.stop is not Stop.COMPLETED or run.stop is not Stop.COMPLETED:
        return None
    values = run.states[:, coordinate]
    noisy = add_noise(values, level, rng, noise) if level else values.copy()
    about = _about(n, per_tc, noise, level, flow.kind) | {"chaotic": flow.chaotic, "coordinate": coordinate}
    return Drawn(
        Series(noisy[:n], dt, name="x"),
        about,
        flow,
        coordinate,
        tc,
        values[n - 1 :],
        noisy[n - 1 :],
        run.states[n - 1 :],
    )


def _random(kind: str, n: int, per_tc: float, seed: int, rng: np.random.Generator) -> FloatArray:
    """Noise of some colour; ``per_tc`` sets its time scale where it has one."""
    kicks = rng.standard_normal(n + 1000)
    turn = 1.0 / per_tc
    if kind == "random walk":
        return np.asarray(np.cumsum(kicks[:n]))
    if kind == "surrogate":  # the spectrum of a flow with random phases
        flow = draw(seed)
        like = kicks[:n] if flow is None else flow.run(np.array(flow.state), n, turn).states[:, 0]
        powers = np.fft.rfft(like - like.mean())
        phases = np.exp(2j * np.pi * rng.uniform(size=powers.size))
        return np.asarray(np.fft.irfft(np.abs(powers) * phases, n))
    if kind == "driven oscillator":  # a damped one that only noise keeps going
        damping = float(rng.uniform(0.05, 0.5))
        recursion = [1.0, -2.0 * np.exp(-damping * turn) * np.cos(turn), np.exp(-2.0 * damping * turn)]
    else:
        radius = float(rng.uniform(0.8, 0.98))
        recursion = {
            "white": [1.0],
            "AR(1)": [1.0, -radius],
            "AR(2)": [1.0, -2.0 * radius * np.cos(turn), radius**2],
        }[kind]
    return np.asarray(lfilter([1.0], recursion, kicks))[1000:]
