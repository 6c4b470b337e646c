"""Two hidden coordinates (order 4, docs/mathematics.md (3.18)–(3.20)): both are filters of what is recorded.

    u0' = u1,     u1' = A(u0, u1) + (u0 − p) v + w,     v' = (λ + μ u0) v + k(u0),     w' = −κ w + h v + c(u0)

With w eliminated this is a regular closure whose pole is a curve, u2' = a(u0, u1, u2) + D(u0, u1) v.  Given the rates
λ, μ and κ, v and w are filters of the record and all the rest is linear: no derivative above the first is taken of the
noise, which is what keeps other starts from order 4.  Rates come from a grid: the joint fit moves them by far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.signal import fftconvolve

from jetode.equations.polynomials import Exponents, Polynomial, add, derivative, evaluate, multiply, scale
from jetode.equations.regular import RegularClosure
from jetode.joint.forms.base import Candidate, Searched, Start
from jetode.joint.jets import Jets
from jetode.support.arrays import FloatArray
from jetode.support.compiled import kernel

ORDER = 4
RATE, SLOPE, SECOND = (0, 0, 0, 1), (1, 0, 0, 1), (0, 0, 1, 0)  # of a guess: λ, μ and −κ
ONE, U0, U1, U2 = (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)
SQUARE, PRODUCT = (2, 0, 0), (1, 1, 0)
RUNAWAY = 1e100  # of a filter


@dataclass(frozen=True)
class FilterSettings:
    """Numbers of the look for filters; times in tc, rates in 1/tc."""

    half: float = 1.5  # half the length of a test function: an oscillation is six
    power: int = 6  # of 1 − ξ²: its second derivative vanishes at the ends four times
    overlap: float = 4.0  # test functions per half length
    settle: float = 20.0  # at both ends of a record: what a slow filter there knows is mostly how it began
    rates: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0)  # −λ of a filter of constant rate: faster ones are derivatives
    slopes: tuple[float, ...] = (4.0, 8.0, 16.0, 32.0)  # |μ|: spikes
    crossings: tuple[float, ...] = (0.5, 0.75, 0.9)  # quantiles of ±u0 where the rate changes sign: mostly it decays
    seconds: tuple[float, ...] = (0.1, 0.3, 1.0)  # κ beside a constant rate,
    slow: tuple[float, ...] = (-0.3, -0.05, 0.05, 0.3)  # and beside one that varies: it may grow
    kept: int = 4  # guesses of each kind, by what they leave of u1': a rough order


SETTINGS = FilterSettings()


@dataclass(frozen=True)
class Filtered(Searched):
    """v a filter of constant rate, or of one that varies with u0."""

    constrainable = False

    def start(self, jets: Jets, guess: Polynomial) -> Start:
        """All that is linear by regression in weak form, w eliminated."""
        found = Regression.of(jets, WeakForm(jets), [guess])[0]
        closure, u2, v = found.eliminated(jets)
        return Start(self.terms(closure), np.column_stack([jets.u[:, :2], u2, v]))


@dataclass(frozen=True)
class Spiking(Filtered):
    """With a rate that varies v has spikes."""

    rounds = True


CONSTANT = Filtered(
    ORDER,
    (
        ("a", (ONE, U0, U1, U2, SQUARE, PRODUCT)),
        ("D", (U1, U0, ONE)),
        ("P", ((1, 0, 0, 0), RATE)),
    ),
)
VARYING = Spiking(
    ORDER,
    (
        ("a", (ONE, U0, U1, U2)),
        ("D", (U1, SQUARE, U0, ONE)),
        ("P", ((0, 0, 0, 0), RATE, SLOPE)),
    ),
)


def filtered_flows(jets: Jets) -> list[Candidate]:
    """Filters of either kind that leave least of u1'."""
    weak, out = WeakForm(jets), []
    if not weak.fits:
        return []
    for form, guesses in ((CONSTANT, constant_rates()), (VARYING, varying_rates(jets))):
        found = sorted(Regression.of(jets, weak, list(guesses)), key=lambda one: one.left)
        best = {(one.guess[RATE], one.guess.get(SLOPE)): one.guess for one in reversed(found)}  # with its likeliest κ
        out += [Candidate(form, guess, hold=0.0, fixed=False) for guess in [*best.values()][: -SETTINGS.kept - 1 : -1]]
    return out


def constant_rates() -> Iterator[Polynomial]:
    """v' = λ v + k u0."""
    for rate, second in product(SETTINGS.rates, SETTINGS.seconds):
        yield {RATE: -rate, SECOND: -second}


def varying_rates(jets: Jets) -> Iterator[Polynomial]:
    """v' = μ (u0 − crossing) v + k."""
    for sign, size, quantile, second in product((1.0, -1.0), SETTINGS.slopes, SETTINGS.crossings, SETTINGS.slow):
        crossing = float(np.quantile(sign * jets.u[:, 0], quantile))
        yield {SLOPE: sign * size, RATE: -size * crossing, SECOND: -second}


class WeakForm:
    """Integrals against ψ = (1 − ξ²)^power on windows all along the records."""

    def __init__(self, jets: Jets) -> None:
        self.jets = jets
        half = max(4, round(SETTINGS.half / jets.spacing))
        xi, p = np.arange(-half, half + 1) / half, SETTINGS.power
        bump, length = 1.0 - xi**2, half * jets.spacing
        self.kernels = (
            bump**p,
            -2.0 * p * xi * bump ** (p - 1) / length,
            (4.0 * p * (p - 1) * xi**2 * bump ** (p - 2) - 2.0 * p * bump ** (p - 1)) / length**2,
        )
        ends = half + round(SETTINGS.settle / jets.spacing)
        every = max(1, round(half / SETTINGS.overlap))
        self.centres = [np.arange(s.start + ends, s.stop - ends, every) for s in jets.pieces()]

    @property
    def fits(self) -> bool:
        """Whether there are more windows than a regression has columns, by far."""
        return sum(c.size for c in self.centres) > 40

    def __call__(self, values: FloatArray, order: int = 0) -> FloatArray:
        """∫ f^(order) ψ of columns f, the derivatives on ψ."""
        kernel = (-1.0) ** order * self.kernels[order][::-1, None] * self.jets.spacing
        whole = fftconvolve(values, kernel, mode="same", axes=0)
        return np.concatenate([whole[c] for c in self.centres])


@dataclass(frozen=True, eq=False)
class Regression:
    """u1' = A + (u0 − p) v + w at one guess of the rates: A, u0 − p, what v and w are gained from (``gain`` of k, and
    those of h or c), both at every sample, and the rms that is left in units of that of u1'."""

    guess: Polynomial
    a: Polynomial
    factor: Polynomial
    gain: float
    second: FloatArray
    v: FloatArray
    w: FloatArray
    left: float

    @classmethod
    def of(cls, jets: Jets, weak: WeakForm, guesses: Sequence[Polynomial]) -> list[Regression]:
        """The regressions of all guesses of one kind whose filters do not run away."""
        u0, varies = jets.u[:, :1], SLOPE in guesses[0]
        guesses, first = first_filters(jets, guesses)
        if not guesses:
            return []
        decays = np.broadcast_to([g[SECOND] for g in guesses], first.shape)
        sources = [first] if varies else [np.broadcast_to(f, first.shape) for f in (u0, u0**2)]
        seconds = np.stack([filtered(jets, decays, source) for source in sources], axis=-1)
        library: list[Exponents] = [ONE, U0, U1] if varies else [ONE, U0, U1, SQUARE]
        own = np.hstack([weak(u0, 1) if e == U1 else weak(u0 ** sum(e)) for e in library])
        hidden = [weak(f) for f in (u0 * first, first, *np.moveaxis(seconds, -1, 0))]
        target = weak(u0, 2)[:, 0]
        return [
            cls._solved(
                guess,
                library,
                np.column_stack([own, *(block[:, i] for block in hidden)]),
                target,
                (first[:, i], seconds[:, i]),
            )
            for i, guess in enumerate(guesses)
        ]

    @classmethod
    def _solved(
        cls,
        guess: Polynomial,
        library: Sequence[Exponents],
        columns: FloatArray,
        target: FloatArray,
        filters: tuple[FloatArray, FloatArray],
    ) -> Regression:
        """Least squares of the columns of A, u0 V, V and W, and what it leaves."""
        first, seconds = filters
        size, n = np.linalg.norm(columns, axis=0), len(library)
        c = np.linalg.lstsq(columns / size, target)[0] / size
        left = float(np.linalg.norm(target - columns @ c) / np.linalg.norm(target))
        gain, held, second = float(c[n]), float(c[n + 1]), c[n + 2 :]
        a = dict(zip(library, c.tolist(), strict=False))
        return cls(guess, a, {U0: 1.0, ONE: held / gain}, gain, second, gain * first, seconds @ second, left)

    def eliminated(self, jets: Jets) -> tuple[RegularClosure, FloatArray, FloatArray]:
        """The regular closure without w, and u2 and v, of std 1, at every sample."""
        varies, kappa = SLOPE in self.guess, -self.guess[SECOND]
        source: Polynomial = {ONE: self.gain} if varies else {U0: self.gain}
        added: Polynomial = {} if varies else dict(zip((U0, SQUARE), self.second.tolist(), strict=True))
        along = add(*(multiply(derivative(self.a, i), {e: 1.0}) for i, e in enumerate((U1, U2))))
        a = add(along, multiply(self.factor, source), scale(self.a, kappa), {U2: -kappa}, added)
        rate: Polynomial = {ONE: self.guess[RATE] + kappa, U0: self.guess.get(SLOPE, 0.0)}
        coupling: Polynomial = {ONE: float(self.second[0]) / self.gain if varies else 0.0}
        big_d = add({U1: 1.0}, multiply(self.factor, rate), coupling)
        spread = float(np.std(self.v))
        big_p = {(*e, 0): c / spread for e, c in source.items()} | {e: self.guess[e] for e in self.guess if e != SECOND}
        lower = np.column_stack([jets.u[:, :2], np.zeros(len(jets.u))])
        u2 = evaluate(self.a, lower) + evaluate(self.factor, lower) * self.v + self.w
        return RegularClosure(a, scale(big_d, spread), big_p, ORDER), u2, self.v / spread


def first_filters(jets: Jets, guesses: Sequence[Polynomial]) -> tuple[list[Polynomial], FloatArray]:
    """V of all guesses of one kind whose filter does not run away, and these guesses."""
    u0 = jets.u[:, :1]
    rates = np.column_stack([g[RATE] + g.get(SLOPE, 0.0) * u0[:, 0] for g in guesses])
    first = filtered(jets, rates, np.broadcast_to(1.0 if SLOPE in guesses[0] else u0, rates.shape))
    with np.errstate(invalid="ignore"):
        kept = np.max(np.abs(first), axis=0) < RUNAWAY
    return [guess for guess, stays in zip(guesses, kept, strict=True) if stays], first[:, kept]


def filtered(jets: Jets, rates: FloatArray, sources: FloatArray) -> FloatArray:
    """Columns of w' = rate w + source along each record: forward where the rate is negative in the mean, else backward,
    from where a steady one would be; not finite where it runs away all the same."""
    out = np.empty(rates.shape)
    backward = np.mean(rates, axis=0) > 0.0
    for piece in jets.pieces():
        for chosen, step, sign in ((~backward, 1, 1.0), (backward, -1, -1.0)):
            rate, source = sign * rates[piece][::step, chosen], sign * sources[piece][::step, chosen]
            out[piece, chosen] = _run(rate, source, jets.spacing)[::step]
    return out


def _run(rates: FloatArray, sources: FloatArray, spacing: float) -> FloatArray:
    """The filter from the first sample on, the rate and the source by the trapezoidal rule."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        decay = np.exp(0.5 * spacing * (rates[1:] + rates[:-1]))
        push = 0.5 * spacing * (decay * sources[:-1] + sources[1:])
        out = np.empty(rates.shape)
        out[0] = -np.mean(sources, axis=0) / np.mean(rates, axis=0)
    _recur(np.ascontiguousarray(decay), np.ascontiguousarray(push), out)
    return out


@kernel(error_model="numpy", _nrt=False)
def _recur(decay: FloatArray, push: FloatArray, out: FloatArray) -> None:
    """w_{i+1} = decay_i w_i + push_i, column by column, from the first row on."""
    for i in range(push.shape[0]):
        for c in range(push.shape[1]):
            out[i + 1, c] = decay[i, c] * out[i, c] + push[i, c]
