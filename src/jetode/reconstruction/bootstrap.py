"""Parametric bootstrap of a fitted model's standard errors: what the Gauss–Newton covariance claims, tried out.

Noise of the fitted size is laid on the fitted path, the coefficients are fitted again (terms fixed, no search), and so
on; the scatter of the refits is to be that of :attr:`jetode.reconstruction.model.Model.covariance`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from jetode.joint.own_noise import POLISH_ITERATIONS
from jetode.joint.path import Identified, estimate_path, final_q
from jetode.joint.problem import SHORTEST_PIECE
from jetode.joint.shooting.annealing import Schedule, anneal
from jetode.reconstruction.dynamics.base import Coefficient
from jetode.reconstruction.dynamics.regular import RegularDynamics, canonical_vector
from jetode.reconstruction.model import Model
from jetode.records.series import Series
from jetode.signal.noise import coloured_noise
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError


@dataclass(frozen=True)
class Bootstrap:
    """Refitted coefficients (realizations, k) beside the model's and their covariance; only those that were free."""

    coefficients: tuple[Coefficient, ...]
    covariance: FloatArray
    refits: FloatArray

    @property
    def scatter(self) -> FloatArray:
        """Covariance of the refits."""
        return np.atleast_2d(np.cov(self.refits, rowvar=False))

    @property
    def ratios(self) -> FloatArray:
        """Scatter of each coefficient over its standard error."""
        return np.sqrt(np.diag(self.scatter) / np.diag(self.covariance))

    @property
    def correlations(self) -> tuple[FloatArray, FloatArray]:
        """Correlation matrices: of the refits, and the model's own."""
        one, two = (m / np.sqrt(np.outer(np.diag(m), np.diag(m))) for m in (self.scatter, self.covariance))
        return one, two

    @property
    def distances(self) -> FloatArray:
        """Squared Mahalanobis distances of the refits from the fit.

        Their mean is k where the covariance is right also along its narrowest directions, which standard errors and
        pairwise correlations hardly show.
        """
        scale = np.sqrt(np.diag(self.covariance))
        off = (self.refits - np.array([c.value for c in self.coefficients])) / scale
        return np.sum(off * np.linalg.solve(self.covariance / np.outer(scale, scale), off.T).T, axis=1)


def parametric_bootstrap(model: Model, realizations: int = 50, seed: int = 0) -> Bootstrap:
    """Refit ``realizations`` records simulated from a model of the joint fit, in the session that fitted it."""
    dynamics = model.dynamics
    if not isinstance(dynamics, RegularDynamics) or not dynamics.paths:
        raise InputError("A bootstrap needs the joint fit and its record: use method='joint', or with_record(record).")
    if realizations < 2:
        raise InputError(f"The 'realizations' parameter must be an int ≥ 2. Got {realizations} instead.")
    rng = np.random.default_rng(seed)
    listed = model.coefficients()
    free = np.array([c.standard_error > 0.0 for c in listed])
    refits = []
    for _ in range(realizations):
        records = [
            r.with_values(np.where(np.isnan(r.values), np.nan, p.states[:, 0]) + model.noise_sigma * e)
            for r, p in zip(model.records, dynamics.paths, strict=True)
            for e in (coloured_noise(r.n, dynamics.identified.noise.colour.correlation, rng),)
        ]
        value = dict(zip(*canonical_vector(refit(dynamics.identified, records).regular), strict=True))
        refits.append([value.get((c.part, c.powers), 0.0) for c in listed])
    kept = tuple(c for c, f in zip(listed, free, strict=True) if f)
    return Bootstrap(kept, model.covariance[np.ix_(free, free)], np.array(refits)[:, free])


def refit(model: Identified, records: list[Series]) -> Identified:
    """The same terms fitted to other records, from the model's coefficients."""
    prepared = model.prepared(records, SHORTEST_PIECE)
    data, path = estimate_path(model, prepared)
    last = final_q(model.sigma)
    fit = anneal(data, model.terms, path.states, Schedule((30.0 * last, last), POLISH_ITERATIONS), rescale=False)
    return replace(model, terms=fit.terms)
