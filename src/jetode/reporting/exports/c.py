"""C99: ``void jetode_rhs(double t, const double x[], double dx[])``, ``jetode_x0``, JETODE_DIMENSION."""

from __future__ import annotations

from jetode.equations.writers import CODE
from jetode.reporting.motion import Motion


def write(motion: Motion) -> str:
    """One translation unit."""
    states = "\n".join(f"    const double {n} = x[{i}];" for i, n in enumerate(motion.names))
    unused = "".join(f" (void){n};" for n in motion.names)
    rates = "\n".join(f"    dx[{i}] = {rate};" for i, rate in enumerate(motion.written(CODE)))
    start = ", ".join(repr(v) for v in motion.start)
    return f"""/* {motion.title[0]}
 * {motion.title[1]}
 * Written by jetode. C99. */

#define JETODE_DIMENSION {len(motion.names)}

/* {", ".join(motion.names)} at the last sample of the record */
const double jetode_x0[JETODE_DIMENSION] = {{{start}}};
const double jetode_dt = {motion.dt!r};

void jetode_rhs(double t, const double x[], double dx[])
{{
{states}
    (void)t;{unused}
{rates}
}}
"""
