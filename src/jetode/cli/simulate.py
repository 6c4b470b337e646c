"""``jetode simulate``: a record of a known system, with noise if wanted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetode.cli.common import OK, command_line, numbers, positive, write_lines
from jetode.cli.terminal import working
from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.support.arrays import FloatArray

BLOCK = 1 << 16  # samples turned into text at once
NOISE_KINDS = ("gaussian", "student", "laplace", "multiplicative", "ar1", "quantisation", "outliers")


@click.command()
@click.argument("system")
@click.option("--observable", default="x", show_default=True, help="Coordinate or polynomial: 'x**2+y'.")
@click.option("--duration", type=float, default=60.0, show_default=True)
@click.option("--dt", type=float, default=0.01, show_default=True)
@click.option("--transient", type=float, default=50.0, show_default=True)
@click.option("--initial", default=None, help="Initial state, e.g. 1,0,0 (default: the system's own).")
@click.option("--noise", type=float, default=0.0, show_default=True, help="Noise std / signal std.")
@click.option("--noise-kind", type=click.Choice(NOISE_KINDS), default="gaussian", show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write (default: standard output).")
def simulate(
    system: str,
    observable: str,
    duration: float,
    dt: float,
    transient: float,
    initial: str | None,
    noise: float,
    noise_kind: str,
    seed: int,
    out: Path | None,
) -> int:
    """Record one channel of a known SYSTEM, with noise if wanted.

    \b
    Example:
      jetode simulate lorenz --noise 0.15 --seed 0 --out lorenz.csv
    """
    import numpy as np

    from jetode.catalogue.systems import systems
    from jetode.signal.noise import add_noise

    if system not in systems:
        raise InputError(f"There is no system {system!r}; known are {', '.join(systems)}.")
    positive("duration", duration)
    positive("dt", dt)
    start = None if initial is None else numbers("initial", initial)
    with working("Simulating"), _stopped_at_once():
        trajectory = systems[system].simulate(duration, dt=dt, transient=transient, initial=start)
        series = trajectory.observe(observable)
    values = add_noise(series.values, noise, np.random.default_rng(seed), noise_kind)
    name = observable if observable.isidentifier() else "value"
    seed_shown = ("seed",) if noise else ()
    header = f"# {command_line(*seed_shown)}\nt,{name}\n"
    write_lines(out, chain([header], _rows(series.times, values)))
    return OK


@contextmanager
def _stopped_at_once() -> Iterator[None]:
    """Ctrl-C ends the process even inside a long compiled loop, where Python's own handler would wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)


def _rows(times: FloatArray, values: FloatArray) -> Iterator[str]:
    """Lines of CSV, a block of samples at a time."""
    for start in range(0, values.size, BLOCK):
        block = slice(start, start + BLOCK)
        for t, v in zip(times[block].tolist(), values[block].tolist(), strict=True):
            yield f"{t:.12g},{v!r}\n"
