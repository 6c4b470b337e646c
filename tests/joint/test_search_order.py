"""The order in which forms are tried: polynomials that need no scan before functions that could imitate them."""

import pytest

from jetode.experiments.trust.records import record
from jetode.reconstruction.reconstruct import reconstruct


@pytest.mark.parametrize("seed", [748, 914])
def test_a_cubic_flow_is_found_before_functions_imitate_it(seed):
    """Drawn jerk flows with x³ and v² a, and with x² v and x v: functions took all iterations of the one, and of the
    other a sine through its derivatives stood for the cubes and was refused."""
    drawn, stages = record(seed), []
    assert drawn is not None and drawn.truth is not None
    model = reconstruct(drawn.series, contest=False, progress=stages.append)
    assert model.verdict.trusted and not any("functions" in stage for stage in stages)
    assert {c.powers for c in model.coefficients() if c.part == "P"} == set(drawn.truth.P)
    for c in model.coefficients():
        if c.part == "P":
            assert abs(c.value - drawn.truth.P[c.powers]) < 4.0 * c.standard_error
