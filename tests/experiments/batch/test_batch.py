"""Many files: a failing one is a row, a killed run loses nothing, and the table is the same however it was made."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner

import jetode
from jetode.cli.main import cli
from jetode.experiments.batch import run as batches
from jetode.experiments.core.sweep import here, local
from jetode.support.errors import InputError

# the paper's method with given degrees takes a tenth of a second; what is tested here is the batch, not the fit
QUICK = {"denominator_degree": 1, "numerator_degree": 2, "order": 2}
FLAGS = ["--denominator-degree", "1", "--numerator-degree", "2", "--order", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve small records and three files that are none."""
    path = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(0)
    t = 0.05 * np.arange(600)
    for i in range(12):
        values = np.sin((1 + 0.1 * i) * t) + 0.3 * np.sin((2 + 0.2 * i) * t) + 1e-3 * rng.standard_normal(t.size)
        rows = "\n".join(f"{a:.3f},{b!r}" for a, b in zip(t, values.tolist(), strict=True))
        (path / f"r{i:02}.csv").write_text(f"time [s],V [mV]\n{rows}\n")
    (path / "empty.csv").write_text("")
    (path / "text.csv").write_text("a,b\nhello,world\n")
    (path / "short.csv").write_text("t,x\n0,1\n1,2\n")
    return path


def table(folder, out, workers=1):
    plan = batches.Plan(batches.expand([str(folder / "*.csv")]), fit=QUICK)
    with here() if workers == 1 else local(workers) as execute:
        results = batches.run(plan, out, execute, lambda _: None)
    batches.write(results, out, "jetode batch")
    return (out / "results.csv").read_text(), results


def test_every_file_is_a_row(folder, tmp_path):
    text, results = table(folder, tmp_path)
    rows = list(csv.DictReader(text.splitlines()))
    assert len(rows) == 15 and tuple(rows[0]) == batches.COLUMNS
    failed = {row["file"].rpartition("/")[2]: row["reason"] for row in rows if row["status"] == "failed"}
    assert set(failed) == {"empty.csv", "text.csv", "short.csv"} and all(len(r) > 10 for r in failed.values())
    fitted = [row for row in rows if row["status"] == "fitted"]
    assert {row["unit"] for row in fitted} == {"mV"} and all(row["grade"] in batches_grades() for row in fitted)
    models = sorted((tmp_path / "models").glob("*.json"))
    assert len(models) == 12 and jetode.load(models[0]).record.name == "V"
    assert "15 files" in batches.summary(results) and "3 failed" in batches.summary(results)
    parquet = pytest.importorskip("pyarrow.parquet").read_table(tmp_path / "results.parquet")
    assert parquet.column_names == list(batches.COLUMNS) and parquet.num_rows == 15


def batches_grades():
    return {"exact", "approximate", "forecast", "none"}


def test_the_page_has_a_picture_per_record(folder, tmp_path):
    table(folder, tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert page.count("<svg") == 12 and page.count("<article") == 15

    class Checker(HTMLParser):
        open: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag, attributes):
            if tag not in ("meta", "link", "polyline", "polygon"):
                self.open.append(tag)

        def handle_endtag(self, tag):
            if tag not in ("polyline", "polygon"):
                assert self.open.pop() == tag

    checker = Checker()
    checker.feed(page)
    assert checker.open == []


def test_a_second_run_does_nothing_twice_and_a_changed_file_again(folder, tmp_path):
    copy = tmp_path / "in"
    copy.mkdir()
    for name in ("r00.csv", "r01.csv"):
        (copy / name).write_text((folder / name).read_text())
    first, _ = table(copy, tmp_path / "out")
    (copy / "r01.csv").write_text((folder / "r02.csv").read_text())
    plan = batches.Plan(batches.expand([str(copy / "*.csv")]), fit=QUICK)
    before: list[bool] = []
    with here() as execute:
        batches.run(plan, tmp_path / "out", execute, lambda _: None, before.append)
    assert sorted(before) == [False, True]
    assert first.splitlines()[1] == table(copy, tmp_path / "out")[0].splitlines()[1] != ""


@pytest.mark.long
def test_two_workers_give_the_same_table(folder, tmp_path):
    assert table(folder, tmp_path / "one")[0] == table(folder, tmp_path / "two", workers=2)[0]


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_run_loses_nothing(folder, tmp_path):
    """Killed three times while it works; what it leaves is used, and the table is that of an undisturbed run."""
    out = tmp_path / "killed"
    command = [sys.executable, "-m", "jetode", "batch", str(folder / "*.csv"), "--out", str(out), "--jobs", "1", *FLAGS]
    done = [0]
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            time.sleep(0.05)
            count = len(list((out / "chunks").glob("*.chunk"))) if out.exists() else 0
            if count > done[-1] or process.poll() is not None:
                break
        process.send_signal(signal.SIGKILL)
        process.wait()
        done.append(len(list((out / "chunks").glob("*.chunk"))))
    assert done[1] > 0 and done == sorted(done)
    last = subprocess.run(command, capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    assert (out / "results.csv").read_text() == table(folder, tmp_path / "calm")[0]


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_table(folder, tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, processes=False) as cluster,
        batches.executor(1, cluster.scheduler_address) as execute,
    ):
        plan = batches.Plan(batches.expand([str(folder / "r0[0-3].csv")]), fit=QUICK)
        results = batches.run(plan, tmp_path / "dask", execute, lambda _: None)
    rows = batches.table([result["row"] for result in results]).splitlines()
    assert rows[1:] == [line for line in table(folder, tmp_path / "here")[0].splitlines() if "/r0" in line][:4]


def test_the_command_says_what_it_did(folder, tmp_path):
    run = CliRunner().invoke(
        cli,
        ["batch", str(folder / "r0[01].csv"), str(folder / "empty.csv"), "--out", str(tmp_path), "--jobs", "1", *FLAGS],
    )
    assert run.exit_code == 0 and "3 files" in run.output and "index.html" in run.output
    nothing = CliRunner().invoke(cli, ["batch", str(tmp_path / "*.nothing"), "--out", str(tmp_path)])
    assert nothing.exit_code == 2 and "No file matches" in nothing.stderr
    with pytest.raises(InputError, match="--scheduler"), batches.executor(1, "nonsense://"):
        pass
