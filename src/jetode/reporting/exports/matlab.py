"""MATLAB (and Octave): a function file that returns the right-hand side, the start state, and the signal."""

from __future__ import annotations

import textwrap

from jetode.equations.writers import CODE
from jetode.reporting.motion import Motion


def write(motion: Motion) -> str:
    """One function file, ``jetode_model.m``; sums of many terms go over several lines."""
    states = "\n".join(f"  {n} = state({i + 1});" for i, n in enumerate(motion.names))
    rates = ";\n          ".join(_broken(rate, "           ") for rate in motion.written(CODE))
    rows = "\n".join(f"  {n} = states(:, {i + 1});" for i, n in enumerate(motion.names))
    start = "; ".join(repr(v) for v in motion.start)
    comments = "\n".join(f"%   {line}" for line in motion.comments)
    return f"""function [rhs, x0, signal] = jetode_model()
% The right-hand side for ode45, the state at the last sample of the record, and the recorded channel.
%
{comments}
%
%   [rhs, x0, signal] = jetode_model();
%   [t, states] = ode45(rhs, 0:{motion.dt!r}:{100 * motion.dt:.10g}, x0);
%   plot(t, signal(states))
  rhs = @rate;
  x0 = [{start}];
  signal = @recorded;
end

function out = rate(t, state)
{states}
  out = [ {rates} ];
end

function out = recorded(states)
{rows}
  out = {motion.read(CODE)};
end
"""


def _broken(sum_of_terms: str, indent: str) -> str:
    """A long sum on several lines, between its terms."""
    lines = textwrap.wrap(sum_of_terms, 100, break_long_words=False, break_on_hyphens=False)
    return f" ...\n{indent}".join(lines)
