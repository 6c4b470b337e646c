"""compare, figures and watch as a person types them."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import jetode
from jetode.cli.main import cli

SAVED = Path(__file__).parents[1] / "reconstruction" / "saved"


def run(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """Noisy Lorenz x, as the saved model knows it."""
    path = tmp_path_factory.mktemp("everyday") / "record.csv"
    values = jetode.systems["lorenz"].simulate(30.0, initial=(1.0, 5.0, 20.0)).observe("x").values
    noisy = jetode.add_noise(values, 0.15, np.random.default_rng(1))
    path.write_text("time [s],x [mV]\n" + "".join(f"{0.01 * i:.2f},{v!r}\n" for i, v in enumerate(noisy.tolist())))
    return path


def test_compare_shows_terms_side_by_side_and_scores_them(record):
    files = [SAVED / "joint_lorenz.json", SAVED / "paper_lorenz.json"]
    shown = run("compare", *files)
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert "w': x²" in shown.output and "-9.894 ± 0.094" in next(line for line in lines if line.startswith("w': x²"))
    scored = run("compare", *files[:1], "--record", record, "--json")
    assert scored.exit_code == 0, scored.output
    (found,) = json.loads(scored.output)["models"]
    assert found["vpt"] > 1.0 and found["delta_bic"] == 0.0


def test_figures_of_a_paper(record, tmp_path):
    for format in ("pdf", "svg"):
        done = run("figures", SAVED / "joint_lorenz.json", "--record", record, "--format", format, "--out", tmp_path)
        assert done.exit_code == 0, done.output
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{n}.{f}" for n in ("forecast", "attractor", "residuals") for f in ("pdf", "svg")} | {
        "captions.md"
    }
    assert (tmp_path / "forecast.pdf").read_bytes().startswith(b"%PDF")
    captions = (tmp_path / "captions.md").read_text()
    assert captions.count("**Figure") == 3 and "713.9" in captions and "90 %" in captions
    alone = run("figures", SAVED / "joint_lorenz.json", "--out", tmp_path / "alone")
    assert alone.exit_code == 0 and "--record" in alone.stderr


def test_watch_follows_a_growing_file(record, tmp_path, monkeypatch):
    """Between two looks the file grows; in the end it leaves its bands."""
    lines = record.read_text().splitlines(keepends=True)
    growing = tmp_path / "growing.csv"
    growing.write_text("".join(lines[:2801]))
    steps = iter((lines[2801:2901], [f"{0.01 * (2900 + i):.2f},90.0\n" for i in range(100)], []))

    def grow(_):
        with growing.open("a") as file:
            file.writelines(next(steps))

    monkeypatch.setattr("jetode.cli.watch.sleep", grow)
    words = ["watch", growing, "--model", SAVED / "joint_lorenz.json", "--horizon", 1]
    done = run(*words, "--looks", 4)
    assert done.exit_code == 0, done.output
    shown = done.output.splitlines()
    assert len(shown) == 3 and "of 100 new samples" in shown[1]
    assert not shown[1].startswith("ALARM") and shown[2].startswith("ALARM")
    plain = run(*words, "--looks", 1, "--json")
    assert json.loads(plain.output)["new"] == 0
