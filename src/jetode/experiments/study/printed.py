"""What the paper prints, as data; every entry names its table, figure or section.  Nothing here is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from jetode.equations.polynomials import Exponents


@dataclass(frozen=True)
class PrintedCell:
    """One row of Table (vpt), and of the denominator's error in Sec. 4.2; None where the paper gives no number."""

    best: float
    top_five: float
    best_lyapunov: float
    top_five_lyapunov: float
    median: float | None
    denominator_error: float


# Table (vpt); medians from Sec. 4.1; denominator errors from Secs. 4.1 and 4.2
VPT: Mapping[tuple[str, float], PrintedCell] = MappingProxyType(
    {
        ("lorenz", 0.0): PrintedCell(20.0, 20.0, 18.1, 18.1, 11.6, 5.0e-5),
        ("lorenz", 0.15): PrintedCell(4.21, 3.66, 3.81, 3.32, None, 0.28),
        ("lorenz", 0.30): PrintedCell(4.33, 3.67, 3.92, 3.32, None, 0.21),
        ("rossler", 0.0): PrintedCell(100.0, 100.0, 7.10, 7.10, None, 2.4e-7),
        ("rossler", 0.15): PrintedCell(10.0, 7.78, 0.71, 0.55, None, 0.94),
        ("rossler", 0.30): PrintedCell(8.61, 7.83, 0.61, 0.56, None, 0.99),
    }
)


@dataclass(frozen=True)
class PrintedClosure:
    """Tables (coeff_clean_lorenz) and (coeff_clean_rossler): N*, each monomial's error, totals, κ."""

    numerator: Mapping[Exponents, tuple[float, float]]
    kappa: float
    numerator_error: float
    denominator_error: float


CLOSURES: Mapping[str, PrintedClosure] = MappingProxyType(
    {
        "lorenz": PrintedClosure(
            {
                (0, 1, 1): (3, 4.2e-8),
                (0, 2, 0): (33, 1.1e-6),
                (1, 0, 1): (-41, 7.2e-8),
                (1, 1, 0): (-88, 9.8e-6),
                (2, 0, 0): (2160, 3.2e-5),
                (3, 1, 0): (-3, 1.5e-7),
                (4, 0, 0): (-30, 4.0e-7),
            },
            3.0,
            3.3e-5,
            5.0e-5,
        ),
        "rossler": PrintedClosure(
            {
                (0, 0, 0): (-118, 3.4e-8),
                (0, 0, 1): (1.622e4, 5.2e-6),
                (0, 1, 0): (-313, 9.7e-8),
                (0, 1, 1): (500, 2.6e-7),
                (0, 2, 0): (-100, 2.0e-8),
                (1, 0, 0): (1.684e4, 5.4e-6),
                (1, 0, 1): (-5700, 2.8e-6),
                (1, 1, 0): (1160, 4.7e-7),
                (2, 0, 0): (-5800, 2.8e-6),
                (2, 0, 1): (500, 3.6e-7),
                (2, 1, 0): (-100, 1.9e-7),
                (3, 0, 0): (500, 3.4e-7),
            },
            500.0,
            8.4e-6,
            2.4e-7,
        ),
    }
)

# Secs. 4.1 and 4.2: (d_D, d_N), the same at every noise level; Table (settings) has d_N = 4 for both systems
DEGREES: Mapping[str, tuple[int, int]] = MappingProxyType({"lorenz": (1, 4), "rossler": (1, 3)})
SETTINGS_DEGREE = 4

# Fig. (fnn): delay in samples; the fraction is below 1 % at m = 3
DELAYS: Mapping[str, int] = MappingProxyType({"lorenz": 16, "rossler": 84})
DIMENSION = 3


@dataclass(frozen=True)
class PrintedDirection:
    """Sec. 5.1 and Fig. (pole_decoupling), noisy Lorenz."""

    median_cos_d: float = 0.93
    share_cos_n_above: float = 0.25
    largest_rank_correlation: float = 0.04
    longest_cos_n: float = 0.04
    pole_spread: float = 0.27
    sign_reversals: float = 0.5


DIRECTION = PrintedDirection()


@dataclass(frozen=True)
class PrintedObservable:
    """One row of Tables (observability_alternatives) and (observability_rossler)."""

    expression: str
    median: float
    p1: float
    p95: float
    weak: float
    uniform: bool


OBSERVABLES: Mapping[str, tuple[PrintedObservable, ...]] = MappingProxyType(
    {
        "lorenz": (
            PrintedObservable("z", 3.63e-5, 8.03e-7, 5.29e-4, 0.973, False),
            PrintedObservable("x+y+z", 2.50e-5, 1.33e-8, 1.61e-4, 1.000, False),
            PrintedObservable("y+z", 1.87e-5, 3.43e-8, 2.32e-4, 0.996, False),
            PrintedObservable("x+z", 8.56e-6, 2.39e-9, 4.85e-5, 1.000, False),
            PrintedObservable("x**2+y**2+(z-27)**2", 8.23e-6, 7.99e-10, 8.43e-4, 0.962, False),
            PrintedObservable("x", 7.17e-6, 1.62e-9, 1.93e-5, 1.000, False),
            PrintedObservable("x+y", 5.92e-6, 2.83e-9, 9.99e-5, 1.000, False),
            PrintedObservable("y", 4.89e-6, 2.05e-9, 1.51e-4, 1.000, False),
            PrintedObservable("x**2-z", 2.02e-6, 2.98e-9, 4.29e-5, 1.000, False),
            PrintedObservable("x*y", 1.17e-6, 1.13e-10, 3.84e-5, 1.000, False),
            PrintedObservable("x**2+y**2", 4.56e-7, 9.11e-11, 6.98e-6, 1.000, False),
            PrintedObservable("x*y*z", 3.37e-7, 2.59e-11, 1.51e-5, 1.000, False),
        ),
        "rossler": (
            PrintedObservable("y", 1.41e-1, 1.41e-1, 1.41e-1, 0.000, True),
            PrintedObservable("x+y", 2.82e-2, 2.16e-4, 1.08e-1, 0.029, False),
            PrintedObservable("x", 1.28e-2, 8.63e-6, 8.04e-2, 0.056, False),
            PrintedObservable("x*y", 1.08e-2, 6.65e-6, 1.69e-2, 0.106, False),
            PrintedObservable("x**2-z", 1.13e-3, 8.19e-7, 7.23e-3, 0.476, False),
            PrintedObservable("x**2+y**2", 1.00e-3, 3.17e-7, 6.29e-2, 0.499, False),
            PrintedObservable("x+y+z", 3.41e-4, 1.07e-5, 4.53e-2, 0.623, False),
            PrintedObservable("y+z", 2.57e-4, 1.67e-5, 3.88e-2, 0.659, False),
            PrintedObservable("x+z", 1.83e-4, 2.58e-6, 2.96e-2, 0.689, False),
            PrintedObservable("x*y*z", 2.23e-7, 3.40e-10, 5.55e-4, 0.973, False),
            PrintedObservable("z", 6.74e-9, 1.61e-11, 3.86e-4, 0.975, False),
        ),
    }
)
# Sec. 5.2 and App. (observability_screening): Lorenz x within |x| < 0.5; Rössler y everywhere
POLE_REGION_SHARE = 0.048
POLE_REGION_MEDIAN = 1.2e-8
POLE_REGION_RATIO = 657.0
ROSSLER_Y_DELTA = 0.141

# Table (method_comparison): method, details, observable, horizon in Lorenz time as the sources report it
METHODS: tuple[tuple[str, str, str, str], ...] = (
    ("Autoregressive", "local linear model, delay coordinates", "x", "4.5"),
    ("Neural difference equation", "neural map, latent space", "x", "11"),
    ("Neural ODE", "adjoint training, latent space", "x", "0.5"),
    ("Echo-state network", "scalar input, median over initial conditions", "x", "≈ 4.5"),
    ("Self-consistent (delay)", "Wang & Guet, delay coordinates", "x", "8.5"),
    ("Self-consistent (latent)", "Wang & Guet, autoencoder latent", "x", "11.5"),
    ("The paper", "rational closure, jet coordinates", "x", "11.6 (median), 20 (best)"),
    ("LSTM", "full observation and derivatives", "x, y, z", "3"),
    ("Next-generation reservoir", "polynomial (NVAR) reservoir", "x, y, z", "≈ 5.5"),
    ("Reservoir computer", "echo-state network", "x, y, z", "≈ 7"),
)

# App. (tol): Λ of Eq. (vpt_ceiling) at rtol 1e-8 for Lorenz, and the median it is held against
CEILING_LYAPUNOV = 11.4
MEDIAN_LYAPUNOV = 10.5

# Table (settings), in its own order
SETTINGS: tuple[tuple[str, str], ...] = (
    ("Lorenz (σ, ρ, β)", "(10, 28, 8/3)"),
    ("Rössler (a, b, c)", "(0.2, 0.2, 5.7)"),
    ("Scalar observable", "s = x"),
    ("Sampling step Δt", "0.01"),
    ("Initial state U(0)", "(1, 0, 0), both systems"),
    ("Transient", "50"),
    ("Noise σ_frac", "0, 0.15, 0.30; σ_η = σ_frac std(s)"),
    ("Lorenz (t_total, H)", "(60, 20) clean, (60, 10) noisy"),
    ("Rössler (t_total, H)", "(200, 100) clean, (60, 10) noisy"),
    ("Realizations per system per noise level", "5,000"),
    ("Initial-condition windows", "8, interior"),
    ("Coordinates", "3: (u0, u1, u2)"),
    ("FNN delay τ (Lorenz, Rössler)", "16, 84 samples"),
    ("Spline", "quintic Reinsch"),
    ("Penalty weight λ", "N σ̂²"),
    ("Noise scale σ̂", "1.4826 MAD(Δ²y)/√6"),
    ("Test function ψ(ξ)", "(1 − ξ²)⁴"),
    ("Windows K, half-width R", "200, 20 samples"),
    ("Denominator library Φ_D", "{1, u0} (d_D = 1)"),
    ("Numerator library Φ_N", "degree ≤ 4 in (u0, u1, u2), 35 monomials"),
    ("Denominator recovery", "global SVD (clean); average over 12 windows of 120 samples (noisy)"),
    ("Numerator solve", "ordinary least squares"),
    ("Integrator", "DOP853"),
    ("rtol, atol", "1e-8, 1e-10"),
    ("max_step", "0.05"),
    ("Error threshold", "0.2"),
    ("Sustained run", "20 consecutive samples"),
    ("Normalization", "std of the truth on [0, H]"),
)
