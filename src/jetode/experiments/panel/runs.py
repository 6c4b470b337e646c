"""The panel of mathematics.md §4: channels of public systems, their true regular forms, and how a model compares.

``data/panel.csv`` is made by ``scripts/make_panel.py``: equations with exact coefficients, the class of each channel
(R0 no pole, R1 affine pole in u0, R2 any other D, chain, 4-D, control), for R0–R2 the regular form (a, D, P), and for a
chain f0 and c too.
Every record is 6,001 samples at dt = tc/20 from a seeded state on the attractor; the truth goes on beyond its end for
10 Lyapunov times or 100 tc, whichever is shorter.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from time import process_time
from typing import Any

import numpy as np

from jetode.equations.closure import relative_l2
from jetode.equations.expressions import parse_polynomial, to_floats
from jetode.equations.field import Field
from jetode.equations.polynomials import Polynomial, graded_order
from jetode.equations.regular import RegularClosure
from jetode.experiments.peers import registry as peers
from jetode.integration.dop853 import Stop, integrate
from jetode.integration.forecast import forecast
from jetode.integration.valid_prediction_time import valid_prediction_time
from jetode.joint.path import fit_state
from jetode.joint.problem import CLEAN_SIGMA
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct
from jetode.records.series import Series
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

SAMPLES = 6001
PER_TC = 20
TRANSIENT = 200.0  # tc
APART = 500.0  # tc between the records of one channel
LYAPUNOV_TIMES, MOST_TC = 10.0, 100.0
COEFFICIENT, ERRORS = 0.1, 5.0  # a coefficient is right within 10 % or 5 standard errors
REGULAR = ("R0", "R1", "R2")


@dataclass(frozen=True, eq=False)
class Channel:
    """One observable of one system."""

    system: str
    observable: str
    kind: str
    equations: tuple[tuple[str, str], ...]
    initial: tuple[float, ...]
    regular: RegularClosure | None
    tc: float
    dt: float
    lyapunov: float

    @property
    def name(self) -> str:
        """ "Lorenz x"."""
        return f"{self.system} {self.observable}"

    @property
    def order(self) -> int:
        """Dimension of the system."""
        return len(self.equations)

    @property
    def steps(self) -> int:
        """Samples of the horizon."""
        return round(min(LYAPUNOV_TIMES / self.lyapunov, MOST_TC * self.tc) / self.dt)

    @property
    def index(self) -> int:
        """Which coordinate is observed."""
        return [v for v, _ in self.equations].index(self.observable)

    @cached_property
    def field(self) -> Field | None:
        """The right-hand side for compiled code, None where it is not polynomial."""
        variables = [v for v, _ in self.equations]
        try:
            return Field.polynomial([to_floats(parse_polynomial(e, variables)) for _, e in self.equations])
        except InputError:
            return None

    def states(self, start: FloatArray, count: int, dt: float) -> FloatArray:
        """A tight trajectory."""
        if self.field is not None:
            run = integrate(self.field, start, count, dt, 1e-12, 1e-12, max_steps=1000 * count + 10**6)
            if run.stop is not Stop.COMPLETED:
                raise InputError(f"The trajectory of {self.system} ended with {run.stop.value}.")
            return run.states
        return self._interpreted(start, count, dt)

    def _interpreted(self, start: FloatArray, count: int, dt: float) -> FloatArray:
        import sympy
        from scipy.integrate import solve_ivp

        names = [v for v, _ in self.equations]
        rhs = sympy.lambdify([sympy.symbols(names)], [sympy.sympify(e) for _, e in self.equations], "numpy")
        times = dt * np.arange(count)
        return np.asarray(
            solve_ivp(lambda _, x: rhs(x), (0, times[-1]), start, "DOP853", t_eval=times, rtol=1e-11, atol=1e-12).y.T
        )

    def record(self, trajectory: int, noise: float, seed: int = 0) -> Task:
        """Record number ``trajectory`` at a noise level, with its true continuation."""
        rng = np.random.default_rng([seed, trajectory])
        wait = (TRANSIENT + APART * trajectory + 100.0 * rng.uniform()) * self.tc
        start = self.states(np.array(self.initial), 2, wait)[-1]
        values = self.states(start, SAMPLES + self.steps, self.dt)[:, self.index]
        clean = values[:SAMPLES]
        noisy = clean + noise * float(np.std(clean)) * rng.standard_normal(SAMPLES)
        return Task(self, trajectory, noise, Series(noisy, self.dt, name=self.observable), values[SAMPLES - 1 :])


@dataclass(frozen=True, eq=False)
class Task:
    """A record and what came after it (``ahead[0]`` is the true last sample)."""

    channel: Channel
    trajectory: int
    noise: float
    series: Series
    ahead: FloatArray

    def vpt(self, values: FloatArray) -> float:
        """Valid prediction time of a forecast, in Lyapunov times."""
        return valid_prediction_time(values, self.ahead, self.series.dt) * self.channel.lyapunov


def channels(table: str = "panel.csv") -> tuple[Channel, ...]:
    """All channels of a shipped table."""
    return _channels(table)


@cache
def _channels(table: str) -> tuple[Channel, ...]:
    text = (files("jetode") / "data" / table).read_text(encoding="utf-8")
    return tuple(_channel(row) for row in csv.DictReader(text.splitlines()))


def _channel(row: dict[str, str]) -> Channel:
    equations = tuple((v.strip(), e.strip()) for v, e in (part.split(":") for part in row["equations"].split(";")))
    return Channel(
        system=row["system"],
        observable=row["observable"],
        kind=row["class"],
        equations=equations,
        initial=tuple(float(v) for v in row["initial"].split()),
        regular=true_form(row["a"], row["D"], row["P"], row["f0"], row["c"]) if row["D"] else None,
        tc=float(row["tc"]),
        dt=float(row["dt"]),
        lyapunov=float(row["lyapunov"]),
    )


def true_form(a: str, big_d: str, big_p: str, f0: str = "", c: str = "") -> RegularClosure:
    """A regular form from the text of its polynomials, in the gauge given; with ``c`` a chain."""
    second = "v" if c else "u1"
    head = {part: to_floats(parse_polynomial(text, ("u0",))) for part, text in (("f0", f0), ("c", c)) if c}
    return RegularClosure(
        to_floats(parse_polynomial(a, ("u0", second))),
        to_floats(parse_polynomial(big_d, ("u0", second))),
        to_floats(parse_polynomial(big_p, ("u0", second, "w"))),
        3,
        **head,
    )


def select(names: Iterable[str], table: str = "panel.csv") -> tuple[Channel, ...]:
    """Channels by name ("Lorenz x", "Lorenz.x"), system or class ("R1", "R0-R2", "controls", "all")."""
    every = channels(table)
    wanted: list[Channel] = []
    for name in names:
        word = name.strip().replace(".", " ")
        found = [c for c in every if word in ("all", c.name, c.system, c.kind)]
        found += [c for c in every if word == "R0-R2" and c.kind in REGULAR]
        found += [c for c in every if word == "controls" and c.kind not in REGULAR]
        if not found:
            known = ", ".join(c.name for c in every)
            raise InputError(
                f"The 'channels' option must name channels or classes (R0-R2, all; {known}). Got {name!r}."
            )
        wanted += [c for c in found if c not in wanted]
    return tuple(wanted)


# -- comparison with the truth ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Comparison:
    """Form: the monomials of D and c (their constants are parameters).  Terms: those of the rest too.  Right: and every
    coefficient within 10 % or 5 standard errors.  ``missing`` and ``extra`` are terms such as "P u0 w"."""

    form: bool
    terms: bool
    right: bool
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    error: float


def compare(model: Model, truth: RegularClosure, tc: float) -> Comparison:
    """A model beside the true regular form, both brought to the canonical gauge.

    A model found with as few coefficients as ``truth`` has in its own gauge may show further canonical terms that are
    0 within their errors: there the true coefficients cancel exactly and estimated ones cannot.
    """
    true, size = truth.canonical(), model.record.std
    error = relative_l2(model.closure.rescaled(1 / size, 1 / tc), true.rational().rescaled(1 / size, 1 / tc))[0]
    if model.regular is None or model.order != true.order:
        return Comparison(False, False, False, (), (), error)
    found = model.regular.canonical()
    ours, theirs = _terms(found), _terms(true)
    errors = {(c.part, c.powers): c.standard_error for c in model.coefficients()}
    form = _monomials(found.D) == _monomials(true.D) and _monomials(found.c) == _monomials(true.c)
    missing, extra = theirs.keys() - ours.keys(), ours.keys() - theirs.keys()
    if model.identified is not None:
        most = sum(len(part) for part in (truth.a, truth.D, truth.P, truth.f0, truth.c if truth.is_chain else ()))
        frugal = np.count_nonzero(model.identified.terms.free) <= most
        extra = {k for k in extra if not (frugal and abs(ours[k]) <= ERRORS * errors.get(k, 0.0))}
    terms = form and not missing and not extra
    right = terms and _pole_error(found, true, size, tc) <= COEFFICIENT
    for key, value in theirs.items() if right else ():
        right = right and abs(ours[key] - value) <= np.fmax(COEFFICIENT * abs(value), ERRORS * errors.get(key, 0.0))
    lacking, beyond = _named(missing, true.names()), _named(extra, found.names())
    return Comparison(form, terms, bool(right), lacking, beyond, error)


def _pole_error(found: RegularClosure, true: RegularClosure, size: float, tc: float) -> float:
    """Error of the constant of D, or of a chain's c, in units of the leading term's size."""
    if true.is_chain:
        unit = size ** max(e[0] for e in true.c)
        return abs(found.c.get((0,), 0.0) - true.c.get((0,), 0.0)) / unit
    if not any(true.lead):
        return 0.0
    origin = (0,) * (true.order - 1)
    unit = float(np.prod([(size / tc**i) ** k for i, k in enumerate(true.lead)]))
    return abs(found.D.get(origin, 0.0) - true.D.get(origin, 0.0)) / unit


def _terms(regular: RegularClosure) -> dict[tuple[str, tuple[int, ...]], float]:
    out = {("a", e): c for e, c in regular.a.items()} | {("P", e): c for e, c in regular.P.items()}
    out |= {("f0", e): c for e, c in regular.f0.items()}
    return out | {("D", e): c for e, c in regular.D.items() if any(e) and e != regular.lead}


def _monomials(big_d: Polynomial) -> set[tuple[int, ...]]:
    return {e for e in big_d if any(e)}


def _named(keys: Iterable[tuple[str, tuple[int, ...]]], names: tuple[str, ...]) -> tuple[str, ...]:
    def name(e: tuple[int, ...]) -> str:
        factors = [s if k == 1 else f"{s}^{k}" for s, k in zip(names, e, strict=False) if k]
        return "*".join(factors) or "1"

    return tuple(f"{part} {name(e)}" for part, e in sorted(keys, key=lambda k: (k[0], graded_order(k[1]))))


# -- one run ---------------------------------------------------------------------------------------------


def measure(task: Task) -> dict[str, Any]:
    """Reconstruct one record with all defaults and score it, as plain data; times in Lyapunov times."""
    channel = task.channel
    began = process_time()
    model = reconstruct(task.series)
    seconds = process_time() - began
    ahead = model.forecast(channel.steps * channel.dt, samples=0).values
    evidence = model.diagnostics.get("evidence", {})
    out: dict[str, Any] = {
        "channel": channel.name,
        "class": channel.kind,
        "noise": task.noise,
        "trajectory": task.trajectory,
        "seconds": round(seconds, 2),
        "trusted": model.verdict.trusted,
        "reason": model.verdict.reason,
        "equation": model.equation(),
        "order": model.order,
        "chi2": evidence.get("chi2"),
        "evidence": evidence,
        "vpt": task.vpt(ahead),
        "horizon": (task.ahead.size - 1) * channel.dt * channel.lyapunov,
        "peers": {},
        "sparkline": {"truth": thinned(task.ahead), "forecast": thinned(ahead)},
    }
    if channel.regular is None:
        return out
    same = compare(model, channel.regular, channel.tc)
    return out | {
        "form": same.form,
        "terms": same.terms,
        "right": same.right,
        "missing": list(same.missing),
        "extra": list(same.extra),
        "error": same.error if np.isfinite(same.error) else None,
        "oracle": task.vpt(oracle(channel.regular, task)),
    }


def oracle(regular: RegularClosure, task: Task) -> FloatArray:
    """The forecast with the true equations given, its state estimated from the record; NaN where that fails."""
    with np.errstate(invalid="ignore"):  # a path that runs away is a value, not a warning
        path = fit_state(regular.canonical(), task.series)
    if not np.isfinite(path.states).all():
        return np.full(1, np.nan)
    spread = np.nanstd(path.states, axis=0)
    rtol = 1e-12 if task.noise < CLEAN_SIGMA else 1e-8
    horizon = task.channel.steps * task.channel.dt
    return forecast(regular.canonical().field, path.end, spread, horizon, task.channel.dt, rtol=rtol).values


def measure_peers(task: Task, seed: int = 0) -> dict[str, float]:
    """Valid prediction time, in Lyapunov times, of each peer that is there on the same record."""
    values, dt, steps = task.series.values, task.channel.dt, task.channel.steps
    names = [name for name, peer in peers.available().items() if peer is not None]
    return {name: task.vpt(peers.forecast(name, values, dt, steps, seed)) for name in names}


def thinned(values: FloatArray, points: int = 160) -> list[float | None]:
    """At most ``points`` values, rounded, for a small picture."""
    shown = values[:: max(1, -(-values.size // points))]
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in shown]
