"""SINDy-PI as a peer: PySINDy's implicit optimizer on jet coordinates, u0 u3 = Σ ξ θ over Φ_N and u3 {1, u0}.

Its l1 weight is chosen by VPT against the record itself; the forecast starts where the spline is good and runs over
the end of the record.  Needs PySINDy and CVXPY (``jetode[bench]``).
"""

from __future__ import annotations

import contextlib
import io
import warnings
from importlib.util import find_spec

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.field import Field
from jetode.equations.polynomials import Library
from jetode.integration.forecast import forecast
from jetode.paper.degree_selection import skill
from jetode.paper.identify import Embedding, Identification, embed
from jetode.records.series import Series
from jetode.support.arrays import FloatArray

DEGREE = 4
ROWS = 600
WEIGHTS = (1e-8, 1e-6, 1e-4, 1e-2)


def available() -> bool:
    """Whether its libraries are there."""
    return all(find_spec(name) is not None for name in ("pysindy", "cvxpy"))


def identify(embedding: Embedding, weight: float) -> Closure | None:
    """The closure by SINDy-PI with one l1 weight; None where its solver fails."""
    import pysindy

    inner = slice(embedding.margin, embedding.dimensionless.shape[0] - embedding.margin)
    jets = embedding.dimensionless[inner]
    jets = jets[:: max(1, jets.shape[0] // ROWS)]
    library = Library.total_degree(3, DEGREE, None)
    above = library.evaluate(jets[:, :3])
    theta = np.column_stack([above, jets[:, 3], jets[:, 0] * jets[:, 3]])
    sizes = np.linalg.norm(theta, axis=0)
    target = theta.shape[1] - 1
    optimizer = pysindy.SINDyPI(reg_weight_lam=weight, regularizer="l1", model_subset=[target], tol=1e-10)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # inaccurate solutions are scored, not reported
            optimizer.fit(theta / sizes, theta / sizes)
    except Exception:  # whatever its solver raises
        return None
    xi = np.asarray(optimizer.coef_)[target] * sizes[target] / sizes
    if not np.all(np.isfinite(xi)) or not np.any(xi):
        return None
    numerator = library.polynomial(xi[: len(library)])
    scaled = Closure(numerator, {(1, 0, 0): 1.0, (0, 0, 0): -float(xi[target - 1])}, 3)
    return scaled.rescaled(embedding.scales.amplitude, embedding.scales.time)


def ahead(values: FloatArray, dt: float, steps: int) -> FloatArray:
    """Values from the last sample on."""
    embedding = embed(Series(values, dt), 3)
    found = [closure for weight in WEIGHTS if (closure := identify(embedding, weight)) is not None]
    if not found:
        return np.empty(0)
    scores = [skill(Identification(c, np.empty(0), 0.0), embedding, values).mean for c in found]
    best = found[int(np.argmax(scores))]
    lead = embedding.margin
    start = embedding.jets[values.size - 1 - lead, :3]
    run = forecast(Field.from_closure(best), start, embedding.spread, (lead + steps) * dt, dt)
    return run.values[lead:]
