"""``jetode figures``: the figures of a paper, with a file of captions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetode.cli.common import OK, positive, read_with, reading_options
from jetode.cli.terminal import working

if TYPE_CHECKING:
    from jetode.records.table import Reading

FORMATS = ("pdf", "svg", "png")


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--record", type=click.Path(path_type=Path), help="The record, which a saved model does not hold.")
@reading_options
@click.option("--format", "format_", type=click.Choice(FORMATS), default="pdf", show_default=True)
@click.option("--horizon", type=float, help="Length of the forecast (default: as for reconstruct).")
@click.option("--out", type=click.Path(path_type=Path), default=Path("figures"), show_default=True)
def figures(model: Path, record: Path | None, reading: Reading, format_: str, horizon: float | None, out: Path) -> int:
    """Figures of a saved MODEL for a paper, and captions.md beside them.

    \b
    Example:
      jetode figures result/model.json --record record.csv --format pdf --out figures
    """
    if horizon is not None:
        positive("horizon", horizon)
    series = None if record is None else read_with(record, reading)
    from jetode.reconstruction.model import load
    from jetode.reporting.paper_figures import write_figures

    loaded = load(model)
    with working("Drawing"):
        written = write_figures(loaded if series is None else loaded.with_record(series), out, format_, horizon)
    click.echo(f"Written: {', '.join(str(path) for path in written)}.")
    if series is None:
        click.echo("Give the record with '--record FILE' for the other figures.", err=True)
    return OK
