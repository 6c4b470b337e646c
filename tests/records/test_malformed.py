"""Every file of tests/malformed, with its options, gives its one-sentence error, exit code 2, no output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from jetode.cli.main import cli

FOLDER = Path(__file__).parent / "malformed"
CASES = json.loads((FOLDER / "cases.json").read_text())


def check(code, out, err, says):
    assert code == 2, err
    assert out == ""
    assert err.startswith("Error: ") and err.count("\n") == 1, err
    assert says in err
    assert "Traceback" not in err


def test_the_folder_and_the_table_agree():
    assert len(CASES) >= 30
    assert {c["file"] for c in CASES} == {p.name for p in FOLDER.iterdir()} - {"cases.json"}


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["file"])
def test_one_sentence_and_exit_2(case, tmp_path):
    if case["file"].endswith(".parquet"):
        pytest.importorskip("pyarrow")
    if case["file"].endswith(".edf"):
        pytest.importorskip("pyedflib")
    arguments = ["reconstruct", str(FOLDER / case["file"]), "--out", str(tmp_path / "out"), *case["options"]]
    result = CliRunner().invoke(cli, arguments)
    check(result.exit_code, result.stdout, result.stderr, case["says"])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["text_value.csv", "empty.csv", "cube.npy"])
@pytest.mark.parametrize("command", ["diagnose", "reconstruct"])
def test_the_same_from_a_shell(name, command):
    case = next(c for c in CASES if c["file"] == name)
    run = subprocess.run(
        [sys.executable, "-m", "jetode", command, str(FOLDER / name)] + case["options"],
        capture_output=True,
        text=True,
        check=False,
    )
    check(run.returncode, run.stdout, run.stderr, case["says"])


def test_places_that_are_no_files(tmp_path):
    for path, says in ((tmp_path, "is a directory"), (tmp_path / "no.csv", "There is no file")):
        result = CliRunner().invoke(cli, ["diagnose", str(path)])
        check(result.exit_code, result.stdout, result.stderr, says)
    for suffix in (".npy", ".parquet", ".wav", ".edf"):
        result = CliRunner().invoke(cli, ["diagnose", str(tmp_path / f"no{suffix}")])
        check(result.exit_code, result.stdout, result.stderr, "There is no file")
