"""Predators whose meals saturate, so that rates are ratios of polynomials: what jetode and the peers make of them.

    python benchmarks/ratios.py [--trajectories 2] [--noise 0,0.05] [--only NAME ...] [--no-peers] [--out OUT]
    python benchmarks/ratios.py --from-truth [--noise 0.05]

Forecasts as in ``control_starts.py``.  Of the six channels one has a polynomial form that is known: with the share
G = α1 x / (1 + k1 x) of what the prey of Blasius' system gives, its z is the chain

    z' = c zs − c z + α2 z y,    y' = −b y − α2 z y + y G,    G' = G (1 − κ G) (a − α1 y (1 − κ G)),    κ = k1 / α1.

``--from-truth`` fits it from the true path and coefficients and says whether it satisfies: what is then not found is a
matter of the search and not of the record.
"""

from __future__ import annotations

import sys

import numpy as np
from control_starts import measure

from jetode.equations.regular import RegularClosure
from jetode.experiments.panel.channels import TRANSIENT, select
from jetode.joint.candidates import Found
from jetode.joint.forms.base import Candidate, Form
from jetode.joint.parts import equation_of
from jetode.joint.request import Request
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.joint.unscanned import compared_on
from jetode.records.series import Series

TABLE = "panel_ratios.csv"
CHANNELS = {TABLE: tuple(f"{s} {v}" for s in ("Blasius", "HastingsPowell") for v in "xyz")}
A, ALPHA1, ALPHA2, B, C, K1, ZS = 1.0, 0.2, 1.0, 1.0, 10.0, 0.05, 0.006
KAPPA = K1 / ALPHA1
CHAIN = RegularClosure(
    {(0, 1): -B, (1, 1): -ALPHA2},
    {(0, 1): 1.0},
    {
        (0, 0, 1): A,
        (0, 0, 2): -A * KAPPA,
        (0, 1, 1): -ALPHA1,
        (0, 1, 2): 2 * ALPHA1 * KAPPA,
        (0, 1, 3): -ALPHA1 * KAPPA**2,
    },
    3,
    {(0,): C * ZS, (1,): -C},
    {(1,): ALPHA2},
)
COOLING = Schedule((1e-2, 3e-3, 1e-3, 3e-4, 1e-4), 30)


def from_truth(noise: float) -> str:
    """One record of Blasius' z: the fit's χ², its score and margin, and its coefficients over the true ones."""
    (channel,) = select(["Blasius z"], TABLE)
    start = channel.states(np.array(channel.initial), 2, TRANSIENT * channel.tc)[-1]
    x, y, z = channel.states(start, 6001, channel.dt).T
    record = Series(z + noise * np.std(z) * np.random.default_rng(0).standard_normal(z.size), channel.dt)
    prepared = Request([record]).prepared(3)
    problem = compared_on(prepared, 3, fine=True)
    true = CHAIN.in_units(1.0 / prepared.amplitude, 1.0 / prepared.time)
    path = np.column_stack([z / prepared.amplitude, y, ALPHA1 * x / (1.0 + K1 * x)])[problem.data.layout.first]
    form = Form(3, tuple((part, tuple(monomials)) for part, monomials in true.parts().items()))
    fit = anneal(problem.data, form.terms(true), path, COOLING, rescale=False)
    found = Found((Candidate(form, {(1,): 1.0}, fit=fit, bic=fit.cost),), problem.data, problem.price)
    fitted, expected = equation_of(fit.terms).parts(), true.parts()
    ratios = [fitted[part].get(e, 0.0) / value for part, p in expected.items() for e, value in p.items()]
    seen = float(np.mean(z < 2 * noise * np.std(z)))
    return (
        f"Blasius z, {100 * noise:g} %, from the truth: {int(fit.terms.free.sum())} coefficients, "
        f"cost/n {fit.cost / problem.data.n_samples:.4f}, score {found.score():.2f}, margin {found.margin():.1f}, "
        f"satisfies {found.satisfies()}; fitted over true from {min(ratios):.3f} to {max(ratios):.3f}; "
        f"{seen:.0%} of the samples below twice the noise"
    )


def main() -> None:
    """The fit from the truth, or forecasts beside the peers'."""
    if "--from-truth" in sys.argv:
        noise = sys.argv[sys.argv.index("--noise") + 1] if "--noise" in sys.argv else "0.05"
        print(*map(from_truth, map(float, noise.split(","))), sep="\n")
    else:
        measure(__doc__, CHANNELS, "0,0.05", "ratios-out")


if __name__ == "__main__":
    main()
