"""ModelingToolkit.jl: a system of symbolic equations with its start values, ready for ``structural_simplify``."""

from __future__ import annotations

from jetode.equations.writers import CODE
from jetode.reporting.motion import Motion


def write(motion: Motion) -> str:
    """A script that defines ``jetode_system`` and ``jetode_u0``."""
    names = [f"{n}(t)" for n in motion.names]
    rates = [f"    D({n}) ~ {rate}," for n, rate in zip(motion.names, motion.written(CODE), strict=True)]
    if motion.reads:
        names.append(f"{motion.signal}(t)")
        rates.append(f"    {motion.signal} ~ {motion.read(CODE)},")
    start = ", ".join(f"{n} => {v!r}" for n, v in zip(motion.names, motion.start, strict=True))
    comments = "\n# ".join(motion.comments)
    equations = "\n".join(rates)
    return f"""# {comments}
#
#   using OrdinaryDiffEq
#   problem = ODEProblem(structural_simplify(jetode_system), jetode_u0, (0.0, 100jetode_dt))
#   solution = solve(problem, Vern9()); solution[{motion.signal}]

using ModelingToolkit
using ModelingToolkit: t_nounits as t, D_nounits as D

@variables {" ".join(names)}

jetode_equations = [
{equations}
]

@named jetode_system = ODESystem(jetode_equations, t)
jetode_u0 = [{start}]  # at the last sample of the record
jetode_dt = {motion.dt!r}
"""
