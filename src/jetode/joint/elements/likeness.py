"""Other names for a fitted function (docs/mathematics.md §8.4): those whose curve is like it where the record has been.

The weak form sees its argument through noise and can rank the right name behind others.  A joint fit knows the curve
better: every other function of the same coordinate is fitted to it beside a straight line, and those that come near
replace it in the equation, f → γ g + c_0 + c_1 v, as the start of a joint fit of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.elements import Element
from jetode.equations.equation import Equation
from jetode.equations.polynomials import Polynomial
from jetode.joint.elements.candidates import candidate_of, gains_of, linear_monomials
from jetode.joint.elements.discover import DISCOVERY, Look, Suggestion
from jetode.joint.elements.guesses import sensible
from jetode.joint.elements.weak_form import Argument, Projection
from jetode.joint.parts import equation_of
from jetode.joint.shooting.gaussnewton import Fit
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray

STEEP = ("exp", "cosh")  # whose only parameter is a rate
Begun = tuple[Suggestion, Terms, FloatArray]


@dataclass(frozen=True)
class LikenessSettings:
    """Numbers of the comparison of curves, each with its reason."""

    places: int = 201  # quantiles of the coordinate at which curves are compared: 1 % of the samples between two
    edge: float = 0.002  # of the samples beyond the first and last of them: single far ones do not count
    same: float = 1e-12  # of the sum of squares beside a straight line: the same function again, to rounding
    alike: float = 0.15  # of the same: names farther off would fit visibly worse
    tried: int = 6  # names, those of fewest parameters first, which can win by BIC: 0.1 s each where they are wrong


SETTINGS = LikenessSettings()


def alike(element: Element, samples: FloatArray, kinds: Collection[str]) -> list[Element]:
    """Functions of these kinds that are like an element on the samples of its coordinate, the plainest first."""
    places = np.quantile(samples, np.linspace(SETTINGS.edge, 1.0 - SETTINGS.edge, SETTINGS.places))
    beside = [np.ones_like(places)] if element.partner is not None else [np.ones_like(places), places]
    base = Projection.of(np.column_stack(beside), element(places))
    bent = float(base.target @ base.target)
    look = Look.of(Argument(element.variable, samples, places, (np.eye(places.size),)), base, 1)
    found = []
    for kind in kinds:
        guesses = [g for _, g in look.ranked(kind) if sensible(kind, g, samples)][: DISCOVERY.refined]
        best = look.best(kind, guesses) if guesses else None
        if best is not None and SETTINGS.same * bent < best[1] < SETTINGS.alike * bent:
            found.append((len(best[0].parameters), best[1], best[0]))
    ranked = sorted(found, key=lambda f: f[:2])[: SETTINGS.tried]
    return [replace(one, partner=element.partner) for *_, one in ranked]


def sharper(element: Element, samples: FloatArray) -> list[Element]:
    """The element, and an exponential with twice its rate, too: a path that is too flat shows a sharp bend as a blunter
    one, and from half the rate on the valley to it is long."""
    twice = replace(element, parameters=tuple(2.0 * p for p in element.parameters))
    steep = element.kind in STEEP and sensible(element.kind, twice.parameters, samples)
    return [element, twice] if steep else [element]


def replaced(equation: Equation, m: int, element: Element, samples: FloatArray) -> Equation:
    """A canonical linear equation with another element, and a straight line, in the places of element m."""
    places = np.quantile(samples, np.linspace(SETTINGS.edge, 1.0 - SETTINGS.edge, SETTINGS.places))
    old = equation.elements[m]
    columns = np.column_stack([element(places), np.ones_like(places), places])
    gain, level, slope = np.linalg.lstsq(columns, old.element(places), rcond=1e-10)[0].tolist()
    n, row = equation.dimension, equation.rows[-1]
    constant, *units = linear_monomials(n)
    assert isinstance(row, dict)
    last: Polynomial = dict(row)
    beta = np.array([old.in_row(i).get(constant, 0.0) for i in range(n)])
    c = np.array([last.get(unit, 0.0) for unit in units])
    b = derivative_gains(beta, c)
    moved = c + slope * (b if element.variable == 0 else b[0] * (np.arange(n) == element.variable))
    last |= {constant: last.get(constant, 0.0) + level * float(b[0])}
    last |= dict(zip(units, moved.tolist(), strict=True))
    acting = gains_of(gain * b, moved) if np.any(beta[:-1]) else gain * beta
    placed = replace(old, element=element, multipliers={i: {constant: float(g)} for i, g in enumerate(acting) if g})
    elements = tuple(placed if k == m else one for k, one in enumerate(equation.elements))
    return equation.with_rows((*equation.rows[:-1], last), elements)


def replaced_product(equation: Equation, m: int, element: Element, samples: FloatArray) -> Equation:
    """An equation with another function of a product, and a constant, in the place of element m in the last row."""
    places = np.quantile(samples, np.linspace(SETTINGS.edge, 1.0 - SETTINGS.edge, SETTINGS.places))
    columns = np.column_stack([element(places), np.ones_like(places)])
    gain, level = np.linalg.lstsq(columns, equation.elements[m].element(places), rcond=1e-10)[0].tolist()
    *rows, last = equation.rows
    constant = (0,) * equation.dimension
    assert isinstance(last, dict)
    last = last | {constant: last.get(constant, 0.0) + level * equation.elements[m].in_row(len(rows))[constant]}
    placed = equation.elements[m].with_element(element, gain)
    return equation.with_rows((*rows, last), tuple(placed if k == m else e for k, e in enumerate(equation.elements)))


def derivative_gains(beta: FloatArray, c: FloatArray) -> FloatArray:
    """b_0 … b_{n−1} from β_0 … β_{n−1} and c_0 … c_{n−1}, the inverse of :func:`gains_of` (8.9)."""
    n = c.size
    b = np.zeros(n)
    for i in range(n):
        b[n - 1 - i] = beta[i] - sum(c[n - i + k] * beta[k] for k in range(i))
    return b


def other_names(fit: Fit, suggestion: Suggestion, kinds: Sequence[str]) -> Iterator[Begun]:
    """Starts of joint fits with other functions in the place of each one that was fitted."""
    equation, states = equation_of(fit.terms), fit.states
    if not suggestion.of_product:
        equation, states = equation.canonical(), equation.canonical_states(states)
    for m, one in enumerate(equation.elements):
        samples = one.element.argument(states)
        others = alike(one.element, samples, [k for k in kinds if k != one.element.kind])
        for element in others if suggestion.of_product else (e for other in others for e in sharper(other, samples)):
            elements = tuple(element if k == m else e.element for k, e in enumerate(equation.elements))
            other = replace(suggestion, elements=elements, bare=False)
            swapped = (replaced_product if suggestion.of_product else replaced)(equation, m, element, samples)
            path = swapped.states(equation.jets(states)) if suggestion.spread else states
            if np.isfinite(path).all():
                yield other, candidate_of(other).form.terms(swapped), path
