"""The head that the pages of benchmarks share: one file each, light and dark, tables that scroll on a phone."""

from __future__ import annotations

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>TITLE</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 64rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 14px; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; }
STYLE</style>
</head>
"""


def head(title: str, style: str) -> str:
    """From the doctype to the end of the head; ``style`` is the page's own."""
    return HEAD.replace("TITLE", title).replace("STYLE", style)
