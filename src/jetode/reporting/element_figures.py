"""Figures of the elements of an equation: the characteristic curve of each over the range that the record visits."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetode.reconstruction.found_elements import FoundElement
from jetode.reconstruction.model import Model
from jetode.reporting.figures import Figure, numbers
from jetode.support.arrays import FloatArray
from jetode.support.plotting import label

POINTS = 241  # of a curve
MARGIN = 0.15  # of the visited range: how far the curve is drawn beyond it
BAND = 1.645  # standard errors: nine tenths


def element_figures(model: Model) -> list[Figure]:
    """One figure for every element."""
    return [_figure(model, m, element) for m, element in enumerate(model.elements)]


def _figure(model: Model, m: int, element: FoundElement) -> Figure:
    assert model.named is not None
    low, high = element.visited
    margin = MARGIN * (high - low)
    v = np.linspace(low - margin, high + margin, POINTS)
    inside = (v >= low) & (v <= high)
    value, error = element.curve(v), BAND * curve_error(model, m, v)
    traces: list[dict[str, Any]] = [
        {"x": numbers(v), "y": numbers(value - error), "mode": "lines", "role": "edge", "name": "90 % band",
         "hidden": True},
        {"x": numbers(v), "y": numbers(value + error), "mode": "lines", "role": "band", "name": "90 % band",
         "fill": "tonexty"},
        {"x": numbers(v), "y": numbers(value), "mode": "lines", "role": "smoothed", "name": "beyond the record"},
        {"x": numbers(v[inside]), "y": numbers(value[inside]), "mode": "lines", "role": "model", "width": 3,
         "name": "in the record\u2019s range"},
    ]  # fmt: skip
    unit = model.named.notation.coordinate_unit(*element.element.coordinates)
    times = "" if element.times == "1" else f", per unit of {element.times}"
    what = "A curve without a name" if element.name == "curve" else f"The {element.name}"
    return Figure(
        f"element{m}",
        f"Element: {element.name} of {element.variable}",
        f"{what} in the rate of {element.rate}{times}, with the band in which it is known. The record has visited "
        f"{element.variable} from {low:.3g} to {high:.3g}; beyond, the curve is extrapolated.",
        tuple(traces),
        {
            "xaxis": {"title": {"text": label(element.variable, unit)}},
            "yaxis": {"title": {"text": f"part of {element.rate}\u2032"}},
        },
    )


def curve_error(model: Model, m: int, v: FloatArray) -> FloatArray:
    """Standard error of an element's curve at places v, from the covariance of its gain and its parameters."""
    element = model.elements[m]
    keys = [(c.part, c.powers) for c in model.dynamics.coefficients()]
    own = [j for j, (part, _) in enumerate(keys) if part == f"e{m}"]
    gain = next(j for j, (part, _) in enumerate(keys) if part.endswith(f".{m}"))
    by_parameter = element.gain * element.element.derivatives(v)[2]
    slopes = np.column_stack([element.element(v), by_parameter])
    covariance = model.covariance[np.ix_([gain, *own], [gain, *own])]
    return np.asarray(np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", slopes, covariance, slopes), 0.0)))
