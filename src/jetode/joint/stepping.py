"""How short the integrator's steps have to be for an equation (docs/mathematics.md §4.13).

A Runge–Kutta step h of a motion that relaxes at a rate λ grows it where h λ is beyond 2.8: the path is lost, whatever
the coefficients.  Jerk flows whose x multiplies x'' relax a hundred times within a characteristic time.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from jetode.equations.elements import kind_of
from jetode.joint.forms.starts import hidden_states
from jetode.joint.jets import Jets
from jetode.joint.parts import equation_of
from jetode.joint.problem import FAST_STEP, KINK_STEP, Prepared
from jetode.joint.search_settings import SEARCH
from jetode.joint.shooting.layout import Terms

STEEP = 8.0  # 1/std: rate of an exponential from which its spikes are, and smoothed jets miss how high
SPIKES = 8.0  # 1/tc: rate of a hidden coordinate of order 4 from which the usual step, half an e-folding, is too long
FAST = 20.0  # 1/tc: rate of any other equation from which it is: the panel's fastest have 14
LOOKED_AT = 200  # states: where it is fast the motion rests, so that few samples miss no more than the last tenth of it
BLOWN_UP = 1e12  # 1/tc: no step follows that, and eigenvalues may not converge


def fastest_rate(terms: Terms, jets: Jets) -> float:
    """The largest |eigenvalue| of the field's Jacobian along the smoothed record, in 1/tc."""
    equation = equation_of(terms)
    states = hidden_states(jets, equation)
    jacobians = equation.field.jacobian(states[:: max(1, states.shape[0] // LOOKED_AT)])
    told = jacobians[np.abs(jacobians).max(axis=(1, 2)) < BLOWN_UP]
    return float(np.abs(np.linalg.eigvals(told)).max(initial=0.0))


def kinked(terms: Terms) -> bool:
    """Whether a field has a function with kinks."""
    return any(kind_of(one.kind).kinked for one in terms.elements)


def stepped(prepared: Prepared, terms: Terms) -> Prepared:
    """The record with the integrator's step that an equation needs: a short one for elements with kinks, for a hidden
    coordinate of order 4 that spikes, and for rates that the usual one does not resolve."""
    if kinked(terms):
        return replace(prepared, step=KINK_STEP, kinked=True)
    if any(one.kind == "exp" and abs(terms.element_parameters(m)[0]) > STEEP for m, one in enumerate(terms.elements)):
        return replace(prepared, step=FAST_STEP)
    if terms.dimension > SEARCH.coarse_order:
        own = (terms.rows == terms.dimension - 1) & np.array([e[terms.dimension - 1] == 1 for e in terms.exponents])
        spikes = bool(np.any(np.abs(terms.coefficients[own]) > SPIKES))
        return replace(prepared, step=KINK_STEP) if spikes else prepared
    return replace(prepared, step=FAST_STEP) if fastest_rate(terms, prepared.jets) > FAST else prepared
