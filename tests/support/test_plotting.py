"""Axes in, axes out; notebooks get HTML and LaTeX that hold what was found."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
import sympy

import jetode
from jetode.equations.mathml import equations
from jetode.reconstruction.reconstruct import reconstruct

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def model():
    record = jetode.systems["lorenz"].simulate(30.0).observe("x")
    return reconstruct(record, denominator_degree=1, numerator_degree=4)


@pytest.fixture(autouse=True)
def figures():
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_axes_in_axes_out(model, figures):
    axes = figures.figure().add_subplot()
    assert model.plot(2.0, axes=axes) is axes
    assert axes.get_xlabel() == "t" and axes.get_ylabel() == "x"
    assert {t.get_text() for t in axes.get_legend().get_texts()} == {"record", "smoothed", "forecast"}
    axes = figures.figure().add_subplot(projection="3d")
    assert model.plot_attractor(axes) is axes and axes.get_zlabel() == "a" and axes.get_xlabel() == "x"
    assert len(model.forecast(1.0).plot().lines) == 1
    assert model.plot().lines


def test_notebooks_see_html_and_latex(model):
    record = jetode.Series(np.r_[np.sin(np.arange(50.0)), np.nan, np.cos(np.arange(50.0))], 0.1, name="a<b")
    for html in (record._repr_html_(), model.forecast(1.0)._repr_html_(), model._repr_html_()):
        ET.fromstring(html)  # well formed
    assert "a&lt;b" in record._repr_html_() and "1 missing" in record._repr_html_()
    assert record._repr_html_().count("M") == 2  # the gap is not drawn over
    assert model._repr_latex_().startswith("$$") and model.closure._repr_latex_().startswith(r"$$\dot")
    assert "<math" in model._repr_html_() and "the slope of x" in model._repr_html_()
    assert model.verdict.grade in model._repr_html_()


def test_equations_in_three_notations(model):
    assert "w' = " in model.equation() and r"\dot{w}" in model.equation("latex")
    rates = model.equation("sympy")
    assert list(rates) == ["x", "v", "w"] and rates["x"] == sympy.Symbol("v")
    state = dict(zip(("x", "v", "w"), (3.0, 5.0, 7.0), strict=True))
    values = [float(rate.subs(state)) for rate in rates.values()]
    np.testing.assert_allclose(values, model.regular.field(np.array([3.0, 5.0, 7.0])), rtol=1e-12)
    with pytest.raises(jetode.InputError, match="mathml"):
        model.equation("mathml")


def test_mathml_of_both_forms():
    regular = jetode.RegularClosure({(0, 1): -11.0}, {(1, 0): 1.0, (0, 0): 0.0}, {(0, 0, 0): 1e-7, (0, 0, 1): -2.5}, 3)
    rows = [ET.fromstring(row) for row in equations(regular)]
    assert ["".join(row.itertext()) for row in rows] == ["u˙0=u1", "u˙1=−11u1+u0w", "w˙=1×10−7−2.5w"]
    fraction = ET.fromstring(equations(regular.rational())[-1])
    assert fraction.find(".//{*}mfrac") is not None
