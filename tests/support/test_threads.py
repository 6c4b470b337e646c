"""Pieces of one computation in threads: in order, whole, and the same bits for any number of them."""

import json
import os
import threading
import time

import numpy as np
import pytest

import jetode
from jetode.joint.progress import Effort, fitted_side_by_side
from jetode.support.threads import Beside, side_by_side, thread_count


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
    """By whoever waits then: of one long piece beside short ones, the threads of those do some."""
    here = threading.get_ident()

    def inner(pair):
        time.sleep(0.01)
        return *pair, threading.get_ident()

    def outer(x):
        return side_by_side(inner, [(x, y) for y in range(8)] if x == 0 else [])

    long, *short = side_by_side(outer, range(threads))
    assert [(a, b) for a, b, _ in long] == [(0, y) for y in range(8)]
    assert short == [[]] * (threads - 1)
    assert len({thread for _, _, thread in long}) == threads
    assert threads > 1 or long[0][2] == here


def test_work_beside_is_done_once_and_only_where_asked_for_or_begun(threads):
    done = []
    works = [Beside(lambda k=k: (done.append(k), 10 * k)[1]) for k in range(3)]
    assert works[2].result() == works[2].result() == 20
    assert works[0].result() == 0
    assert sorted(done) == [0, 2] or works[1].begun
    assert done.count(2) == done.count(0) == 1
    with pytest.raises(ZeroDivisionError):
        Beside(lambda: 1 // 0).result()


def test_errors_that_numpy_is_told_to_raise_or_ignore_are_so_in_every_thread(threads):
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        side_by_side(lambda x: (time.sleep(0.005), np.ones(2) / x), [np.ones(2)] * (threads - 1) + [np.zeros(2)])
    with np.errstate(divide="ignore"):
        assert np.isinf(Beside(lambda: np.ones(2) / np.zeros(2)).result()).all()


def test_no_more_threads_than_there_are_to_be(threads):
    """Pieces of pieces beside other work: at no time do more than so many run."""
    lock, now, most = threading.Lock(), [0], [0]

    def busy(_):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.002)
        with lock:
            now[0] -= 1

    other = Beside(lambda: busy(0))
    side_by_side(lambda _: side_by_side(busy, range(4)), range(4))
    other.result()
    assert 1 <= most[0] <= threads


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
