"""ODE text as XPPAUT reads it: one equation and one initial value per coordinate."""

from __future__ import annotations

from jetode.equations.writers import CODE
from jetode.reporting.motion import Motion


def write(motion: Motion) -> str:
    """An ``.ode`` file."""
    rates = "\n".join(f"{n}' = {rate}" for n, rate in zip(motion.names, motion.written(CODE), strict=True))
    start = "\n".join(f"init {n}={v!r}" for n, v in zip(motion.names, motion.start, strict=True))
    read = f"aux {motion.signal} = {motion.read(CODE)}\n" if motion.reads else ""
    title = "\n".join(f"# {line}" for line in motion.comments)
    return f"{title}\n{rates}\n{read}{start}\n@ dt={motion.dt!r}, total={1000 * motion.dt!r}\ndone\n"
