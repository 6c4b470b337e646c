"""A routine behind a cell: NaN before it is ready, its values afterwards, the same from another process."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np

from jetode.equations.elements import Element
from jetode.equations.field import Field
from jetode.support.compiled import kernel
from jetode.support.deferred import Deferred

PROGRAM = """
import pickle, sys
import numpy as np
field = pickle.loads(sys.stdin.buffer.read())
print(field(np.array([0.3, 0.2]))[1])
"""


def _scaled(kind, v, p, out):
    out[0] = p[0] * v + kind
    out[1] = p[1]


def test_a_routine_is_there_once_it_was_asked_for():
    routine = Deferred(_scaled)
    call = routine.caller()

    @kernel()
    def use(v, p, out):
        call(3, v, p, 1, out, 2)

    p, out = np.array([7.0, 2.0, 5.0]), np.zeros(4)
    use(0.5, p, out)
    assert np.isnan(out[2]) and out[3] == 0.0
    routine.ready()
    use(0.5, p, out)
    assert out.tolist() == [0.0, 0.0, 2.0 * 0.5 + 3.0, 5.0]


def test_a_field_with_an_element_goes_to_another_process():
    pendulum = Field(2, ({(0, 0, 1): -2.0, (0, 1, 0): -0.1},), elements=(Element("sin", 0, (1.0, 0.0)),))
    here = pendulum(np.array([0.3, 0.2]))[1]
    assert here == -2.0 * np.sin(0.3) - 0.1 * 0.2
    there = subprocess.run([sys.executable, "-c", PROGRAM], input=pickle.dumps(pendulum), capture_output=True)
    assert float(there.stdout) == here, there.stderr
