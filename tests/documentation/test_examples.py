"""Every script of the gallery and every documented snippet runs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"MPLBACKEND": "Agg", "COLUMNS": "100"}
NICKEL = ROOT.parent / "shared" / "data" / "ni_electrodissolution_raw.csv"


def run(command, folder, codes=(0,)):
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)
    assert done.returncode in codes, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem)
def test_gallery(script, tmp_path):
    if script.stem == "nickel" and not NICKEL.exists():
        pytest.skip("the nickel recording is not at ../shared/data")
    out = run([sys.executable, script], tmp_path)
    assert "trusted:" in out
    if script.stem in ("lorenz_noise", "rossler_noise", "four_dimensions"):
        assert "trusted: True" in out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a reader of the documentation stands: with a record of their own."""
    path = tmp_path_factory.mktemp("docs")
    for name, seed in (("record", 0), ("monday", 1), ("tuesday", 2)):
        arguments = ["--duration", "40", "--noise", "0.05", "--seed", str(seed), "--initial", f"{seed + 1},0,20"]
        run([sys.executable, "-m", "jetode", "simulate", "lorenz", *arguments, "--out", f"{name}.csv"], path)
    return path


def blocks(language: str) -> list:
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        texts = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)
        found += [pytest.param(t, id=f"{page.stem}{i}") for i, t in enumerate(texts) if "--8<--" not in t]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("text", blocks("console"))
def test_documented_commands(text, folder):
    for line in text.splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] == "jetode":
            run([sys.executable, "-m", *words], folder, codes=(0, 3))


@pytest.mark.slow
@pytest.mark.parametrize("text", blocks("python"))
def test_documented_python(text, folder):
    (folder / "snippet.py").write_text(text)
    run([sys.executable, "-W", "error", "snippet.py"], folder)


@pytest.mark.slow
def test_documentation_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocstrings", reason="needs the docs extra")
    pytest.importorskip("latex2mathml", reason="needs the docs extra")
    if shutil.which("mkdocs", path=Path(sys.executable).parent) is None:
        pytest.skip("needs the docs extra")
    run([sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", tmp_path / "site"], ROOT)
    method = (tmp_path / "site" / "method" / "index.html").read_text()
    assert "<math" in method and "$$" not in method
