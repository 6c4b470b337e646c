"""reservoirpy's machines as peers: a scalar echo-state network and NVAR, each with its own ridge readout.

Both are driven by the record and then by their own output, x(t + s) = h x(t) + W_out·state(t); h and the lengths are
those of :mod:`jetode.experiments.peers.narx`.  The weights, the monomials and the readout are reservoirpy's
(``jetode[bench]``); the driving, which reservoirpy does sample by sample in Python,
is compiled for the network and vectorised for NVAR.
"""

from __future__ import annotations

from functools import cache
from math import comb, copysign
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from jetode.experiments.peers.narx import FAR, Past, Rollout, Setting, closed_loop, filled, window_at
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf

UNITS = 400
MOST_FEATURES = 400  # of NVAR
WARM = 20.0  # tc until an echo-state network has forgotten its start
FLAT, PER_UNIT = 20.0, 64.0  # tanh is 1 from here on; table entries per unit
TANH = np.tanh(np.arange(int(FLAT * PER_UNIT) + 1) / PER_UNIT)


# -- echo states -------------------------------------------------------------------------------------------


class Network(NamedTuple):
    """s ← (1 − leak) s + leak tanh(W s + entry x + bias), W by rows (CSR); unsigned indices need no sign check."""

    weights: FloatArray
    columns: NDArray[np.uintp]
    rows: NDArray[np.uintp]
    entry: FloatArray
    bias: float
    leak: float


class Readout(NamedTuple):
    """x ← hold x + weights·s + bias."""

    weights: FloatArray
    bias: float
    hold: float


@cache
def network(leak: float, radius: float, scale: float, seed: int) -> Network:
    """The weights of reservoirpy's Reservoir."""
    from reservoirpy.nodes import Reservoir

    node = Reservoir(UNITS, lr=leak, sr=radius, input_scaling=scale, bias=0.2, seed=seed)
    node.initialize(np.zeros((1, 1)))
    w: Any = node.W
    return Network(
        w.data, w.indices.astype(np.uintp), w.indptr.astype(np.uintp), node.Win.toarray()[:, 0], node.bias, node.lr
    )


@kernel(error_model="numpy")
def hyperbolic_tangent(x: float) -> float:
    """tanh(a + b) = (tanh a + tanh b)/(1 + tanh a tanh b), a from a table, |b| ≤ 1/128 by its series, to rounding.

    It has no branch and no call, so that a loop of it becomes vector instructions.
    """
    size = abs(x)
    size = size if size < FLAT else FLAT
    k = int(size * PER_UNIT + 0.5)
    b = size - k / PER_UNIT
    q = b * b
    near = b * (1.0 + q * (-1.0 / 3.0 + q * (2.0 / 15.0 - q * 17.0 / 315.0)))
    far = TANH[np.uintp(k)]
    return copysign((far + near) / (1.0 + far * near), x)


@leaf(fastmath={"reassoc", "contract"}, forceinline=False)
def _advance(net: Network, state: FloatArray, x: float, new: FloatArray) -> None:
    """The state after one more input."""
    for i in range(state.size):
        total = 0.0
        for j in range(net.rows[i], net.rows[i + 1]):
            total += net.weights[j] * state[net.columns[j]]
        new[i] = total + net.entry[i] * x + net.bias
    for i in range(state.size):
        new[i] = (1.0 - net.leak) * state[i] + net.leak * hyperbolic_tangent(new[i])


@kernel()
def drive(net: Network, inputs: FloatArray) -> FloatArray:
    """States (len(inputs), units) of a network at rest, each after its input."""
    states = np.empty((inputs.size, net.entry.size))
    state = np.zeros(net.entry.size)
    for t in range(inputs.size):
        _advance(net, state, inputs[t], states[t])
        state = states[t]
    return states


@kernel()
def _feed_back(net: Network, readout: Readout, path: FloatArray, known: int, low: float, high: float) -> None:
    """Fill ``path`` after its ``known`` first samples with the network's own output, as long as it is within bounds."""
    state, new = np.zeros(net.entry.size), np.empty(net.entry.size)
    for t in range(path.size - 1):
        _advance(net, state, path[t], new)
        state, new = new, state
        if t + 1 >= known:
            x = readout.hold * path[t] + np.dot(readout.weights, state) + readout.bias
            if not low < x < high:
                break
            path[t + 1] = x


def echo_state(past: Past, setting: Setting) -> Rollout:
    """reservoirpy's Reservoir with a Ridge readout of the next sample."""
    stride, hold = past.stride(setting), setting["hold"]
    net = network(setting["leak"], setting["radius"], setting["input"], past.seed + 1)
    driven = np.ascontiguousarray(past.values[::stride])
    warm = min(round(WARM * past.tc / stride), driven.size // 4)
    weights, bias = _ridge(drive(net, driven[:-1])[warm:], (driven[1:] - hold * driven[:-1])[warm:], setting)
    readout = Readout(weights, bias, hold)

    def one(values: FloatArray, end: int, steps: int) -> FloatArray:
        low, high = values.min(), values.max()
        reach = FAR * (high - low)
        known = values[max(end % stride, end - stride * (2 * warm - 1)) : end + 1 : stride]
        path = np.concatenate([known, np.full(-(-steps // stride), np.nan)])
        _feed_back(net, readout, path, known.size, low - reach, high + reach)
        return filled(path, stride, known.size, steps)

    return lambda values, ends, steps: np.stack([one(values, int(end), steps) for end in ends])


# -- products of taps --------------------------------------------------------------------------------------


def monomials(taps: int, order: int) -> list[IntArray]:
    """The factors of reservoirpy's NVAR products of 2, …, ``order`` taps."""
    from reservoirpy.nodes import NVAR

    nodes = [NVAR(taps, degree) for degree in range(2, order + 1)]
    for node in nodes:
        node.initialize(np.zeros((1, 1)))
    return [np.asarray(node._monomial_idx) for node in nodes]


def products(window: FloatArray, factors: list[IntArray]) -> FloatArray:
    """The taps (n, m) and their products side by side."""
    return np.concatenate([window, *(np.prod(window[:, index], axis=2) for index in factors)], axis=1)


def nvar(past: Past, setting: Setting) -> Rollout:
    """reservoirpy's NVAR with its Ridge readout: the taps and their products of 2 (… "order") factors.

    The taps are "spacing" apart, a multiple of the step "stride".
    """
    stride, taps, order, hold = past.stride(setting), int(setting["taps"]), int(setting["order"]), setting["hold"]
    if comb(taps + order, taps) > MOST_FEATURES:
        raise ValueError("more products than a record of this kind can tell apart")
    strides = max(1, round(setting["spacing"] * past.tc / stride))
    before = taps * strides
    factors = monomials(taps, order)
    driven = past.values[past.values.size % stride :: stride]
    ends = np.arange(before, driven.size - 1)
    features = products(window_at(driven, ends, strides, taps), factors)
    weights, bias = _ridge(features, driven[ends + 1] - hold * driven[ends], setting)
    return closed_loop(lambda w: products(w[:, ::strides], factors) @ weights + bias, stride, before, hold)


def _ridge(states: FloatArray, target: FloatArray, setting: Setting) -> tuple[FloatArray, float]:
    """Weights and bias of reservoirpy's Ridge of the change after each state, fitted in units of its std."""
    from reservoirpy.nodes import Ridge

    size = float(np.std(target))
    node: Any = Ridge(ridge=setting["ridge"] * states.shape[0]).fit(states, target[:, None] / size)
    return size * node.Wout[:, 0], size * float(node.bias[0])
