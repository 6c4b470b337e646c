"""Settings of the memory closure (docs/mathematics.md §7), each number with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MemorySettings:
    """Times are in oscillations."""

    density: float = 24.0  # steps per oscillation at least: fewer lose harmonics
    densest: float = 72.0  # and at most: more show no more of a shape
    points: float = 2500.0  # steps in all that a short record is divided into, between the two
    memories: tuple[tuple[int, float], ...] = (
        (2, 0.3),
        (3, 0.3),
        (3, 0.6),
        (4, 0.3),
        (4, 0.6),
        (4, 1.0),
        (6, 0.6),
        (6, 1.0),
        (6, 1.6),
        (8, 1.0),
        (8, 1.6),
        (8, 2.4),
    )  # (q, θ)
    degree: int = 5  # of P at most
    most_terms: int = 350  # of P: beyond, the regression takes longer than everything else
    most_beside: int = 500  # of P next to a good setting, where a few are tried: one more coefficient in its memory
    rows_per_term: float = 7.0  # that the records must hold at least
    ridges: tuple[float, ...] = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3)  # of features with unit mean square
    first_ridges: tuple[float, ...] = (1e-8, 1e-5, 1e-3)  # of one step: the passes look closer
    lengths: tuple[float, ...] = (0.15, 0.15, 0.3, 0.3)  # of the rollouts in each Gauss–Newton pass
    kept: tuple[int, ...] = (10, 6, 3, 2)  # memories and degrees that a pass is made for, the best so far
    rounds: int = 2  # in which neighbours of the best memory are tried: after two the best hardly moves
    beside: float = 1.15  # times θ: its neighbours; the first grid is coarser by far
    rows: int = 8000  # of a regression at most: 24 for each of the most terms
    rollouts: int = 1200  # of a pass of the search at most, each with four rows
    final: int = 4000  # of a pass of the members' own fit, which is made once
    hopeless: float = 0.4  # of the best score: below, no pass helps
    points_per_order: float = 1.5  # steps in θ for each of q coefficients at least: fewer do not determine them
    look: float = 0.75  # of a forecast at a time, after which those that have failed are left: most fail within two
    thresholds: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8)  # std: a single one rewards luck
    members: int = 5  # settings whose median is the forecast: two wild members of five do no harm
    thrift: float = 0.06  # power of the number of terms that a score is divided by: equal scores go to fewer terms
    near: float = 0.7  # of the best score: a setting below is no member; weaker ones err elsewhere than the best
    gap: float = 0.1  # oscillations that a straight line may bridge unmarked
    past: float = 4.0  # θ before a start that the filter sees: after that it has forgotten
    bound: float = 2.0  # of the largest excursion on record: beyond, a run has failed


DEFAULT = MemorySettings()
