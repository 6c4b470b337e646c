"""``jetode batch``: many files, each fitted on its own, into one table and one page; resumable."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetode.cli.common import OK, command_line, quiet_option, reading_options

if TYPE_CHECKING:
    from jetode.records.table import Reading


@click.command()
@click.argument("patterns", nargs=-1, required=True, metavar="PATTERN...")
@reading_options
@click.option("--method", help="joint, or paper for the paper's workflow (default: joint, paper if a degree is given).")
@click.option("--denominator-degree", type=int, help="Degree of D, for the paper's method (default: chosen).")
@click.option("--numerator-degree", type=int, help="Degree of N, for the paper's method (default: chosen).")
@click.option("--order", type=int, help="Number of coordinates (default: found).")
@click.option("--sigma", type=float, help="Std of the measurement noise, where it is known (default: estimated).")
@click.option("--max-seconds", type=float, help="For each file: end by then with the best model so far.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of anything random.")
@click.option("--jobs", type=click.IntRange(1), help="Processes (default: one per core).")
@click.option("--scheduler", metavar="ADDRESS", help="Address of a running Dask scheduler, instead of processes here.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Directory for the table, page and models.")
@quiet_option
def batch(
    patterns: tuple[str, ...],
    reading: Reading,
    jobs: int | None,
    scheduler: str | None,
    out: Path,
    quiet: bool,
    seed: int,
    **options: Any,
) -> int:
    """Reconstruct every file that matches PATTERN, each on its own.

    A file that cannot be read or fitted is a row of the table, not an end. A run that was stopped or killed goes on
    with what is finished when it is started again.

    \b
    Example:
      jetode batch 'DIR/*.csv' --out OUT          # then open OUT/index.html
      jetode batch 'DIR/*.csv' --out OUT --scheduler tcp://host:8786
    """
    from tqdm import tqdm

    from jetode.experiments.batch import run as batches

    fit = {name: value for name, value in options.items() if value is not None}
    plan = batches.Plan(batches.expand(patterns), reading, fit, seed)
    command = command_line("seed", leave_out=("quiet", "jobs", "scheduler"))
    shown = not quiet and sys.stderr.isatty()
    with (
        batches.executor(jobs or os.cpu_count() or 1, scheduler) as execute,
        tqdm(total=len(plan.paths), unit="file", disable=not shown, smoothing=0.05) as bar,
    ):

        def counted(before: bool) -> None:
            """Files of an earlier run say nothing about how long the others take."""
            if shown:
                bar.initial += before
                bar.update(1)

        results = batches.run(plan, out, execute, lambda text: click.echo(text, err=True), counted)
    places = batches.write(results, out, command)
    if not quiet:
        click.echo(f"{batches.summary(results)} Written: {', '.join(str(place) for place in places)}.")
    return OK
