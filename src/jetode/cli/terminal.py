"""What a person sees in a terminal: a summary of a model, work going on, plain JSON."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from jetode.integration.forecast import Forecast
    from jetode.reconstruction.model import Model

LONG_EQUATION = 800  # characters
COLOURS = {"exact": "green", "approximate": "yellow", "forecast": "yellow", "none": "red"}  # of the verdict's grade


@contextmanager
def working(what: str, quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """Shows on a terminal that work longer than two seconds goes on, at which stage, and since when.

    Yields a function that is told the stage.
    """
    from jetode.support.compiled import told_of_compilation

    if quiet or not sys.stderr.isatty():
        with told_of_compilation(lambda line: None):
            yield lambda stage: None
        return
    from tqdm import tqdm

    done = threading.Event()
    stages = [what]

    def show() -> None:
        start = monotonic()
        if done.wait(2.0):
            return
        with tqdm(bar_format="{desc} {postfix}", leave=False) as bar:
            while not done.wait(0.2):
                bar.set_description_str(stages[-1], refresh=False)
                bar.set_postfix_str(f"{monotonic() - start:.0f} s")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        with told_of_compilation(lambda line: click.echo(line, err=True)):
            yield lambda stage: stages.append(f"{what}: {stage}")
    finally:
        done.set()
        thread.join()


def summary(model: Model, forecast: Forecast, written: Sequence[Path]) -> str:
    """What the terminal shows: record, noise, equation, verdict, forecast, what to do next."""
    from jetode.reporting.forecast_reach import next_steps, outlook, sentence

    record = model.record
    unit = f" {record.time_unit}" if record.time_unit else ""
    noise = model.summary()["noise"]
    grade = model.verdict.grade
    several = f"{record.count} records, the last with " if record.count > 1 else ""
    size = f"{several}{record.n} samples, dt {record.dt:g}{unit}, std {record.std:.4g} {record.unit}"
    after = " of the end of the last record" if record.count > 1 else ""
    ahead = f"{forecast.t[-1]:g}{unit} ahead{after}" + ("" if forecast.completed else f"; then {forecast.ended}")
    reach = outlook(model, forecast)
    rows = [("record", size.rstrip())]
    rows += [("", note) for note in record.notes]
    rows += [
        ("verdict", f"{grade}: {sentence(model, reach)}"),
        ("noise", f"σ {noise['sigma']:.3g}, {100 * noise['fraction']:.2g} % of the signal"),
        *zip(("equation", *[""] * 99), _equation(model), strict=False),
        ("forecast", ahead),
    ]
    if written:
        rows.append(("written", ", ".join(str(path) for path in written)))
    steps = next_steps(model)
    if grade == "exact" and written:
        steps = (f"open {written[-1]} in a browser; jetode export {written[0]} hands the equations on",)
    rows += zip(("next", *[""] * len(steps)), steps, strict=False)
    width = max(60, min(110, shutil.get_terminal_size().columns))
    lines = "\n".join(
        textwrap.fill(
            f"{name:<9} {text}", width, subsequent_indent=" " * 10, break_on_hyphens=False, break_long_words=False
        )
        for name, text in rows
    )
    shown = f"{'verdict':<9} {grade}"  # coloured after wrapping, which would count the colour's characters
    return lines.replace(shown, f"{'verdict':<9} {click.style(grade, fg=COLOURS[grade], bold=True)}", 1)


def _equation(model: Model) -> list[str]:
    """The equations, one per line, and what their letters are; their size where they are long; none where the verdict
    does not let them count."""
    if model.shown_equation is None or model.named is None:
        return ["none" + (" (the report folds away what was tried)" if model.dynamics.equation is not None else "")]
    lines = model.named.lines()
    if sum(len(line.right) for line in lines) > LONG_EQUATION:
        return [f"{len(model.coefficients())} coefficients (model.json has them all)"]
    # a line breaks between terms only
    rows = [f"{line.left}\u00a0= " + " ".join(piece.replace(" ", "\u00a0") for piece in line.pieces) for line in lines]
    return rows + [f"{name}\u00a0is {meaning}" for name, meaning in model.named.meanings()]


def one_json(data: dict[str, Any]) -> str:
    """One JSON object on one line."""
    from jetode.support.json import plain

    return json.dumps(plain(data), ensure_ascii=False, allow_nan=False)
