"""Value and derivatives of every element, docs/mathematics.md (8.2), in one compiled routine.

The kind is a number, so that compiled code contains no function of its own for any of them; kernels call
``element(kind, v, p, first, out, at)``: parameters are read from wherever they are kept (``p`` from ``first`` on), and
the results are written from ``at`` on: f, ∂f/∂v, then ∂f/∂p.  The routine is compiled for the first equation that
has an element: :func:`element_ready`.
"""

from __future__ import annotations

import math

from jetode.equations.curve_basis import KNOTS, MODE_BENDS, MODE_VALUES, MODES
from jetode.support.arrays import FloatArray
from jetode.support.deferred import Deferred

SIN, TANH, ARCTAN, EXP, DIODE, ABS, DRAG, SIGN, PIECES, POWER, MICHAELIS, HOLLING, GAUSSIAN, CURVE, COSH = range(15)
MOST_PARAMETERS = 2 + MODES
PARTNER = 2 + MOST_PARAMETERS  # where the slope by the second factor of an argument that is a product is kept
ROOM = PARTNER + 1  # of the results


@Deferred
def _element(kind: int, v: float, p: FloatArray, out: FloatArray) -> None:
    """f, ∂f/∂v and ∂f/∂p of one element at one place."""
    f = slope = g1 = g2 = g3 = 0.0
    if kind == CURVE:
        low, high = p[0], p[1]
        h = 1.0 / (KNOTS - 1)
        s = (v - low) / (high - low)
        inside = min(max(s, 0.0), 1.0)
        j = min(int(inside / h), KNOTS - 2)
        b = inside / h - j
        a = 1.0 - b
        c, d = (a * a * a - a) * h * h / 6.0, (b * b * b - b) * h * h / 6.0
        dc, dd = (1.0 - 3.0 * a * a) * h / 6.0, (3.0 * b * b - 1.0) * h / 6.0
        beyond = s - inside
        for k in range(MODES):
            low_value, high_value = MODE_VALUES[j, k], MODE_VALUES[j + 1, k]
            low_bend, high_bend = MODE_BENDS[j, k], MODE_BENDS[j + 1, k]
            rise = (high_value - low_value) / h + dc * low_bend + dd * high_bend
            mode = a * low_value + b * high_value + c * low_bend + d * high_bend + beyond * rise
            out[4 + k] = mode
            f += p[2 + k] * mode
            slope += p[2 + k] * rise
        slope /= high - low
    elif kind == SIN:
        z = p[0] * v + p[1]
        f, g2 = math.sin(z), math.cos(z)
        slope, g1 = p[0] * g2, v * g2
    elif kind == TANH:
        z = (v - p[0]) / p[1]
        f = math.tanh(z)
        slope = (1.0 - f * f) / p[1]
        g1, g2 = -slope, -z * slope
    elif kind == ARCTAN:
        z = (v - p[0]) / p[1]
        f = math.atan(z)
        slope = 1.0 / ((1.0 + z * z) * p[1])
        g1, g2 = -slope, -z * slope
    elif kind == EXP:
        f = math.exp(p[0] * v)
        slope, g1 = p[0] * f, v * f
    elif kind == COSH:
        z = p[0] * v
        f, g1 = math.cosh(z), v * math.sinh(z)
        slope = p[0] * math.sinh(z)
    elif kind == DIODE:
        z = (v - p[0]) / p[1]
        small = math.exp(-abs(z))
        raised = math.log1p(small) + max(z, 0.0)
        f = p[1] * raised
        slope = 1.0 / (1.0 + small) if z > 0.0 else small / (1.0 + small)
        g1, g2 = -slope, raised - z * slope
    elif kind == ABS:
        z = v - p[0]
        f, slope = abs(z), math.copysign(1.0, z)
        g1 = -slope
    elif kind == DRAG:
        f, slope = v * abs(v), 2.0 * abs(v)
    elif kind == SIGN:
        z = v / p[0]
        f = math.tanh(z)
        slope = (1.0 - f * f) / p[0]
        g1 = -z * slope
    elif kind == PIECES:
        left, right = v - p[0], v - p[1]
        g1, g2, g3 = -math.copysign(1.0, left), -p[2] * math.copysign(1.0, right), abs(right)
        f, slope = abs(left) + p[2] * g3, -g1 - g2
    elif kind == POWER:
        size = abs(v)
        if size > 0.0:
            power = size ** p[0]
            f = math.copysign(power, v)
            slope, g1 = p[0] * power / size, f * math.log(size)
    elif kind == MICHAELIS:
        below = p[0] + v
        f = v / below
        slope, g1 = p[0] / (below * below), -f / below
    elif kind == HOLLING:
        below = p[0] * p[0] + v * v
        f = v * v / below
        slope = 2.0 * v * p[0] * p[0] / (below * below)
        g1 = -2.0 * p[0] * f / below
    elif kind == GAUSSIAN:
        z = (v - p[0]) / p[1]
        f = math.exp(-0.5 * z * z)
        g1 = z * f / p[1]
        slope, g2 = -g1, z * g1
    out[0] = f
    out[1] = slope
    out[2] = g1
    out[3] = g2
    if kind == PIECES:
        out[4] = g3


element, element_ready = _element.caller(), _element.ready
