"""Where the joint fit of a form begins (docs/mathematics.md (3.8), (4.5), (4.6)): linear algebra on smoothed jets.

From a guess of D follow ``a`` from the collapse curve (on D = 0 the attractor is u_{n−1} = a), the hidden coordinate
``w`` from D w = u_{n−1} − a by a solve penalised on its second difference (so that it passes smoothly through the
pole), and P from the increments of w over short windows.  All arrays are dimensionless: u/std, t/tc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solveh_banded

from jetode.equations.equation import Equation
from jetode.equations.polynomials import Exponents, Library, Polynomial, evaluate
from jetode.equations.regular import RegularClosure
from jetode.equations.state_jets import offset_and_factor
from jetode.joint.forms.base import Form, Start
from jetode.joint.jets import Jets
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class StartSettings:
    """Numbers of the start, all dimensionless."""

    collapse_width: float = 0.15  # of the std of D: samples nearer to the pole than this shape the collapse curve
    collapse_ridge: float = 1e-3  # of the norm of their weights: curves that few samples decide stay small
    stiffness: float = 3e-4  # weight of (d²w/dτ²)² against the misfit of D w: w is carried through the pole
    edge: float = 0.5  # of the rms of a factor: nearer to its zero the slope says little on the next coordinate
    window: float = 0.25  # tc: length of the windows over which increments of w are regressed, the distance of nodes
    damping: float = 1e-3  # of a column's norm: libraries whose columns nearly agree share the coefficient


SETTINGS = StartSettings()


def collapse_curve(jets: Jets, big_d: FloatArray, form: Form) -> tuple[Polynomial, float]:
    """``a`` by weighted regression of u_{n−1} on the monomials of ``form["a"]`` near D = 0, and what it leaves."""
    n = form.order
    spread = float(np.std(big_d))
    near = np.exp(-0.5 * (big_d / (SETTINGS.collapse_width * spread)) ** 2)
    library = Library(form["a"], n - 1)
    matrix = library.evaluate(jets.u[:, : n - 1]) * near[:, None]
    target = jets.u[:, n - 1] * near
    ridge = SETTINGS.collapse_ridge * np.sqrt(np.sum(near**2)) + 1e-12
    solution = np.linalg.lstsq(
        np.vstack([matrix, ridge * np.eye(len(library))]), np.concatenate([target, np.zeros(len(library))])
    )[0]
    total = float(np.sum(target**2))
    left = float(np.sum((target - matrix @ solution) ** 2))
    return library.polynomial(solution), left / total if total > 0 else 1.0


def smooth_hidden(
    jets: Jets, big_d: FloatArray, target: FloatArray, stiffness: float = SETTINGS.stiffness
) -> FloatArray:
    """w that minimises Σ (D w − target)² + stiffness Σ (d²w/dτ²)², record by record."""
    out = np.empty_like(target)
    weight = stiffness / jets.spacing**4
    for piece in jets.pieces():
        n = piece.stop - piece.start
        diagonal = np.full(n, 6.0)
        diagonal[[0, -1]] = 1.0
        diagonal[[1, -2]] = 5.0
        off = np.full(n - 1, -4.0)
        off[[0, -1]] = -2.0
        band = np.zeros((3, n))
        band[2] = big_d[piece] ** 2 + weight * diagonal + 1e-9 * weight
        band[1, 1:] = weight * off
        band[0, 2:] = weight
        out[piece] = solveh_banded(band, big_d[piece] * target[piece])
    return out


def regress_increments(jets: Jets, states: FloatArray, library: Library, reach: float = 1.0) -> FloatArray:
    """Coefficients of w' = P from w(τ + window) − w(τ) = Σ c ∫ monomial dτ (trapezoid), damped lightly: the farther
    the record lies from 0 (``reach``), the more its powers resemble each other."""
    step = max(1, round(SETTINGS.window / jets.spacing))
    rows: list[FloatArray] = []
    targets: list[FloatArray] = []
    for piece in jets.pieces():
        inner = slice(piece.start + jets.trim, piece.stop - jets.trim)
        values = library.evaluate(states[inner])
        if values.shape[0] <= step:
            continue
        integral = np.vstack(
            [np.zeros(len(library)), np.cumsum(0.5 * (values[1:] + values[:-1]) * jets.spacing, axis=0)]
        )
        rows.append(integral[step:] - integral[:-step])
        targets.append(states[inner, -1][step:] - states[inner, -1][:-step])
    matrix = np.vstack(rows)
    size = np.linalg.norm(matrix, axis=0) + 1e-300
    damped = np.vstack([matrix / size, SETTINGS.damping / reach**2 * np.eye(len(library))])
    rhs = np.concatenate([*targets, np.zeros(len(library))])
    gram = damped.T @ damped
    return np.linalg.solve(gram, damped.T @ rhs) / size


def next_coordinate(
    jets: Jets, offset: FloatArray, factor: FloatArray, rate: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """x_{i+1} and its rate from factor · x_{i+1} = x_i' − offset, where it has to be differentiated again.  Near the
    factor's zeros, where an orbit can rest for long, errors of the row's coefficients weigh more than the coordinate:
    there its smoothness decides."""
    trust = factor**2 / (factor**2 + SETTINGS.edge**2 * np.mean(factor**2))
    found = smooth_hidden(jets, trust * factor, trust * (rate - offset))
    return found, np.concatenate([np.gradient(found[piece], jets.spacing) for piece in jets.pieces()])


def hidden_states(jets: Jets, equation: Equation) -> FloatArray:
    """States of a cascade at every sample from the jets, the hidden coordinates by the penalised solve."""
    rows, seen = equation.cascade(), equation.n_jets
    lower, rate = jets.u[:, :seen], jets.u[:, min(seen, equation.dimension - 1)]
    for i in range(seen - 1, len(rows) - 1):
        found, following = next_coordinate(jets, *offset_and_factor(equation, i, lower), rate)
        lower, rate = np.column_stack([lower, found]), following
    if seen == equation.dimension:
        return lower
    offset, factor = offset_and_factor(equation, len(rows) - 1, lower)
    target, constant = rate - offset, not rows[-1].vanishes and np.ptp(factor) == 0.0
    w = target / factor if constant else smooth_hidden(jets, factor, target)
    return np.column_stack([lower, w])


def regressed(jets: Jets, states: FloatArray, form: Form) -> Polynomial:
    """P over the states of a form from the increments of the last coordinate."""
    library = Library(form["P"], form.order)
    return library.polynomial(regress_increments(jets, states, library, form.reach))


def start_at(jets: Jets, form: Form, a: Polynomial, guess: Mapping[Exponents, float], w: FloatArray) -> Start:
    """The start of a regular closure with ``a``, D = ``guess`` and w at every sample: w at std 1, P from increments."""
    n = form.order
    spread = float(np.std(w))
    states = np.column_stack([jets.u[:, : n - 1], w / spread])
    big_p = regressed(jets, states, form)
    return Start(form.terms(RegularClosure(a, {e: c * spread for e, c in guess.items()}, big_p, n)), states)


def start_through_pole(jets: Jets, form: Form, guess: Polynomial) -> Start:
    """The start of a regular closure whose D can vanish: collapse curve, penalised solve, regression."""
    n = form.order
    lower = jets.u[:, : n - 1]
    big_d = evaluate(guess, lower)
    a, quality = collapse_curve(jets, big_d, form)
    begun = start_at(jets, form, a, guess, smooth_hidden(jets, big_d, jets.u[:, n - 1] - evaluate(a, lower)))
    return Start(begun.terms, begun.states, quality)
