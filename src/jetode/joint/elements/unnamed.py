"""A function without a name (docs/mathematics.md §8.2, §8.4): a free curve of one coordinate, where no name satisfies.

In weak form (8.8) the modes of the curve (8.4) are linear; the coordinate whose curve leaves least is where the joint
fit begins.  What it finds is an answer of its own, and the start of names that are like it.
"""

from __future__ import annotations

import numpy as np

from jetode.equations.curve_basis import MODES, basis
from jetode.equations.elements import Element
from jetode.joint.elements.candidates import weak_solution
from jetode.joint.elements.discover import DISCOVERY, Discovery, Suggestion


def unnamed_function(discovery: Discovery) -> Suggestion | None:
    """The curve in the last row that leaves least in weak form; None where powers of one coordinate or the quadratic
    polynomial of all do nearly as well."""
    weak = discovery.weak
    best = min((c for c in discovery.curves() if c.count == 1), key=lambda c: c.left)
    if best.bic > min(discovery.powers(), discovery.quadratic()) - DISCOVERY.gain:
        return None
    places = best.argument.places
    modes = basis(np.linspace(0.0, 1.0, places.size))[:, : DISCOVERY.modes]
    columns = np.column_stack([weak.linear, best.argument.operators[0] @ modes])
    found = weak_solution(columns, weak.target)[-DISCOVERY.modes :]
    rest = (0.0,) * (MODES - DISCOVERY.modes)
    element = Element("curve", best.argument.variable, (float(places[0]), float(places[-1]), *found.tolist(), *rest))
    return Suggestion(weak.order, (element,), False, best.bic, best.left / float(weak.target @ weak.target))
