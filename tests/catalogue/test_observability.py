"""Observability: the paper's two screening tables, constant δ for Rössler y, det J against the closure."""

import numpy as np
import pytest
import sympy

from jetode.catalogue.observability import observability, screen
from jetode.catalogue.systems import systems
from jetode.support.errors import InputError

# median, p1, p95, fraction below 1e-3 (tables of the paper)
LORENZ = {
    "z": (3.63e-5, 8.03e-7, 5.29e-4, 0.973),
    "x + y + z": (2.50e-5, 1.33e-8, 1.61e-4, 1.000),
    "y + z": (1.87e-5, 3.43e-8, 2.32e-4, 0.996),
    "x + z": (8.56e-6, 2.39e-9, 4.85e-5, 1.000),
    "x**2 + y**2 + (z - 27)**2": (8.23e-6, 7.99e-10, 8.43e-4, 0.962),
    "x": (7.17e-6, 1.62e-9, 1.93e-5, 1.000),
    "x + y": (5.92e-6, 2.83e-9, 9.99e-5, 1.000),
    "y": (4.89e-6, 2.05e-9, 1.51e-4, 1.000),
    "x**2 - z": (2.02e-6, 2.98e-9, 4.29e-5, 1.000),
    "x*y": (1.17e-6, 1.13e-10, 3.84e-5, 1.000),
    "x**2 + y**2": (4.56e-7, 9.11e-11, 6.98e-6, 1.000),
    "x*y*z": (3.37e-7, 2.59e-11, 1.51e-5, 1.000),
}
ROSSLER = {
    "y": (1.41e-1, 1.41e-1, 1.41e-1, 0.000),
    "x + y": (2.82e-2, 2.16e-4, 1.08e-1, 0.029),
    "x": (1.28e-2, 8.63e-6, 8.04e-2, 0.056),
    "x*y": (1.08e-2, 6.65e-6, 1.69e-2, 0.106),
    "x**2 - z": (1.13e-3, 8.19e-7, 7.23e-3, 0.476),
    "x**2 + y**2": (1.00e-3, 3.17e-7, 6.29e-2, 0.499),
    "x + y + z": (3.41e-4, 1.07e-5, 4.53e-2, 0.623),
    "y + z": (2.57e-4, 1.67e-5, 3.88e-2, 0.659),
    "x + z": (1.83e-4, 2.58e-6, 2.96e-2, 0.689),
    "x*y*z": (2.23e-7, 3.40e-10, 5.55e-4, 0.973),
    "z": (6.74e-9, 1.61e-11, 3.86e-4, 0.975),
}


@pytest.mark.parametrize(("name", "table"), [("lorenz", LORENZ), ("rossler", ROSSLER)])
def test_papers_table(name: str, table: dict[str, tuple[float, float, float, float]]) -> None:
    """Ranking and every median, on two long stretches: which one the paper took is not said."""
    other = systems[name].simulate(4000.0, dt=0.05, transient=1000.0)
    for found in (screen(systems[name], table), screen(systems[name], table, other)):
        assert [row.observable for row in found] == list(table)
        for row in found:
            median, _, p95, weak = table[row.observable]
            assert row.median == pytest.approx(median, rel=0.1), row.observable
            assert row.p95 == pytest.approx(p95, rel=0.25), row.observable
            assert row.weak_fraction == pytest.approx(weak, abs=0.02), row.observable
            assert row.uniform == (name == "rossler" and row.observable == "y")


def test_rossler_y_is_uniform() -> None:
    y = observability(systems["rossler"], "y")
    assert np.allclose(y.delta, 0.141, atol=5e-4)
    assert np.allclose(np.abs(y.determinant), 1.0) and abs(y.expression) == 1


def test_weakest_region_of_lorenz_x() -> None:
    x = observability(systems["lorenz"], "x", systems["lorenz"].simulate(4000.0, dt=0.05, transient=500.0))
    near = x.within(lambda x, y, z: abs(x) < 0.5)
    assert near.delta.size / x.delta.size == pytest.approx(0.048, abs=0.004)
    assert near.median == pytest.approx(1.2e-8, rel=0.2)
    assert np.isnan(x.within(lambda x, y, z: x > 1e9).median)


def test_determinant_vanishes_with_the_denominator() -> None:
    x, _, z = sympy.symbols("x y z")
    assert sympy.expand(observability(systems["lorenz"], "x").expression + 100 * x) == 0
    rossler = observability(systems["rossler"], "x").expression
    assert sympy.expand(rossler.subs(z, 0)).subs(x, sympy.Rational(59, 10)) == 0


def test_delta_is_the_ratio_of_eigenvalues() -> None:
    trajectory = systems["chua"].simulate(5.0)
    row = observability(systems["chua"], "x + z**2", trajectory)
    sample = trajectory.states[17]
    symbols = sympy.symbols("x y z")
    x, y, z = symbols
    rate = [10 * (y + (x - 2 * x**3) / 7), x - y + z, -sympy.Rational(100, 7) * y]
    jets = [x + z**2]
    for _ in range(2):
        jets.append(sum(jets[-1].diff(s) * f for s, f in zip(symbols, rate, strict=True)))
    jacobian = sympy.lambdify(symbols, sympy.Matrix(jets).jacobian(symbols))(*sample)
    eigenvalues = np.linalg.eigvalsh(jacobian.T @ jacobian)
    assert row.delta[17] == pytest.approx(eigenvalues[0] / eigenvalues[-1], rel=1e-6)
    assert row.determinant[17] == pytest.approx(np.linalg.det(jacobian), rel=1e-9)


def test_four_dimensions_and_two() -> None:
    for name in ("hyper_rossler", "van_der_pol"):
        row = observability(systems[name], "x", systems[name].simulate(20.0))
        assert np.all((row.delta >= 0) & (row.delta <= 1))


def test_needs_polynomial_equations() -> None:
    with pytest.raises(InputError, match="thomas"):
        observability(systems["thomas"], "x")
