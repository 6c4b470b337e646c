"""Strong form, and weak form (docs/mathematics.md (1.4), (1.5); the paper's Eqs. MD_entries, MN_entries), any n ≥ 2.

Strong: rows u_n Φ_D − Φ_N at samples.  Weak: test functions ψ_k = (1 − ξ²)^p on 2R + 1 samples and Φ_D free
of u_{n−1} (the paper's u2), so that one integration by parts removes u_n:

    (M_D)_kj = −∫ u_{n−1} (φ_j ψ_k' + φ̇_j ψ_k) dt,   φ̇_j = Σ_{i<n−1} (∂φ_j/∂u_i) u_{i+1},
    (M_N)_kl = ∫ φ_l ψ_k dt.

Both are built in dimensionless jets: amplitude in units of std(u0), time in units of tc = std(u0)/std(u1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from jetode.equations.polynomials import Library
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.compiled import kernel, leaf
from jetode.support.errors import InputError

Placement = Literal["even", "random"]
Quadrature = Literal["parts", "trapezoid"]

BLOCK = 512  # samples whose monomials are tabulated at a time, few enough for the second-level cache
# central difference of order 12 for the first derivative, offsets 1 … 6
DIFFERENCE = (6 / 7, -15 / 56, 5 / 63, -1 / 56, 1 / 385, -1 / 5544)


@dataclass(frozen=True)
class Window:
    """ψ(ξ) = (1 − ξ²)^exponent on ``half_width`` samples to each side, and how it is integrated.

    The trapezoid rule with the exact ψ' misses that ∫ (gψ)' = 0 by 1e-4 of the coefficients (R = 20, p = 4).
    "parts" takes for ψ' the order-12 difference of the sampled ψ, which is summation by parts: the discrete
    identity then holds as well as the record resolves g, whatever R and p.
    """

    half_width: int = 20
    exponent: int = 4
    quadrature: Quadrature = "parts"

    def __post_init__(self) -> None:
        for name, lowest in (("half_width", 2), ("exponent", 1)):
            value = getattr(self, name)
            if value < lowest:
                raise InputError(f"The '{name}' parameter must be an int ≥ {lowest}. Got {value} instead.")
        if self.quadrature not in get_args(Quadrature):
            raise InputError(
                f"The 'quadrature' parameter must be 'parts' or 'trapezoid'. Got {self.quadrature!r} instead."
            )

    @property
    def reach(self) -> int:
        """Samples used to each side of the centre."""
        return self.half_width + (len(DIFFERENCE) if self.quadrature == "parts" else 0)

    @lru_cache(maxsize=64)  # noqa: B019 - few windows, and small ones
    def weights(self) -> tuple[FloatArray, FloatArray]:
        """Weights of ∫ · ψ dt and ∫ · ψ' dt at −reach … reach, for a time step of 1."""
        xi = np.arange(-self.half_width, self.half_width + 1) / self.half_width
        psi = (1.0 - xi**2) ** self.exponent
        if self.quadrature == "parts":
            margin = len(DIFFERENCE)
            padded = np.pad(psi, 2 * margin)
            size = psi.shape[0] + 2 * margin
            slope = np.zeros(size)
            for k, c in enumerate(DIFFERENCE, start=1):
                slope += c * (padded[margin + k :][:size] - padded[margin - k :][:size])
            return np.pad(psi, margin), slope
        slope = -2.0 * self.exponent * xi * (1.0 - xi**2) ** (self.exponent - 1) / self.half_width
        slope[[0, -1]] /= 2.0
        return psi, slope


@dataclass(frozen=True)
class Scales:
    """Units in which a record is dimensionless; values are scaled, never shifted."""

    amplitude: float
    time: float

    @classmethod
    def of(cls, jets: FloatArray) -> Scales:
        """std(u0) and tc = std(u0)/std(u1) of the jets (N, ≥ 2)."""
        amplitude = float(np.std(jets[:, 0]))
        return cls(amplitude, amplitude / float(np.std(jets[:, 1])))

    def powers(self, count: int) -> FloatArray:
        """Unit of each jet coordinate u0 … u_{count−1}."""
        return self.amplitude / self.time ** np.arange(count, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ClosureSystem:
    """The homogeneous system [M_D, −M_N] θ = 0, Eq. (weak_system)."""

    m_d: FloatArray
    m_n: FloatArray
    denominator: Library
    numerator: Library

    @property
    def matrix(self) -> FloatArray:
        """[M_D, −M_N]."""
        return np.hstack([self.m_d, -self.m_n])

    def rows(self, first: int, last: int) -> ClosureSystem:
        """The system of rows ``first`` … ``last`` − 1."""
        return ClosureSystem(self.m_d[first:last], self.m_n[first:last], self.denominator, self.numerator)


def strong_form(jets: FloatArray, denominator: Library, numerator: Library) -> ClosureSystem:
    """One row per sample of ``jets`` (N, n + 1): u_n ⊙ Φ_D and Φ_N."""
    points = np.ascontiguousarray(jets[:, :-1])
    return ClosureSystem(
        jets[:, -1:] * denominator.evaluate(points), numerator.evaluate(points), denominator, numerator
    )


def place_windows(
    first: int,
    last: int,
    count: int,
    reach: int,
    placement: Placement = "even",
    seed: int | np.random.Generator = 0,
) -> IntArray:
    """Centres, ascending, of at most ``count`` different windows inside samples ``first`` … ``last``."""
    if placement not in get_args(Placement):
        raise InputError(f"The 'placement' parameter must be 'even' or 'random'. Got {placement!r} instead.")
    low, high = first + reach, last - reach
    if high < low:
        raise InputError(
            f"A test function needs {2 * reach + 1} samples and there are {last - first + 1}: "
            "lower 'half_width' or give a longer record."
        )
    if placement == "even":
        centres = np.round(np.linspace(low, high, count)).astype(np.int64)
        return centres[np.append(True, centres[1:] > centres[:-1])]
    available = high - low + 1
    rng = np.random.default_rng(seed)
    return np.sort(low + rng.choice(available, size=min(count, available), replace=False)).astype(np.int64)


def weak_form(
    jets: FloatArray, dt: float, denominator: Library, numerator: Library, centres: IntArray, test: Window
) -> ClosureSystem:
    """One row per window centre, integrated over the samples of ``jets`` (N, ≥ n)."""
    n = numerator.n_variables
    if any(e[n - 1] for e in denominator.exponents):
        raise InputError(f"The weak form needs a denominator without the highest coordinate u{n - 1}.")
    psi, slope = test.weights()
    size_d, size_n, longest = denominator.parent.size, numerator.parent.size, max(BLOCK, psi.size)
    table_d, table_n = np.empty((centres.size, size_d)), np.empty((centres.size, size_n))
    _assemble(
        np.ascontiguousarray(jets[:, :n]),
        centres,
        min(int(np.argmax(psi != 0.0)), psi.size // 2),
        psi * dt,
        slope,
        (denominator.parent, denominator.variable),
        (numerator.parent, numerator.variable),
        (table_d, table_n),
        tuple(np.empty((size, longest)) for size in (n, size_d, size_d, size_n)),
    )
    return ClosureSystem(table_d[:, denominator.slots], table_n[:, numerator.slots], denominator, numerator)


@kernel(fastmath={"reassoc", "contract"}, error_model="numpy", _nrt=False)
def _assemble(
    jets: FloatArray,
    centres: IntArray,
    tail: int,
    psi: FloatArray,
    slope: FloatArray,
    program_d: tuple[IntArray, IntArray],
    program_n: tuple[IntArray, IntArray],
    out: tuple[FloatArray, FloatArray],
    scratch: tuple[FloatArray, ...],
) -> None:
    """Integrals of all monomials of both programs over all windows; ψ is zero in ``tail`` samples at each end.

    Overlapping windows form a block whose monomials are tabulated once, monomial by monomial over samples,
    so that both the table and the sums run in vector registers.
    """
    m_d, m_n = out
    u, table_d, rate_d, table_n = scratch
    parent_d, variable_d = program_d
    order, longest = u.shape
    width = psi.shape[0]
    radius = width // 2
    inner = psi[tail : width - tail]
    n_windows = centres.shape[0]
    k = 0
    while k < n_windows:
        begin = centres[k] - radius
        last = k
        while last + 1 < n_windows and centres[last + 1] - centres[last] <= 2 * radius:
            if centres[last + 1] + radius + 1 - begin > longest:
                break
            last += 1
        length = centres[last] + radius + 1 - begin
        for i in range(order):
            for t in range(length):
                u[i, t] = jets[begin + t, i]
        _tabulate(u, length, program_n, table_n)
        _tabulate(u, length, program_d, table_d)
        for t in range(length):
            rate_d[0, t] = 0.0
        for j in range(1, parent_d.shape[0]):  # d(φ u_v)/dt = φ̇ u_v + φ u_{v+1}
            v, p = variable_d[j], parent_d[j]
            rate, phi, factor, slower, target = rate_d[p], table_d[p], u[v], u[v + 1], rate_d[j]
            for t in range(length):
                target[t] = rate[t] * factor[t] + phi[t] * slower[t]
        for w in range(k, last + 1):
            first = centres[w] - radius - begin
            highest = u[order - 1, first:]
            for j in range(parent_d.shape[0]):
                values, rates = table_d[j, first:], rate_d[j, first:]
                total = 0.0
                for t in range(width):
                    total -= highest[t] * (values[t] * slope[t] + rates[t] * psi[t])
                m_d[w, j] = total
            for j in range(m_n.shape[1]):
                values = table_n[j, first + tail :]
                total = 0.0
                for t in range(inner.shape[0]):
                    total += values[t] * inner[t]
                m_n[w, j] = total
        k = last + 1


@leaf()
def _tabulate(u: FloatArray, length: int, program: tuple[IntArray, IntArray], table: FloatArray) -> None:
    parent, variable = program
    for t in range(length):
        table[0, t] = 1.0
    for k in range(1, parent.shape[0]):
        source, factor, target = table[parent[k]], u[variable[k]], table[k]
        for t in range(length):
            target[t] = source[t] * factor[t]
