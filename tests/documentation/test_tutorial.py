"""The tutorial runs as a notebook, and its page holds the same cells as its source."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (ROOT / "docs" / "tutorial.py").read_text("utf-8")


@pytest.fixture(scope="module")
def script():
    pytest.importorskip("nbclient")
    return runpy.run_path(str(ROOT / "scripts" / "make_tutorial.py"), run_name="tutorial")


def test_page_and_notebook_are_made_of_the_script(script):
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    notebook = (ROOT / "docs" / "tutorial.ipynb").read_text("utf-8")
    for cell in script["cells"](SOURCE):
        assert cell["source"] in page
        assert cell["source"].splitlines()[0].replace('"', '\\"') in notebook


@pytest.mark.long
def test_the_notebook_runs_and_says_what_the_page_says(script):
    page = script["markdown"](script["executed"](SOURCE))
    assert "exact -" in page and "still holds" in page and "function [rhs, x0, signal] = jetode_model()" in page
