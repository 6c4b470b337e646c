"""C99: ``jetode_rhs(t, state, rate)``, ``jetode_signal(state)``, ``jetode_x0``, JETODE_DIMENSION."""

from __future__ import annotations

from jetode.equations.writers import CODE, code_writer
from jetode.reporting.motion import Motion

C = code_writer(abs="fabs({})", power="copysign(pow(fabs({0}), {1}), {0})")


def write(motion: Motion) -> str:
    """One translation unit."""
    states = "\n".join(f"    const double {n} = state[{i}];" for i, n in enumerate(motion.names))
    unused = "".join(f" (void){n};" for n in motion.names)
    rates = "\n".join(f"    rate[{i}] = {rate};" for i, rate in enumerate(motion.written(C)))
    start = ", ".join(repr(v) for v in motion.start)
    comments = "\n * ".join((*motion.comments, "C99."))
    header = "#include <math.h>\n\n" if motion.field.elements else ""
    return f"""/* {comments} */

{header}#define JETODE_DIMENSION {len(motion.names)}

/* {", ".join(motion.names)} at the last sample of the record */
const double jetode_x0[JETODE_DIMENSION] = {{{start}}};
const double jetode_dt = {motion.dt!r};

void jetode_rhs(double t, const double state[], double rate[])
{{
{states}
    (void)t;{unused}
{rates}
}}

/* the recorded channel */
double jetode_signal(const double state[])
{{
{states}
   {unused}
    return {motion.read(CODE)};
}}
"""
