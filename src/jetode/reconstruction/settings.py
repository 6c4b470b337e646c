"""Numbers of this layer, each with its reason, each in one place."""

from __future__ import annotations

from dataclasses import dataclass

from jetode.joint.problem import CLEAN_SIGMA
from jetode.joint.search_settings import DECISION

FEWEST_SAMPLES = 100  # of a record: fewer leave no equation with three coordinates anything to be tested on


@dataclass(frozen=True)
class Integration:
    """How models are run ahead."""

    rtol: float = 1e-8  # the paper's
    tight_rtol: float = 1e-12  # where the samples are nearly exact, so that the run does not limit the forecast
    nearly_exact: float = CLEAN_SIGMA  # of std: noise below which they are, as for the fit's own integrator
    most_band_steps: int = 50_000  # of a forecast with bands: 80 MB of members, some ten seconds
    rollout_rtol: float = 1e-7  # of long runs, which are looked at as a whole
    rollout: float = 400.0  # tc: a long run visits an attractor such as Lorenz's on both sides many times
    rollout_density: float = 20.0  # points per tc: about 120 per period of a sine
    near_pole: float = 0.1  # of the typical |D|: nearer, w = (u2 − a)/D of a spline's jets is mostly error
    carried_agreement: float = (
        0.2  # std: a state carried to the end by the closure must agree that well with the spline
    )


INTEGRATION = Integration()


@dataclass(frozen=True)
class Examination:
    """How the evidence is gathered; times in tc unless said otherwise."""

    fitted_share: float = 0.75  # of each record for the held-out test: enough to fit, the rest enough to judge
    block: float = 0.5  # residuals are averaged over blocks this long to see structure beneath the noise
    shortest_part: float = 1.0  # of the fitted and of the held-out share
    starts: int = 4  # past-only forecasts into the held-out stretch: each costs a path through 150 tc
    horizon: float = 3.0  # oscillations such a forecast is followed for
    known_ahead: float = 0.5  # share of such a stretch that must not be missing, to be judged by
    shortest_horizon: int = 8  # samples of such a forecast that can still fail
    holds: float = 0.4  # std: error within which a forecast holds
    reach: float = 2.0  # times the record's range on either side of its middle: beyond, a long run has left it
    shortest_run: int = 50  # points of a run whose distribution can be compared
    redundant_degree: int = 5  # of the polynomial that may explain a decay's last coordinate by the others
    segment: float = 40.0  # of a periodogram: six periods of a sine
    band: float = 1.0  # 1/tc: frequencies compared, up to six times that of a sine
    uncertainty: float = 0.9  # quantile of the field's error by its own standard errors: one in ten may be farther off
    uncertain_points: int = 2000  # states of a path that this is looked at on: 1 to 2 % of its size
    paper_rollout: float = 50.0  # oscillations of a long run in the paper's verdict
    paper_reach: float = 1.5  # times the record's range on either side of its middle, there


EXAMINATION = Examination()


@dataclass(frozen=True)
class Limits:
    """What the checks allow before a model counts as exact."""

    noise_ratio: float = 1.12  # residual over estimated noise, whose own error is a few per cent
    block_ratio: float = 1.6  # variance of block means over white's: 0.17 σ of slow structure in blocks of 20
    held_out: float = 1.25  # χ² per held-out sample, whose path is fitted with coefficients from elsewhere
    distance: float = 0.8  # std: a switching attractor such as Lorenz's reaches 0.5 against itself over 300 tc
    spread_ratio: tuple[float, float] = (0.6, 1.6)  # of a long run's std over the record's
    clean_residual: float = CLEAN_SIGMA  # of std: what an equation may leave of a record without noise
    hidden_noise: float = 3.0  # residual over the noise that a record without any can hide; right equations leave 1.0
    integrated: float = 1e-4  # of std: below, it may be the error of a simulation (RK4, twice its usual step: 3e-5)
    rival: float = 10.0  # ΔBIC of another form: odds of 150 to 1
    margin: float = DECISION.min_margin  # ΔBIC of one term, as the search demands
    score: float = DECISION.max_score  # of the test for missing terms, as the search demands
    oscillations: float = 5.0  # fewer cannot show a second time what they showed once
    certainty: float = 5.0  # standard errors of a decay's least certain coefficient that make up for few oscillations
    own_motion: float = (
        1e-3  # of its variance: what the others must leave of a decay's last coordinate, 3 % of its size
    )
    dimension: float = 1.5  # Kaplan–Yorke, below which an attractor is a closed curve: 1 of a cycle, 2 of a torus
    told: float = 2.0  # numbers of a periodic record over coefficients: those that fix them, and as many to check them
    repeated: float = 1e-3  # chance of residuals that repeat with the record: once in a thousand right equations
    field_floor: float = 2e-3  # rms of D u_n − N over D u_n: an equation farther off is not the one behind the record
    field_per_noise: float = 0.2  # and so much of the noise more: five times what right equations are off by
    exchange: float = DECISION.min_exchange  # ΔBIC of one term for another, strong evidence
    uncertainty: float = 1.25  # times that, by its own standard errors: then a term that is missing may hide in them
    strong_margin: float = 6.0  # and ΔBIC as for "margin", but strong evidence where that asks for positive (Raftery)
    plane: int = 2  # coordinates in which a closed curve has room and no more
    terms: int = DECISION.few_terms  # coefficients: with more, a polynomial imitates what it cannot state
    exact: float = 1e-6  # of std: a residual that no imitation leaves, however many its coefficients
    skill: float = 0.25  # oscillations that held-out forecasts must hold
    colour: float = 0.1  # correlation of neighbouring residuals from which noise is called coloured
    regular_misfit: float = 1e-3  # of N: up to here a closure obeys the crossing conditions (docs/mathematics.md §3)

    def field_error(self, noise: float) -> float:
        """How far an exact equation may be off on the motion, under noise of so many std."""
        return self.field_floor + self.field_per_noise * noise


LIMITS = Limits()


@dataclass(frozen=True)
class ContestSettings:
    """What decides between forecasts that were tried on the same held-out starts."""

    thresholds: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.8)  # std: their mean time tells forecasts at the cap apart
    ratio: float = 1.15  # score over that of the best simple method: less is not worth a model
    clearly: float = 3.0  # standard errors of the difference: a linear process passes once in a thousand records
    useful: float = 0.1  # oscillations that forecasts hold in the median: the window they are judged over
    least: float = 0.01  # oscillations: a simple method that fails at once still counts as much
    as_good: float = 0.95  # of the best score: nearer than the trials can tell apart
    explicit: float = 0.9  # of a simple method's score: an equation that holds to the end as it does says more
    doubt: float = 1.0  # standard errors by which a black box has to be ahead, start by start, to take its place
    all_there: float = (
        0.98  # of the longest score that trials can show: a black box cannot do better by more than chance
    )
    short: float = 2.0  # times as far from that as a black box which is near it: the trials' end hides the rest
    company: float = 0.8  # of the better score: memory and kernel ridge so near each other are also tried together
    hopeless: float = 0.4  # of the farthest's mean time: an equation that holds for less is far from ``near``
    end: float = 0.95  # of the longest time that trials can show: whoever holds so long cannot be beaten
    near: float = 0.5  # of the best median time: an equation that fails much sooner does not describe the motion
    trend: float = 0.9  # rank correlation of the motion's size with time: it steadily fades or grows
    readable: int = DECISION.few_terms + 2  # coefficients of an equation that a person can read

    def level_to_the_end(self, kind: str, time: float, simple: float, longest: float) -> bool:
        """Whether an equation holds for ``time`` as long as trials can show, and the best simple method does so too."""
        return kind in ("equation", "memory") and min(time, simple) >= self.end * longest


CONTEST = ContestSettings()
