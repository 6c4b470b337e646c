"""What a person sees in a terminal: a summary of a model, work going on, plain JSON."""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from jetode.series import Series

if TYPE_CHECKING:
    from jetode.forecast import Forecast
    from jetode.model import Model

LONG_EQUATION = 800  # characters


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows on a terminal that work longer than two seconds goes on, and since when."""
    if not sys.stderr.isatty():
        yield
        return
    from tqdm import tqdm

    done = threading.Event()

    def show() -> None:
        start = monotonic()
        if done.wait(2.0):
            return
        with tqdm(desc=what, bar_format="{desc} {postfix}", leave=False) as bar:
            while not done.wait(0.2):
                bar.set_postfix_str(f"{monotonic() - start:.0f} s")

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def summary(record: Series, model: Model, forecast: Forecast, out: Path | None) -> str:
    """What the terminal shows: equation, verdict, noise, horizon, what to do next."""
    unit = f" {record.time_unit}" if record.time_unit else ""
    noise = model.summary()["noise"]
    word, colour = ("trusted", "green") if model.verdict.trusted else ("not trusted", "red")
    size = f"{record.n} samples, dt {record.dt:g}{unit}, std {record.std:.4g} {record.unit}"
    rows = [
        ("record", size.rstrip()),
        ("noise", f"σ {noise['sigma']:.3g}, {100 * noise['fraction']:.2g} % of the signal"),
        ("equation", _equation(model)),
        ("verdict", f"{click.style(word, fg=colour)}: {model.verdict.reason}"),
        ("forecast", f"{forecast.t[-1]:g}{unit} ahead, {forecast.stop.value}"),
    ]
    if out is not None:
        rows.append(("written", ", ".join(str(out / n) for n in ("model.json", "forecast.csv", "page.html"))))
    if not model.verdict.trusted:
        rows.append(("next", "see `jetode diagnose` on this record; a longer or cleaner stretch helps most"))
    width = max(60, min(110, shutil.get_terminal_size().columns))
    return "\n".join(
        textwrap.fill(f"{name:<9} {text}", width, subsequent_indent=" " * 10, break_on_hyphens=False)
        for name, text in rows
    )


def _equation(model: Model) -> str:
    """The closure on a few lines, or its size where it is longer."""
    text = model.closure.text(digits=4)
    if len(text) <= LONG_EQUATION:
        return text
    above, below = len(model.closure.numerator), len(model.closure.denominator)
    return f"u{model.order - 1}' = N/D with {above} and {below} terms (model.json has them all)"


def one_json(data: dict[str, Any]) -> str:
    """One JSON object on one line."""
    return json.dumps(_plain(data), ensure_ascii=False, allow_nan=False)


def _plain(value: Any) -> Any:
    """Numbers that JSON has: NaN and infinities become null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
