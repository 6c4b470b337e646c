import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jetode.equations.polynomials import Library
from jetode.paper.nullspace import (
    _singular,
    _triangle,
    null_space,
    oriented,
    pooled_denominator,
    singular_values,
    solve_numerator,
)
from jetode.paper.weakform import ClosureSystem

DENOMINATOR = Library.total_degree(2, 1, [0])
NUMERATOR = Library.total_degree(2, 2)


def system_with_null_vector(theta_d, theta_n, rows=60, seed=0, sizes=1.0):
    """A random system whose columns have very different sizes and that has exactly this null vector."""
    rng = np.random.default_rng(seed)
    theta = np.concatenate([theta_d, theta_n])
    matrix = rng.normal(size=(rows, theta.shape[0])) * sizes
    matrix[:, 1] = -(matrix @ theta - matrix[:, 1] * theta[1]) / theta[1]
    return ClosureSystem(matrix[:, :2], -matrix[:, 2:], DENOMINATOR, NUMERATOR)


@settings(deadline=None)
@given(st.integers(0, 1000), st.floats(0, 9))
def test_null_vector_is_found_whatever_the_units_of_the_columns(seed, decades):
    rng = np.random.default_rng(seed)
    sizes = 10.0 ** rng.uniform(-decades / 2, decades / 2, size=8)
    theta_d, theta_n = rng.normal(size=2) / sizes[:2], rng.normal(size=6) / sizes[2:]
    system = system_with_null_vector(theta_d, theta_n, seed=seed, sizes=sizes)
    found = null_space(system)
    scale = np.sign(theta_d[1]) / np.linalg.norm(theta_d)
    np.testing.assert_allclose(found.denominator, scale * theta_d, rtol=1e-6)
    np.testing.assert_allclose(found.numerator, scale * theta_n, rtol=1e-6)
    np.testing.assert_allclose(solve_numerator(system, found.denominator), found.numerator, rtol=1e-6)
    assert np.all(np.diff(found.singular_values) <= 0)
    assert found.gap == pytest.approx(found.singular_values[-2], rel=1e-6)


def test_sign_follows_the_coefficient_of_u0():
    assert oriented(np.array([3.0, -1.0]), DENOMINATOR)[1] == 1.0
    assert oriented(np.array([-3.0]), Library(((0, 0),), 2))[0] == 3.0


def test_numerator_survives_columns_nine_decades_apart():
    """The trap of docs/mathematics.md §2: an unscaled least squares truncates the small columns."""
    sizes = np.concatenate([[1.0, 1.0], 10.0 ** -np.linspace(0, 18, 6)])
    theta_n = np.ones(6) / sizes[2:]
    system = system_with_null_vector(np.array([0.5, 1.0]), theta_n, sizes=sizes)
    np.testing.assert_allclose(solve_numerator(system, np.array([0.5, 1.0])), theta_n, rtol=1e-9)


def test_rank_deficient_numerator_has_bounded_coefficients():
    system = system_with_null_vector(np.array([0.5, 1.0]), np.ones(6))
    m_n = system.m_n.copy()
    m_n[:, 3] = m_n[:, 4]
    doubled = ClosureSystem(system.m_d, m_n, DENOMINATOR, NUMERATOR)
    theta = solve_numerator(doubled, np.array([0.5, 1.0]))
    assert np.abs(theta).max() < 10 and theta[3] == pytest.approx(theta[4])


def test_dependent_numerator_columns_leave_a_constant_denominator():
    m_n = np.random.default_rng(0).normal(size=(20, 6))
    m_n[:, 5] = 0.0
    found = null_space(ClosureSystem(np.random.default_rng(1).normal(size=(20, 2)), m_n, DENOMINATOR, NUMERATOR))
    np.testing.assert_array_equal(found.denominator, [1.0, 0.0])


def test_fewer_rows_than_columns():
    system = system_with_null_vector(np.array([0.5, 1.0]), np.ones(6), rows=4)
    assert null_space(system).singular_values.shape == (8,)
    residual = system.m_n @ solve_numerator(system, np.array([0.5, 1.0])) - system.m_d @ np.array([0.5, 1.0])
    np.testing.assert_allclose(residual, 0, atol=1e-12)


def test_pooling_averages_aligned_directions():
    directions = np.array([[6.0, 0.8], [6.0, -0.8]])
    systems = [system_with_null_vector(d, np.ones(6), seed=k) for k, d in enumerate(directions)]
    np.testing.assert_allclose(pooled_denominator(systems), [0.0, 1.0], atol=1e-7)
    near, far = np.array([0.5, 1.0]), np.array([-4.0, 1.0])
    pair = [system_with_null_vector(d, np.ones(6), seed=k) for k, d in enumerate((near, far))]
    for unit in (1.0, 0.1):  # the mean of unit vectors in coordinates u0/unit
        scale = np.array([1.0, unit])
        mean = sum(v * scale / np.linalg.norm(v * scale) for v in (near, far)) / scale
        np.testing.assert_allclose(pooled_denominator(pair, unit), mean / np.linalg.norm(mean), rtol=1e-6)


def test_rotation_follows_the_inverse_gap():
    """App. nullspace: a perturbation rotates the null vector by about |δM|/(σ_next − σ_min)."""
    rng = np.random.default_rng(0)
    size, amount = 8, 1e-6
    left, right = np.linalg.qr(rng.normal(size=(60, size)))[0], np.linalg.qr(rng.normal(size=(size, size)))[0]
    gaps = np.array([1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001])
    rotations = []
    for gap in gaps:
        values = np.concatenate([np.linspace(2, 1, size - 2), [gap, 0.0]])
        clean = left * values @ right.T
        angles = []
        for _ in range(20):
            vector = np.linalg.svd(clean + amount * rng.normal(size=clean.shape))[2][-1]
            angles.append(np.sqrt(max(0.0, 1 - (vector @ right[:, -1]) ** 2)))
        rotations.append(np.median(angles))
    slope = np.polyfit(np.log(gaps), np.log(rotations), 1)[0]
    assert slope == pytest.approx(-1, abs=0.15)


def test_singular_values_of_dependent_columns():
    """Quantised records have columns that depend on each other exactly: rounding must not divide by zero there."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        n = int(rng.integers(3, 9))
        rank = int(rng.integers(1, n + 1))
        rows = (rng.integers(-2, 3, (n, rank)) @ rng.integers(-2, 3, (rank, n + 5))).astype(float)
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        found, _ = _singular(_triangle(rows))
        np.testing.assert_allclose(found, np.linalg.svd(rows, compute_uv=False), atol=1e-7)


@pytest.mark.parametrize("rows", [5, 60])
def test_singular_values_alone_are_those_of_the_null_space(rows):
    rng = np.random.default_rng(4)
    libraries = Library.total_degree(2, 1), Library.total_degree(2, 2)
    m_d, m_n = (rng.standard_normal((rows, len(library))) for library in libraries)
    system = ClosureSystem(m_d, 1e3 * m_n, *libraries)
    np.testing.assert_allclose(singular_values(system), null_space(system).singular_values, atol=1e-13)
