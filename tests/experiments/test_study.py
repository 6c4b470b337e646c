"""The study's engine: same bits on any workers, killed and resumed, damaged chunks named and redone."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from jetode.cli.main import cli
from jetode.experiments.core.store import Chunk
from jetode.experiments.peers import registry as peers
from jetode.experiments.study import printed, vpt
from jetode.experiments.study.cells import GAUSSIAN, Cell, exact, paper_row, realize
from jetode.experiments.study.joint_cells import exact_regular, peer_row, same_terms
from jetode.experiments.study.run import ITEMS, chosen
from jetode.experiments.study.sections import Plan, Results
from jetode.experiments.study.statistics import rank_correlation, sweep_summary
from jetode.integration import forecast as forecasting
from jetode.joint.progress import Budget
from jetode.reconstruction.reconstruct import reconstruct
from jetode.support.errors import InputError

SMALL = ["paper", "--realizations", "30", "--only", "decoupling", "--only", "fnn"]


def study(out: Path, *options: str) -> bytes:
    result = CliRunner().invoke(cli, [*SMALL, "--out", str(out), *options])
    assert result.exit_code == 0, result.output
    return (out / "results.json").read_bytes()


def chunks(out: Path) -> list[Path]:
    return sorted(out.glob("chunks/*.chunk"))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("study") / "one"
    return out, study(out, "--workers", "1")


# -- the engine ------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_two_workers_give_the_same_bits(undisturbed, tmp_path):
    assert study(tmp_path / "two", "--workers", "2") == undisturbed[1]


def test_results_hold_no_times(undisturbed):
    out, text = undisturbed
    assert b"seconds" not in text and b"workers" not in text
    timings = json.loads((out / "timings.json").read_text())
    assert timings["workers"] == 1 and timings["total_seconds"] > 0


@pytest.mark.long
def test_a_dask_cluster_gives_the_same_bits(undisturbed, tmp_path):
    distributed = pytest.importorskip("distributed")
    script = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
    assert distributed.__version__
    path = tmp_path / "cluster.py"
    path.write_text(script)
    server = subprocess.Popen(
        [sys.executable, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        address = server.stdout.readline().strip()
        assert address.startswith("tcp://")
        command = [sys.executable, "-m", "jetode", *SMALL, "--out", str(tmp_path / "dask"), "--dask", address]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "dask" / "results.json").read_bytes() == undisturbed[1]
    finally:
        server.stdin.close()
        server.wait(30)
        server.stdout.close()


@pytest.mark.long
def test_killed_three_times_and_resumed_gives_the_same_results(undisturbed, tmp_path):
    """SIGKILL at random moments while chunks are being computed and written."""
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "jetode", *SMALL, "--out", str(out), "--workers", "2", "--resume"]
    rng = random.Random(7)
    workers: list[Path] = []
    kills = 0
    for _ in range(12):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = chunks(out)
        end = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < end and len(chunks(out)) <= len(before):
            time.sleep(0.01)  # let it finish at least one chunk more
        time.sleep(rng.uniform(0.0, 0.3))
        if Path("/proc").is_dir():
            with suppress(OSError):  # of a process that has just ended
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                workers += [Path("/proc") / child for child in children]
        process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            kills += 1
            assert len(chunks(out)) > 0 and set(before) <= set(chunks(out))  # a kill loses nothing
        else:  # it had ended before the signal came: half of its chunks are to be made again
            assert process.returncode == 0
            for path in chunks(out)[::2]:
                path.unlink()
        if kills == 3:
            break
    assert kills == 3
    end = time.monotonic() + 30
    while any(worker.exists() for worker in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert not [worker for worker in workers if worker.exists()]  # no worker outlives a killed run
    assert study(out, "--workers", "2", "--resume") == undisturbed[1]
    assert not list(out.glob("chunks/.*.part"))


@pytest.mark.long
def test_a_damaged_chunk_is_named_and_redone(undisturbed):
    out, text = undisturbed
    path = sorted(out.glob("chunks/paper_*.chunk"))[0]
    whole = path.read_bytes()
    place = len(whole) // 2
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    result = CliRunner().invoke(cli, [*SMALL, "--out", str(out), "--workers", "1", "--resume"])
    assert result.exit_code == 0
    assert f"The chunk {path.name} is damaged" in result.stderr
    assert (out / "results.json").read_bytes() == text


def test_an_earlier_run_is_not_overwritten_by_accident(undisturbed):
    result = CliRunner().invoke(cli, [*SMALL, "--out", str(undisturbed[0])])
    assert result.exit_code == 2 and "--resume" in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--only", "everything"], "'--only'"),
        (["--realizations", "0"], "--realizations"),
        (["--dask", "nowhere"], "'--dask'"),
    ],
)
def test_bad_options(tmp_path, options, says):
    result = CliRunner().invoke(cli, ["paper", "--out", str(tmp_path / "out"), *options])
    assert result.exit_code == 2 and says in result.stderr


# -- records and rows ------------------------------------------------------------------------------------------


def test_all_methods_see_the_same_record():
    plain = realize(Cell("lorenz", 0.15), 3, 5)
    other = realize(Cell("lorenz", 0.15, denominator="pooled-rows", smoothing="gcv"), 3, 5)
    assert np.array_equal(plain.record.values, other.record.values)
    assert not np.array_equal(plain.record.values, realize(Cell("lorenz", 0.15), 3, 6).record.values)
    assert not np.array_equal(plain.record.values, realize(Cell("lorenz", 0.15), 4, 5).record.values)


def test_records_have_the_papers_lengths():
    for cell in GAUSSIAN:
        realization = realize(cell, 0, 0)
        duration, horizon = cell.lengths
        assert realization.record.n == round(100 * duration) + 1
        assert realization.truth.size == realization.record.n + realization.steps
        assert realization.starts[-1] + realization.steps < realization.record.n
        assert realization.beyond.size == round(100 * horizon) + 1


def test_clean_realizations_differ_and_the_first_is_the_papers():
    cell = Cell("rossler", 0.0)
    first, second = realize(cell, 0, 0), realize(cell, 0, 1)
    expected = cell.model.simulate(1.0, 0.01, 50.0, (1.0, 0.0, 0.0)).observe("x").values
    assert np.allclose(first.record.values[:101], expected, rtol=1e-9)
    assert not np.array_equal(first.record.values, second.record.values)


@pytest.mark.parametrize(("system", "n_limit", "d_limit"), [("lorenz", 1e-4, 1.5e-4), ("rossler", 2.5e-5, 7e-7)])
def test_clean_coefficients_are_within_three_times_the_papers(system, n_limit, d_limit):
    row = paper_row(Cell(system, 0.0), 0, 0)
    assert row["n_error"] < n_limit and row["d_error"] < d_limit
    assert row["best"] == max(row["vpt"]) and len(row["vpt"]) == 8


def test_the_printed_numerators_are_the_exact_ones_to_four_digits():
    for system, closure in printed.CLOSURES.items():
        true = exact(system)
        assert set(closure.numerator) == set(true.numerator)
        for e, (value, _) in closure.numerator.items():
            assert value == pytest.approx(true.numerator[e], rel=5.1e-4)
        total = np.linalg.norm([error for _, error in closure.numerator.values()])
        assert total == pytest.approx(closure.numerator_error, rel=0.05)


def test_exact_regular_forms():
    lorenz, rossler = exact_regular("lorenz"), exact_regular("rossler")
    assert set(lorenz.a) == {(0, 1)} and len(lorenz.P) == 4
    assert set(rossler.a) == {(0, 0), (0, 1)} and len(rossler.P) == 4
    assert same_terms(lorenz, lorenz) and not same_terms(lorenz, rossler)


def test_a_limit_on_iterations_ends_a_fit_at_the_same_place():
    record = realize(Cell("lorenz", 0.15), 0, 0).record.slice(0, 1500)
    budgets = [Budget(max_iterations=20), Budget(max_iterations=20)]
    first, second = (reconstruct(record, method="joint", budget=budget).closure for budget in budgets)
    assert first.numerator == second.numerator and first.denominator == second.denominator
    assert all(budget.spent for budget in budgets) and not Budget(max_iterations=20).spent


def test_what_a_peer_raises_is_a_forecast_of_no_length(monkeypatch):
    def breaks(values, dt, seed):
        raise RuntimeError("inside a library")

    monkeypatch.setattr(peers, "_PLAIN", {"persistence": breaks})
    assert peer_row("persistence", Cell("lorenz", 0.0), 0, 0)["vpt"] <= 0.01


def test_the_ordering_reverses_between_model_and_lyapunov_time():
    """As printed: 20 and 100 are 18.1 and 7.1 Lyapunov times."""
    cells = {
        cell.name: {"paper_method": {"best": printed.VPT[cell.system, cell.fraction].best}, "joint": None}
        for cell in GAUSSIAN
    }
    found = vpt._ordering(cells)
    assert found["reverses_at_every_level"]
    clean = found["best"]["0.00"]["printed"]
    assert clean["lyapunov_times"]["lorenz"] == pytest.approx(18.1, abs=0.05)
    assert clean["lyapunov_times"]["rossler"] == pytest.approx(7.1, abs=0.05)
    cells["rossler-0.15"]["paper_method"]["best"] = 1.0
    assert not vpt._ordering(cells)["reverses_at_every_level"]


# -- summaries and the report ------------------------------------------------------------------------------------


def test_summary_of_a_sweep():
    rows = [{"index": i, "best": float(i), "vpt": [float(i)] * 8, "d_error": 0.1, "n_error": 0.2} for i in range(10)]
    found = sweep_summary(Cell("lorenz", 0.15), rows)
    assert (found["best"], found["top_five"], found["median"]) == (9.0, 7.0, 4.5)
    assert found["best_lyapunov"] == pytest.approx(9 * 0.906) and found["best_index"] == 9


def test_rank_correlation():
    assert rank_correlation([1, 2, 3, 4], [1, 8, 27, 64]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) is None


def test_every_table_and_figure_has_an_item():
    assert set(ITEMS) == {
        "coefficients", "attractors", "vpt", "overlays", "readings", "decoupling", "methods", "observability",
        "settings", "tolerance", "fnn", "pipeline", "observability-maps", "noise", "transfer",
    }  # fmt: skip
    with pytest.raises(InputError, match="--only"):
        chosen(["nothing"])


def test_sections_that_were_not_asked_for_say_so():
    plan, results = Plan(), Results([], {})
    for key in ("noise", "transfer"):
        assert "Not measured" in ITEMS[key].build(plan, results).sentence


def test_the_folder(undisturbed):
    out, text = undisturbed
    data = json.loads(text)
    assert set(data) == {"about", "decoupling", "fnn"}
    assert data["fnn"]["agrees"] is True
    assert data["fnn"]["data"]["lorenz"]["delay"] == 16 and data["fnn"]["data"]["rossler"]["delay"] == 84
    page = (out / "index.html").read_text()
    for name in ("decoupling", "fnn"):
        for kind in ("pdf", "png"):
            assert (out / "figures" / f"{name}.{kind}").stat().st_size > 1000
        assert f"figures/{name}.png" in page and data[name]["title"] in page
    lines = (out / "realizations.csv").read_text().splitlines()
    assert lines[0].startswith("group,index,best,vpt_1") and len(lines) == 1 + 4 * 30


FIGURES = {
    *("attractors", "decoupling", "fnn", "noise", "observability_lorenz", "observability_rossler"),
    *("overlay_lorenz", "overlay_rossler", "pipeline", "tolerance"),
}


@pytest.mark.long  # the whole study in small: more than a minute
def test_quick_makes_every_table_and_figure(tmp_path):
    result = CliRunner().invoke(cli, ["paper", "--quick", "--out", str(tmp_path / "quick")])
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "quick" / "results.json").read_text())
    assert set(data) == {"about", *ITEMS}
    for key in ("coefficients", "observability", "fnn"):
        assert data[key]["agrees"] is True, data[key]["sentence"]
    assert data["vpt"]["data"]["rossler-0.00"]["paper_method"]["best"] == 100.0
    assert data["vpt"]["data"]["rossler-0.15"]["joint"]["past_best"] == pytest.approx(10.0)
    figures = {path.stem for path in (tmp_path / "quick" / "figures").glob("*.png")}
    assert figures == {path.stem for path in (tmp_path / "quick" / "figures").glob("*.pdf")}
    assert figures == FIGURES


def delays(values: tuple[int, int]) -> Results:
    tasks = [Plan().system("delays", system) for system in ("lorenz", "rossler")]
    return Results(tasks, {t.key: Chunk({"delay": v}, 0.0, 0.0) for t, v in zip(tasks, values, strict=True)})


def test_settings_are_compared_not_claimed(monkeypatch):
    section = ITEMS["settings"].build(Plan(), delays((16, 84)))
    assert section.agrees is True and len(section.data["rows"]) == len(printed.SETTINGS)
    assert section.sentence.startswith(f"Agrees: {len(printed.SETTINGS) - 5} of {len(printed.SETTINGS)}")
    other = ITEMS["settings"].build(Plan(), delays((17, 84)))
    assert other.agrees is False and "FNN delay" in other.sentence
    monkeypatch.setattr(forecasting, "BACKENDS", ("euler",))
    assert ITEMS["settings"].build(Plan(), delays((16, 84))).agrees is False


def test_a_drawing_claims_no_agreement():
    assert ITEMS["pipeline"].build(Plan(), Results([], {})).agrees is None
