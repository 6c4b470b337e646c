"""One realization of one cell of Table (vpt): a record, its closure by the paper's method, eight forecasts.

A record is a function of (system, noise, seed, index) alone, so every method and every reading of the paper sees
the same records, and workers can compute them in any order.  Under noise the trajectory is the paper's (from
(1, 0, 0) after 50) and only the noise varies; at 0 % there is nothing else to vary than the initial state.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from jetode.catalogue.systems import System, Trajectory, systems
from jetode.equations.closure import Closure, cosine, relative_l2
from jetode.equations.field import Field
from jetode.experiments.core.scoring import vpt_at, vpts_within
from jetode.integration.forecast import Forecast, forecast_many
from jetode.integration.valid_prediction_time import interior_starts
from jetode.paper.degree_selection import STEPS_PER_SAMPLE
from jetode.paper.identify import Denominator, Embedding, PaperSettings, Smoothing, embed, identify
from jetode.records.series import Series
from jetode.signal.noise import add_noise, noise_scale
from jetode.support.arrays import FloatArray, IntArray

DT = 0.01
TRANSIENT = 50.0
INITIAL = (1.0, 0.0, 0.0)
LONGEST_TRANSIENT = 250.0  # at 0 % noise: uniform between the two, from a state near (1, 0, 0)
SYSTEMS = ("lorenz", "rossler")
FRACTIONS = (0.0, 0.15, 0.30)
OTHER_KINDS = ("student", "multiplicative", "ar1", "quantisation")


@dataclass(frozen=True)
class Cell:
    """A system, a noise, and the reading of the paper's method that is used on it.

    ``lengths`` are t_total and H of the settings table.
    """

    system: str
    fraction: float
    kind: str = "gaussian"
    degree: int | None = None  # of N; None: the text's (4 for Lorenz, 3 for Rössler)
    denominator: Denominator | None = None  # None: "global" when clean, "pooled-samples" under noise
    smoothing: Smoothing | None = None  # None: interpolation when clean, residual target under noise

    @property
    def name(self) -> str:
        """Short and unique, good for file names."""
        extra = [self.kind] if self.kind != "gaussian" else []
        extra += [f"n{self.degree}"] if self.degree is not None else []
        extra += [v for v in (self.denominator, self.smoothing) if v is not None]
        return "-".join([self.system, f"{self.fraction:.2f}", *extra])

    @property
    def model(self) -> System:
        """The system itself."""
        return systems[self.system]

    @property
    def lengths(self) -> tuple[float, float]:
        """Duration of the record and scoring horizon."""
        if self.fraction > 0:
            return 60.0, 10.0
        return (60.0, 20.0) if self.system == "lorenz" else (200.0, 100.0)

    @property
    def horizon(self) -> float:
        """H."""
        return self.lengths[1]

    @property
    def settings(self) -> PaperSettings:
        """Of the identification."""
        degree = self.degree or (4 if self.system == "lorenz" else 3)
        pooled: Denominator = "pooled-samples" if self.fraction > 0 else "global"
        return PaperSettings(numerator_degree=degree, denominator=self.denominator or pooled)

    def to_json(self) -> dict[str, Any]:
        """Plain data; ``Cell(**data)`` is the inverse."""
        return asdict(self)


GAUSSIAN = tuple(Cell(system, fraction) for system in SYSTEMS for fraction in FRACTIONS)


@dataclass(frozen=True, eq=False)
class Realization:
    """A record, the truth under it and beyond its end (one horizon), and the eight starts."""

    record: Series
    truth: FloatArray
    starts: IntArray
    steps: int

    @property
    def beyond(self) -> FloatArray:
        """Truth from the last sample on."""
        return self.truth[self.record.n - 1 :]

    def score(self, forecast: Forecast, start: int) -> float:
        """VPT of a forecast from sample ``start``."""
        return vpt_at(forecast.values, self.truth, start, self.steps, DT)

    def scores(self, run: Callable[[int], FloatArray | None]) -> list[float]:
        """VPT of the forecasts that ``run`` makes from the eight starts."""
        return vpts_within(run, self.truth, self.starts, self.steps, DT)


def generator(cell: Cell, seed: int, index: int, stream: int = 0) -> np.random.Generator:
    """The random numbers of one record, whoever computes it."""
    place = zlib.crc32(f"{cell.system} {cell.fraction:.2f} {cell.kind}".encode())
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(place, index, stream)))


@lru_cache(maxsize=8)
def _paper_trajectory(system: str, duration: float) -> Trajectory:
    return systems[system].simulate(duration, DT, TRANSIENT, INITIAL)


def trajectory(cell: Cell, rng: np.random.Generator, paper: bool) -> Trajectory:
    """The paper's own trajectory, or one from elsewhere on the attractor, with one horizon beyond the record."""
    duration, horizon = cell.lengths
    if paper:
        return _paper_trajectory(cell.system, duration + horizon)
    initial = rng.uniform((0.5, -0.5, 0.0), (1.5, 0.5, 0.5))
    return cell.model.simulate(duration + horizon, DT, rng.uniform(TRANSIENT, LONGEST_TRANSIENT), initial.tolist())


def realize(cell: Cell, seed: int, index: int, elsewhere: bool = False) -> Realization:
    """Record ``index`` of a cell; ``elsewhere``: the same noise level on a trajectory of its own."""
    rng = generator(cell, seed, index, int(elsewhere))
    paper = not elsewhere and (cell.fraction > 0 or index == 0)
    truth = trajectory(cell, rng, paper).observe("x").values
    duration, horizon = cell.lengths
    n, steps = round(duration / DT) + 1, round(horizon / DT)
    clean = truth[:n]
    values = add_noise(clean, cell.fraction, rng, cell.kind) if cell.fraction > 0 else clean
    return Realization(Series(values, DT, name="x"), truth, interior_starts(n, steps), steps)


def exact(system: str) -> Closure:
    """The analytic closure of x."""
    closure = systems[system].closure("x")
    assert closure is not None  # both systems of the paper have one
    return closure


def jets(cell: Cell, record: Series) -> Embedding:
    """The differential embedding; "literal" is λ = N σ̂² with the paper's σ̂, curvature and all."""
    if cell.smoothing == "literal":
        return embed(record, 3, smoothing=record.n * noise_scale(record.values) ** 2)
    return embed(record, 3, smoothing=cell.smoothing)


def paper_closure(cell: Cell, realization: Realization) -> tuple[Embedding, Closure]:
    """The paper's method on one record."""
    embedding = jets(cell, realization.record)
    return embedding, identify(embedding, cell.settings).closure


def paper_forecasts(
    embedding: Embedding, closure: Closure, realization: Realization, source: Embedding | None = None
) -> list[Forecast]:
    """From the jets at the eight starts (of ``source``, where states come from another record)."""
    states = (source or embedding).jets[realization.starts, :3]
    limit = STEPS_PER_SAMPLE * realization.steps  # a forecast that crawls at a pole has failed
    field = Field.from_closure(closure)
    return forecast_many(field, states, embedding.spread, realization.steps * DT, DT, max_steps=limit)


def paper_row(cell: Cell, seed: int, index: int) -> dict[str, Any]:
    """All numbers of one realization by the paper's method."""
    realization = realize(cell, seed, index)
    embedding, closure = paper_closure(cell, realization)
    runs = paper_forecasts(embedding, closure, realization)
    vpt = [realization.score(run, int(start)) for run, start in zip(runs, realization.starts, strict=True)]
    reference = exact(cell.system)
    n_error, d_error = relative_l2(closure, reference)
    cos_n, cos_d = cosine(closure, reference)
    poles = closure.poles()
    return {
        "index": index,
        "best": max(vpt),
        "vpt": vpt,
        "n_error": n_error,
        "d_error": d_error,
        "cos_n": cos_n,
        "cos_d": cos_d,
        "pole": poles[0] if poles else None,
    }


def transfer_row(cell: Cell, seed: int, index: int) -> dict[str, Any]:
    """Identified on one record, forecast from states of another trajectory with the same noise level."""
    home, away = realize(cell, seed, index), realize(cell, seed, index, elsewhere=True)
    embedding, closure = paper_closure(cell, home)
    source = jets(cell, away.record)
    result: dict[str, Any] = {"index": index}
    for name, realization, states in (("home", home, embedding), ("away", away, source)):
        runs = paper_forecasts(embedding, closure, realization, states)
        result[name] = [realization.score(run, int(i)) for run, i in zip(runs, realization.starts, strict=True)]
    return result
