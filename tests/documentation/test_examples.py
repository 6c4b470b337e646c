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

from jetode.cli.main import cli

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"MPLBACKEND": "Agg", "COLUMNS": "100"}
RECORDINGS = Path(os.environ.get("JETODE_RECORDINGS", ROOT.parent / "shared" / "data"))
NICKEL = RECORDINGS / "ni_electrodissolution_raw.csv"
# what each script of the gallery must say of its model
TRUSTED = {"chua_circuit": True, "four_dimensions": True, "lorenz_noise": True, "rossler_noise": True, "nickel": False}

UNTIL_STOPPED = ("studio", "watch")  # commands that go on until Ctrl-C; they have tests of their own


def run(command, folder, code=0):
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=900)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.long
@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_gallery(script, tmp_path):
    arguments = [NICKEL] if script.stem == "nickel" else []
    if arguments and not NICKEL.exists():
        pytest.skip("the nickel recording is not there; the environment variable JETODE_RECORDINGS may name its folder")
    assert f"trusted: {TRUSTED[script.stem]}" in run([sys.executable, script, *arguments], tmp_path)


def test_a_script_without_its_recording_says_what_to_give(tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / "examples" / "nickel.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and done.stderr.strip() == "Give the recording: python examples/nickel.py FILE"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where a reader of the documentation stands: with a record of their own."""
    path = tmp_path_factory.mktemp("docs")
    for name, seed in (("record", 0), ("monday", 1), ("tuesday", 2)):
        arguments = ["--duration", "30", "--noise", "0.05", "--seed", str(seed), "--initial", f"{seed + 1},0,20"]
        run([sys.executable, "-m", "jetode", "simulate", "lorenz", *arguments, "--out", f"{name}.csv"], path)
    return path


def blocks(language: str) -> list[str]:
    """All of them, in the order in which a reader goes through the pages."""
    found = []
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        texts = re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.S | re.M)
        found += [text for text in texts if "--8<--" not in text]
    return found


@pytest.mark.long
def test_documented_commands(folder, monkeypatch, capfd):
    """One after the other in one folder: some use what an earlier one has written.  In this process, and once each
    where a command stands on several pages: to start it takes longer than to run it."""
    lines = [shlex.split(line, comments=True) for text in blocks("console") for line in text.splitlines()]
    commands = [words for words in lines if words and words[0] == "jetode" and words[1] not in UNTIL_STOPPED]
    assert commands
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    for words in dict.fromkeys(map(tuple, commands)):
        with pytest.raises(SystemExit) as ended:
            cli(list(words[1:]), prog_name="jetode")
        assert ended.value.code == 0, (words, capfd.readouterr().err)


@pytest.mark.long
def test_documented_python(folder, monkeypatch):
    """In this process, where warnings are errors too."""
    texts = blocks("python")
    assert texts
    monkeypatch.chdir(folder)
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: None)
    for text in texts:
        if "register(" in text:  # what it adds would stay in this process
            (folder / "snippet.py").write_text(text)
            run([sys.executable, "-W", "error", "snippet.py"], folder)
        else:
            exec(compile(text, "snippet", "exec"), {"__name__": "__main__"})


@pytest.mark.long
def test_documentation_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocstrings", reason="needs the docs extra")
    pytest.importorskip("latex2mathml", reason="needs the docs extra")
    if shutil.which("mkdocs", path=Path(sys.executable).parent) is None:
        pytest.skip("needs the docs extra")
    run([sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", tmp_path / "site"], ROOT)
    method = (tmp_path / "site" / "method" / "index.html").read_text()
    assert "<math" in method and "$$" not in method
