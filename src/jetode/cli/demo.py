"""``jetode demo``: the shipped record, end to end."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import click

from jetode.cli.common import OK, command_line, json_option, quiet_option
from jetode.cli.reconstruct import run

DEMO_RECORD = "lorenz_x_15.csv"


@click.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("demo-out"), show_default=True)
@json_option
@quiet_option
def demo(out: Path, as_json: bool, quiet: bool) -> int:
    """Reconstruct the shipped Lorenz record (15 % noise) end to end.

    \b
    Example:
      jetode demo --out demo-out      # then open demo-out/report.html
    """
    from jetode.records.reading import read

    with as_file(files("jetode") / "data" / DEMO_RECORD) as path:
        record = read(path)
    run([record], {"seed": 0}, None, out, as_json, quiet, command_line())
    return OK
