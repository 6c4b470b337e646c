"""The numbers of the search, each with its reason; lengths in tc, amplitudes in std, costs per sample or in terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jetode.joint.shooting.annealing import Schedule


def _geometric(first: float, last: float, count: int, iterations: int) -> Schedule:
    return Schedule(tuple(float(q) for q in np.geomspace(first, last, count)), iterations)


LOOK = Schedule((1.0, 0.3, 0.1, 0.04, 0.015), 3)
AGAIN = Schedule((0.03, 0.015, 0.008, 0.004), 4)
COOL = Schedule((0.3, 0.1, 0.05, 0.025, 0.012, 0.006, 0.003, 0.001), 4)
PATIENT = _geometric(1.0, 1e-3, 14, 8)
TRANSFER = Schedule((*COOL.levels, 1e-4), 8)
REHEATS = (_geometric(0.3, 1e-3, 10, 8), _geometric(1.0, 1e-3, 16, 8))


@dataclass(frozen=True)
class ScanSettings:
    """The first look at many guesses, and which of them go on."""

    length: float = 100.0  # tc: some dozens of oscillations, at a third of the cost of all that is searched
    step: float = 1.5  # × the fit's Runge–Kutta step: ranking needs less accuracy
    look: Schedule = LOOK  # the factor fixed: a rough path is enough to rank
    again: Schedule = AGAIN  # the factor held: it moves from its guess towards the minimum
    kept: int = 6  # guesses after the first look, whose ranks are rough
    carried: int = 3  # guesses after the second, which cost a fit on all that is searched each
    carry_reach: float = 5.0  # terms' worth of cost by which one may trail: term selection can change as much
    same: float = 1e-3  # relative difference of costs below which two fits of one form have come to the same place


@dataclass(frozen=True)
class CoolingSettings:
    """The fits on all that is searched, before terms are selected."""

    schedule: Schedule = COOL  # from where the scan ended loosely to where costs can be compared
    patient: Schedule = PATIENT  # without a pole there is no scan to begin from: from looser, and more slowly
    transfer: Schedule = TRANSFER  # a model of another stretch, down to the q of term selection
    reheats: tuple[Schedule, ...] = REHEATS  # each from looser and more slowly than the one before
    cold_start: int = 3  # level at which a path that the scan has covered in full begins: it is about as tight
    hopeless: float = 1.3  # × the best cost so far: a candidate without a pole is given up there
    select_reach: float = 10.0  # terms' worth of cost by which one may trail before its terms are selected


@dataclass(frozen=True)
class Decision:
    """When a fit is good enough, and when it is not worth going on with.

    χ²/n of n samples scatters by √(2/n).  Limits are given for ``reference`` samples; with fewer they widen as that
    scatter does.  With more they stay: the noise level they rest on is estimated from the smoothed record before the
    fit, with a bias that more samples do not take away.
    """

    reference: int = 6001  # samples for which the limits were set
    satisfying_excess: float = 0.035  # of χ²/n over 1: 1.9 standard deviations at the reference
    suspicious_excess: float = 0.04  # 2.2 standard deviations: a fit that misses by more is reheated
    gross: float = 4.0  # cost per sample from which no cooling again helps: the path does not follow the record
    selectable: float = 2.0  # and from which no term is worth selecting: fewer terms do not make a fit cheaper
    rich: float = (
        1.3  # the same beyond the first rung: of 113 selections on the panel 21 began above 1.05, and all failed
    )
    few_terms: int = 10  # with more, a wrong form can imitate the right one
    sure_terms: int = 7  # with so few and no pole none is looked for: what has one leaves more (the score test)
    max_score: float = 3.0  # standard deviations of the score test: the fit needs terms beyond its own
    min_exchange: float = 6.0  # rise of BIC by one term for another, neither of which costs more: odds of 20 (Raftery)
    min_margin: float = 2.0  # rise of BIC by one term more or less below which a record has not decided: odds of e

    def satisfying(self, n_samples: int) -> float:
        """Cost per sample up to which a fit is as good as the noise allows."""
        return 1.0 + self.satisfying_excess * self.scatter(n_samples)

    def suspicious(self, n_samples: int) -> float:
        """Cost per sample above which a fit is reheated."""
        return 1.0 + self.suspicious_excess * self.scatter(n_samples)

    def scatter(self, n_samples: int) -> float:
        """The standard deviation of χ²/n over that at the reference, at least 1."""
        return max(1.0, float(np.sqrt(self.reference / max(n_samples, 1))))


@dataclass(frozen=True)
class SearchSettings:
    """What is searched, and how finely."""

    length: float = 360.0  # tc: forms and terms are searched on this much of a long record, to bound the time
    second_chance: float = 0.4  # of a record: where the second try of the first rung begins, on mostly other samples
    shortest: float = 60.0  # tc: how much must be left for it
    step: float = 0.1  # tc: the search integrates coarsely where the noise hides it,
    coarse_sigma: float = 0.03  # std: that is, from this noise on
    coarse_order: int = 3  # and up to this order
    sigma: float = 0.01  # std: the search never trusts the samples more than this (integrator, loose start)
    near: float = 3.0  # std: a mean no farther from 0 leaves the prior on the coefficients as it is
    proposed: int = 3  # null vectors of a clean record that are fitted, those with the widest gaps
    certain_gap: float = 1e4  # of the null space: a rational closure without a regular form is taken from here on
    library_degree: int = 2  # of the library that prices a term: what it could have been,
    library_extra: int = 3  # and the terms of a


SCAN = ScanSettings()
COOLING = CoolingSettings()
DECISION = Decision()
SEARCH = SearchSettings()
