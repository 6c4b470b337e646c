"""Equations between $$ … $$ and $ … $ become MathML while the pages are built: no script, no network."""

import re

from latex2mathml.converter import convert

FENCE = re.compile(r"(```.*?```|`[^`\n]*`)", re.S)
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.S)
INLINE = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\w)")


def on_page_markdown(markdown, **_):
    parts = FENCE.split(markdown)
    for i in range(0, len(parts), 2):
        shown = DISPLAY.sub(lambda m: convert(m[1].strip(), display="block"), parts[i])
        parts[i] = INLINE.sub(lambda m: convert(m[1]), shown)
    return "".join(parts)
