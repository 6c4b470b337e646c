"""The command line end to end: files, JSON, exit codes, and Ctrl-C."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time

import click
import numpy as np
import pytest
from click.testing import CliRunner

from jetode.cli.main import cli
from jetode.cli.reconstruct import stops_with_the_best
from jetode.joint.progress import Budget

JETODE = [sys.executable, "-m", "jetode"]
PAPER = ["--method", "paper", "--order", "3", "--denominator-degree", "1", "--numerator-degree", "4"]


def run(*arguments):
    return CliRunner().invoke(cli, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A clean Lorenz record, its continuation, and a reconstruction of it."""
    path = tmp_path_factory.mktemp("cli")
    assert run("simulate", "lorenz", "--duration", 60, "--out", path / "x.csv").exit_code == 0
    result = run("reconstruct", path / "x.csv", *PAPER, "--out", path / "out", "--json")
    assert result.exit_code == 0, result.stderr
    (path / "out.json").write_text(result.stdout)
    return path


def test_help_teaches_with_an_example():
    for command in ("diagnose", "reconstruct", "forecast", "score", "simulate", "demo", "export"):
        result = run(command, "--help")
        assert result.exit_code == 0 and "Example:" in result.stdout
    assert "jetode diagnose" in run().stdout
    assert run("--version").exit_code == 0


def test_simulate_is_repeatable_and_says_how(tmp_path):
    arguments = ["simulate", "lorenz", "--duration", 5, "--noise", 0.15, "--noise-kind", "laplace"]
    first, second = run(*arguments), run(*arguments, "--out", tmp_path / "x.csv")
    assert first.exit_code == second.exit_code == 0
    text = (tmp_path / "x.csv").read_text()
    assert text == first.stdout
    head = text.splitlines()
    assert head[0] == "# jetode simulate lorenz --duration 5.0 --noise 0.15 --noise-kind laplace --seed 0"
    assert head[1] == "t,x" and len(head) == 2 + 501
    assert run(*arguments, "--seed", 1).stdout != text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nosuch"], "no system 'nosuch'"),
        (["lorenz", "--observable", "q"], "q"),
        (["lorenz", "--observable", "x +* y"], "cannot be read"),
        (["lorenz", "--duration", "0"], "'--duration'"),
        (["lorenz", "--dt", "-1"], "'--dt'"),
        (["lorenz", "--initial", "1,a,0"], "'--initial'"),
        (["lorenz", "--initial", "1,0"], "initial"),
        (["lorenz", "--noise", "-0.1"], "'fraction'"),
        (["lorenz", "--noise-kind", "pink"], "pink"),
        (["lorenz", "--out", "/no/such/place.csv"], "cannot be written"),
    ],
)
def test_simulate_refuses(arguments, says):
    result = run("simulate", *arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert says in result.stderr and result.stderr.count("\n") == 1


def test_reconstruct_json(folder):
    data = json.loads((folder / "out.json").read_text())
    assert data["method"] == "paper" and data["order"] == 3
    assert data["record"]["n"] == 6001 and data["record"]["dt"] == pytest.approx(0.01)
    assert set(data["noise"]) >= {"sigma", "fraction"}
    assert data["verdict"]["trusted"] is True and data["verdict"]["reason"]
    assert data["poles"] == [pytest.approx(0, abs=1e-3)]
    linear = next(t for t in data["closure"]["denominator"] if t["powers"] == [1, 0, 0])
    cubic = next(t for t in data["closure"]["numerator"] if t["powers"] == [4, 0, 0])
    assert cubic["coefficient"] / linear["coefficient"] == pytest.approx(-10, rel=1e-3)


def test_reconstruct_writes_whole_files(folder):
    assert sorted(os.listdir(folder / "out")) == ["forecast.csv", "model.json", "report.html"]
    report = (folder / "out" / "report.html").read_text()
    assert "<math" in report and "can be trusted" in report and f"jetode reconstruct {folder / 'x.csv'}" in report
    assert (folder / "out" / "report.html").stat().st_size < 6e6


def test_reconstruct_summary(folder):
    result = run("reconstruct", folder / "x.csv", *PAPER)
    assert result.exit_code == 0
    for word in ("6001 samples", "equation", "trusted", "forecast"):
        assert word in result.stdout
    assert "\x1b" not in result.stdout
    assert run("reconstruct", folder / "x.csv", *PAPER, "--quiet").stdout == ""


def test_export(folder, tmp_path):
    model = folder / "out" / "model.json"
    printed = run("export", model, "--format", "c")
    assert printed.exit_code == 0 and "jetode_rhs" in printed.stdout
    assert run("export", model, "--format", "c", "--out", tmp_path / "model.c").stdout == ""
    assert (tmp_path / "model.c").read_text() == printed.stdout
    refused = run("export", model, "--format", "cobol")
    assert refused.exit_code == 2 and "cobol" in refused.stderr


def test_several_records_need_the_joint_fit(folder):
    result = run("reconstruct", folder / "x.csv", folder / "x.csv", *PAPER)
    assert result.exit_code == 2 and "joint" in result.stderr and result.stderr.count("\n") == 1


def test_two_records_and_a_budget_give_one_model(tmp_path):
    for seed in (1, 2):
        arguments = ["--duration", 20, "--noise", 0.05, "--seed", seed, "--initial", f"{seed},1,20"]
        assert run("simulate", "lorenz", *arguments, "--out", tmp_path / f"{seed}.csv").exit_code == 0
    files = [tmp_path / "1.csv", tmp_path / "2.csv"]
    result = run("reconstruct", *files, "--sigma", 0.4, "--max-seconds", 600, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.stderr
    assert "2 records" in result.stdout and "x'\u00a0= v" in result.stdout
    report = (tmp_path / "out" / "report.html").read_text()
    command = re.search(r'<pre id="command">(.*?)</pre>', report)[1]
    assert "2 records" in report and command.endswith(
        f"--sigma 0.4 --max-seconds 600.0 --seed 0 --out {tmp_path / 'out'}"
    )
    stopped = run("reconstruct", *files, "--max-seconds", 0.001, "--json")
    assert stopped.exit_code == 3 and json.loads(stopped.stdout)["verdict"]["trusted"] is False


def test_untrusted_model_exits_3_and_still_writes(tmp_path):
    noise = np.random.default_rng(0).standard_normal(3000)
    np.savetxt(tmp_path / "noise.csv", noise)
    result = run("reconstruct", tmp_path / "noise.csv", "--dt", 0.1, *PAPER, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 3, result.stderr
    data = json.loads(result.stdout)
    assert data["verdict"]["trusted"] is False and data["verdict"]["reason"]
    assert (tmp_path / "out" / "model.json").exists()


def test_bad_options_leave_earlier_results(folder):
    before = {p.name: p.read_bytes() for p in (folder / "out").iterdir()}
    for options in (
        ["--order", "1"],
        ["--numerator-degree", "-1"],
        ["--method", "magic"],
        ["--horizon", "0"],
    ):
        result = run("reconstruct", folder / "x.csv", *PAPER, *options, "--out", folder / "out")
        assert result.exit_code == 2, (options, result.output)
        assert result.stderr.count("\n") == 1 and result.stdout == ""
    assert {p.name: p.read_bytes() for p in (folder / "out").iterdir()} == before


def test_forecast_and_score(folder, tmp_path):
    model = folder / "out" / "model.json"
    printed = run("forecast", model, "--horizon", 3)
    written = run("forecast", model, "--horizon", 3, "--out", tmp_path / "f.csv")
    assert printed.exit_code == written.exit_code == 0
    assert (tmp_path / "f.csv").read_text() == printed.stdout
    lines = printed.stdout.splitlines()
    assert lines[0].startswith("t,value") and len(lines) == 302
    assert [float(line.split(",")[0]) for line in lines[1:4]] == pytest.approx([60.0, 60.01, 60.02])

    whole = run("simulate", "lorenz", "--duration", 63).stdout.splitlines()
    (tmp_path / "truth.csv").write_text("\n".join(["t,x", *whole[2 + 6000 :]]) + "\n")
    result = run("score", tmp_path / "f.csv", tmp_path / "truth.csv", "--lyapunov", 0.906, "--json")
    data = json.loads(result.stdout)
    assert data["horizon"] == pytest.approx(3.0)
    assert data["valid_prediction_time"] > 1.0
    assert data["lyapunov_times"] == pytest.approx(0.906 * data["valid_prediction_time"])
    assert "valid prediction time" in run("score", tmp_path / "f.csv", tmp_path / "truth.csv").stdout


def test_score_of_a_forecast_that_stopped_at_once(tmp_path):
    (tmp_path / "f.csv").write_text("t,value\n0.0,1.0\n0.1,1.1\n")
    np.savetxt(tmp_path / "truth.csv", 1 + np.sin(np.arange(100) / 10))
    result = run("score", tmp_path / "f.csv", tmp_path / "truth.csv", "--dt", 0.1, "--json")
    assert json.loads(result.stdout)["valid_prediction_time"] == pytest.approx(0.2)


def test_forecast_from_a_sample_of_the_record(folder):
    model = folder / "out" / "model.json"
    result = run("forecast", model, "--horizon", 1, "--start", 2000, "--record", folder / "x.csv")
    assert result.exit_code == 0, result.stderr
    predicted = np.loadtxt(result.stdout.splitlines()[1:], delimiter=",")[:, 1]
    truth = np.loadtxt(folder / "x.csv", delimiter=",", skiprows=2)[2000:2101, 1]
    np.testing.assert_allclose(predicted, truth, atol=0.1)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--horizon", "-1"], "'--horizon'"),
        (["--horizon", "1", "--start", "5"], "--record FILE"),
        ([], "Missing option '--horizon'"),
    ],
)
def test_forecast_refuses(folder, arguments, says):
    result = run("forecast", folder / "out" / "model.json", *arguments)
    assert result.exit_code == 2 and says in result.stderr and result.stderr.count("\n") == 1


def test_forecast_refuses_other_files(folder, tmp_path):
    (tmp_path / "a.json").write_text("{}")
    (tmp_path / "b.json").write_text("not json")
    for model in (tmp_path / "a.json", tmp_path / "b.json", tmp_path / "no.json", tmp_path, folder / "x.csv"):
        result = run("forecast", model, "--horizon", 1)
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1


def test_every_command_that_reads_takes_the_same_reading_options(tmp_path):
    reading = {"--column", "--time", "--dt", "--resample", "--skip-rows"}
    for name in ("diagnose", "reconstruct", "forecast", "score"):
        command = cli.get_command(click.Context(cli), name)
        assert reading <= {option for parameter in command.params for option in parameter.opts}
    path = tmp_path / "r.csv"
    times = [0.1 * i + 0.01 * (i % 3) for i in range(300)]
    path.write_text("7\n8\nwhen,x\n" + "".join(f"{t},{math.sin(t) + 0.1 * math.sin(9 * t)}\n" for t in times))
    options = ["--skip-rows", "2", "--resample", "0.1", "--time", "when", "--column", "x"]
    result = CliRunner().invoke(cli, ["diagnose", str(path), *options, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["dt"] == 0.1


def test_diagnose(folder):
    result = run("diagnose", folder / "x.csv", "--json")
    assert result.exit_code == 0, result.stderr
    data = json.loads(result.stdout)
    assert data["clean"] is True and data["dimension"] == 3 and data["deterministic"] is True
    assert 60 < data["samples_per_oscillation"] < 110
    text = run("diagnose", folder / "x.csv").stdout
    for word in ("noise", "delay", "dimension", "sampling", "drift", "surrogates"):
        assert word in text


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_within_a_finaliser_is_neither_shown_nor_lost():
    script = """
import signal, sys, time
import jetode.__main__ as entry
import jetode.cli.main as command
class Late:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def run():
    try:
        late = Late()
        del late
        time.sleep(5)
    except KeyboardInterrupt:
        sys.exit(7)
command.main = run
entry.main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("delay", [0.2, 0.7, 2.5, 4.0])
@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", "lorenz", "--duration", "200000", "--dt", "0.04", "--out", "{}/x.csv"],
        ["demo", "--out", "{}/out"],
    ],
    ids=lambda a: a[0],
)
def test_ctrl_c_ends_within_a_second_or_with_the_best_model(tmp_path, arguments, delay):
    command = JETODE + [a.format(tmp_path) for a in arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(delay)
        if process.poll() is not None:
            pytest.skip("the command was faster than Ctrl-C")
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        _, err = process.communicate(timeout=10)
    assert "Traceback" not in err
    if "best model so far" in err:  # there was one to stop with
        assert sorted(os.listdir(tmp_path / "out")) == ["forecast.csv", "model.json", "report.html"]
        assert json.loads((tmp_path / "out" / "model.json").read_text())["verdict"]["trusted"] is False
        return
    assert time.monotonic() - start < 5.0  # a second; a loaded machine may take longer to schedule it
    assert process.returncode in (130, -signal.SIGINT)  # a shell shows 130 for both
    if os.listdir(tmp_path):  # it came while the results were written: all of them are there
        assert sorted(os.listdir(tmp_path / "out")) == ["forecast.csv", "model.json", "report.html"]


@pytest.mark.parametrize("arguments", [["diagnose", "x.csv"], ["reconstruct", "x.csv"], ["simulate", "lorenz"]])
def test_a_negative_seed_is_refused(arguments):
    result = CliRunner().invoke(cli, [*arguments, "--seed", "-1"])
    assert result.exit_code == 2 and "--seed" in result.output


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_cancels_the_budget_once_there_is_a_model(capsys):
    budget, before = Budget(), signal.getsignal(signal.SIGINT)
    with stops_with_the_best(budget):
        budget.model_found()
        assert not budget.spent
        os.kill(os.getpid(), signal.SIGINT)
        assert budget.spent
    assert "best model so far" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_second_ctrl_c_ends_at_once(tmp_path):
    command = [*JETODE, "demo", "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.0)
        for _ in range(2):
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        _, err = process.communicate(timeout=10)
    assert process.returncode in (0, 130, -signal.SIGINT) and "Traceback" not in err
