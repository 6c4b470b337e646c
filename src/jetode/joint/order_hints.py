"""What a record suggests of its order before anything is fitted: guesses, on which the fits decide."""

from __future__ import annotations

from jetode.joint.problem import Prepared
from jetode.signal import repetition
from jetode.signal.delay import false_nearest_neighbours
from jetode.signal.oscillations import fades
from jetode.support.arrays import FloatArray

FNN_SAMPLES = 3000
DELAY = 0.5  # tc: of the false neighbours


def _longest(prepared: Prepared) -> FloatArray:
    """The smoothed signal of the longest piece."""
    longest = max(prepared.jets.pieces(), key=lambda p: p.stop - p.start)
    return prepared.jets.u[longest, 0]


def false_neighbour_order(prepared: Prepared) -> int:
    """The order that false neighbours of the smoothed record suggest: a guess, on which the fit decides."""
    values = _longest(prepared)
    thin = max(1, values.size // FNN_SAMPLES)
    delay = max(1, round(DELAY / (prepared.jets.spacing * thin)))
    if values[::thin].size < 20 * delay:
        return 3
    found = false_nearest_neighbours(values[::thin], delay, max_dimension=4).dimension
    return 3 if found is None else max(2, found)


def is_decay(prepared: Prepared) -> bool:
    """Whether every record comes to rest."""
    return all(fades(prepared.jets.u[piece, 0]) for piece in prepared.jets.pieces())


def repeats_itself(prepared: Prepared) -> bool:
    """Whether a record cannot be told from a periodic one, whose closed curve has room in a plane."""
    return repetition.repeats_itself(_longest(prepared), max(prepared.sigma, repetition.ALIKE_CLEAN))
