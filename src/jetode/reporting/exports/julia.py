"""Julia: ``jetode_rhs!(du, u, p, t)`` as DifferentialEquations.jl calls it, ``jetode_signal(u)`` and ``jetode_u0``."""

from __future__ import annotations

from jetode.equations.writers import CODE
from jetode.reporting.motion import Motion


def write(motion: Motion) -> str:
    """A script that defines the right-hand side."""
    rates = "\n".join(f"    du[{i + 1}] = {rate}" for i, rate in enumerate(motion.written(CODE)))
    comments = "\n# ".join(motion.comments)
    return f"""# {comments}
#
#   using DifferentialEquations
#   solve(ODEProblem(jetode_rhs!, jetode_u0, (0.0, 100jetode_dt)), Vern9())

const jetode_u0 = [{", ".join(repr(v) for v in motion.start)}]  # at the last sample of the record
const jetode_dt = {motion.dt!r}

function jetode_rhs!(du, u, p, t)
    {", ".join(motion.names)} = u
{rates}
    return nothing
end

# the recorded channel
function jetode_signal(u)
    {", ".join(motion.names)} = u
    return {motion.read(CODE)}
end
"""
