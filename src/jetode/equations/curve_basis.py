"""The curve that is no named function: a natural cubic spline by its smooth modes (docs/mathematics.md (8.4), (8.5)).

On [from, to] the space is that of the cubic B-splines on equal knots whose curvature vanishes at both ends; beyond them
the curve goes on as a straight line.  Its basis is that of Demmler and Reinsch: values at the knots that are
eigenvectors of the roughness ∫ f''² ds, s = (v − from)/(to − from).  The two modes of no roughness, a constant and a
straight line, are left out: polynomial terms carry them, and nothing else would tell the two apart.
"""

from __future__ import annotations

import numpy as np

from jetode.support.arrays import FloatArray

KNOTS = 16  # a kink is rounded over a fifteenth of the visited range, which tells |v| from a tanh
MODES = KNOTS - 2


def _tables() -> tuple[FloatArray, FloatArray, FloatArray]:
    """Values and second derivatives of every mode at the knots, mean square 1 over them, and its roughness."""
    h = 1.0 / (KNOTS - 1)
    inner = KNOTS - 2
    second = np.zeros((inner, KNOTS))
    for i in range(inner):
        second[i, i : i + 3] = np.array([1.0, -2.0, 1.0]) / h
    gram = h * (np.diag(np.full(inner, 2.0 / 3.0)) + np.diag(np.full(inner - 1, 1.0 / 6.0), 1))
    gram = gram + np.triu(gram, 1).T
    bends = np.linalg.solve(gram, second)  # curvature at the inner knots from the values at all
    roughness = second.T @ bends
    eigenvalues, vectors = np.linalg.eigh(0.5 * (roughness + roughness.T))
    values = vectors[:, 2:] * np.sqrt(KNOTS)
    values = values * np.sign(values[-1])
    curvature = np.zeros_like(values)
    curvature[1:-1] = bends @ values
    return np.ascontiguousarray(values), np.ascontiguousarray(curvature), eigenvalues[2:] * KNOTS


MODE_VALUES, MODE_BENDS, ROUGHNESS = _tables()


def mode_precision(smoothness: float) -> FloatArray:
    """Prior precision of every mode: ``smoothness`` times its roughness relative to that of the smoothest."""
    return smoothness * ROUGHNESS / ROUGHNESS[0]


def project(s: FloatArray, f: FloatArray, smoothness: float = 0.0) -> FloatArray:
    """The modes of the curve nearest to points (s, f), beside a constant and a straight line; ``smoothness`` per point
    is the weight of the roughness."""
    design = np.column_stack([basis(s), np.ones_like(s), s])
    penalty = np.append(mode_precision(smoothness), [0.0, 0.0])
    rows = np.vstack([design, np.diag(np.sqrt(penalty * s.size))])
    return np.asarray(np.linalg.lstsq(rows, np.append(f, np.zeros(penalty.size)), rcond=None)[0][:MODES])


def basis(s: FloatArray) -> FloatArray:
    """All modes (n, MODES) at places s of [0, 1]; straight beyond."""
    h = 1.0 / (KNOTS - 1)
    j = np.clip((s / h).astype(np.int64), 0, KNOTS - 2)
    inside = np.clip(s, 0.0, 1.0)
    b = (inside - j * h) / h
    a = 1.0 - b
    c, d = (a**3 - a) * h * h / 6.0, (b**3 - b) * h * h / 6.0
    low, high = MODE_VALUES[j], MODE_VALUES[j + 1]
    out = a[:, None] * low + b[:, None] * high + c[:, None] * MODE_BENDS[j] + d[:, None] * MODE_BENDS[j + 1]
    beyond = np.flatnonzero(s != inside)
    if beyond.size:
        a, b, j = a[beyond, None], b[beyond, None], j[beyond]
        bent = (3.0 * b**2 - 1.0) * MODE_BENDS[j + 1] - (3.0 * a**2 - 1.0) * MODE_BENDS[j]
        slope = (high[beyond] - low[beyond]) / h + bent * h / 6.0
        out[beyond] += (s - inside)[beyond, None] * slope
    return np.asarray(out)


def cubes(low: float, high: float, modes: FloatArray) -> tuple[FloatArray, FloatArray, float, float]:
    """The same curve as Σ_j a_j |v − t_j|³ + b_0 + b_1 v, which every language can write: (t, a, b_0, b_1)."""
    knots = np.linspace(low, high, KNOTS)
    third = np.diff(MODE_BENDS @ modes / (high - low) ** 2) / np.diff(knots)
    weights = np.diff(third, prepend=0.0, append=0.0) / 12.0
    values = MODE_VALUES @ modes
    ends = [float(np.sum(weights * np.abs(t - knots) ** 3)) for t in (low, high)]
    slope = ((values[-1] - ends[1]) - (values[0] - ends[0])) / (high - low)
    return knots, weights, float(values[0] - ends[0] - slope * low), float(slope)
