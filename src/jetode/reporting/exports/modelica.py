"""Modelica: a model with one state variable per coordinate, its start value and its equation."""

from __future__ import annotations

from jetode.equations.writers import CODE
from jetode.reporting.motion import Motion


def write(motion: Motion) -> str:
    """One class, ``JetodeModel.mo``."""
    states = "\n".join(
        f'  Real {n}(start = {v!r}, fixed = true) "{meaning}";'
        for n, v, meaning in zip(motion.names, motion.start, motion.meanings, strict=True)
    )
    rates = "\n".join(f"  der({n}) = {rate};" for n, rate in zip(motion.names, motion.written(CODE), strict=True))
    read = ""
    if motion.reads:
        states += f'\n  output Real {motion.signal} "the recorded channel";'
        read = f"\n  {motion.signal} = {motion.read(CODE)};"
    comments = "\n".join(f"  // {line}" for line in motion.comments)
    last = 1000 * motion.dt
    return f"""model JetodeModel "Equations of motion found by jetode"
{comments}
{states}
equation
{rates}{read}
  annotation (experiment(StartTime = 0, StopTime = {last:.10g}, Interval = {motion.dt!r}, Tolerance = 1e-8));
end JetodeModel;
"""
