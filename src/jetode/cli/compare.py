"""``jetode compare``: saved models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetode.cli.common import OK, json_option, read_with, reading_options
from jetode.cli.terminal import one_json, working

if TYPE_CHECKING:
    from jetode.records.table import Reading


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="MODEL...")
@click.option("--record", type=click.Path(path_type=Path), help="Score all of them on this record, past-only.")
@reading_options
@json_option
def compare(models: tuple[Path, ...], record: Path | None, reading: Reading, as_json: bool) -> int:
    """Equations of saved MODELs term by term, how long their forecasts hold, ΔBIC on one record.

    \b
    Example:
      jetode compare monday/model.json tuesday/model.json --record wednesday.csv
    """
    series = None if record is None else read_with(record, reading)
    from jetode.reconstruction.model import load
    from jetode.reporting.comparison import compare as beside
    from jetode.reporting.comparison import table

    with working("Comparing"):
        compared = beside({str(path): load(path) for path in models}, series)
    if as_json:
        click.echo(one_json({"models": [c.to_json() for c in compared]}))
        return OK
    rows = table(compared)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return OK
