"""The folder that a study leaves: results.json, timings.json, realizations.csv, figures, index.html, summary.md."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jetode.experiments.study import plots
from jetode.experiments.study.sections import Section
from jetode.support.files import make_directory, whole_file, write_text
from jetode.support.json import plain

ROW_KINDS = ("paper", "joint", "joint-plain", "transfer", "joint-transfer", "peer")
LISTS = ("vpt", "past", "smoothed", "oracle", "home", "away")


def write_all(
    out: Path,
    about: Mapping[str, Any],
    sections: Sequence[Section],
    rows: Sequence[tuple[str, dict[str, Any]]],
) -> None:
    """Everything but the times; a section's data are under its key in results.json."""
    draw(sections, make_directory(out / "figures"))
    results: dict[str, Any] = {"about": dict(about)}
    for section in sections:
        results[section.key] = {
            "title": section.title,
            "source": section.source,
            "agrees": section.agrees,
            "sentence": section.sentence,
            "data": section.data,
        }
    write_json(out / "results.json", results)
    with whole_file(out / "realizations.csv") as file:
        file.write(realizations(rows))
    write_text(out / "index.html", page(about, sections))
    write_text(out / "summary.md", summary(sections))


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Plain data; NaN becomes null."""
    write_text(path, json.dumps(plain(data), ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def draw(sections: Sequence[Section], folder: Path) -> None:
    """Every figure as PDF and PNG; without dates, so that equal runs give equal files."""
    for section in sections:
        for drawing in section.drawings:
            with plots.styled():
                figure = drawing.draw()
                figure.savefig(folder / f"{drawing.name}.pdf", metadata={"CreationDate": None})
                figure.savefig(folder / f"{drawing.name}.png", metadata={"Software": None})


def realizations(rows: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """One line per realization; lists over the eight starts are spread into columns."""
    spread = [(group, _flat(row)) for group, row in rows]
    columns = list(dict.fromkeys(name for _, row in spread for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, ["group", *columns], lineterminator="\n")
    writer.writeheader()
    for group, row in spread:
        writer.writerow({"group": group, **row})
    return text.getvalue()


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in row.items():
        if name in LISTS and isinstance(value, list):
            out |= {f"{name}_{i + 1}": v for i, v in enumerate(value)}
        else:
            out[name] = value
    return out


def summary(sections: Sequence[Section]) -> str:
    """The sentences and tables as Markdown, for a documentation page."""
    lines = []
    for section in sections:
        lines += [f"## {section.title}", "", f"*{section.source}.* {section.sentence}", ""]
        for table in section.tables:
            rows = [table.columns, ["---"] * len(table.columns), *table.rows]
            lines += [f"**{table.title}**", "", *(_markdown_row(row) for row in rows), ""]
            lines += [table.note, ""] if table.note else []
    return "\n".join(lines)


def _markdown_row(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|") for value in values) + " |"


def page(about: Mapping[str, Any], sections: Sequence[Section]) -> str:
    """index.html."""
    from jinja2 import Environment

    template = files("jetode.reporting").joinpath("templates", "paper.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(about=about, sections=sections)
