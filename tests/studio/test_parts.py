"""Parts of the studio by themselves: thinning keeps extremes, comparisons count errors, texts are complete, the history
survives."""

from __future__ import annotations

import asyncio
import json
import re
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetode.studio.asked import tidy
from jetode.studio.compare import compare
from jetode.studio.look import envelope, gaps
from jetode.studio.processes import Crashed, Worker
from jetode.studio.server import bind
from jetode.studio.store import FAILED, QUEUED, RUNNING, Store
from jetode.studio.texts import texts
from jetode.studio.uploads import ending_of
from jetode.support.errors import InputError

STATIC = files("jetode.studio") / "static"
SOURCE = Path(str(STATIC)).parent


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5000), st.integers(4, 400), st.integers(0, 2**32 - 1), st.floats(0, 0.9))
def test_an_envelope_keeps_extremes_and_order(n, points, seed, share):
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(n) < share, np.nan, rng.standard_normal(n))
    index, shown = envelope(values, points)
    assert index == sorted(set(index)) and len(index) <= max(points, min(n, points)) + 2
    if np.isfinite(values).any():
        kept = [v for v in shown if v is not None]
        assert min(kept) == pytest.approx(np.nanmin(values), rel=1e-5)
        assert max(kept) == pytest.approx(np.nanmax(values), rel=1e-5)


@given(st.lists(st.booleans(), max_size=60))
def test_gaps_are_the_missing_samples(missing):
    values = np.where(np.array(missing, dtype=bool), np.nan, 1.0)
    covered = [i for a, b in gaps(values) for i in range(a, b + 1)]
    assert sorted(covered) == np.flatnonzero(np.isnan(values)).tolist()


@given(st.text())
def test_tidy_text_is_one_printable_line(text):
    found = tidy(text)
    assert len(found) <= 200 and found == found.strip() and (not found or found.isprintable())
    assert tidy(found) == found


def page(values, error=0.1, order=2):
    listed = [{"part": "P", "powers": [i], "value": v, "error": error} for i, v in enumerate(values)]
    return {"coefficients": listed, "equation": {"order": order}}


def test_two_results_are_the_same_within_their_errors():
    assert compare(page([1.0, 2.0]), page([1.1, 2.2]))["same"]
    apart = compare(page([1.0, 2.0]), page([1.0, 2.6]))
    assert not apart["same"] and apart["far"] == 1
    assert apart["rows"][1]["z"] == pytest.approx(-0.6 / np.hypot(0.1, 0.1))
    more = compare(page([1.0]), page([1.0, 5.0]))
    assert not more["same"] and more["only_other"] == 1 and more["only_ours"] == 0
    assert not compare(page([1.0]), page([1.0], order=3))["comparable"]


def test_endings_are_those_that_are_known():
    known = [".csv", ".gz", ".csv.gz", ".h5"]
    assert ending_of("A/../B.CSV", known) == ".csv"
    assert ending_of("b.csv.gz", known) == ".csv.gz"
    assert ending_of("x.sh", known) == ""


def test_every_text_that_is_used_is_there_and_used():
    known = set(texts())
    source = "\n".join(p.read_text("utf-8") for p in sorted(SOURCE.glob("*.py")))
    scripts = "\n".join(p.read_text("utf-8") for p in sorted(Path(str(STATIC)).glob("*.js")))
    html = (STATIC / "index.html").read_text("utf-8")
    said = set(re.findall(r'say\(\s*"(\w+)"', source)) | set(re.findall(r'\bt\(\s*"(\w+)"', scripts))
    said |= set(re.findall(r"t\.(\w+)", html))
    assert said <= known, said - known
    everything = source + scripts + html
    built = re.compile(r"(state|grade|loss)_\w+|(rename|delete|rerun)_label")  # of a name that the server sends
    unused = {
        key for key in known if f'"{key}"' not in everything and f"t.{key} " not in html and not built.fullmatch(key)
    }
    assert not unused


def test_scripts_hold_no_words_and_no_html_of_others():
    for path in sorted(Path(str(STATIC)).glob("*.js")):
        source = path.read_text("utf-8")
        assert "innerHTML" not in source and "insertAdjacentHTML" not in source and "eval(" not in source, path.name
        assert len(source.splitlines()) <= 400, path.name


# -- the history -----------------------------------------------------------------------------------------------------


def test_the_queue_survives_and_gives_up_after_a_while(tmp_path):
    store = Store(tmp_path)
    token = store.token
    job = store.add_job("a", {"records": []}, "0")
    for attempt in range(3):
        store.begin(job.id)
        store.close()
        store = Store(tmp_path)
        assert store.job(job.id).state == RUNNING
        store.take_back(3, "given up")
        assert store.job(job.id).state == (QUEUED if attempt < 2 else FAILED)
    assert store.job(job.id).message == "given up" and store.token == token
    assert (tmp_path / "token").stat().st_mode & 0o077 == 0
    store.close()


def test_a_newer_history_is_not_touched(tmp_path):
    import sqlite3

    Store(tmp_path).close()
    base = sqlite3.connect(tmp_path / "studio.sqlite")
    base.execute("PRAGMA user_version=99")
    base.commit()
    base.close()
    with pytest.raises(InputError, match="newer"):
        Store(tmp_path)


def test_a_file_that_is_no_history_is_a_sentence(tmp_path):
    (tmp_path / "studio.sqlite").write_text("hello " * 1000)
    with pytest.raises(InputError, match="cannot be opened"):
        Store(tmp_path)


# -- processes -------------------------------------------------------------------------------------------------------


def test_a_dead_worker_is_replaced():
    async def run():
        import os
        import signal

        worker = Worker()
        assert ".csv" in (await worker.run("warm", {}))["endings"]
        pid = worker.pid
        asking = asyncio.ensure_future(worker.run("nothing-of-this-name", {}))
        with pytest.raises(InputError, match="KeyError"):
            await asking
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(Crashed):
            await worker.run("look", {})
        assert (await worker.run("warm", {}))["endings"] and worker.pid != pid
        await worker.end()
        assert worker.pid is None

    asyncio.run(run())


def test_an_address_for_everyone_is_refused():
    with pytest.raises(InputError, match="--host"):
        bind("0.0.0.0", None)
    address = bind("127.0.0.1", 0)
    with pytest.raises(InputError, match="cannot listen"):
        address.socket.listen()
        bind("127.0.0.1", address.port)
    assert json.dumps(address.url("x", 3)) == f'"http://127.0.0.1:{address.port}/?token=x#record=3"'
    address.socket.close()
