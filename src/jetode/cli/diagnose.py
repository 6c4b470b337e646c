"""``jetode diagnose``: what a record shows before any equation, for a person or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from jetode.cli.common import OK, json_option, read_with, reading_options
from jetode.cli.terminal import one_json, working
from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.records.table import Reading

FIGURES = (".png", ".svg", ".pdf")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@reading_options
@json_option
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the surrogate data.")
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
