"""The search for a latent flow: random first guesses of the hidden coordinates on a short
stretch, each annealed from a path that follows the record to one that obeys the flow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from jetode.joint.problem import Prepared
from jetode.joint.shooting.annealing import Schedule
from jetode.joint.shooting.gaussnewton import Data, Fit
from jetode.joint.shooting.layout import Terms
from jetode.support.arrays import FloatArray
from latent_flow.descent import Interrupt, descend, problem
from latent_flow.gauge import library, prior_cost, terms_of
from latent_flow.settings import SETTINGS

SMALL = 1e-2  # ridge of the first regression, of features with unit mean square


def price(fit: Fit) -> float:
    """Cost with the prior."""
    return fit.cost + prior_cost(fit.terms)


def satisfying(fit: Fit, samples: int) -> bool:
    """Whether a flow follows the record to within the noise, with coefficients of ordinary size."""
    limit = 1.0 + SETTINGS.excess + SETTINGS.scatter * np.sqrt(2.0 / samples)
    size = float(np.sqrt(np.mean(fit.terms.coefficients**2)))
    return fit.cost <= limit * samples and size <= SETTINGS.largest


def guess(jets: FloatArray, spacing: float, rng: np.random.Generator) -> tuple[Terms, FloatArray]:
    """Jets as hidden coordinates, bent by random products, and the flow that their increments show."""
    states = jets / np.concatenate([[1.0], np.std(jets[:, 1:], axis=0)])
    every = library(states.shape[1], SETTINGS.degree)
    products = [i for i, e in enumerate(every.exponents) if sum(e) > 1]
    for k in range(1, states.shape[1]):
        bends = rng.standard_normal(len(products)) * SETTINGS.bend * rng.random()
        states[:, k] += every.evaluate(states)[:, products] @ bends
    hidden = states[:, 1:] - states[:, 1:].mean(axis=0)
    states[:, 1:] = hidden / hidden.std(axis=0)
    slopes = (states[2:] - states[:-2]) / (2.0 * spacing)
    features = every.evaluate(states)[1:-1]
    gram = features.T @ features + SMALL * len(features) * np.eye(features.shape[1])
    rows = np.linalg.solve(gram, features.T @ slopes).T
    return terms_of(rows, SETTINGS.degree, SETTINGS.firm), states


def searched(prepared: Prepared) -> tuple[Data, FloatArray, float]:
    """The beginning of the longest piece, thinned: its problem, jets and spacing."""
    piece = max(prepared.jets.pieces(), key=lambda p: p.stop - p.start)
    every = max(1, int(SETTINGS.spacing / prepared.jets.spacing + 1e-9))
    spacing = every * prepared.jets.spacing
    stop = min(piece.stop, piece.start + round(SETTINGS.stretch / prepared.jets.spacing))
    chosen = slice(piece.start, stop, every)
    y, present = prepared.y[chosen], prepared.present[chosen]
    data = problem(y, present, (y.size,), spacing, max(prepared.sigma, SETTINGS.sigma))
    return data, prepared.jets.u[chosen, : SETTINGS.dimension], spacing


def candidates(prepared: Prepared, seed: int, interrupt: Interrupt) -> Iterator[tuple[Fit, Data]]:
    """Flows that follow the stretch to within the noise, batch by batch, the best of each first."""
    data, jets, spacing = searched(prepared)
    for batch in range(SETTINGS.batches):
        looked: list[Fit] = []
        for i in range(SETTINGS.batch):
            terms, states = guess(jets, spacing, np.random.default_rng([seed, batch, i]))
            fit = descend(data, terms, states[data.layout.first], SETTINGS.look, interrupt)
            if fit is not None:
                looked.append(fit)
        best = [(with_precision(f.terms, SETTINGS.loose), f.states) for f in sorted(looked, key=price)]
        polished = [descend(data, *one, SETTINGS.polish, interrupt) for one in best[: SETTINGS.polished]]
        sound = [fit for fit in polished if fit is not None and satisfying(fit, data.n_samples)]
        for fit in sorted(sound, key=price):
            yield fit, data


def grown(data: Data, terms: Terms, states: FloatArray, schedule: Schedule, interrupt: Interrupt) -> Fit | None:
    """A fit from a path that was traced; once more from looser jumps where that had gone astray."""
    terms = with_precision(terms, SETTINGS.steady)
    fit = descend(data, terms, states, schedule, interrupt)
    if fit is None or satisfying(fit, data.n_samples):
        return fit
    return descend(data, fit.terms, fit.states, SETTINGS.reheat, interrupt)


def with_precision(terms: Terms, precision: float) -> Terms:
    """The same terms with another prior."""
    return replace(terms, precision=np.full(terms.coefficients.size, precision))
