"""The command line: every command, one sentence per error, exit codes 0, 2, 3 and 4.

0 an exact model (or a command that has none to judge); 4 an approximate equation, or forecasts without one; 3 the
record was read but neither was found; 2 bad usage or input; 130 stopped by Ctrl-C.  Every file appears whole or
not at all.
"""

from __future__ import annotations

import io
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetode.cli.batch import batch
from jetode.cli.benchmark import benchmark
from jetode.cli.common import (
    BAD_INPUT,
    INTERRUPTED,
    OK,
    command_line,
    json_option,
    positive,
    read_with,
    reading_options,
)
from jetode.cli.compare import compare
from jetode.cli.figures import figures
from jetode.cli.paper import paper
from jetode.cli.reconstruct import demo, export, reconstruct
from jetode.cli.studio import studio
from jetode.cli.terminal import one_json, working
from jetode.cli.warmup import warmup
from jetode.cli.watch import watch
from jetode.support.errors import InputError
from jetode.support.files import whole_file

if TYPE_CHECKING:
    from jetode.records.table import Reading
    from jetode.support.arrays import FloatArray

BLOCK = 1 << 16  # samples turned into text at once
FIGURES = (".png", ".svg", ".pdf")
NOISE_KINDS = ("gaussian", "student", "laplace", "multiplicative", "ar1", "quantisation", "outliers")


class Commands(click.Group):
    """A group whose failures are one sentence on stderr and an exit code, never a traceback."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except click.ClickException as error:
            code = _fail(error.format_message())
        except InputError as error:
            code = _fail(str(error))
        except MemoryError:
            code = _fail("There is not enough memory for this record; decimate it or use a shorter stretch.")
        except (KeyboardInterrupt, click.Abort):
            click.echo("Stopped; nothing was left half-written.", err=True)
            code = INTERRUPTED
        sys.exit(code or OK)


def _fail(sentence: str) -> int:
    click.echo(f"Error: {' '.join(sentence.split())}", err=True)
    return BAD_INPUT


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="jetode")
@click.pass_context
def cli(context: click.Context) -> None:
    """One noisy channel in, its differential equation and its forecast out.

    \b
    Start with your own record (a CSV with a time column, or one column and --dt):
      jetode diagnose record.csv
      jetode reconstruct record.csv --out result
      jetode forecast result/model.json --horizon 20
      jetode export result/model.json --format c
    or with the one that comes along:
      jetode demo

    Shell completion: eval "$(_JETODE_COMPLETE=bash_source jetode)" (or zsh_source, fish_source).
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (reconstruct, demo, export, paper, warmup, studio):
    cli.add_command(command)
for command in (batch, compare, figures, watch):
    cli.add_command(command)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@reading_options
@json_option
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the surrogate data.")
@click.option("--pole", is_flag=True, help="Look for the pole of the closure too (some seconds).")
@click.option("--figure", type=click.Path(path_type=Path), help="With --pole: PNG, SVG or PDF of the scan.")
def diagnose(
    file: Path,
    reading: Reading,
    as_json: bool,
    seed: int,
    pole: bool,
    figure: Path | None,
) -> int:
    """Is this channel suitable? Noise, delay, dimension, sampling, drift, determinism, pole.

    \b
    Example:
      jetode simulate rossler --noise 0.05 --out r.csv && jetode diagnose r.csv
      jetode diagnose r.csv --pole --figure pole.png
    """
    if figure is not None and (not pole or figure.suffix not in FIGURES):
        raise InputError(f"The '--figure' option needs --pole and a file that ends in {', '.join(FIGURES)}.")
    record = read_with(file, reading)
    from jetode.signal.diagnose import diagnose as examine

    scan = None
    with working("Diagnosing") as say:
        diagnosis = examine(record, seed=seed)
        if pole:
            from jetode.joint.pole_scan import pole_scan

            say("looking for a pole")
            scan = pole_scan(record)
            if figure is not None:
                scan.save_figure(figure)
    if as_json:
        click.echo(one_json({**diagnosis.to_json(), **({} if scan is None else {"pole": scan.to_json()})}))
    else:
        click.echo(diagnosis.text() + ("" if scan is None else f"\n{scan.text()}"))
    return OK


@cli.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--horizon", type=float, required=True, help="How far ahead, in the record's time unit.")
@click.option("--start", type=int, help="Start at this sample of --record (default: its end).")
@click.option(
    "--record",
    "records",
    type=click.Path(path_type=Path),
    multiple=True,
    help="Start at the end of this record instead of the model's own (of the last, where it is given several times).",
)
@reading_options
@click.option("--out", type=click.Path(path_type=Path), help="CSV file to write (default: standard output).")
def forecast(
    model: Path,
    horizon: float,
    start: int | None,
    records: tuple[Path, ...],
    reading: Reading,
    out: Path | None,
) -> int:
    """Forecast with a saved MODEL; writes CSV with the columns t,value and those of the bands.

    t goes on where the record ends; a column timestamp has its dates, where it has any.

    \b
    Example:
      jetode forecast result/model.json --horizon 20 --out ahead.csv
      jetode forecast result/model.json --horizon 20 --record today.csv
    """
    positive("horizon", horizon)
    if start is not None and not records:
        raise InputError("The '--start' option needs the record again: give it with '--record FILE'.")
    series = [read_with(record, reading) for record in records]
    from jetode.reconstruction.model import load

    loaded = load(model)
    if series:
        loaded = loaded.with_record(series)
        if len(series) > 1:
            where = "at its end" if start is None else f"at its sample {start}"
            click.echo(f"Of {len(series)} records, the forecast starts in the last, {records[-1]}, {where}.", err=True)
        for note in loaded.record.notes:
            click.echo(f"{records[-1]} was {note}.", err=True)
    ahead = loaded.forecast(horizon, start=start)
    _write(out, [ahead.csv()])
    if not ahead.completed:
        click.echo(f"The forecast stops after {ahead.axis.counted(ahead.stop_time)}: {ahead.ended}.", err=True)
    return OK


@cli.command()
@click.argument("forecast", type=click.Path(path_type=Path))
@click.argument("truth", type=click.Path(path_type=Path))
@reading_options
@click.option("--threshold", type=float, default=0.2, show_default=True, help="In units of the truth's std.")
@click.option("--run", type=int, default=20, show_default=True, help="Samples in a row above the threshold.")
@click.option("--lyapunov", type=float, help="Largest Lyapunov exponent, to count in Lyapunov times.")
@json_option
def score(
    forecast: Path,
    truth: Path,
    reading: Reading,
    threshold: float,
    run: int,
    lyapunov: float | None,
    as_json: bool,
) -> int:
    """Valid prediction time of FORECAST against TRUTH; both begin at the same sample.

    \b
    Example:
      jetode score ahead.csv continuation.csv --lyapunov 0.906
    """
    measured = read_with(truth, reading)
    predicted = _read_forecast(forecast, measured.dt)
    if lyapunov is not None:
        positive("lyapunov", lyapunov)
    from jetode.integration.valid_prediction_time import valid_prediction_time

    vpt = float(valid_prediction_time(predicted, measured.values, measured.dt, threshold=threshold, run=run))
    result = {
        "valid_prediction_time": vpt,
        "lyapunov_times": None if lyapunov is None else lyapunov * vpt,
        "horizon": measured.duration,
        "threshold": threshold,
        "run": run,
    }
    if as_json:
        click.echo(one_json(result))
    else:
        unit = f" {measured.time_unit}" if measured.time_unit else ""
        in_lyapunov = "" if lyapunov is None else f" ({lyapunov * vpt:.3g} Lyapunov times)"
        click.echo(f"valid prediction time {vpt:g}{unit}{in_lyapunov} of {measured.duration:g}{unit}")
    return OK


@cli.command()
@click.argument("system")
@click.option("--observable", default="x", show_default=True, help="Coordinate or polynomial: 'x**2+y'.")
@click.option("--duration", type=float, default=60.0, show_default=True)
@click.option("--dt", type=float, default=0.01, show_default=True)
@click.option("--transient", type=float, default=50.0, show_default=True)
@click.option("--initial", default=None, help="Initial state, e.g. 1,0,0 (default: the system's own).")
@click.option("--noise", type=float, default=0.0, show_default=True, help="Noise std / signal std.")
@click.option("--noise-kind", type=click.Choice(NOISE_KINDS), default="gaussian", show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
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
    start = None if initial is None else _numbers("initial", initial)
    with working("Simulating"), _stopped_at_once():
        trajectory = systems[system].simulate(duration, dt=dt, transient=transient, initial=start)
        series = trajectory.observe(observable)
    values = add_noise(series.values, noise, np.random.default_rng(seed), noise_kind)
    name = observable if observable.isidentifier() else "value"
    seed_shown = ("seed",) if noise else ()
    header = f"# {command_line(*seed_shown)}\nt,{name}\n"
    _write(out, chain([header], _rows(series.times, values)))
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


def _read_forecast(path: Path, dt: float) -> FloatArray:
    """The values of a forecast, however early it stopped; its steps must be ``dt``."""
    from jetode.records.formats import open_table
    from jetode.records.series import uniform_step

    try:
        table = open_table(path)
    except OSError as error:
        raise InputError(f"The forecast {str(path)!r} cannot be read: {error.strerror}.") from None
    if tuple(column.name for column in table.columns[:2]) != ("t", "value"):
        raise InputError(f"{path.name} is not a forecast; it must have the columns t,value.")
    t, values = table.read([0, 1])
    if t.size > 1 and abs(uniform_step(t, table.place) - dt) > 1e-6 * dt:
        raise InputError(f"The forecast has steps of {t[1] - t[0]:g} and the truth of {dt:g}; make them equal.")
    return values


def _write(path: Path | None, lines: Iterable[str]) -> None:
    if path is None:
        sys.stdout.writelines(lines)
        return
    with whole_file(path) as file:
        file.writelines(lines)


def _numbers(name: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"The '--{name}' option must be numbers with commas. Got {text!r} instead.") from None


cli.add_command(benchmark)


def main() -> None:
    """Entry point of the ``jetode`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? for σ
    cli()
