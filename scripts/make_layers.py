"""The figure of the layers, ``docs/layers.svg``, from the import contract in ``pyproject.toml`` and the packages' own
first lines: ``python scripts/make_layers.py``.  A test fails where the figure is not that of the contract.
"""

from __future__ import annotations

import ast
import tomllib
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "layers.svg"
WIDTH, ROW, GAP, EDGE = 900, 62, 10, 14
LETTER = 6.6  # px of a letter of the small text
COLOURS = ("#0072B2", "#009E73", "#CC79A7", "#D55E00", "#E69F00", "#56B4E9")


def layers() -> list[list[str]]:
    """Packages by layer, from the top; ``__main__`` only starts the command line."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    rows = [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]
    return [row for row in rows if row != ["__main__"]]


def says(package: str) -> str:
    """The first line of a package's docstring."""
    source = (ROOT / "src" / "jetode" / package / "__init__.py").read_text("utf-8")
    text = ast.get_docstring(ast.parse(source)) or ""
    return text.splitlines()[0].rstrip(".") if text else ""


def box(x: float, y: float, width: float, name: str, colour: str) -> list[str]:
    """One package."""
    lines = wrap(says(name), max(12, int((width - 24) / LETTER)))[:2]
    out = [
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{ROW}" rx="6" fill="{colour}" fill-opacity="0.13" '
        f'stroke="{colour}"/>',
        f'<text class="name" x="{x + 12:.0f}" y="{y + 21:.0f}">{escape(name)}</text>',
    ]
    return out + [
        f'<text x="{x + 12:.0f}" y="{y + 38 + 15 * i:.0f}">{escape(line)}</text>' for i, line in enumerate(lines)
    ]


def figure() -> str:
    """The whole figure."""
    rows = layers()
    height = 2 * EDGE + len(rows) * (ROW + GAP) - GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'aria-label="The packages of jetode as layers; imports go down">',
        "<style>text { font: 12px system-ui, sans-serif; fill: #444; } .name { font: 600 14px ui-monospace, monospace; "
        "fill: #111; } @media (prefers-color-scheme: dark) { text { fill: #bbb; } .name { fill: #eee; } }</style>",
    ]
    left, room = EDGE + 34, WIDTH - 2 * EDGE - 34
    for i, row in enumerate(rows):
        width = (room - GAP * (len(row) - 1)) / len(row)
        for k, name in enumerate(row):
            parts += box(left + k * (width + GAP), EDGE + i * (ROW + GAP), width, name, COLOURS[i % len(COLOURS)])
    x = EDGE + 8
    arrow = f"M{x} {EDGE} V{height - EDGE} m-6 -10 l6 10 l6 -10"
    parts.append(f'<path d="{arrow}" fill="none" stroke="#888" stroke-width="1.5"/>')
    parts.append(
        f'<text transform="translate({x + 14} {height / 2:.0f}) rotate(-90)" text-anchor="middle">imports</text>'
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    TARGET.write_text(figure(), encoding="utf-8")
