"""Which function of which coordinate a record asks for, from its weak form (docs/mathematics.md (8.7), (8.8)).

For every coordinate v and every named function f the equation

    u_n = c + Σ_j c_j u_j + Σ_k b_k (d/dt)^k f(v; p)

is linear but for p: coefficients are projected out, p is looked for on a grid and then by least squares.  The smoothed
argument makes all of this a start, on which the joint fit decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jetode.equations.curve_basis import basis
from jetode.equations.elements import Element, Shape
from jetode.equations.polynomials import Library, total_degree_exponents
from jetode.joint.elements.guesses import GUESSES, sensible
from jetode.joint.elements.weak_form import Argument, Projection, WeakForm
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class DiscoverySettings:
    """Numbers of the first look, each with its reason."""

    carried: int = 14  # functions whose parameters are improved, of some fifty: the grid is coarse, its order rough
    refined: int = 2  # guesses of each
    begun: int = 2  # functions that a fit with model error begins from: it takes seconds each
    unexplained: float = 0.12  # of the target's sum of squares: what leaves more in weak form is another equation
    gain: float = 20.0  # of BIC over the equation without the function: less is noise in a few rows
    evaluations: int = 10  # of the improvement: to a percent, which is all the smoothing leaves
    converged: float = 1e-3  # relative fall of the sum of squares below which the improvement ends
    curve_leaves: float = 0.9  # of the noise: 0.7 where it is right (terms carry some), 1.4 and more of a pole's curve
    function_excess: float = 0.1  # over the noise: −0.3 to 0.05 where it is right, 0.2 of a quadratic jerk
    modes: int = 8  # of a free curve: as many as tell a kink from a parabola


DISCOVERY = DiscoverySettings()
WORTHWHILE = 2.0  # rows per column from which on a QR decomposition pays
TINY, RIDGE = 1e-20, 1e-10  # against columns that vanish or repeat each other
DAMPING = (1e-3, 0.2, 6.0)  # Levenberg's: the first, and its factors after a step that helps and one that does not


@dataclass(frozen=True)
class Suggestion:
    """Elements in a linear equation of some order, ``spread`` over the derivatives of the element or in the last row
    alone; the ``bic`` of the weak form, with the share of the target that is left.  A ``bare`` one has no constant and
    no linear term of its argument beside it, as a pendulum has none beside its sine.  With a ``mix`` the last
    coordinate is the combination w = u_{n−1} − Σ_j mix_j u_j, which the element is a function of."""

    order: int
    elements: tuple[Element, ...]
    spread: bool
    bic: float
    left: float
    bare: bool = False
    mix: tuple[float, ...] = ()

    @property
    def linear(self) -> tuple[int, ...]:
        """Which of 1, u_0 … u_{n−1} stand beside the elements."""
        gone = (0, 1 + self.elements[0].variable) if self.bare else ()
        return tuple(i for i in range(1 + self.order) if i not in gone)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of its elements."""
        return tuple(e.kind for e in self.elements)

    @property
    def functions(self) -> frozenset[Shape]:
        """Names of its elements with the coordinates that they are of."""
        return frozenset(e.shape for e in self.elements)

    @property
    def coordinates(self) -> tuple[int, ...]:
        """The coordinates that its elements are of, in order."""
        return tuple(sorted(v for e in self.elements for v in e.coordinates))

    @property
    def of_product(self) -> bool:
        """Whether it is the equation behind a pole with a function of a product, (8.11)."""
        return self.elements[0].partner is not None

    @property
    def rough(self) -> bool:
        """Whether what its function is of is known roughly at first."""
        return bool(self.mix) or self.of_product


def bic_of(residual: float, rows: int, parameters: int) -> float:
    """Of a least-squares fit that leaves the sum of squares ``residual``."""
    return float(rows * np.log(max(residual, 1e-300) / rows) + parameters * np.log(rows))


@dataclass(frozen=True, eq=False)
class Look:
    """One coordinate as the argument of functions: its weak integrals with what other terms carry taken off."""

    argument: Argument
    operators: tuple[FloatArray, ...]
    target: FloatArray

    @classmethod
    def of(cls, argument: Argument, base: Projection, count: int) -> Look:
        """With ``count`` derivatives of the function, and the projection on all that is there without it; of many rows
        only the triangle of their QR decomposition, which has the same sums of squares."""
        operators, target = tuple(map(base.without, argument.operators[:count])), base.target
        columns = sum(operator.shape[1] for operator in operators)
        if target.size > WORTHWHILE * columns:
            triangle = np.linalg.qr(np.column_stack([*operators, target]), mode="r")
            *parts, target = np.split(triangle, np.cumsum([operator.shape[1] for operator in operators]), axis=1)
            operators, target = tuple(map(np.ascontiguousarray, parts)), target[:, 0].copy()
        return cls(argument, operators, target)

    def values(self, kind: str, parameters: Sequence[float]) -> FloatArray:
        """A function at the places, of size 1; zero where it cannot be computed."""
        with np.errstate(all="ignore"):
            values = Element(kind, self.argument.variable, tuple(parameters))(self.argument.places)
            values = values / np.abs(values).max()
        return values if np.isfinite(values).all() else np.zeros_like(values)

    def residual(self, kind: str, parameters: Sequence[float]) -> FloatArray:
        """What a function leaves of the target."""
        values = self.values(kind, parameters)
        columns = np.column_stack([operator @ values for operator in self.operators])
        scale = np.linalg.norm(columns, axis=0)
        if not np.all(scale > 1e-12):
            return self.target
        basis = np.linalg.qr(columns / scale)[0]
        return np.asarray(self.target - basis @ (basis.T @ self.target))

    def ranked(self, kind: str) -> list[tuple[float, tuple[float, ...]]]:
        """The guesses of a kind with the sum of squares that each leaves, best first."""
        guesses = list(GUESSES[kind](self.argument.samples))
        if not guesses:
            return []
        values = np.column_stack([self.values(kind, guess) for guess in guesses])
        columns = np.stack([operator @ values for operator in self.operators], axis=-1).transpose(1, 0, 2)
        gram = columns.transpose(0, 2, 1) @ columns
        size = np.sqrt(np.maximum(np.einsum("gii->gi", gram), TINY))
        scaled = gram / (size[:, :, None] * size[:, None, :]) + RIDGE * np.eye(gram.shape[1])
        against = (self.target @ columns) / size
        gains = np.einsum("gi,gi->g", against, np.linalg.solve(scaled, against[..., None])[..., 0])
        total = float(self.target @ self.target)
        return sorted((total - float(gain), guess) for gain, guess in zip(gains, guesses, strict=True))

    def best(self, kind: str, guesses: Sequence[tuple[float, ...]]) -> tuple[Element, float] | None:
        """The best parameters of a kind from these guesses, and what it leaves; None where none makes sense.  Where the
        improved ones do not, as those of a sine that would best be a cube, the guesses themselves."""
        tried = [*(self._improved(kind, guess) for guess in guesses), *guesses]
        tried = [p for p in tried if sensible(kind, p, self.argument.samples) and np.any(self.values(kind, p))]
        lefts = [float(np.sum(self.residual(kind, p) ** 2)) for p in tried]
        if not tried:
            return None
        j = int(np.argmin(lefts))
        return Element(kind, self.argument.variable, tried[j]), lefts[j]

    def _improved(self, kind: str, guess: tuple[float, ...]) -> tuple[float, ...]:
        """Parameters by least squares from a guess, the coefficients projected out (Kaufman 1975)."""
        here = self._varied(kind, np.array(guess)) if guess else None
        damping, better, worse = DAMPING
        for _ in range(DISCOVERY.evaluations):
            if here is None:
                break
            slope = here.slope / np.maximum(np.linalg.norm(here.slope, axis=0), TINY)
            size = np.linalg.norm(here.slope, axis=0) + TINY
            step = np.linalg.solve(slope.T @ slope + damping * np.eye(size.size), slope.T @ here.rest) / size
            there = self._varied(kind, here.parameters + step)
            if there is None or not there.left < here.left:
                damping *= worse
                continue
            small = here.left - there.left < DISCOVERY.converged * here.left
            here, damping = there, damping * better
            if small:
                break
        return guess if here is None else tuple(here.parameters.tolist())

    def _varied(self, kind: str, parameters: FloatArray) -> Varied | None:
        """What a function leaves of the target, and how that falls with its parameters; None where it has no values."""
        with np.errstate(all="ignore"):
            values, _, by_parameter = Element(kind, self.argument.variable, tuple(parameters.tolist())).derivatives(
                self.argument.places
            )
        if not (np.isfinite(values).all() and np.isfinite(by_parameter).all() and np.any(values)):
            return None
        size = float(np.abs(values).max())
        columns = np.column_stack([operator @ (values / size) for operator in self.operators])
        scale = np.linalg.norm(columns, axis=0)
        if not np.all(scale > 1e-12):
            return None
        q, r = np.linalg.qr(columns / scale)
        carried = q.T @ self.target
        with np.errstate(over="ignore", invalid="ignore"):  # of a function that is all but 0 where the record has been
            gains = np.linalg.lstsq(r, carried, rcond=RIDGE)[0] / scale / size
            moved = sum(gain * (operator @ by_parameter) for gain, operator in zip(gains, self.operators, strict=True))
        if not np.isfinite(moved).all():
            return None
        rest = self.target - q @ carried
        return Varied(parameters, rest, np.asarray(moved - q @ (q.T @ moved)), float(rest @ rest))


@dataclass(frozen=True, eq=False)
class Varied:
    """A function at some parameters: what it leaves of the target (its sum of squares: ``left``), and by how much less
    it would leave per parameter."""

    parameters: FloatArray
    rest: FloatArray
    slope: FloatArray
    left: float


@dataclass(frozen=True, eq=False)
class Looked:
    """One kind of function in one place: its guesses (what each leaves, best first), the number of coefficients and
    parameters that it makes, and its BIC before its parameters are improved."""

    bic: float
    look: Look
    spread: bool
    kind: str
    ranked: list[tuple[float, tuple[float, ...]]]
    count: int


@dataclass(frozen=True, eq=False)
class FreeCurve:
    """A curve (8.4) of one coordinate in place of a function, ``count`` of its derivatives acting: the sum of squares
    that is left of the target, and the BIC."""

    argument: Argument
    count: int
    left: float
    bic: float


@dataclass(frozen=True, eq=False)
class Discovery:
    """The weak form of a record with its coordinates as arguments of functions; with a ``mix``, the last one is that
    combination of them."""

    weak: WeakForm
    arguments: tuple[Argument, ...]
    mix: tuple[float, ...] = ()

    @classmethod
    def of(cls, weak: WeakForm) -> Discovery:
        """Every jet coordinate; u0 with the function's derivatives."""
        n = weak.order
        return cls(weak, tuple(Argument.of(weak, v, n if v == 0 else 1) for v in range(n)))

    def linear(self) -> float:
        """The BIC of the linear equation."""
        left = Projection.of(self.weak.linear, self.weak.target).target
        return bic_of(float(left @ left), self.weak.rows, 1 + self.weak.order)

    def powers(self, most: int = 3) -> float:
        """The lowest BIC of powers of one coordinate, 2 to ``most``, in the place of a function of it."""
        base, n = Projection.of(self.weak.linear, self.weak.target), self.weak.order
        found = []
        for argument in self.arguments:
            for count in {1, n if argument.variable == 0 else 1}:
                operators = argument.operators[:count]
                columns = np.column_stack([o @ argument.places**k for k in range(2, most + 1) for o in operators])
                left = Projection.of(base.without(columns), base.target).target
                found.append(bic_of(float(left @ left), self.weak.rows, 1 + n + columns.shape[1]))
        return min(found)

    def asks_for_a_function(self, sigma: float) -> bool:
        """Whether a free curve (8.4) of one coordinate leaves no more than the noise of std ``sigma`` does, and clearly
        less than powers of it or the quadratic polynomial of all coordinates."""
        most = DISCOVERY.curve_leaves * self.weak.noise(sigma)
        best = min((curve.bic for curve in self.curves() if curve.left < most), default=np.inf)
        return best < min(self.powers(), self.quadratic()) - DISCOVERY.gain

    def has_function(self, sigma: float, kinds: Sequence[str], spread: bool) -> bool:
        """The same of a named function in place of the curve, which takes fewer coefficients."""
        most = self.weak.noise(sigma) / float(self.weak.target @ self.weak.target)
        best = min((one.bic for one in self.every(kinds, spread) if one.left < most), default=np.inf)
        return best < min(self.powers(), self.quadratic()) - DISCOVERY.gain

    def curves(self) -> Iterator[FreeCurve]:
        """A free curve of every coordinate, of u0 also with its derivatives."""
        base, n, weak = Projection.of(self.weak.linear, self.weak.target), self.weak.order, self.weak
        for argument in self.arguments:
            modes = basis(np.linspace(0.0, 1.0, argument.places.size))[:, : DISCOVERY.modes]
            for count in sorted({1, n if argument.variable == 0 else 1}):
                columns = np.column_stack([o @ modes for o in argument.operators[:count]])
                rest = Projection.of(base.without(columns), base.target).target
                left = float(rest @ rest)
                yield FreeCurve(argument, count, left, bic_of(left, weak.rows, 1 + n + columns.shape[1]))

    def quadratic(self) -> float:
        """The BIC of the quadratic polynomial of all coordinates."""
        weak, n = self.weak, self.weak.order
        beyond = [e for e in total_degree_exponents(n, 2) if sum(e) > 1]
        columns = weak.operator() @ Library(tuple(beyond), n).evaluate(weak.jets[:, :n])
        base = Projection.of(weak.linear, weak.target)
        left = Projection.of(base.without(columns), base.target).target
        return bic_of(float(left @ left), weak.rows, 1 + n + len(beyond))

    def every(self, kinds: Sequence[str], spread: bool) -> list[Suggestion]:
        """The likeliest functions with a straight line beside them (of u0 also through their derivatives where they may
        be ``spread``), and without one."""
        return self.suggestions(kinds, (False, True) if spread else (False,)) + self.bare(kinds)

    def suggestions(
        self, kinds: Sequence[str], spreads: Sequence[bool] = (False,), given: tuple[Element, ...] = ()
    ) -> list[Suggestion]:
        """The likeliest functions, beside elements that are there already, with their best parameters; each in the last
        row alone or, of u0, in all of them (``spreads``)."""
        weak = self.weak
        columns = [weak.linear]
        for element in given:
            argument = self.arguments[element.variable]
            columns.append((argument.operators[0] @ element(argument.places))[:, None])
        base = Projection.of(np.column_stack(columns), weak.target)
        taken = 1 + weak.order + sum(1 + len(e.parameters) for e in given)
        looks = [
            (Look.of(argument, base, weak.order if spread else 1), spread)
            for spread in spreads
            for argument in (self.arguments[-1:] if self.mix else self.arguments)
            if not (spread and argument.variable)
        ]
        looked: list[Looked] = []
        for look, spread in looks:
            looked += self._looked(look, kinds, taken, spread)
        return self._improved(looked, given)

    def bare(self, kinds: Sequence[str]) -> list[Suggestion]:
        """The likeliest functions that stand for all that their argument does in the last row."""
        weak = self.weak
        looked = []
        for argument in self.arguments:
            others = np.delete(weak.linear, (0, 1 + argument.variable), axis=1)
            look = Look.of(argument, Projection.of(others, weak.target), 1)
            looked += self._looked(look, kinds, weak.order - 1, False)
        return [replace(suggestion, bare=True) for suggestion in self._improved(looked, ())]

    def _looked(self, look: Look, kinds: Sequence[str], taken: int, spread: bool) -> list[Looked]:
        """Every kind with its guesses, where ``taken`` coefficients stand beside it."""
        out = []
        for kind in kinds:
            ranked = look.ranked(kind)
            if ranked:
                count = taken + len(ranked[0][1]) + len(look.operators)
                out.append(Looked(bic_of(ranked[0][0], self.weak.rows, count), look, spread, kind, ranked, count))
        return out

    def _improved(self, looked: list[Looked], given: tuple[Element, ...]) -> list[Suggestion]:
        """The best of what was looked at with improved parameters, best first."""
        weak = self.weak
        out = []
        for one in sorted(looked, key=lambda one: one.bic)[: DISCOVERY.carried]:
            found = one.look.best(one.kind, [guess for _, guess in one.ranked[: DISCOVERY.refined]])
            if found is not None:
                element, left = found
                share = left / float(weak.target @ weak.target)
                bic = bic_of(left, weak.rows, one.count)
                out.append(Suggestion(weak.order, (*given, element), one.spread, bic, share, mix=self.mix))
        return sorted(out, key=lambda s: s.bic)
