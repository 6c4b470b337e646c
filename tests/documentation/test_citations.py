"""What docstrings cite is in the repository: sections and equations of the mathematics; no path outside of it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "mathematics.md").read_text("utf-8")
TAGS = re.findall(r"\\tag\{([\d.]+)\}", PAGE)
SECTIONS = re.findall(r"^##+ (\d+(?:\.\d+)?) ", PAGE, re.M)
# mathematics.md §3, §4  |  mathematics.md (3.1)–(3.5), (3.9)
CITATION = re.compile(r"mathematics\.md((?:[ ,–;]*(?:§[\d.]*\d|\(\d+\.\d+\)))+)")
SOURCES = sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py"), *(ROOT / "tests").rglob("*.py")])
SHIPPED = [
    *(ROOT / "src").rglob("*.py"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "examples").glob("*.py"),
    *(ROOT / "benchmarks").glob("*.py"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "mkdocs.yml", "Makefile")),
]


def cited():
    for path in SOURCES:
        if path == Path(__file__):
            continue
        text = re.sub(r"\s+", " ", path.read_text("utf-8"))
        for found in CITATION.finditer(text):
            for section, equation in re.findall(r"§([\d.]*\d)|\((\d+\.\d+)\)", found[1]):
                yield path.relative_to(ROOT).as_posix(), section, equation


def test_equations_are_numbered_once_and_in_order():
    numbers = [tuple(map(int, tag.split("."))) for tag in TAGS]
    assert len(TAGS) > 40 and numbers == sorted(set(numbers))
    for (chapter, number), (before, last) in zip(numbers[1:], numbers, strict=False):
        assert (chapter, number) == ((chapter, last + 1) if chapter == before else (before + 1, 1))


def test_every_citation_is_there():
    found = list(cited())
    assert len(found) > 40
    lost = [(path, section or equation) for path, section, equation in found
            if (section and section not in SECTIONS) or (equation and equation not in TAGS)]  # fmt: skip
    assert not lost


def test_every_mention_of_the_mathematics_is_a_citation():
    """A mention that the pattern does not understand would never be checked."""
    for path in (ROOT / "src").rglob("*.py"):
        text = re.sub(r"\s+", " ", path.read_text("utf-8"))
        assert text.count("mathematics.md") == len(CITATION.findall(text)), path


def test_references_within_the_page_are_to_its_equations():
    prose = re.sub(r"\$\$.+?\$\$|`[^`]*`", "", PAGE, flags=re.S)
    assert set(re.findall(r"\((\d+\.\d+)\)", prose)) <= set(TAGS)
    assert set(re.findall(r"§(\d+(?:\.\d+)?)", prose)) <= set(SECTIONS)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_nothing_outside_the_repository_is_referred_to(path):
    text = path.read_text("utf-8")
    assert "../shared" not in text and "design.md" not in text


def test_the_figure_of_the_layers_is_that_of_the_contract():
    script = runpy.run_path(str(ROOT / "scripts" / "make_layers.py"), run_name="figure")
    assert (ROOT / "docs" / "layers.svg").read_text("utf-8") == script["figure"]()
    packages = {path.parent.name for path in (ROOT / "src" / "jetode").glob("*/__init__.py")}
    assert {name for row in script["layers"]() for name in row} == packages
