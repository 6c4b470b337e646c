"""``jetode watch``: follows a growing file; state, forecast, and an alarm where the record leaves its bands."""

from __future__ import annotations

from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import click

from jetode.cli.common import OK, positive, read_with, reading_options
from jetode.cli.terminal import one_json, working
from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.reconstruction.model import Model
    from jetode.records.series import Series
    from jetode.records.table import Reading


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@reading_options
@click.option("--model", type=click.Path(path_type=Path), help="Saved model (default: that of the file so far).")
@click.option("--horizon", type=float, help="How far to forecast (default: one oscillation).")
@click.option("--every", type=float, default=2.0, show_default=True, help="Seconds between looks at the file.")
@click.option("--looks", type=click.IntRange(1), help="End after so many looks (default: go on until Ctrl-C).")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def watch(
    file: Path,
    reading: Reading,
    model: Path | None,
    horizon: float | None,
    every: float,
    looks: int | None,
    as_json: bool,
) -> int:
    """Follow FILE while it grows: where the signal is, what comes next, an alarm when it leaves its bands.

    \b
    Example:
      jetode watch record.csv --model result/model.json --every 10
    """
    positive("every", every)
    if horizon is not None:
        positive("horizon", horizon)
    record = read_with(file, reading)
    from jetode.reconstruction.watching import Watch

    found = _model(model, record)
    following = Watch.at(found, record, horizon or found.oscillation)
    before, count = -1, 0
    while looks is None or count < looks:
        count += 1
        if count > 1:
            sleep(every)
        size = file.stat().st_size if file.exists() else before
        if size == before:
            continue
        before = size
        try:
            record = read_with(file, reading)
        except InputError:
            continue  # a line is being written: the next look sees it whole
        following, seen = following.see(record)
        if as_json:
            columns = {name: column.tolist() for name, column in seen.forecast.columns().items()}
            click.echo(one_json({"new": seen.new, "outside": seen.outside, "alarm": seen.alarm, "forecast": columns}))
        else:
            click.echo(click.style(seen.text(), fg="red", bold=True) if seen.alarm else seen.text())
    return OK


def _model(path: Path | None, record: Series) -> Model:
    """The one that was saved, else that of the record so far."""
    if path is not None:
        from jetode.reconstruction.model import load

        return load(path)
    from jetode.reconstruction.reconstruct import reconstruct

    with working("Reconstructing") as say:
        return reconstruct(record, progress=say)
