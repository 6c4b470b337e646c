"""Known truths: exact closures, fields and maps that tests compare with; no estimator sees them."""

from fractions import Fraction

import numpy as np
import pytest
import sympy

import jetode
from jetode.catalogue.systems import systems
from jetode.equations.field import Field
from jetode.equations.regular import RegularClosure
from jetode.joint.candidates import states_for
from jetode.joint.forms.base import Form
from jetode.joint.problem import prepare
from jetode.joint.shooting.annealing import Schedule, anneal

LORENZ = RegularClosure(
    {(0, 1): -11.0}, {(1, 0): 1.0}, {(0, 0, 0): 720.0, (0, 0, 1): -8 / 3, (1, 1, 0): -1.0, (2, 0, 0): -10.0}, 3
)
ROSSLER = RegularClosure(
    {(0, 0): -6.1, (0, 1): 0.2},
    {(1, 0): 1.0, (0, 0): -5.9},
    {(0, 0, 0): -5.9, (1, 0, 0): 1.0, (0, 0, 1): -5.7, (1, 0, 1): 1.0},
    3,
)
TILTED = RegularClosure(
    {(0, 0): 0.5, (1, 0): -1.0, (2, 0): 0.3},
    {(0, 1): 1.0, (1, 0): -0.7, (0, 0): 0.4},
    {(0, 0, 0): 1.0, (1, 1, 0): -0.5, (0, 1, 1): 0.25, (0, 0, 2): 0.125},
    3,
)
SECOND = RegularClosure({(0,): 0.3}, {(1,): 1.0, (0,): -2.0}, {(0, 0): 1.0, (1, 0): -1.0, (0, 1): -0.5}, 2)
FOURTH = RegularClosure(
    {(0, 1, 0): 1.5, (0, 0, 0): -0.5},
    {(0, 0, 1): 1.0, (1, 0, 0): 0.25, (0, 0, 0): 0.75},
    {(0, 0, 0, 0): 0.5, (1, 0, 1, 0): -1.25, (0, 1, 0, 1): 2.0},
    4,
)
CUBIC = RegularClosure(
    {(0, 1): 1.0}, {(1, 0): 1.0, (0, 0): -0.5}, {(1, 0, 3): -0.25, (0, 0, 1): 1.0, (2, 0, 0): 2.0}, 3
)
SPROTT_JERK = {(1, 0, 0): -1.0, (0, 2, 0): 1.0, (0, 0, 1): -2.017}
LORENZ_FIELD = Field.polynomial(
    [
        {(1, 0, 0): -10.0, (0, 1, 0): 10.0},
        {(1, 0, 0): 28.0, (1, 0, 1): -1.0, (0, 1, 0): -1.0},
        {(1, 1, 0): 1.0, (0, 0, 1): -8 / 3},
    ]
)
LORENZ_JETS_FIELD = Field(
    3,
    (
        {
            (0, 1, 1): 3.0,
            (0, 2, 0): 33.0,
            (1, 0, 1): -41.0,
            (1, 1, 0): -88.0,
            (2, 0, 0): 2160.0,
            (3, 1, 0): -3.0,
            (4, 0, 0): -30.0,
        },
    ),
    {(1, 0, 0): 3.0},
)


def lorenz_jets(state: np.ndarray) -> np.ndarray:
    x, y, z = state
    rate = 10 * (y - x)
    return np.array([x, rate, 10 * (28 * x - x * z - y - rate)])


def exact(value: float) -> sympy.Rational:
    nearest = Fraction(value).limit_denominator(10**6)
    assert float(nearest) == pytest.approx(value, rel=1e-12)
    return sympy.Rational(nearest.numerator, nearest.denominator)


def to_exact(polynomial, symbols):
    return sum((exact(c) * sympy.prod(s**k for s, k in zip(symbols, e, strict=True)) for e, c in polynomial.items()),
               sympy.Integer(0))  # fmt: skip


def eigenvalues_at(name, state):
    return np.sort_complex(np.linalg.eigvals(systems[name].field.jacobian(np.array(state))))


def fitted_sprott_jerk(seed, terms):
    """The jerk system's fit with given terms of P, and its problem."""
    clean = systems["sprott_jerk"].simulate(400.0, dt=0.1, transient=100.0, initial=(0.0, 0.0, 1.0)).observe("x")
    noisy = clean.with_values(jetode.add_noise(clean.values, 0.1, np.random.default_rng(seed)))
    prepared = prepare([noisy], 3)
    data = prepared.data(prepared.sigma)
    regular = RegularClosure({}, {(0, 0): 1.0}, {e: SPROTT_JERK[e] for e in terms}, 3).in_units(
        1 / prepared.amplitude, 1 / prepared.time
    )
    form = Form(3, (("a", ()), ("D", ((0, 0),)), ("P", tuple(terms))))
    start = states_for(prepared, regular, data)
    fit = anneal(data, form.terms(regular), start, Schedule((0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4), 12))
    return data, form, fit
