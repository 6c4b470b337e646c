"""``jetode reconstruct``: a record in; model, forecast and report out."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetode.cli.common import (
    EXIT_CODES,
    INTERRUPTED,
    command_line,
    json_option,
    positive,
    quiet_option,
    read_with,
    reading_options,
)
from jetode.cli.terminal import one_json, summary, working
from jetode.support.errors import InputError
from jetode.support.files import all_or_none, make_directory, write_text

if TYPE_CHECKING:
    from jetode.joint.progress import Budget
    from jetode.records.series import Series
    from jetode.records.table import Reading

WRITTEN = ("model.json", "forecast.csv", "report.html")


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@reading_options
@click.option("--method", help="joint, or paper for the paper's workflow (default: joint, paper if a degree is given).")
@click.option("--order", type=int, help="Number of coordinates (default: found; 3 for the paper's method).")
@click.option("--sigma", type=float, help="Std of the measurement noise, where it is known (default: estimated).")
@click.option("--max-seconds", type=float, help="End by then with the best model so far.")
@click.option(
    "--functions",
    help="Functions that may stand in the equation, by commas: sin,abs (default: all; none: none); known ones with "
    "their parameters: sin:frequency=1:phase=0.",
)
@click.option("--structure", help="What is known of the equation: mechanics for x'' = f(x) + g(x').")
@click.option(
    "--contest/--no-contest",
    default=None,
    help="Whether forecasts without an equation are tried where none leaves only noise (default: yes).",
)
@click.option("--denominator-degree", type=int, help="Degree of D, for the paper's method (default: chosen).")
@click.option("--numerator-degree", type=int, help="Degree of N, for the paper's method (default: chosen).")
@click.option(
    "--horizon", type=float, help="Length of forecast.csv (default: a tenth of the record, ≤ 20 oscillations)."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of anything random.")
@click.option("--out", type=click.Path(path_type=Path), help="Directory for model.json, forecast.csv, report.html.")
@json_option
@quiet_option
def reconstruct(
    files: tuple[Path, ...],
    reading: Reading,
    horizon: float | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Find the differential equation of the record in FILE.

    Several files are records of one system and give one equation. Ctrl-C ends the fit with the best model so far
    once there is one, a second Ctrl-C ends at once.

    \b
    Example:
      jetode simulate lorenz --noise 0.15 --out lorenz.csv
      jetode reconstruct lorenz.csv --out result      # then open result/report.html

    Exits with 0 when the equation can be trusted, 4 when it is approximate or only forecasts hold, 3 when there is
    neither (what was tried is still written).
    """
    records = [read_with(file, reading) for file in files]
    given = {name: value for name, value in options.items() if value is not None}
    if "functions" in given:
        given["functions"] = functions_of(given["functions"])
    return run(records, given, horizon, out, as_json, quiet, command_line("seed", leave_out=("as_json", "quiet")))


def functions_of(text: str) -> tuple[str, ...] | dict[str, dict[str, float]]:
    """Names by commas, or functions with known parameters, sin:frequency=1:phase=0."""
    words = [word.strip().split(":") for word in text.split(",")]
    if text.strip() == "none":
        return ()
    if all(len(word) == 1 for word in words):
        return tuple(name for (name,) in words)
    try:
        pairs = [(name, [value.split("=") for value in values]) for name, *values in words]
        return {name: {key: float(value) for key, value in values} for name, values in pairs}
    except ValueError:
        raise InputError(
            f"The '--functions' option must be names with commas, or sin:frequency=1:phase=0. Got {text!r} instead."
        ) from None


def run(
    records: Sequence[Series],
    options: dict[str, Any],
    horizon: float | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    command: str,
) -> int:
    """Reconstruct, forecast, write and show."""
    from jetode.integration.forecast import horizon_samples
    from jetode.joint.progress import Budget
    from jetode.reconstruction.reconstruct import method_of
    from jetode.reconstruction.reconstruct import reconstruct as fit
    from jetode.reconstruction.settings import INTEGRATION
    from jetode.reporting.forecast_reach import default_horizon

    if horizon is not None:  # before the fit, which it would be a pity to lose
        horizon_samples(positive("horizon", horizon), records[-1].dt, INTEGRATION.most_band_steps)

    with working("Reconstructing", quiet) as say:
        if method_of(options) == "joint":
            budget = Budget(options.get("max_seconds"))
            with stops_with_the_best(budget):
                model = fit(records, budget=budget, progress=say, **options)
        elif len(records) > 1:
            raise InputError("Several records need the joint fit: leave --method and the degrees out.")
        else:
            model = fit(records[0], **options)
        say("forecasting")
        forecast = model.forecast(horizon or default_horizon(model))
        if out is not None:
            from jetode.reporting.report import report

            say("writing the report")
            page = report(model, forecast, command=command)
    if out is not None:
        with all_or_none():
            make_directory(out)
            model.save(out / WRITTEN[0])
            forecast.to_csv(out / WRITTEN[1])
            write_text(out / WRITTEN[2], page)
    if as_json:
        click.echo(one_json(model.summary()))
    elif not quiet:
        click.echo(summary(model, forecast, [] if out is None else [out / name for name in WRITTEN]))
    return EXIT_CODES[model.verdict.grade]


@contextmanager
def stops_with_the_best(budget: Budget) -> Iterator[None]:
    """Ctrl-C cancels the budget once there is a model to stop with; before that, and twice, it ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        if budget.cancelled or not budget.has_model:
            click.echo("Stopped; nothing was left half-written.", err=True)
            os._exit(INTERRUPTED)
        budget.cancel()
        click.echo("Stopping with the best model so far; Ctrl-C again ends at once.", err=True)

    earlier = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, earlier)
