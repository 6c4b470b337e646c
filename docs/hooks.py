"""Equations between $$ … $$ and $ … $ become MathML while the pages are built: no script, no network.

``\\tag{3.1}`` numbers a display equation; (3.1) elsewhere on its page becomes a link to it.
"""

import re

from latex2mathml.converter import convert

FENCE = re.compile(r"(```.*?```|`[^`\n]*`)", re.S)
DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.S)
INLINE = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?!\w)")
TAG = re.compile(r"\\tag\{([\d.]+)\}")
REFERENCE = re.compile(r"\((\d+\.\d+)\)")


def anchor(tag):
    return "eq-" + tag.replace(".", "-")


def display(match):
    """A display equation, with its number where it has one."""
    found = TAG.search(match[1])
    mathml = convert(TAG.sub("", match[1]).strip(), display="block")
    if found is None:
        return mathml
    return f'<div class="equation" id="{anchor(found[1])}">{mathml}<span>({found[1]})</span></div>'


def inline(match):
    """Within a span: Markdown takes a line that begins with <math> for a block of its own."""
    return f"<span>{convert(match[1])}</span>"


def on_page_markdown(markdown, **_):
    tags = set(TAG.findall(markdown))

    def refer(match):
        return f'<a href="#{anchor(match[1])}">({match[1]})</a>' if match[1] in tags else match[0]

    parts = FENCE.split(markdown)
    for i in range(0, len(parts), 2):
        pieces = re.split(r"(\$\$.+?\$\$)", parts[i], flags=re.S)
        for j in range(0, len(pieces), 2):
            pieces[j] = INLINE.sub(inline, REFERENCE.sub(refer, pieces[j]))
        for j in range(1, len(pieces), 2):
            pieces[j] = DISPLAY.sub(display, pieces[j])
        parts[i] = "".join(pieces)
    return "".join(parts)
