"""Chua's function in z: found, and not mistaken for one with other kinks, of another quantity, or beside another."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from jetode.equations.elements import Element
from jetode.experiments.panel.channels import select
from jetode.experiments.panel.functions import TRUE, has_function
from jetode.reconstruction.found_elements import FoundElement

CHUA = select(["Chua z"])[0]
STATES = CHUA.states(np.array(CHUA.initial), 2000, CHUA.dt)
X, Y, Z = STATES.T
JETS = np.column_stack([Z, -28.0 * Y, -28.0 * (X - Y + Z)])
PATH = np.column_stack([Z, -28.0 * Y, -28.0 * X])


def found(variable=2, error=0.01, **other):
    given = {**TRUE["Chua z"].parameters, **other}
    element = Element("piecewise-linear", variable, (-28.0, 28.0, -1.0))
    parameters = {name: (value, error) for name, value in given.items()}
    return FoundElement("piecewise-linear", "w", "w", "1", parameters, (-60.0, 60.0), element)


def model(*elements):
    return SimpleNamespace(elements=elements, order=3, jet_path=JETS, path=PATH)


def test_the_third_row_of_the_panels_circuit_is_what_the_function_stands_in():
    rate = (STATES[2:] - STATES[:-2])[:, 0] * -28.0 / (2.0 * CHUA.dt)
    w, slope = PATH[1:-1, 2], PATH[1:-1, 1]
    true = -1114269 / 250000 * w + 15.6 * slope + 3.3428226 * (np.abs(w + 28.0) - np.abs(w - 28.0))
    assert np.std(rate - true) < 0.01 * np.std(true)


def test_the_true_function_is_right():
    assert has_function(model(found()), "Chua z")
    assert has_function(model(found(first=-27.95, second=28.05)), "Chua z")


OTHERS = [
    (),
    (found(first=-20.0),),
    (found(gain=2.0),),
    (found(variable=0),),
    (found(), found()),
    (replace(found(), name="abs"),),
]


@pytest.mark.parametrize("elements", OTHERS)
def test_others_are_not(elements):
    assert not has_function(model(*elements), "Chua z")
