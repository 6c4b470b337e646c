"""ODE text as XPPAUT reads it: one equation and one initial value per coordinate."""

from __future__ import annotations

from jetode.equations.writers import CODE
from jetode.reporting.motion import Motion


def write(motion: Motion) -> str:
    """An ``.ode`` file."""
    rates = "\n".join(f"{n}' = {rate}" for n, rate in zip(motion.names, motion.written(CODE), strict=True))
    start = "\n".join(f"init {n}={v!r}" for n, v in zip(motion.names, motion.start, strict=True))
    title = f"# {motion.title[0]}\n# {motion.title[1]}\n# Written by jetode."
    return f"{title}\n{rates}\n{start}\n@ dt={motion.dt!r}, total={1000 * motion.dt!r}\ndone\n"
