"""``jetode export``: a saved model as code for others."""

from __future__ import annotations

from pathlib import Path

import click

from jetode.cli.common import OK
from jetode.reporting.exports import FORMATS
from jetode.support.files import write_text


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(tuple(FORMATS)), default="python", show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="File to write (default: standard output).")
def export(model: Path, format_: str, out: Path | None) -> int:
    """Write the equations of a saved MODEL as code that needs no jetode.

    \b
    Example:
      jetode export result/model.json --format c --out model.c
    """
    from jetode.reconstruction.model import load
    from jetode.reporting.exports import export as write

    text = write(load(model), format_)
    if out is None:
        click.echo(text, nl=False)
    else:
        write_text(out, text)
    return OK
