"""reservoirpy's machines as peers: a scalar echo-state network and NVAR, each with its own ridge readout.

Both are driven by the record and then by their own output, x(t + s) = h x(t) + W_out·state(t); h and the lengths are
those of :mod:`jetode.narx`.  Needs reservoirpy (``jetode[bench]``).
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from jetode.narx import FAR, Past, Rollout, Setting
from jetode.polynomials import FloatArray

UNITS = 400
MOST_FEATURES = 400  # of NVAR
WARM = 20.0  # tc until an echo-state network has forgotten its start


def echo_state(past: Past, setting: Setting) -> Rollout:
    """reservoirpy's Reservoir with a Ridge readout of the next sample."""
    from reservoirpy.nodes import Reservoir

    stride = past.stride(setting)
    reservoir = Reservoir(
        UNITS,
        lr=setting["leak"],
        sr=setting["radius"],
        input_scaling=setting["input"],
        bias=0.2,
        seed=past.seed + 1,
    )
    driven = past.values[::stride]
    warm = min(round(WARM * past.tc / stride), driven.size // 4)
    states = np.asarray(reservoir.run(driven[:-1, None]))[warm:]
    readout, size = _readout(states, driven[1:] - setting["hold"] * driven[:-1], warm, setting)
    return _driven([reservoir], readout, size, stride, 2 * warm, setting["hold"])


def nvar(past: Past, setting: Setting) -> Rollout:
    """reservoirpy's NVAR with its Ridge readout: the taps and their products of 2 (… "order") factors.

    The taps are "spacing" apart, a multiple of the step "stride".
    """
    from reservoirpy.nodes import NVAR

    stride, taps = past.stride(setting), int(setting["taps"])
    if comb(taps + int(setting["order"]), taps) > MOST_FEATURES:
        raise ValueError("more products than a record of this kind can tell apart")
    strides = max(1, round(setting["spacing"] * past.tc / stride))
    before = taps * strides
    nodes = [NVAR(taps, order, strides) for order in range(2, int(setting["order"]) + 1)]
    driven = past.values[past.values.size % stride :: stride]
    states = _joined([np.asarray(node.run(driven[:-1, None])) for node in nodes], taps)[before:]
    readout, size = _readout(states, driven[1:] - setting["hold"] * driven[:-1], before, setting)
    return _driven(nodes, readout, size, stride, before, setting["hold"], taps)


def _joined(states: list[FloatArray], taps: int) -> FloatArray:
    """States of NVAR nodes side by side; the linear part, which each of them has, once."""
    return np.concatenate([states[0], *(s[..., taps:] for s in states[1:])], axis=-1)


def _readout(states: FloatArray, target: FloatArray, first: int, setting: Setting) -> tuple[Any, float]:
    """Ridge of the change after each state, in units of its std."""
    from reservoirpy.nodes import Ridge

    size = float(np.std(target[first:]))
    readout = Ridge(ridge=setting["ridge"] * states.shape[0])
    return readout.fit(states, target[first:, None] / size), size


def _driven(
    nodes: list[Any], readout: Any, size: float, stride: int, before: int, hold: float, taps: int = 0
) -> Rollout:
    """Nodes driven by the last ``before`` taps of the past, then by their own output."""

    def one(values: FloatArray, end: int, steps: int) -> FloatArray:
        low, high = values.min(), values.max()
        reach = FAR * (high - low)
        known = values[max(end % stride, end - stride * (before - 1)) : end + 1 : stride]
        for node in nodes:
            node.reset()
        state = _joined([np.asarray(node.run(known[:, None]))[-1] for node in nodes], taps)
        out = [float(values[end])]
        for _ in range(-(-steps // stride)):
            new = hold * out[-1] + size * float(readout.step(state).item())
            if not low - reach < new < high + reach:
                break
            out.append(new)
            state = _joined([np.asarray(node.step(np.array([new]))) for node in nodes], taps)
        run = np.full(steps + 1, np.nan)
        reached = min(steps, stride * (len(out) - 1))
        path = np.concatenate([known[:-1], out])
        at = stride * np.arange(1 - known.size, len(out))
        run[: reached + 1] = CubicSpline(at, path)(np.arange(reached + 1))
        return run

    return lambda values, ends, steps: np.stack([one(values, int(end), steps) for end in ends])
