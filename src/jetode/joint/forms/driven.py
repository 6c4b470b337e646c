"""A driven plane (order 4, docs/mathematics.md (3.16)): u0' = u1, u1' = F(u0, u1) + f, f' = g, g' = −ω² f.

What a sine drives from outside has no autonomous equation of its own two coordinates; with the drive as an oscillator
beside them it has.  Given ω, the increments of u1 are linear in the coefficients of F and in the drive's two phases: ω
is looked for on a grid as fine as the record is long, as the lines of a spectrum are, what F says being taken off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from jetode.equations.polynomials import Library, Polynomial
from jetode.equations.regular import DRIVEN_ORDER, RegularClosure
from jetode.joint.forms.base import Candidate, Searched, Start
from jetode.joint.jets import Jets
from jetode.support.arrays import FloatArray, IntArray

DEGREE = 3  # of F: springs and frictions that are written down are cubic at most
SQUARE = (0, 0, 1, 0)  # the term of P whose coefficient is −ω²


@dataclass(frozen=True)
class DriveSettings:
    """Numbers of the look for a drive; times in tc."""

    window: float = 0.5  # over which the increments of u1 are taken: a twelfth of an oscillation
    rows: int = 2000  # of these at most: more say the same
    highest: float = 6.0  # ω: what is faster is smoothed away
    slowest: float = 4.0  # periods of a drive that is told from drift
    finer: float = 4.0  # frequencies per line of the spectrum: its peak is never missed by more than a tenth
    chunk: int = 256  # frequencies at a time
    gain: float = 40.0  # twice the log-likelihood ratio to F alone: some four times what two more terms cost
    damping: float = 1e-6  # of a column's norm


SETTINGS = DriveSettings()


@dataclass(frozen=True)
class Driven(Searched):
    """F of the plane, and a drive of one frequency."""

    constrainable = False

    def start(self, jets: Jets, guess: Polynomial) -> Start:
        """F and the drive's phases in every record by least squares at the guessed frequency."""
        omega = float(np.sqrt(-guess[SQUARE]))
        increments = Increments.of(jets, len(jets.u))
        waves = increments.waves(np.array([omega]))[:, 0]
        owned = [waves * (increments.piece == i)[:, None] for i in range(len(jets.lengths))]
        solution = _solved(np.column_stack([increments.columns, *owned]), increments.target)
        big_f, phases = solution[: len(LIBRARY)], solution[len(LIBRARY) :].reshape(-1, 2)
        f, g = (np.concatenate(parts) for parts in zip(*_drive(jets, omega, phases), strict=True))
        sizes = float(np.std(f)), float(np.std(g))
        closure = RegularClosure(
            {},
            {(0, 0, 0): sizes[1] / sizes[0]},
            {SQUARE: -(omega**2) * sizes[0] / sizes[1]},
            DRIVEN_ORDER,
            f1=LIBRARY.polynomial(big_f),
            c1={(0, 0): sizes[0]},
        )
        return Start(self.terms(closure), np.column_stack([jets.u[:, :2], f / sizes[0], g / sizes[1]]))


LIBRARY = Library.total_degree(2, DEGREE)


def driven() -> Driven:
    """Every term of F; the drive's own stays."""
    parts = (("f1", LIBRARY.exponents), ("c1", ((0, 0),)), ("a", ()), ("D", ((0, 0, 0),)), ("P", (SQUARE,)))
    return Driven(DRIVEN_ORDER, parts, required=frozenset([("P", SQUARE)]))


def driven_planes(jets: Jets) -> list[Candidate]:
    """The plane with the drive that the record shows most, if it shows one."""
    omega = drive_frequency(jets)
    return [] if omega is None else [Candidate(driven(), {SQUARE: -(omega**2)})]


def drive_frequency(jets: Jets) -> float | None:
    """ω of the sine that explains most of what a cubic F leaves; None where it explains no more than chance does."""
    longest = max(jets.pieces(), key=lambda piece: piece.stop - piece.start)
    alone = Jets(jets.u[longest], (longest.stop - longest.start,), jets.spacing, jets.trim)
    increments = Increments.of(alone, SETTINGS.rows)
    duration = alone.lengths[0] * jets.spacing
    lowest, step = 2.0 * np.pi * SETTINGS.slowest / duration, 2.0 * np.pi / duration / SETTINGS.finer
    grid = np.arange(lowest, SETTINGS.highest, step)
    if increments.target.size < 4 * len(LIBRARY) or grid.size < 2:
        return None
    basis = np.linalg.qr(increments.columns)[0]
    rest = increments.target - basis @ (basis.T @ increments.target)
    total = float(rest @ rest)
    if not total > 0.0:
        return None
    parts = np.array_split(grid, max(1, grid.size // SETTINGS.chunk))
    explained = np.concatenate([_explained(increments.waves(part), basis, rest) for part in parts])
    near = float(grid[int(np.argmax(explained))])
    found = minimize_scalar(
        lambda omega: -float(_explained(increments.waves(np.array([omega])), basis, rest)[0]),
        bounds=(near - step, near + step),
        method="bounded",
        options={"xatol": 1e-3 * step},
    )
    independent = duration / SETTINGS.window
    left = max(total + float(found.fun), 1e-12 * total)
    return float(found.x) if independent * np.log(total / left) > SETTINGS.gain else None


@dataclass(frozen=True, eq=False)
class Increments:
    """u1(τ + window) − u1(τ) with the integrals of F's monomials over the same windows, which begin at ``begins`` in
    the record number ``piece``."""

    target: FloatArray
    columns: FloatArray
    begins: FloatArray
    piece: IntArray
    length: float

    @classmethod
    def of(cls, jets: Jets, most: int) -> Increments:
        """Windows all along the records, ``most`` of them at most."""
        step = max(1, round(SETTINGS.window / jets.spacing))
        every = max(1, len(jets.u) // most)
        targets: list[FloatArray] = []
        columns: list[FloatArray] = []
        begins: list[FloatArray] = []
        pieces: list[IntArray] = []
        for i, piece in enumerate(jets.pieces()):
            inner = slice(piece.start + jets.trim, piece.stop - jets.trim)
            u = jets.u[inner, :2]
            values: FloatArray = LIBRARY.evaluate(u)
            sums = np.vstack([np.zeros(len(LIBRARY)), np.cumsum(0.5 * (values[1:] + values[:-1]), axis=0)])
            first = np.arange(0, max(0, len(u) - step), every)
            targets.append(u[first + step, 1] - u[first, 1])
            columns.append((sums[first + step] - sums[first]) * jets.spacing)
            begins.append(np.asarray((first + jets.trim) * jets.spacing, dtype=np.float64))
            pieces.append(np.full(first.size, i))
        length = step * jets.spacing
        return cls(
            np.concatenate(targets), np.concatenate(columns), np.concatenate(begins), np.concatenate(pieces), length
        )

    def waves(self, omegas: FloatArray) -> FloatArray:
        """Integrals of cos ωτ and sin ωτ over the windows: (rows, frequencies, 2)."""
        begin, end = (np.multiply.outer(t, omegas) for t in (self.begins, self.begins + self.length))
        return np.stack([np.sin(end) - np.sin(begin), np.cos(begin) - np.cos(end)], axis=-1) / omegas[:, None]


def _explained(waves: FloatArray, basis: FloatArray, rest: FloatArray) -> FloatArray:
    """The sum of squares of ``rest`` that the two phases of every frequency explain beside ``basis``."""
    own = waves - np.tensordot(basis, np.tensordot(basis, waves, (0, 0)), (1, 0))
    gram, against = np.einsum("rfi,rfj->fij", own, own), np.einsum("rfi,r->fi", own, rest)
    gram += SETTINGS.damping * np.einsum("fii->f", gram)[:, None, None] * np.eye(2)
    return np.asarray(np.einsum("fi,fi->f", against, np.linalg.solve(gram, against[..., None])[..., 0]))


def _solved(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Least squares, columns that nearly agree sharing the coefficient."""
    size = np.linalg.norm(matrix, axis=0) + 1e-300
    damped = np.vstack([matrix / size, SETTINGS.damping * np.eye(size.size)])
    return np.asarray(np.linalg.lstsq(damped, np.append(target, np.zeros(size.size)))[0] / size)


def _drive(jets: Jets, omega: float, phases: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
    """f and g at every sample of each record."""
    out = []
    for n, (cosine, sine) in zip(jets.lengths, phases, strict=True):
        angle = omega * jets.spacing * np.arange(n)
        f = cosine * np.cos(angle) + sine * np.sin(angle)
        out.append((f, omega * (sine * np.cos(angle) - cosine * np.sin(angle))))
    return out
