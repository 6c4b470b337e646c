"""The shooting kernels: derivatives of the flow, order of the integrators, and the Riccati solution against a dense
normal-equation solve, with arrow, prior, damping, several records and missing samples."""

from dataclasses import replace

import numpy as np
import pytest

from jetode.equations.field import Field
from jetode.integration.dop853 import integrate
from jetode.joint.shooting.flow import evaluate_path, jump_cost, sample_states
from jetode.joint.shooting.gaussnewton import Data, Linearisation
from jetode.joint.shooting.layout import RK4, RK8, Terms, make_layout
from jetode.joint.shooting.sums import CHUNK
from jetode.support.errors import InputError

ROWS = np.array([1, 1, 1, 2, 2, 2, 2], np.int64)
EXPONENTS = ((0, 1, 0), (1, 0, 1), (0, 0, 1), (0, 0, 0), (0, 0, 1), (1, 1, 0), (2, 0, 0))
VALUES = np.array([-1.1, 1.0, -0.3, 0.7, -0.4, -0.2, -0.5])
FREE = np.array([True, False, True, True, True, False, True])


def make_terms(precision=0.0):
    count = len(EXPONENTS)
    return Terms(3, 1, ROWS, EXPONENTS, VALUES, FREE, np.full(count, 0.1), np.full(count, precision))


def headed_terms(precision=0.0):
    """A field whose first row is not x_1: x_0' = 0.2 + x_0 x_1 + ..., as in a chain."""
    rows = np.array([0, 0, 0, 1, 2, 2, 2], np.int64)
    exponents = ((0, 0, 0), (1, 1, 0), (1, 0, 0), (0, 0, 1), (0, 0, 0), (0, 1, 0), (1, 1, 0))
    values = np.array([0.2, 1.0, -0.4, 1.0, -0.6, -1.0, -0.5])
    return Terms(3, 0, rows, exponents, values, FREE, np.full(7, 0.1), np.full(7, precision))


def make_data(lengths=(60, 45), tableau=RK4, seed=0, missing=(), spacing=0.03, step=0.06, **options):
    layout = make_layout(lengths, spacing, step, 0.3, **options)
    rng = np.random.default_rng(seed)
    n = sum(lengths)
    weight = np.full(n, 4.0)
    weight[list(missing)] = 0.0
    return Data(0.5 * rng.standard_normal(n), weight, layout, tableau)


def residuals(data, terms, states, theta, q):
    """All weighted residuals as one vector: samples, jumps, prior."""
    coefficients = terms.coefficients.copy()
    coefficients[terms.free] = theta
    predicted, jumps = np.empty_like(data.y), np.empty_like(states)
    evaluate_path(states, coefficients, data, terms.program(), predicted, jumps)
    prior = np.sqrt(terms.precision[terms.free]) * (theta - terms.mean[terms.free])
    return np.concatenate([np.sqrt(data.weight) * (predicted - data.y), jumps.ravel() / q, prior])


def dense_jacobian(data, terms, states, theta, q):
    x = np.concatenate([states.ravel(), theta])
    k = states.size

    def f(v):
        return residuals(data, terms, v[:k].reshape(states.shape), v[k:], q)

    columns = []
    for j in range(x.size):
        step = np.zeros_like(x)
        step[j] = 1e-5
        columns.append((f(x + step) - f(x - step)) / 2e-5)
    return np.array(columns).T, f(x)


LAYOUTS = pytest.mark.parametrize(
    "data",
    [
        make_data(),
        make_data((101,), RK8, missing=range(40, 52)),
        make_data((50, 31, 40), step=0.03, missing=(0, 3, 49, 50, 60, 120)),
        make_data((40, 40), spacing=0.1, step=0.04),
        make_data((60,), interpolate=False),
    ],
    ids=["interpolated", "gap", "records", "substeps", "every-sample"],
)


@LAYOUTS
@pytest.mark.parametrize("make", [make_terms, headed_terms])
@pytest.mark.parametrize(("q", "precision", "damping"), [(0.5, 0.0, 0.0), (0.05, 0.3, 0.0), (0.3, 0.2, 1.7)])
def test_riccati_step_solves_the_dense_normal_equations(data, make, q, precision, damping):
    terms = make(precision)
    rng = np.random.default_rng(1)
    states = 0.5 * rng.standard_normal((data.layout.first.size, 3))
    theta = terms.coefficients[FREE]
    jacobian, residual = dense_jacobian(data, terms, states, theta, q)
    k = states.size
    normal = jacobian.T @ jacobian
    normal[np.arange(k), np.arange(k)] += damping
    expected = np.linalg.solve(normal, -jacobian.T @ residual)
    linear = Linearisation(data, terms)
    linear.at(states, terms.coefficients)
    eliminated = linear.eliminate(q, damping)
    theta_step, steps = eliminated.step(0.0)
    size = np.abs(expected).max()
    assert theta_step == pytest.approx(expected[k:], abs=1e-6 * size)
    assert steps.ravel() == pytest.approx(expected[:k], abs=1e-6 * size)
    inverse = np.linalg.inv(normal)
    covariance = eliminated.coefficient_covariance()
    assert covariance == pytest.approx(inverse[k:, k:], rel=1e-6, abs=1e-7 * np.abs(inverse[k:, k:]).max())
    of_states, mixed = eliminated.state_covariance(covariance)
    for node in range(states.shape[0]):
        here = slice(3 * node, 3 * node + 3)
        assert of_states[node] == pytest.approx(inverse[here, here], abs=1e-6 * np.abs(inverse[here, here]).max())
        assert mixed[node] == pytest.approx(inverse[here, k:], abs=1e-6 * np.abs(inverse[:, k:]).max())


def test_without_free_coefficients():
    data, terms = make_data(), replace(make_terms(), free=np.zeros(len(EXPONENTS), bool))
    states = 0.3 * np.random.default_rng(2).standard_normal((data.layout.first.size, 3))
    jacobian, residual = dense_jacobian(data, terms, states, np.empty(0), 0.2)
    linear = Linearisation(data, terms)
    linear.at(states, terms.coefficients)
    theta_step, steps = linear.eliminate(0.2, 0.0).step(0.0)
    assert theta_step.size == 0
    expected = np.linalg.lstsq(jacobian, -residual, rcond=None)[0]
    assert steps.ravel() == pytest.approx(expected, abs=1e-6 * np.abs(expected).max())


def test_records_add_up():
    """Given θ, records are independent: their Schur complements add, over any number of the kernels' chunks."""
    parts, terms = [make_data((60,), seed=seed) for seed in range(60)], make_terms()
    y = np.concatenate([part.y for part in parts])
    whole = replace(make_data((60,) * len(parts)), y=y)
    assert y.size > 2 * CHUNK
    states = 0.3 * np.random.default_rng(4).standard_normal((len(parts), parts[0].layout.first.size, 3))

    def eliminated(data, at):
        linear = Linearisation(data, terms)
        linear.at(at, terms.coefficients)
        return linear.eliminate(0.1, 0.0)

    each = [eliminated(part, at) for part, at in zip(parts, states, strict=True)]
    together = eliminated(whole, states.reshape(-1, 3))
    schur, reduced = sum(one.schur for one in each), sum(one.reduced for one in each)
    assert together.schur == pytest.approx(schur, rel=1e-11, abs=1e-11 * np.abs(schur).max())
    assert together.reduced == pytest.approx(reduced, rel=1e-11, abs=1e-11 * np.abs(reduced).max())


def test_terms_are_sorted_by_row():
    with pytest.raises(InputError, match="sorted by row"):
        replace(make_terms(), rows=ROWS[::-1].copy())


@pytest.mark.parametrize("tableau", [RK4, RK8])
def test_sensitivities_are_the_derivatives_of_the_flow(tableau):
    data = make_data((41,), tableau)
    terms = make_terms()
    states = 0.5 * np.random.default_rng(3).standard_normal((data.layout.first.size, 3))
    linear = Linearisation(data, terms)
    linear.at(states, terms.coefficients)

    def ends(at, coefficients):
        jumps, predicted = np.empty_like(at), np.empty_like(data.y)
        program = terms.program()
        evaluate_path(at, coefficients, data, program, predicted, jumps)
        return -jumps[:-1] + np.roll(at, -1, axis=0)[:-1]

    for c in range(3):
        step = np.zeros_like(states)
        step[:, c] = 1e-6
        slope = (ends(states + step, VALUES) - ends(states - step, VALUES)) / 2e-6
        assert linear.transitions[:-1, :, c] == pytest.approx(slope, abs=1e-8)
    for j, index in enumerate(np.flatnonzero(FREE)):
        up, down = VALUES.copy(), VALUES.copy()
        up[index] += 1e-6
        down[index] -= 1e-6
        slope = (ends(states, up) - ends(states, down)) / 2e-6
        assert linear.arrows[:-1, :, j] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize(("tableau", "order"), [(RK4, 4), (RK8, 8)])
def test_order_of_the_integrators(tableau, order):
    rows = [{}, {}]
    for row, e, c in zip(ROWS, EXPONENTS, VALUES, strict=True):
        rows[row - 1][e] = c
    field = Field(3, tuple(rows))
    start = np.array([0.4, -0.3, 0.8])
    length = 2.0
    exact = integrate(field, start, 2, length, rtol=1e-13, atol=1e-14).states[-1]
    steps = np.array([4, 8, 16] if order == 8 else [16, 32, 64])
    errors = []
    for n in steps:
        layout = make_layout((n + 1,), length / n, length / n, 10.0, interpolate=False)
        out = np.empty((n + 1, 3))
        both = np.stack([start, np.zeros(3)])
        jumps, predicted, y = np.empty((2, 3)), np.empty(n + 1), np.zeros(n + 1)
        evaluate_path(both, VALUES, Data(y, y, layout, tableau), make_terms().program(), predicted, jumps)
        sample_states(both, VALUES, make_terms().program(), layout, tableau, out)
        assert out[:-1, 0] == pytest.approx(predicted[:-1], rel=1e-12)
        errors.append(np.abs(-jumps[0] - exact).max())
    slope = np.polyfit(np.log(1.0 / steps), np.log(errors), 1)[0]
    assert order - 0.5 < slope < order + 1.0


@pytest.mark.parametrize("make", [make_terms, headed_terms])
def test_samples_within_a_step_lie_on_its_cubic(make):
    """Hermite's error falls with the fourth power of the step, whatever the first row of the field is."""
    terms, start = make(), np.stack([[0.4, -0.3, 0.8], np.zeros(3)])
    errors = []
    for n in (24, 48, 96):
        paths = []
        for step in (2.0 / n, 4 * 2.0 / n):  # every sample a step, and four samples a step
            layout = make_layout((n + 1,), 2.0 / n, step, 10.0)
            predicted, jumps, y = np.empty(n + 1), np.empty((2, 3)), np.zeros(n + 1)
            program = terms.program()
            evaluate_path(start, terms.coefficients, Data(y, y, layout, RK8), program, predicted, jumps)
            paths.append(predicted[:-1])
        errors.append(np.abs(paths[1] - paths[0]).max())
    assert 3.4 < -np.polyfit(np.log([24, 48, 96]), np.log(errors), 1)[0] < 4.6


def test_hard_constraint_is_the_limit_of_small_q():
    data, terms = make_data(missing=(7, 8)), make_terms(0.1)
    states = np.zeros((data.layout.first.size, 3)) + 0.1
    linear = Linearisation(data, terms)
    linear.at(states, terms.coefficients)
    steps = [linear.eliminate(q, 0.0).step(0.0) for q in (1e-5, 1e-8, 1e-11)]
    for theta, x in steps:
        assert np.all(np.isfinite(theta)) and np.all(np.isfinite(x))
        assert theta == pytest.approx(steps[-1][0], rel=1e-6, abs=1e-7)
    # the step closes the linearised jumps: δ_{k+1} = A δ_k + B δθ + c
    theta, x = steps[-1]
    for k in np.flatnonzero(data.layout.spans > 0):
        closed = linear.transitions[k] @ x[k] + linear.arrows[k] @ theta + linear.defects[k]
        assert x[k + 1] == pytest.approx(closed, abs=1e-8)


@pytest.mark.parametrize("lengths", [(2,), (24, 100, 31), (6001,)])
@pytest.mark.parametrize(("spacing", "step"), [(0.01, 0.06), (0.06, 0.06), (0.5, 0.06)])
def test_layout_covers_every_record(lengths, spacing, step):
    layout = make_layout(lengths, spacing, step, 0.25)
    ends = np.cumsum(lengths) - 1
    last = np.flatnonzero(layout.spans == 0)
    assert np.array_equal(layout.first[last], ends)
    inner = layout.spans > 0
    assert np.array_equal((layout.first + layout.spans)[inner], layout.first[1:][inner[:-1]])
    assert layout.stride == 1 or layout.substeps == 1
    assert layout.stride * spacing / layout.substeps <= max(1.5 * step, spacing / layout.substeps)


def test_blow_up_is_a_value():
    data, terms = make_data((200,)), make_terms()
    states = np.full((data.layout.first.size, 3), 1e200)
    out, jumps = np.empty_like(data.y), np.empty_like(states)
    program = terms.program()
    cost = evaluate_path(states, VALUES, data, program, out, jumps)
    assert cost == np.inf


@pytest.mark.parametrize("make", [make_terms, headed_terms])
def test_segments_do_not_know_their_neighbours(make):
    """They run side by side: the same bits beside others, and one that blows up spoils only itself."""
    data, terms = make_data((101,)), make()
    states = 0.5 * np.random.default_rng(2).standard_normal((data.layout.first.size, 3))
    predicted, jumps = np.empty_like(data.y), np.empty_like(states)
    evaluate_path(states, terms.coefficients, data, terms.program(), predicted, jumps)
    wild = 3
    first, last = data.layout.first[wild], data.layout.first[wild + 1]
    spoilt, there, beside = states.copy(), np.empty_like(data.y), np.empty_like(states)
    spoilt[wild] = 1e200
    assert evaluate_path(spoilt, terms.coefficients, data, terms.program(), there, beside) == np.inf
    others = np.r_[0:first, last : data.y.size]
    assert np.array_equal(there[others], predicted[others])
    kept = [k for k in range(len(states)) if k not in (wild - 1, wild)]
    assert np.array_equal(beside[kept], jumps[kept])


@pytest.mark.parametrize("q", [1.0, 1e-2])
def test_a_cost_is_the_sum_over_samples_and_jumps_and_ends_at_its_limit(q):
    data, terms = make_data((101, 60)), make_terms()
    states = 0.5 * np.random.default_rng(3).standard_normal((data.layout.first.size, 3))
    predicted, jumps = np.empty_like(data.y), np.empty_like(states)
    given = states, terms.coefficients, data, terms.program(), predicted, jumps
    misfit = evaluate_path(*given)
    assert misfit == pytest.approx(np.sum(data.weight * (predicted - data.y) ** 2), rel=1e-12)
    squares = np.full(3, q * q)
    total = misfit + np.sum(jumps**2 / squares)
    assert jump_cost(jumps, squares, 1e6) == pytest.approx(total - misfit, rel=1e-12)
    assert jump_cost(jumps, squares, 0.5 * np.abs(jumps).max()) == np.inf
    assert evaluate_path(*given, (squares, (1 + 1e-9) * total)) == misfit
    assert evaluate_path(*given, (squares, (1 - 1e-9) * total)) == np.inf


def test_a_step_promises_what_a_small_one_along_it_keeps():
    """Of a step scaled by s, promise and cost have the same slope; Gauss–Newton leaves out the flow's own curvature,
    so that they differ by s² and no more."""
    data, terms, q = make_data((101,)), make_terms(), 0.1
    states = 0.3 * np.random.default_rng(4).standard_normal((data.layout.first.size, 3))
    linear = Linearisation(data, terms)
    linear.at(states, terms.coefficients)
    eliminated = linear.eliminate(q, 1e-3)
    theta, steps = eliminated.step(1e-3)
    predicted, jumps = np.empty_like(data.y), np.empty_like(states)

    def cost(s):
        moved = terms.coefficients.copy()
        moved[terms.free] += s * theta
        misfit = evaluate_path(states + s * steps, moved, data, terms.program(), predicted, jumps)
        prior = np.sum(linear.precision * (moved[terms.free] - linear.mean) ** 2)
        return misfit + np.sum(jumps**2) / q**2 + prior

    missed = [abs(eliminated.promised(s * theta, s * steps) - (cost(0.0) - cost(s))) / s for s in (1e-3, 1e-4)]
    slope = eliminated.promised(1e-4 * theta, 1e-4 * steps) / 1e-4
    assert slope > 0 and missed[1] < 1e-2 * slope and missed[1] < 0.2 * missed[0]
