"""The tutorial: docs/tutorial.py (cells between # %% lines) executed as a notebook, written as docs/tutorial.ipynb and,
with its outputs, as docs/tutorial.md.

    python scripts/make_tutorial.py
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbclient
import nbformat

DOCS = Path(__file__).resolve().parents[1] / "docs"


def cells(source: str) -> list[Any]:
    """Cells of a script in percent format."""
    out = []
    for part in re.split(r"^# %%", source, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            out.append(nbformat.v4.new_markdown_cell(text))
        else:
            out.append(nbformat.v4.new_code_cell(body.strip()))
    return out


def executed(source: str) -> Any:
    """The notebook with its outputs."""
    book = nbformat.v4.new_notebook(cells=cells(source))
    nbclient.NotebookClient(book, timeout=600, kernel_name="python3").execute()
    return book


def markdown(book: Any) -> str:
    """The notebook as a page: text as it is, code and what it printed in fences."""
    out = []
    for cell in book["cells"]:
        if cell["cell_type"] == "markdown":
            out.append(cell["source"])
            continue
        out.append(f"```py\n{cell['source']}\n```")
        shown = [text(o) for o in cell["outputs"]]
        if any(shown):
            out.append("```text\n" + "\n".join(s.rstrip() for s in shown if s) + "\n```")
    return "\n\n".join(out) + "\n"


def text(output: Any) -> str:
    """What one output says in plain text; the line of progress, which is gone in the end, says nothing."""
    if output["output_type"] == "stream":
        return str(output["text"])
    data = output.get("data", {})
    return "" if "Reconstructing" in str(data.get("text/html", "")) else str(data.get("text/plain", ""))


if __name__ == "__main__":
    made = executed((DOCS / "tutorial.py").read_text("utf-8"))
    (DOCS / "tutorial.md").write_text(markdown(made), "utf-8")
    for cell in made["cells"]:
        cell["id"] = f"cell-{made['cells'].index(cell)}"
        cell["metadata"] = {}
    (DOCS / "tutorial.ipynb").write_text(nbformat.writes(made) + "\n", "utf-8")
