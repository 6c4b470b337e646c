"""A module for SciPy's ``solve_ivp`` with its own test: states that jetode's integrator has reached stand in it."""

from __future__ import annotations

import numpy as np

from jetode.equations.writers import CODE, NUMPY
from jetode.reporting.motion import Motion

STEPS = 20  # samples ahead that the module's test runs; a rational form may meet its pole before


def write(motion: Motion) -> str:
    """The module's source; ``python FILE`` runs its test."""
    rates = "".join(f"        {rate},\n" for rate in motion.written(NUMPY))
    states = motion.reference(STEPS)
    first, *more = motion.comments
    rest = "\n".join(more)
    names = ", ".join(motion.names)
    return f'''"""{first}

{rest}
"""

import numpy as np
from scipy.integrate import solve_ivp

NAMES = {motion.names!r}
X0 = np.array({list(motion.start)!r})  # at the last sample of the record
DT = {motion.dt!r}  # sampling interval of the record
# {states.shape[0] - 1} samples ahead of X0, by the integrator of jetode
AHEAD = np.array({states[-1].tolist()!r})
SCALE = np.array({np.maximum(np.abs(states).max(axis=0), 1e-300).tolist()!r})


def rhs(t, state):
    """Rates of the state."""
    {names} = state
    return [
{rates}    ]


def signal(states):
    """The recorded channel at states ({len(motion.names)}, ...), as solve_ivp returns them."""
    {names} = np.asarray(states)
    return {motion.read(CODE)}


def solve(duration, x0=X0, step=DT, **options):
    """SciPy's solution from x0, with values every step."""
    count = int(round(duration / step))
    settings = {{"method": "DOP853", "rtol": 1e-9, "atol": 1e-10 * SCALE, **options}}
    return solve_ivp(rhs, (0.0, count * step), x0, t_eval=step * np.arange(count + 1), **settings)


def test_solve():
    """SciPy reaches the states that jetode has reached."""
    found = solve({states.shape[0] - 1} * DT)
    assert found.success
    error = np.abs(found.y[:, -1] - AHEAD) / SCALE
    assert np.all(error < 1e-6), error


if __name__ == "__main__":
    test_solve()
    print("The equations run as they do in jetode.")
'''
