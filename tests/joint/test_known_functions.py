"""Functions that the user knows: in the equation as they are, and nothing else."""

import numpy as np
import pytest

from jetode.cli.reconstruct import functions_of
from jetode.experiments.elements.cases import CASES
from jetode.joint.elements.known import Known
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.series import Series
from jetode.support.errors import InputError


def test_known_parameters_in_units_of_the_record():
    """sin(k x) of x in volts is sin(1000 k x) of x in kilovolts, kinks scale with x, ratios do not."""
    assert Known("sin", (("frequency", 2.0),)).held(1e-3) == pytest.approx({0: 2e-3})
    assert Known("piecewise-linear", (("second", 4.0), ("ratio", -1.0))).held(2.0) == pytest.approx({1: 2.0, 2: -1.0})


@pytest.fixture(scope="module")
def pendulum() -> Series:
    record, _ = CASES["pendulum"].record(0.05, 3)
    return Series(record.values[:1500], record.dt)


def test_a_known_sine_stays_as_it_is_and_the_rest_is_fitted(pendulum):
    model = reconstruct(pendulum, order=2, functions={"sin": {"frequency": 1.0, "phase": 0.0}})
    (sine,) = model.elements
    assert (sine.name, sine.parameters["frequency"][0], sine.parameters["phase"][0]) == ("sin", 1.0, 0.0)
    value, error = sine.parameters["gain"]
    assert abs(value + 1.0) < 4.0 * error
    assert model.verdict.grade == "exact"
    assert model.settings["functions"] == {"sin": {"frequency": 1.0, "phase": 0.0}}


def test_a_wrong_function_is_refused_and_nothing_else_takes_its_place(pendulum):
    model = reconstruct(pendulum, order=2, functions={"abs": {"kink": 0.3}})
    assert model.verdict.grade == "none" and "follows" in model.verdict.reason
    assert not any(e.name != "abs" for e in model.elements)


@pytest.mark.parametrize(
    ("functions", "said"),
    [({"sin": {"speed": 1.0}}, "frequency, phase"), ({"sin": {"phase": np.nan}}, "phase"), ({"sine": {}}, "sin")],
)
def test_parameters_that_a_function_does_not_have_are_refused(pendulum, functions, said):
    with pytest.raises(InputError, match=said):
        reconstruct(pendulum, functions=functions)


def test_functions_on_the_command_line():
    assert functions_of("none") == () and functions_of("sin, abs") == ("sin", "abs")
    assert functions_of("sin:frequency=1:phase=0,drag") == {"sin": {"frequency": 1.0, "phase": 0.0}, "drag": {}}
    with pytest.raises(InputError, match="sin:frequency=1"):
        functions_of("sin:frequency")
