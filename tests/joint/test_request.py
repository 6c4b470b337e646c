"""A record is prepared once for each order, whoever asks and with however many threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jetode.catalogue.systems import systems
from jetode.joint.elements.naming import NONE
from jetode.joint.problem import prepare
from jetode.joint.request import Request
from jetode.records.series import Series
from jetode.signal.scales import Unsuitable

RECORD = systems["lorenz"].simulate(15.0, dt=0.02).observe("x")


@pytest.mark.parametrize("threads", ["1", "2"])
def test_what_was_begun_is_what_prepare_makes_and_is_made_once(monkeypatch, threads):
    monkeypatch.setenv("JETODE_THREADS", threads)
    request = Request((RECORD,))
    request.begin(3)
    found = request.prepared(3)
    assert np.array_equal(found.jets.u, prepare([RECORD], 3, loss="auto").jets.u)
    assert replace(request, order=3, functions=NONE).prepared(3) is found
    assert request.prepared(2).jets.u.shape[1] == 2


@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_record_that_cannot_be_prepared_says_so_when_it_is_asked_for(monkeypatch, threads):
    monkeypatch.setenv("JETODE_THREADS", threads)
    request = Request((Series(np.sin(0.2 * np.arange(20)), 1.0),))  # two thirds of an oscillation
    request.begin(3)
    with pytest.raises(Unsuitable):
        request.prepared(3)
