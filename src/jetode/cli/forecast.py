"""``jetode forecast``: a saved model runs ahead, from its own end or from that of another record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetode.cli.common import OK, positive, read_with, reading_options, write_lines
from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.records.table import Reading


@click.command()
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
    write_lines(out, [ahead.csv()])
    if not ahead.completed:
        click.echo(f"The forecast stops after {ahead.axis.counted(ahead.stop_time)}: {ahead.ended}.", err=True)
    for note in ahead.notes:
        click.echo(note, err=True)
    return OK
