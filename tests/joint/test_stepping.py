"""Steps of the integrator: as short as the fastest rate asks for, and what is found by them."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jetode.equations.regular import RegularClosure
from jetode.joint.parts import equation_terms
from jetode.joint.problem import FAST_STEP, STEP, prepare
from jetode.joint.search import search
from jetode.joint.stepping import FAST, fastest_rate, stepped
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.series import Series

SPIKY = {(0, 0, 0): 2.2, (1, 0, 0): -1.26, (0, 1, 0): -2.71, (0, 0, 1): -2.12, (1, 0, 1): 2.83}


def never() -> bool:
    return False


def jerk_equation(big_p):
    return RegularClosure({}, {(0, 0): 1.0}, big_p, 3)


def spiky_flow(noise: float, seed: int, n: int = 4000, dt: float = 0.1) -> Series:
    """x''' = 2.2 − 1.26 x − 2.71 x' − 2.12 x'' + 2.83 x x'': x'' relaxes within a step where x is far below 0."""

    def rates(_, s):
        return [s[1], s[2], sum(c * s[0] ** i * s[1] ** j * s[2] ** k for (i, j, k), c in SPIKY.items())]

    t = 100.0 + dt * np.arange(n)
    x = solve_ivp(rates, (0, t[-1]), [0.2, 0.1, 0.0], "LSODA", t, rtol=1e-10, atol=1e-12).y[0]
    return Series(x + noise * np.std(x) * np.random.default_rng(seed).standard_normal(n), dt)


def test_the_fastest_rate_of_a_linear_flow_is_its_largest_eigenvalue():
    t = 0.05 * np.arange(1000)
    prepared = prepare([Series(np.sin(t), 0.05)], 3)
    matrix = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-30.0, -31.0, -32.0]])
    terms = equation_terms(jerk_equation({(1, 0, 0): -30.0, (0, 1, 0): -31.0, (0, 0, 1): -32.0}))
    largest = np.abs(np.linalg.eigvals(matrix)).max()
    assert fastest_rate(terms, prepared.jets) == pytest.approx(largest, rel=1e-10)
    assert largest > FAST and stepped(prepared, terms).step == FAST_STEP
    wild = equation_terms(jerk_equation({(1, 0, 0): 1e200, (0, 0, 1): -1.0}))
    assert stepped(prepared, wild).step == STEP  # what is beyond any step has none, and eigenvalues are not asked for
    calm = equation_terms(jerk_equation({(1, 0, 0): -1.0, (0, 0, 1): -2.0}))
    assert stepped(prepared, calm).step == STEP


def test_what_is_too_fast_for_the_usual_step_is_found_before_functions():
    prepared, stages = prepare([spiky_flow(0.05, 1)], 3), []
    found = search(prepared, 3, never, stages.append)
    assert found.satisfies() and "no pole, short steps" in stages
    best = found.candidates[0].fit.terms
    own = {e for row, e in zip(best.rows.tolist(), best.exponents, strict=True) if row == 2}
    assert own == set(SPIKY)
    assert fastest_rate(best, prepared.jets) > FAST


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.01, 0.1])
def test_a_flow_with_spikes_is_exact(noise):
    model = reconstruct(spiky_flow(noise, 2))
    found = {c.powers: c for c in model.coefficients() if c.part == "P"}
    assert model.verdict.grade == "exact" and set(found) == set(SPIKY)
    for powers, true in SPIKY.items():
        assert abs(found[powers].value - true) < max(4.0 * found[powers].standard_error, 1e-6)
