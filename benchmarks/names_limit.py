"""Whether a record can tell a sine from its imitations: fits of each to sine-like decays, the sine from the truth.

    python benchmarks/names_limit.py [--seeds 20] [--first 100] [--noise 0.01,0.05]

Every rival begins from the weak form of the record and is cooled slowly, its terms selected, and compared by BIC with
the sine that begins from its true frequency.  Printed: ΔBIC and coefficients of the rivals, nearest first.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from cells import levels
from decays import records_of

from jetode.equations.elements import Element
from jetode.joint.candidates import states_for
from jetode.joint.choose_terms import choose_terms
from jetode.joint.elements.discover import Discovery, Suggestion
from jetode.joint.elements.fits import settled
from jetode.joint.elements.naming import CATALOGUE, Naming
from jetode.joint.elements.rival import polynomial_start
from jetode.joint.elements.weak_form import WeakForm
from jetode.joint.forms.base import Candidate
from jetode.joint.request import Request
from jetode.joint.search import compared_on
from jetode.joint.search_settings import COOLING, DECISION
from jetode.joint.shooting.annealing import anneal

RIVALS = ("tanh", "arctan", "power", "gaussian", "piecewise-linear")


def never() -> bool:
    """Nothing is interrupted."""
    return False


def fitted(noise: float, seed: int) -> Iterator[tuple[str, Candidate]]:
    """The sine, every rival of it beside a line, and squares and cubes, with their terms selected."""
    prepared = Request(records_of("sine", noise, seed)).prepared(2)
    weak = WeakForm.of(prepared, 2)
    assert weak is not None
    problem, discovery = compared_on(prepared, 2, fine=True), Discovery.of(weak)
    naming = Naming(problem, discovery, CATALOGUE, never)
    sine = Suggestion(2, (Element("sin", 0, (prepared.amplitude, 0.0)),), False, 0.0, 0.0, True)
    seen = [s for s in discovery.suggestions(RIVALS) if s.coordinates == (0,)]
    for suggestion in (sine, *seen):
        begun = naming._begun(discovery, suggestion)
        for candidate, _ in naming.fits.fitted([begun], DECISION.gross * problem.data.n_samples, COOLING.patient):
            chosen = choose_terms(problem.data, candidate, problem.price, never)
            yield suggestion.kinds[0], settled(problem, chosen, never)
    form, equation = polynomial_start(discovery, sine)
    states = states_for(prepared, equation, problem.data)
    fit = anneal(problem.data, form.terms(equation), states, COOLING.patient, never)
    if np.isfinite(fit.cost):
        powers = Candidate(form, {(0,): 1.0}, fit=fit)
        yield "powers", choose_terms(problem.data, powers, problem.price, never)


def main() -> None:
    """A line for every record, then the least and the median ΔBIC."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--noise", type=levels, default=levels("0.01,0.05"))
    given = parser.parse_args()
    for noise in given.noise:
        nearest = []
        for seed in range(given.first, given.first + given.seeds):
            (_, sine), *others = fitted(noise, seed)
            behind = sorted((c.bic - sine.bic, name, int(c.fit.terms.free.sum())) for name, c in others if c.fit)
            nearest.append(behind[0][0])
            shown = ", ".join(f"{name} {delta:.1f} ({count})" for delta, name, count in behind)
            print(
                f"{noise:g} seed {seed}: behind the sine ({int(sine.fit.terms.free.sum())} coefficients): {shown}",
                flush=True,
            )
        below = sum(d < 10.0 for d in nearest)
        print(f"{noise:g}: nearest {min(nearest):.1f}, median {np.median(nearest):.1f}, {below} below 10")


if __name__ == "__main__":
    main()
