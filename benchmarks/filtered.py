"""Channels with two hidden coordinates: ``python benchmarks/filtered.py --noise 0.05,0.15 --trajectories 5``.

Records of the panel whose equation is of order 4 with a pole on a curve; both truths were eliminated by hand.  A model
is right where it has the true terms in the canonical gauge, each within 10 % or 5 standard errors (docs/mathematics.md
(5.4)), and wrong where it is exact and is not.  VPT ahead in Lyapunov times, beside the true equations given to the
same state estimate.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np

import jetode
from jetode.equations.regular import RegularClosure
from jetode.experiments.panel.channels import Trial, select
from jetode.integration.forecast import forecast
from jetode.joint.parts import equation_terms
from jetode.joint.path import paths_through

SIGMA, RHO, BETA = 10.0, 28.0, 2.667  # of the panel's Lorenz system
ONE, U0, U1, U2 = (0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)

LORENZ_Z = RegularClosure(  # w = 2σ z − x²
    {
        U0: 4 * BETA * RHO * SIGMA - 2 * BETA * SIGMA - 2 * BETA - 4 * RHO * SIGMA**2 + 4 * RHO * SIGMA,
        U1: -BETA * SIGMA - 3 * BETA + 4 * RHO * SIGMA - 2 * SIGMA - 2,
        U2: -BETA - SIGMA - 3,
        (2, 0, 0): -4 * BETA * SIGMA + 4 * SIGMA**2 - 4 * SIGMA,
        (1, 1, 0): -6 * SIGMA,
    },
    {U1: 1.0, U0: 2 - 2 * SIGMA, ONE: 2 * RHO * SIGMA - 2 * RHO},
    {(1, 0, 0, 0): 2 * SIGMA * (2 * SIGMA - BETA), (0, 0, 0, 1): -2 * SIGMA},
    4,
)
HYPER_ROSSLER_X = RegularClosure(  # w = −x3
    {ONE: 0.9, U0: -2.95, U1: -1.0125, U2: 0.3},
    {U1: 1.0, (2, 0, 0): 1.0, U0: -0.3, ONE: -0.4875},
    {(*ONE, 0): -3.0, (1, 0, 0, 1): 1.0},
    4,
)
TRUTHS = {"Lorenz z": LORENZ_Z, "HyperRossler x1": HYPER_ROSSLER_X}
COEFFICIENT, ERRORS = 0.1, 5.0


def is_right(model: jetode.Model, true: RegularClosure) -> bool:
    """Whether a model has the terms of the truth, with their coefficients."""
    if model.regular is None or model.order != true.order:
        return False
    found = {(c.part, c.powers): c for c in model.coefficients()}
    truth = {(part, e): value for part, e, value in true.canonical().coefficients()}
    return found.keys() == truth.keys() and all(
        abs(found[k].value - v) <= max(COEFFICIENT * abs(v), ERRORS * found[k].standard_error) for k, v in truth.items()
    )


def limit(model: jetode.Model, true: RegularClosure, trial: Trial) -> float:
    """VPT of the true equations with the model's state estimate, w in its units; NaN beside other kinds of model."""
    known, channel = model.identified, trial.channel
    if known is None or known.terms.dimension != true.order:
        return float("nan")
    scaled = true.in_units(1.0 / known.amplitude, 1.0 / known.time)
    lead = known.scaled.parts()["D"][U1] / scaled.parts()["D"][U1]
    terms = equation_terms(scaled.changed(true.order - 1, 1.0 / lead, {}))
    path = paths_through(replace(known, terms=terms, covariance=np.zeros((0, 0)), jump=0.0), [trial.series])[0]
    spread, horizon = np.nanstd(path.states, axis=0), channel.steps * channel.dt
    return trial.vpt(forecast(true.canonical().field, path.end, spread, horizon, channel.dt).values)


def main() -> None:
    """One line a record."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--noise", default="0.05")
    asked.add_argument("--trajectories", type=int, default=5)
    asked.add_argument("--first", type=int, default=0, help="number of the first trajectory")
    asked.add_argument("--only", nargs="+", choices=list(TRUTHS), default=list(TRUTHS), metavar="NAME")
    given = asked.parse_args()
    for channel in select(given.only):
        true, horizon = TRUTHS[channel.name], channel.steps * channel.dt
        for noise in map(float, given.noise.split(",")):
            for trajectory in range(given.first, given.first + given.trajectories):
                trial = channel.record(trajectory, noise)
                began = time.process_time()
                model = jetode.reconstruct(trial.series)
                spent = time.process_time() - began
                said = "right" if is_right(model, true) else "WRONG" if model.verdict.trusted else "not right"
                ahead = trial.vpt(model.forecast(horizon).values)
                print(
                    f"{channel.name:16s}{noise:5.2f} {trajectory} {model.verdict.grade:12s}{said:10s} VPT "
                    f"{ahead:5.2f}, true equations {limit(model, true, trial):5.2f} "
                    f"of {horizon * channel.lyapunov:.1f}, {spent:.0f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
