"""Channels of the panel whose true equation has a function: whether a model has found it (docs/mathematics.md §8).

YuWang2's x: with v = 10 y and w = 300 − 20 z the rows are x' = −10 x + v, v' = x w, w' = 750 − 2.5 w − 20 cosh(x v/10).
Chua's z: with w = z'' + z' + 28 z = −28 x the third row is w' = −4.457 w + 15.6 z' + 3.343 (|w + 28| − |w − 28|).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from jetode.experiments.elements.bench import SAME, argument_error
from jetode.experiments.elements.cases import TrueElement
from jetode.experiments.panel.comparison import COEFFICIENT, ERRORS
from jetode.reconstruction.model import Model

_KINKS = {"first": -28.0, "second": 28.0, "ratio": -1.0, "gain": 3.3428226}

_COSH = {"rate": 0.1, "gain": -20.0}

TRUE: Mapping[str, TrueElement] = MappingProxyType(
    {
        "Chua z": TrueElement("piecewise-linear", "the panel's Chua x in z", MappingProxyType(_KINKS)),
        "YuWang2 x": TrueElement("cosh", "YuWang2's x y in x", MappingProxyType(_COSH)),
    }
)


def has_function(model: Model, channel: str) -> bool:
    """Whether the model's one function is the true one: its kind, what it is of, and every parameter within 10 % or 5
    standard errors."""
    true = TRUE[channel]
    if [found.name for found in model.elements] != [true.name]:
        return False
    (found,) = model.elements
    if not argument_error(model, found, true) < SAME:
        return False
    return all(
        abs(found.parameters[name][0] - value) <= np.fmax(COEFFICIENT * abs(value), ERRORS * found.parameters[name][1])
        for name, value in true.parameters.items()
    )
