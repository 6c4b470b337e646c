"""Small pieces of HTML for notebooks: a card of rows and a line drawing of a signal, without any script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

POINTS = 600  # of a sparkline


def card(title: str, rows: Sequence[tuple[str, str]], body: str = "") -> str:
    """A titled table of names and texts, then ``body`` (HTML already)."""
    cells = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text.strip())}</td></tr>'
        for name, text in rows
    )
    return f"<div><strong>{escape(title)}</strong><table>{cells}</table>{body}</div>"


def sparkline(
    values: NDArray[np.float64], lower: NDArray[np.float64] | None = None, upper: NDArray[np.float64] | None = None
) -> str:
    """The signal as an inline SVG line, with its band where there is one; gaps stay gaps."""
    step = max(1, -(-values.size // POINTS))
    shown = values[::step]
    low, high = float(np.nanmin(shown)), float(np.nanmax(shown))
    x = np.linspace(2, 598, shown.size)

    def at(y: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.clip(78 - 76 * (y - low) / ((high - low) or 1.0), -80.0, 160.0)

    band = ""
    if lower is not None and upper is not None:
        edge = _path(np.append(x, x[::-1]), np.append(at(upper[::step]), at(lower[::step])[::-1]))
        band = f'<path d="{edge}Z" fill="#D55E00" fill-opacity="0.25" stroke="none"/>'
    return (
        '<svg viewBox="0 0 600 80" width="600" height="80" role="img" aria-label="The signal">'
        f'{band}<path d="{_path(x, at(shown))}" fill="none" stroke="#0072B2" stroke-width="1"/></svg>'
    )


def _path(x: NDArray[np.float64], y: NDArray[np.float64]) -> str:
    """Moves and lines of an SVG path; the pen is lifted where y is missing."""
    parts, pen = [], "M"
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        if np.isnan(b):
            pen = "M"
            continue
        parts.append(f"{pen}{a:.1f} {b:.1f}")
        pen = "L"
    return "".join(parts)
