"""The limit that the noise sets to the cells of ``joint.py``: ``python benchmarks/limit.py --seeds 40 --refits 20``.

The record is y_i = u0(t_i; X_0, θ) + σ e_i with e white and Gaussian, u' = F(u; θ) the regular closure (a, D, P) with
its *true* terms; unknown are its coefficients θ (D's leading one is 1, the pole p is among them) and the first state
X_0.  An unbiased estimator of θ has at least the covariance

    C = (S'_θ S_θ)⁻¹,   S_θ = what the sensitivities ∂u0(t_i)/∂θ / σ leave after projecting out those to X_0,

the Cramér–Rao bound.  The sensitivities come from the variational equations along the exact trajectory, integrated
here from sample to sample (Φ_k, Γ_k), independently of the fit's code.  Over 60 units of the Lorenz system they grow to
1e23, so S'S is never formed in double precision: the rows are reduced from the last sample to the first by plane
rotations (:func:`reduce_rows`), which is stable for graded rows.  The same reduction takes noise along as right-hand
side and then gives, for every seed, the estimate that *attains* the bound (one Gauss–Newton step from the truth): the
efficient estimate.  Checks, printed with the table:

- S'S formed and solved with 150 digits instead (``digits``), and the fit's own Riccati recursion at the true
  states and coefficients (``riccati``): the covariances must agree;
- a maximum-likelihood refit of each seed from the true coefficients and states (``--refits``).

What the bound assumes: terms known, σ known, no bias.  A fit that also has to find the terms can do better only by
chance, by shrinking towards a guess, or by knowing more (that coefficients are whole numbers, say).  Given θ, the
past-only states are those of the oracle's own estimate; :func:`state_bound` is the bound for them (the Kalman filter of
the linearised problem), so that "states from the bound" below needs no estimator at all.
"""

from __future__ import annotations

import argparse
import csv
import sys
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import mpmath
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

import jetode
from jetode.catalogue.systems import systems
from jetode.equations.closure import Closure
from jetode.equations.polynomials import Library, derivative, evaluate
from jetode.equations.regular import RegularClosure
from jetode.experiments.core.scoring import vpt_at
from jetode.integration.forecast import forecast
from jetode.joint.own_noise import covariance_of
from jetode.joint.path import Identified, final_q, identified_from, past_state
from jetode.joint.problem import Prepared, prepare
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.shooting.gaussnewton import Fit
from jetode.records.series import Series
from joint import CELLS, DT, HORIZON, PAPER_BEST, PAPER_HORIZON, SHIFT, Cell, target, true_regular

Array = NDArray[np.float64]
LIMITED = ("lorenz-15", "lorenz-30", "rossler-15", "rossler-30")
SUBSTEPS = 10  # Runge–Kutta steps per sample of the variational equations: (0.001)⁴ leaves nothing
DRAWS = 4000
STRETCHES = 20
DIGITS = 150


@dataclass(frozen=True)
class Problem:
    """A cell without its noise: the exact closure, its coefficients (``keys`` name them), the truth (as far as the
    forecasts need it), exact regular states along the record, and the linearised flow from each sample to the next."""

    cell: Cell
    exact: RegularClosure
    keys: tuple[tuple[str, tuple[int, ...]], ...]
    theta: Array
    truth: Array
    states: Array
    flows: Array
    arrows: Array

    @property
    def n(self) -> int:
        """Samples of the record."""
        return self.states.shape[0]

    @property
    def sigma(self) -> float:
        """Noise std."""
        return self.cell.noise * float(np.std(self.truth[: self.n]))

    def closure(self, theta: Array) -> RegularClosure:
        """The regular closure with these coefficients."""
        parts: dict[str, dict[tuple[int, ...], float]] = {"a": {}, "D": {self.exact.lead: 1.0}, "P": {}}
        for (part, powers), value in zip(self.keys, theta, strict=True):
            parts[part][powers] = float(value)
        return RegularClosure(parts["a"], parts["D"], parts["P"], self.exact.order)

    def noise(self, seed: int) -> Array:
        """The noise of a seed of ``joint.py``."""
        clean = self.truth[: self.n]
        return jetode.add_noise(clean, self.cell.noise, np.random.default_rng(seed)) - clean


def problem(name: str, shift: float = 0.0, pole_known: bool = True) -> Problem:
    """A cell of ``joint.py``; ``pole_known`` leaves a pole at 0 (Lorenz) out of the unknowns, as the fit does by
    its BIC."""
    cell = CELLS[name]
    system = systems[cell.system]
    trajectory = system.simulate(cell.duration + HORIZON[cell.system], DT, 50.0 + shift, (1.0, 0.0, 0.0))
    truth = trajectory.observe("x").values
    n = round(cell.duration / DT) + 1
    x = trajectory.states[:n]
    rates = [evaluate(row, x) for row in system.field.rows]
    jacobian_row = [evaluate(derivative(system.field.rows[0], i), x) for i in range(3)]
    jets = np.column_stack([x[:, 0], rates[0], sum(j * r for j, r in zip(jacobian_row, rates, strict=True))])
    exact = true_regular(cell.system, jets.std(axis=0))
    if not pole_known:
        exact = replace(exact, D={**exact.D, (0, 0): exact.D.get((0, 0), 0.0)})
    parts = {"a": exact.a, "D": exact.D, "P": exact.P}
    keys = [(part, e) for part, polynomial in parts.items() for e in polynomial if (part, e) != ("D", exact.lead)]
    theta = np.array([parts[part][powers] for part, powers in keys])
    # w = (u2 − a)/D is 0/0 on the pole; z is not, and w is affine in it
    design = np.column_stack([np.ones(n), x[:, 2]])
    big_d = evaluate(exact.D, jets[:, :2])[:, None]
    affine = np.linalg.lstsq(design * big_d, jets[:, 2] - evaluate(exact.a, jets[:, :2]))[0]
    states = np.column_stack([jets[:, :2], design @ affine])
    flows, arrows = linearised_flow(exact, tuple(keys), states)
    return Problem(cell, exact, tuple(keys), theta, truth, states, flows, arrows)


def linearised_flow(exact: RegularClosure, keys: tuple[tuple[str, tuple[int, ...]], ...], states: Array):
    """Φ_k = ∂X(t_k + dt)/∂X(t_k) and Γ_k = ∂X(t_k + dt)/∂θ for every sample, by Runge–Kutta on the variational
    equations, all samples at once."""
    rows = [{(0, 1, 0): 1.0}, *exact.field.rows[-2:]]
    jacobian = [[derivative(row, i) for i in range(3)] for row in rows]
    library = Library(tuple(e if part == "P" else (*e, int(part == "D")) for part, e in keys), 3)
    row_of = np.array([2 if part == "P" else 1 for part, _ in keys])

    def rates(x: Array, phi: Array, gamma: Array) -> tuple[Array, Array, Array]:
        j = np.array([[evaluate(p, x) if p else np.zeros(x.shape[0]) for p in row] for row in jacobian])
        j = np.moveaxis(j, 2, 0)
        direct = np.zeros_like(gamma)
        direct[:, row_of, np.arange(len(keys))] = library.evaluate(x)
        return np.column_stack([evaluate(row, x) for row in rows]), j @ phi, j @ gamma + direct

    k = states.shape[0] - 1
    point = (states[:-1], np.broadcast_to(np.eye(3), (k, 3, 3)), np.zeros((k, 3, len(keys))))
    h = DT / SUBSTEPS
    for _ in range(SUBSTEPS):
        k1 = rates(*point)
        k2 = rates(*(p + 0.5 * h * r for p, r in zip(point, k1, strict=True)))
        k3 = rates(*(p + 0.5 * h * r for p, r in zip(point, k2, strict=True)))
        k4 = rates(*(p + h * r for p, r in zip(point, k3, strict=True)))
        point = tuple(
            p + h / 6.0 * (a + 2.0 * b + 2.0 * c + d) for p, a, b, c, d in zip(point, k1, k2, k3, k4, strict=True)
        )
    drift = np.abs(point[0] - states[1:]).max() / np.abs(states).max()
    assert drift < 1e-9, f"the regular closure leaves the exact trajectory by {drift:g} within a sample"
    return point[1], point[2]


# -- the bound of the coefficients, three ways ---------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """Covariance of θ, and the errors of the efficient estimates for the right-hand sides given (columns)."""

    covariance: Array
    errors: Array


def reduce_rows(p: Problem, noise: Array) -> Bound:
    """Triangular factor of the sensitivities by plane rotations, from the last sample to the first.

    With R X_{k+1} + T θ = z reduced from the samples after k, X_{k+1} = Φ_k X_k + Γ_k θ gives the rows for X_k; a
    rotation mixes two rows with errors relative to the smaller one, so rows of size 1e23 leave those of size 1
    alone.  ``noise`` is (n, seeds).
    """
    d, f, sigma = 3, len(p.keys), p.sigma
    rows = np.zeros((d + f, d + f + noise.shape[1]))
    for k in range(p.n - 1, -1, -1):
        if k < p.n - 1:
            top = rows[:, :d].copy()
            rows[:, :d] = top @ p.flows[k]
            rows[:, d : d + f] += top @ p.arrows[k]
            for column in range(d):  # the first d rows are full again
                for row in range(column + 1, d):
                    rotate(rows, column, rows[row], column)
        new = np.zeros(rows.shape[1])
        new[0] = 1.0 / sigma
        new[d + f :] = noise[k] / sigma
        for column in range(d + f):
            rotate(rows, column, new, column)
    inverse = np.linalg.inv(rows[d:, d : d + f])
    return Bound(inverse @ inverse.T, inverse @ rows[d:, d + f :])


def rotate(rows: Array, pivot: int, other: Array, column: int) -> None:
    """Plane rotation of ``rows[pivot]`` and ``other`` that makes ``other[column]`` 0; both changed in place."""
    a, b = rows[pivot, column], other[column]
    size = np.hypot(a, b)
    if b == 0.0:
        return
    c, s = a / size, b / size
    rows[pivot], other[:] = c * rows[pivot] + s * other, c * other - s * rows[pivot]
    other[column] = 0.0


def digits(p: Problem) -> Array:
    """C from the normal equations S'S of single shooting, formed and solved with ``DIGITS`` digits."""
    mpmath.mp.dps = DIGITS
    d, f = 3, len(p.keys)
    sensitivity = np.array([[mpmath.mpf(int(i == j)) for j in range(d + f)] for i in range(d)], dtype=object)
    information = np.array([[mpmath.mpf(0)] * (d + f)] * (d + f), dtype=object)
    exact = np.vectorize(mpmath.mpf, otypes=[object])
    for k in range(p.n):
        information = information + np.outer(sensitivity[0], sensitivity[0])
        if k < p.n - 1:
            sensitivity = exact(p.flows[k]) @ sensitivity
            sensitivity[:, d:] = sensitivity[:, d:] + exact(p.arrows[k])
    inverse = mpmath.matrix(information.tolist()) ** -1
    c = np.array([[float(inverse[d + i, d + j]) for j in range(f)] for i in range(f)])
    return c * p.sigma**2


def fit_problem(p: Problem, record: Series) -> tuple[Prepared, Identified, Array]:
    """The joint fit's own problem at the true terms: free coefficients, and the true dimensionless states."""
    prepared = prepare([record], 3, p.sigma)
    given = identified_from(p.exact, prepared, p.sigma / prepared.amplitude)
    listed = zip(given.terms.rows, given.terms.exponents, strict=True)
    named = [("P", e) if row == 2 else ("D" if e[-1] else "a", e[:-1]) for row, e in listed]
    model = replace(given, terms=replace(given.terms, free=np.array([key in p.keys for key in named])))
    assert [key for key in named if key in p.keys] == list(p.keys)
    alpha, _ = model.scaled.in_units(model.amplitude, model.time).gauge()
    units = np.array([model.amplitude, model.amplitude / model.time, alpha])
    return prepared, model, p.states / units


def theta_of(p: Problem, model: Identified) -> Array:
    """θ of a model of the fit, in the record's units."""
    regular = model.regular
    parts = {"a": regular.a, "D": regular.D, "P": regular.P}
    return np.array([parts[part].get(powers, 0.0) for part, powers in p.keys])


def riccati(p: Problem) -> Array:
    """C from the fit's own linearisation at the true coefficients and states, at the continuity of its last level."""
    prepared, model, states = fit_problem(p, Series(p.truth[: p.n], DT))
    data = prepared.data(model.sigma)
    fit = Fit(model.terms, states[data.layout.first], final_q(model.sigma), 0.0, 0.0, 0, True)
    free = model.terms.coefficients[model.terms.free]
    units = np.diag([float((theta_of(p, model.with_coefficients(free + e)) - p.theta) @ e) for e in np.eye(free.size)])
    return units @ covariance_of(data, fit) @ units


def refit(p: Problem, seed: int) -> Array:
    """θ of the maximum-likelihood fit to a seed's record, begun at the true coefficients and states."""
    prepared, model, states = fit_problem(p, Series(p.truth[: p.n] + p.noise(seed), DT))
    data = prepared.data(model.sigma)
    last = final_q(model.sigma)
    fit = anneal(data, model.terms, states[data.layout.first], Schedule((30.0 * last, last), 14), rescale=False)
    return theta_of(p, replace(model, terms=fit.terms))


# -- scores ----------------------------------------------------------------------------------------------------


def numerator_errors(p: Problem, thetas: Array) -> Array:
    """Relative L2 of N for many coefficient vectors."""
    reference: Closure | None = systems[p.cell.system].closure("x")
    assert reference is not None
    return np.array([jetode.relative_l2(p.closure(theta).rational(), reference)[0] for theta in thetas])


def state_bound(p: Problem, noise: Array, theta_errors: Array) -> Array:
    """Errors (n, 3, seeds) of the efficient past-only states: the Kalman filter of the linearised problem with a
    diffuse first state, run with the coefficients that are off by ``theta_errors`` (f, seeds)."""
    covariance = np.diag(1e4 * p.states.var(axis=0))
    error = np.zeros((3, noise.shape[1]))
    out = np.empty((p.n, *error.shape))
    for k in range(p.n):
        if k:
            flow = p.flows[k - 1]
            covariance = flow @ covariance @ flow.T
            error = flow @ error + p.arrows[k - 1] @ theta_errors
        gain = covariance[:, 0] / (covariance[0, 0] + p.sigma**2)
        keep = np.eye(3) - np.outer(gain, [1.0, 0.0, 0.0])
        covariance = keep @ covariance @ keep.T + p.sigma**2 * np.outer(gain, gain)
        error = error + gain[:, None] * (noise[k] - error[0])
        out[k] = error
    return out


def past_vpts(p: Problem, seed: int, theta: Array, state_errors: Array | None = None) -> tuple[Array, Array]:
    """VPT at the 8 starts of ``joint.py`` (its H, and H = 10) with coefficients ``theta``; start states estimated by
    the oracle's code from the samples before, or off the exact ones by ``state_errors`` (n, 3)."""
    record = Series(p.truth[: p.n] + p.noise(seed), DT)
    regular = p.closure(theta)
    model = identified_from(regular, prepare([record], 3, p.sigma), p.sigma / float(np.std(p.truth[: p.n])))
    spread, horizon = p.states.std(axis=0), HORIZON[p.cell.system]
    scores = []
    for start in map(int, jetode.interior_starts(p.n, round(PAPER_HORIZON / DT))):
        state = past_state(model, record, start).end if state_errors is None else p.states[start] + state_errors[start]
        values = forecast(regular.field, state, spread, horizon, DT).values
        scores.append([vpt_at(values, p.truth, start, round(h / DT), DT) for h in (horizon, PAPER_HORIZON)])
    both = np.array(scores)
    return both[:, 0], both[:, 1]


# -- the table -------------------------------------------------------------------------------------------------


def share_above(best: Array, cell: Cell) -> float:
    """Share of seeds, in per cent, whose best of 8 within H = 10 is above the paper's best (at the cap: Rössler)."""
    above = best >= PAPER_HORIZON - 1e-9 if cell.system == "rossler" else best > PAPER_BEST[cell.system, cell.noise]
    return 100.0 * float(np.mean(above))


def standard_error(values: Array) -> float:
    """Bootstrap standard error of a median."""
    rng = np.random.default_rng(0)
    return float(np.std([np.median(rng.choice(values, values.size)) for _ in range(400)]))


def stored(name: str, path: Path) -> dict[str, float]:
    """Ours: the same numbers of the joint fit, from the results of ``joint.py``."""
    with path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["cell"] == name]

    def column(key: str) -> Array:
        return np.array([float(row[key]) for row in rows if row[key]])

    return {
        "N error %": 100.0 * float(np.median(column("error_n"))),
        "oracle ratio": float(np.median(column("oracle_ratio"))),
        "best above paper %": share_above(column("past_paper_best"), CELLS[name]),
    }


def run_cell(name: str, seeds: int, refits: int) -> tuple[dict[str, float], list[dict[str, object]]]:
    """The limits of one cell, the checks, and every seed's numbers."""
    p = problem(name)
    noise = np.column_stack([p.noise(seed) for seed in range(seeds)])
    bound = reduce_rows(p, noise)
    thetas = p.theta + bound.errors.T
    deviation = np.sqrt(np.diag(bound.covariance))
    out: dict[str, float] = {}
    rng = np.random.default_rng(0)
    draws = numerator_errors(p, rng.multivariate_normal(p.theta, bound.covariance, size=DRAWS))
    efficient = numerator_errors(p, thetas)
    out["N error %"] = 100.0 * float(np.median(draws))
    out["N error %, these seeds"] = 100.0 * float(np.median(efficient))
    if p.exact.D.get((0, 0), 0.0) == 0.0:
        unknown = problem(name, pole_known=False)
        wider = reduce_rows(unknown, np.zeros((p.n, 0))).covariance
        drawn = numerator_errors(unknown, rng.multivariate_normal(unknown.theta, wider, size=DRAWS))
        out["N error %, pole unknown"] = 100.0 * float(np.median(drawn))
    out["check: digits/rotations − 1"] = float(np.abs(digits(p) / bound.covariance - 1.0).max())
    out["check: riccati/rotations, sd"] = float(np.median(np.sqrt(np.diag(riccati(p))) / deviation))
    out["check: scatter of efficient/bound, sd"] = float(np.median(bound.errors.std(axis=1) / deviation))
    refitted = np.array([refit(p, seed) for seed in range(refits)])
    rows: list[dict[str, object]] = []
    if refits:
        out["check: N error %, refits from the truth"] = 100.0 * float(np.median(numerator_errors(p, refitted)))
        out["check: rms of refit − efficient, in sd"] = float(
            np.sqrt(np.mean(((refitted - thetas[:refits]) / deviation) ** 2))
        )
    known = state_bound(p, noise, np.zeros_like(bound.errors))
    fitted = state_bound(p, noise, bound.errors)
    for seed in range(seeds):
        exact, exact_paper = past_vpts(p, seed, p.theta)
        mine, mine_paper = past_vpts(p, seed, thetas[seed])
        exact_bound, exact_bound_paper = past_vpts(p, seed, p.theta, known[:, :, seed])
        mine_bound, _ = past_vpts(p, seed, thetas[seed], fitted[:, :, seed])
        rows.append(
            {
                "cell": name,
                "seed": seed,
                "error_n": efficient[seed],
                "error_n_refit": numerator_errors(p, refitted[seed : seed + 1])[0] if seed < refits else "",
                "oracle_median": np.median(exact),
                "efficient_median": np.median(mine),
                "ratio": np.median(mine) / np.median(exact),
                "ratio_bound": np.median(mine_bound) / np.median(exact_bound),
                "oracle_paper_best": exact_paper.max(),
                "efficient_paper_best": mine_paper.max(),
                "bound_paper_best": exact_bound_paper.max(),
            }
        )
    column = {
        key: np.array([float(str(row[key])) for row in rows]) for key in rows[0] if key not in ("cell", "error_n_refit")
    }
    out["oracle ratio"] = float(np.median(column["ratio"]))
    out["oracle ratio, ±"] = standard_error(column["ratio"])
    out["oracle ratio, states from the bound"] = float(np.median(column["ratio_bound"]))
    out["oracle ratio, median VPT/median VPT"] = float(
        np.median(column["efficient_median"]) / np.median(column["oracle_median"])
    )
    out["best above paper %"] = share_above(column["efficient_paper_best"], p.cell)
    out["best above paper %, exact equations"] = share_above(column["oracle_paper_best"], p.cell)
    out["best above paper %, and states from the bound"] = share_above(column["bound_paper_best"], p.cell)
    return out, rows


def stretches(name: str) -> Array:
    """The limit of the error of N, in per cent, on other stretches of the attractor (``joint.py --ahead``)."""
    rng = np.random.default_rng(0)
    medians = []
    for i in range(STRETCHES):
        p = problem(name, SHIFT * i)
        covariance = reduce_rows(p, np.zeros((p.n, 0))).covariance
        draws = numerator_errors(p, rng.multivariate_normal(p.theta, covariance, size=DRAWS // 4))
        medians.append(100.0 * float(np.median(draws)))
    return np.array(medians)


def main() -> None:
    """Run, write, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", nargs="+", choices=LIMITED, default=LIMITED)
    parser.add_argument("--seeds", type=int, default=40, help="noise seeds per cell")
    parser.add_argument(
        "--refits", type=int, default=20, help="of these, refitted by maximum likelihood from the truth"
    )
    results = Path(__file__).parent / "results"
    parser.add_argument("--ours", type=Path, default=results / "joint_2026-11-15.csv", help="CSV of joint.py")
    parser.add_argument("--out", type=Path, default=results / f"limit_{date.today():%Y-%m-%d}.csv")
    arguments = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in arguments.cells:
        limits, seeds = run_cell(name, arguments.seeds, min(arguments.refits, arguments.seeds))
        rows += seeds
        with arguments.out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        ours = stored(name, arguments.ours)
        print(f"\n{name} ({arguments.seeds} seeds){'':24s} {'target':>8s} {'limit':>10s} {'ours':>8s}")
        for measure, value in limits.items():
            mine = f"{ours[measure]:.4g}" if measure in ours else ""
            print(f"  {measure:46s} {target(measure, name):>6s} {value:10.4g} {mine:>8s}")
        other = stretches(name)
        low, middle, high = np.quantile(other, [0.0, 0.5, 1.0])
        print(f"  N error %, {STRETCHES} stretches: median {middle:.3g}, {low:.3g} to {high:.3g}", flush=True)


if __name__ == "__main__":
    main()
