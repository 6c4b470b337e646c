"""``jetode score``: the valid prediction time of a forecast against what came."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetode.cli.common import OK, json_option, positive, read_with, reading_options
from jetode.cli.terminal import one_json
from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.records.table import Reading
    from jetode.support.arrays import FloatArray


@click.command()
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
