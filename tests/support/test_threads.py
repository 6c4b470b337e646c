"""Pieces of one computation in threads: in order, whole, and the same bits for any number of them."""

import json
import os
import threading
import time

import pytest

import jetode
from jetode.joint.progress import Effort, fitted_side_by_side
from jetode.support.threads import side_by_side, thread_count


@pytest.fixture(params=["1", "2", "4"])
def threads(request, monkeypatch):
    monkeypatch.setenv("JETODE_THREADS", request.param)
    return int(request.param)


def test_results_come_in_the_order_of_the_items(threads):
    assert thread_count() == threads
    assert side_by_side(lambda x: (time.sleep(0.002 * (5 - x)), x * x)[1], range(5)) == [0, 1, 4, 9, 16]
    assert side_by_side(str, []) == []


def test_as_many_at_once_as_there_are_threads(threads):
    """Each waits for the others: with fewer threads than that, the barrier would break."""
    barrier = threading.Barrier(threads, timeout=20)
    side_by_side(lambda _: barrier.wait(), range(threads))


def test_a_piece_may_be_cut_into_pieces(threads):
    """All threads are taken then: the inner ones run one after the other, in the thread of the outer one."""

    def outer(x):
        return side_by_side(lambda y: (x, y, threading.get_ident()), range(3))

    for x, row in enumerate(side_by_side(outer, range(4))):
        assert [(a, b) for a, b, _ in row] == [(x, 0), (x, 1), (x, 2)]
        assert threads == 1 or len({thread for _, _, thread in row}) == 1


def test_an_exception_is_that_of_the_piece(threads):
    def fails(x):
        if x == 2:
            raise ValueError("the third")
        return x

    with pytest.raises(ValueError, match="the third"):
        side_by_side(fails, range(6))
    assert side_by_side(fails, [0, 1]) == [0, 1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_has_threads_of_its_own(monkeypatch):
    monkeypatch.setenv("JETODE_THREADS", "2")
    side_by_side(str, range(4))
    child = os.fork()
    if child == 0:
        os._exit(0 if side_by_side(str, range(4)) == ["0", "1", "2", "3"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_iterations_are_charged_the_same_for_any_number_of_threads(threads):
    """Each item asks as often as its number, five times at most."""

    def fit(item, interrupt):
        return next((asked for asked in range(item) if interrupt()), item)

    effort = Effort(lambda: False, most=5)
    assert fitted_side_by_side(fit, [1, 3, 9], effort) == [1, 3, 5]
    assert effort.exhausted


def test_a_model_has_the_same_bits_for_any_number_of_threads(noisy_lorenz, tmp_path, monkeypatch):
    """Candidates of a rung, halves of a record and held-out starts run side by side; the file does not show it."""
    record, models = noisy_lorenz.slice(0, 3000), []
    for count in ("1", "2", "4"):
        monkeypatch.setenv("JETODE_THREADS", count)
        jetode.reconstruct(record).save(tmp_path / "model.json")
        models.append(json.loads((tmp_path / "model.json").read_text(encoding="utf-8")))
    assert models[0] == models[1] == models[2]
