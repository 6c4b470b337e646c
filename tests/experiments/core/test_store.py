"""Finished work: back bit by bit, torn files seen, and never two states of the code in one run."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jetode.experiments.core import fingerprint as prints
from jetode.experiments.core import store as stores
from jetode.experiments.core.fingerprint import code_fingerprint, reached
from jetode.experiments.core.store import Chunk, ChunkStore, Task
from jetode.experiments.core.sweep import finished, here, local

WORK = "work_for_tests:double"


@pytest.fixture
def script(tmp_path, monkeypatch):
    """A module of work beside one that it uses; rewritten, it is another state of the code."""
    folder = tmp_path / "scripts"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)

    def write(factor, comment="", helper="", shown=""):
        (folder / "helper_for_tests.py").write_text(f'"""{comment}"""\nFACTOR = {factor}\n{helper}')
        (folder / "work_for_tests.py").write_text(
            f'"""{comment}"""\nimport json\nfrom helper_for_tests import FACTOR\n\n\n'
            f"def double(task):\n    # {comment}\n    return {{'rows': [FACTOR * task.first]}}\n{shown}"
        )
        for name in ("helper_for_tests", "work_for_tests"):
            monkeypatch.delitem(prints.importlib.util.sys.modules, name, raising=False)
        for cached in (prints._tree, prints._digest, code_fingerprint):
            cached.cache_clear()
        prints.importlib.invalidate_caches()

    write(2)
    yield write
    code_fingerprint.cache_clear()


def task(first=3, **options):
    return Task(WORK, "kind", "label", first, first + 1, 0, options)


def sweep(folder, tasks):
    said = []
    with here() as execute:
        found = {t.first: c.result["rows"][0] for t, c in finished(tasks, ChunkStore(folder), execute, said.append)}
    return found, said


def test_a_chunk_comes_back_bit_by_bit(tmp_path, script):
    store = ChunkStore(tmp_path)
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0]
    assert store.load(task()) is None
    store.save(task(), Chunk({"rows": values}, 1.0, 0.5))
    found = store.load(task())
    assert isinstance(found, Chunk) and (found.seconds, found.cpu_seconds) == (1.0, 0.5)
    assert np.array(found.result["rows"]).tobytes() == np.array(values).tobytes()


@pytest.mark.parametrize("cut", [0, 1, 40, 200, -2])
def test_a_torn_chunk_is_damaged(tmp_path, script, cut):
    store = ChunkStore(tmp_path)
    store.save(task(), Chunk({"rows": list(range(50))}, 1.0, 0.5))
    text = store.path(task()).read_bytes()
    store.path(task()).write_bytes(text[:cut])
    assert store.load(task()) == stores.DAMAGED
    assert store.kept("kind") == ([], 1)


def test_other_options_are_foreign(tmp_path, script):
    store = ChunkStore(tmp_path)
    store.save(task(noise=0.1), Chunk({}, 0.0, 0.0))
    assert isinstance(store.load(task(noise=0.1)), Chunk)
    assert store.load(task(noise=0.2)) == store.load(task()) == stores.FOREIGN


def test_a_resumed_run_never_mixes_two_states_of_the_code(tmp_path, script):
    folder = tmp_path / "chunks"
    assert sweep(folder, [task(1), task(2)]) == ({1: 2, 2: 4}, [])
    assert sweep(folder, [task(1), task(2), task(3)]) == ({1: 2, 2: 4, 3: 6}, [])
    script(10)
    with_others = ChunkStore(folder).kept("kind")
    assert with_others == ([], 3)  # a page made now shows none of them
    found, said = sweep(folder, [task(2), task(4)])
    assert found == {2: 20, 4: 40} and len(said) == 1
    assert "another state of the code" in said[0] and "computed again" in said[0] and said[0].startswith("1 ")
    kept, others = ChunkStore(folder).kept("kind")
    assert [t.first for t, _ in kept] == [2, 4] and others == 2


def test_comments_and_docstrings_are_no_other_state_of_the_code(script):
    first = code_fingerprint("work_for_tests")
    script(2, "Says more.")
    assert code_fingerprint("work_for_tests") == first
    script(2, helper="EXTRA = 1\n")
    assert code_fingerprint("work_for_tests") != first


def test_libraries_and_data_count(script, monkeypatch, tmp_path):
    first = code_fingerprint("work_for_tests")
    code_fingerprint.cache_clear()
    monkeypatch.setattr(prints, "libraries", lambda: {"numpy": "0.1"})
    assert code_fingerprint("work_for_tests") != first


def test_a_fingerprint_holds_what_the_work_can_reach_and_no_more():
    ours = {path.relative_to(prints.PACKAGE).as_posix() for path in reached("jetode.experiments.panel.runs")}
    peers = {path.relative_to(prints.PACKAGE).as_posix() for path in reached("jetode.experiments.panel.beside")}
    assert {"joint/shooting/kernels.py", "signal/spline.py", "experiments/core/oracle.py"} <= ours
    assert {"experiments/peers/narx.py", "signal/spline.py"} <= peers
    for never in ("cli/main.py", "experiments/panel/page.py", "reporting/report.py"):
        assert never not in ours and never not in peers
    assert not [name for name in peers if name.startswith(("joint/", "reconstruction/", "paper/"))]
    assert "experiments/peers/narx.py" not in ours


def test_importing_the_package_itself_reaches_all_of_it(script):
    script(2, shown="import jetode\n")
    found = reached("work_for_tests")
    assert set(prints.PACKAGE.rglob("*.py")) < found and any(path.name == "helper_for_tests.py" for path in found)


def test_a_relative_import_is_refused(script):
    script(2, shown="from . import other\n")
    with pytest.raises(ImportError, match="relative import"):
        reached("work_for_tests")


def test_every_module_of_the_package_can_be_followed():
    for path in prints.PACKAGE.rglob("*.py"):
        list(prints._imports(path))


def test_workers_and_this_process_give_the_same(tmp_path, script):
    tasks = [task(i) for i in range(4)]
    with local(2) as execute:
        there = {t.first: c.result for t, c in finished(tasks, ChunkStore(tmp_path / "two"), execute)}
    with here() as execute:
        assert {t.first: c.result for t, c in finished(tasks, ChunkStore(tmp_path / "one"), execute)} == there


def test_the_header_names_the_task(tmp_path, script):
    store = ChunkStore(tmp_path)
    store.save(task(noise=0.1), Chunk({}, 0.0, 0.0))
    head = json.loads(store.path(task()).read_text().splitlines()[0])
    assert head["task"]["options"] == {"noise": 0.1} and len(head["fingerprint"]) == 64
