"""Optional integrator: adaptive Taylor series by heyoka (extra ``heyoka``), for high accuracy near D = 0.

Its steps cross the pole of an exact closure without loss.  Arguments and :class:`~jetode.integration.dop853.Stop` mean
what they mean there; a non-finite state or the step limit counts as POLE where |D| is below
``POLE_FRACTION`` of its largest value.  The compiled integrator depends only on which monomials occur: it is
built once for each structure and reused with other coefficients.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from jetode.equations.elements import Element
from jetode.equations.field import Field
from jetode.equations.polynomials import Exponents, evaluate
from jetode.integration.dop853 import STEPS_PER_SAMPLE, Integration, Stop
from jetode.integration.dop853_kernel import POLE_FRACTION
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

Monomials = tuple[Exponents, ...]


def integrate_many(
    field: Field, x0: FloatArray, n_samples: int, dt: float, tolerance: float, bound: FloatArray
) -> list[Integration]:
    """Integrate from each row of ``x0`` and sample at 0, dt, …, (n_samples − 1) dt."""
    below = field.denominator
    structure = (field.dimension, tuple(tuple(row) for row in field.rows), tuple(below or ()), field.elements)
    integrator = _integrator(*structure, tolerance)
    coefficients = [c for row in field.rows for c in row.values()] + list((below or {}).values())
    integrator.pars[:] = coefficients
    return [_integrate(integrator, field, start, n_samples, dt, bound) for start in x0]


def _integrate(
    integrator: Any, field: Field, start: FloatArray, n_samples: int, dt: float, bound: FloatArray
) -> Integration:
    integrator.time = 0.0
    integrator.state[:] = start
    limit = STEPS_PER_SAMPLE * n_samples + 10_000
    grid = dt * np.arange(n_samples, dtype=np.float64)
    outcome, _, _, n_steps, _, states = integrator.propagate_grid(grid, max_steps=limit)
    inside = np.all(np.isfinite(states) & (np.abs(states) <= bound), axis=1)
    valid = len(states) if inside.all() else int(np.argmin(inside))
    kept = np.array(states[:valid])
    kept.setflags(write=False)
    if valid == n_samples and outcome.name == "time_limit":
        return Integration(kept, Stop.COMPLETED, float(grid[-1]), n_steps, 0)
    stop = Stop.STEP_LIMIT if outcome.name == "step_limit" else Stop.DIVERGED
    if valid < len(states) and np.all(np.isfinite(states[valid])):
        stop = Stop.DIVERGED
    elif _at_pole(field, kept, np.array(integrator.state)):
        stop = Stop.POLE
    return Integration(kept, stop, float(grid[max(valid - 1, 0)]), n_steps, 0)


def _at_pole(field: Field, states: FloatArray, last: FloatArray) -> bool:
    """Whether |D| at the last state is small beside its largest value so far."""
    if field.denominator is None:
        return False
    so_far = np.abs(evaluate(field.denominator, states)).max(initial=0.0)
    ends = [s for s in (last, *states[-1:]) if np.all(np.isfinite(s))]
    return any(abs(float(evaluate(field.denominator, s))) <= POLE_FRACTION * so_far for s in ends)


@lru_cache(maxsize=16)
def _integrator(
    dimension: int, rows: tuple[Monomials, ...], denominator: Monomials, elements: tuple[Element, ...], tolerance: float
) -> Any:
    try:
        import heyoka
    except ImportError:
        raise InputError(
            "The 'heyoka' backend needs the package heyoka; install jetode with the extra 'heyoka'."
        ) from None
    states = heyoka.make_vars(*(f"x{i}" for i in range(dimension)))
    states = states if isinstance(states, list | tuple) else [states]
    arguments = [heyoka.prod([states[v] for v in element.coordinates]) for element in elements]
    variables = [*states, *(_function(heyoka, *one) for one in zip(elements, arguments, strict=True))]
    used = 0

    def polynomial(monomials: Monomials) -> Any:
        nonlocal used
        terms = []
        for exponents in monomials:
            factors = [v for v, power in zip(variables, exponents, strict=True) for _ in range(power)]
            terms.append(heyoka.prod([heyoka.par[used], *factors]))
            used += 1
        return heyoka.sum(terms)

    right = [polynomial(row) for row in rows]
    if denominator:
        right[-1] = right[-1] / polynomial(denominator)
    chain = dimension - len(rows)
    system = list(zip(states, [*states[1 : chain + 1], *right], strict=True))
    return heyoka.taylor_adaptive(system, [1.0] * dimension, tol=tolerance, pars=[0.0] * used)


def _function(heyoka: Any, element: Element, v: Any) -> Any:
    """An element as an expression of heyoka's; kinks have no Taylor series."""
    p = element.parameters
    match element.kind:
        case "sin":
            return heyoka.sin(p[0] * v + p[1])
        case "tanh":
            return heyoka.tanh((v - p[0]) / p[1])
        case "sign":
            return heyoka.tanh(v / p[0])
        case "arctan":
            return heyoka.atan((v - p[0]) / p[1])
        case "exp":
            return heyoka.exp(p[0] * v)
        case "cosh":
            return heyoka.cosh(p[0] * v)
        case "diode":
            return p[1] * heyoka.log(1.0 + heyoka.exp((v - p[0]) / p[1]))
        case "gaussian":
            return heyoka.exp(-0.5 * ((v - p[0]) / p[1]) ** 2.0)
        case "michaelis-menten":
            return v / (p[0] + v)
        case "holling":
            return v * v / (p[0] ** 2 + v * v)
        case _:
            raise InputError(f"The 'heyoka' backend takes no {element.kind}, which has no Taylor series everywhere.")
