"""A Python module with ``rhs(t, x)``, the start state ``X0`` and a Runge–Kutta ``trajectory``; needs NumPy only."""

from __future__ import annotations

from jetode.equations.writers import CODE, NUMPY
from jetode.reporting.motion import Motion


def write(motion: Motion) -> str:
    """The module's source."""
    rates = "".join(f"            {rate},\n" for rate in motion.written(NUMPY))
    first, *more = motion.comments
    rest = "\n".join(more)
    return f'''"""{first}

{rest}
"""

import numpy as np

NAMES = {motion.names!r}
X0 = np.array({list(motion.start)!r})  # at the last sample of the record
DT = {motion.dt!r}  # sampling interval of the record


def rhs(t, x):
    """Rates of the state x; call it with SciPy's solve_ivp or any other solver."""
    {", ".join(motion.names)} = x
    return np.array(
        [
{rates}        ]
    )


def signal(x):
    """The recorded channel at states (..., {len(motion.names)})."""
    {", ".join(motion.names)} = np.moveaxis(np.asarray(x), -1, 0)
    return {motion.read(CODE)}


def trajectory(n, dt=DT, x0=X0, substeps=8):
    """n + 1 states dt apart, by the classical Runge-Kutta method."""
    h = dt / substeps
    out = np.empty((n + 1, len(x0)))
    out[0] = x = np.array(x0, dtype=float)
    for i in range(n):
        for _ in range(substeps):
            k1 = rhs(0.0, x)
            k2 = rhs(0.0, x + 0.5 * h * k1)
            k3 = rhs(0.0, x + 0.5 * h * k2)
            k4 = rhs(0.0, x + h * k3)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        out[i + 1] = x
    return out
'''
