"""Numbers of the latent flow, each with its reason; lengths in tc, spreads in std."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetode.joint.shooting.annealing import Schedule


def _geometric(first: float, last: float, count: int, iterations: int) -> Schedule:
    return Schedule(tuple(float(q) for q in np.geomspace(first, last, count)), iterations)


LOOK = _geometric(1.0, 0.03, 8, 6)
POLISH = _geometric(0.03, 1e-3, 8, 10)
GROW = Schedule((0.03, 0.01, 0.004, 0.002, 0.001), 8)
REHEAT = _geometric(0.3, 1e-3, 9, 8)
FINISH = Schedule((1e-3, 3e-4, 1e-4), 10)
FOLLOW = Schedule((0.1, 0.03, 0.01), 6)
SETTLE = Schedule((0.01, 0.003, 0.001), 6)


@dataclass(frozen=True)
class LatentSettings:
    """How a flow is searched, grown over the record, and followed."""

    dimension: int = 3  # coordinates: the fewest in which a flow can be chaotic
    degree: int = 2  # of every row: most flows that are written down are quadratic
    stretch: float = 30.0  # of the record that is searched: chaos has not yet folded the landscape beyond finding
    shortest: float = 60.0  # of a record: twice what is searched
    spacing: float = 0.1  # between samples while searching: denser ones say the same
    batch: int = 20  # random starts before the best of them are polished
    batches: int = 3  # of these
    polished: int = 4  # of each batch
    bend: float = 0.3  # of the random products in the first hidden coordinates, which jets alone would all make alike
    look: Schedule = LOOK  # from jumps as large as the motion: the path follows the record, the flow follows the path
    polish: Schedule = POLISH
    grow: Schedule = GROW  # after the path was traced farther with the coefficients that are known
    reheat: Schedule = REHEAT  # where a path was traced astray
    finish: Schedule = FINISH  # on all of the record
    firm: float = (
        10.0  # precision of the coefficients' prior in the first look: without it hidden coordinates are noise
    )
    loose: float = 0.3  # while the best are polished
    steady: float = 1.0  # and while they grow: without it the gauge drifts to where coefficients are large
    sigma: float = 0.01  # the noise that is assumed at least while searching
    excess: float = 0.1  # of χ²/n over 1 that is as good as the noise allows: its level was estimated beforehand
    scatter: float = 4.0  # standard deviations of χ²/n beyond that
    largest: float = 2.0  # rms of the coefficients in whitened coordinates: larger ones imitate by stiffness
    growth: float = 2.0  # times what was fitted: the next part is traced with coefficients good enough for it
    segment: float = 5.0  # traced at a time: within what the flow foretells
    follow: Schedule = FOLLOW
    settle: Schedule = SETTLE  # the whole past of a start, once it was traced
    past: float = 25.0  # before a start: several times what chaos remembers
    snippet: float = 1.5  # of the record by which a first state is looked up
    analogues: int = 6  # first states that are tried,
    followed: int = 2  # and of them traced to the end
    bound: float = 8.0  # std of a whitened coordinate: beyond, a run has failed
    rtol: float = 1e-8  # of forecasts
    atlas: int = 6000  # states of the path that are kept to look up first states in


SETTINGS = LatentSettings()
