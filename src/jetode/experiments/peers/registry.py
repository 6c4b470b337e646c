"""Other ways to forecast the same record ahead (docs/mathematics.md §5), to be measured beside the joint fit.

Every peer sees the record and nothing else; its settings are chosen on a stretch at the record's end.  A peer that
fails, in whatever way, has NaN from there on.  The libraries behind some of them come with ``jetode[bench]``; a peer
whose library is absent is None in :func:`available`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from numpy.typing import ArrayLike

from jetode.baselines import linear
from jetode.equations.field import Field
from jetode.experiments.peers.narx import (
    FAR,
    RAW,
    Builder,
    Past,
    Rollout,
    Search,
    Setting,
    autoregression,
    choose,
    denoising,
    kernel_ridge,
    local_linear,
)
from jetode.experiments.peers.reservoirs import echo_state, nvar
from jetode.integration.dop853 import integrate
from jetode.signal.spline import smooth
from jetode.support.arrays import FloatArray, IntArray
from jetode.support.blas import one_thread
from jetode.support.errors import InputError

FEWEST_SAMPLES = 200
Peer = Callable[[FloatArray, float, int], Rollout]  # (values, dt, seed) → forecasts from any end

HOLD = (0.0, 1.0)
RAW_ONLY = {"lead": (RAW,), "hold": (1.0,)}
SMOOTHED = {"lead": (RAW, 0.3, 0.6), "hold": HOLD}
SEARCHES: Mapping[str, Search] = {
    "kernel-ridge": Search(
        {"stride": (0.1, 0.2, 0.3, 0.5), "width": (0.35, 0.5, 0.7, 1.0, 1.5, 2.5)},
        {"window": (0.6, 1.2, 2.3, 4.0), "ridge": (1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8), **RAW_ONLY},
        {"window": (1.2, 2.3, 4.0, 6.5, 10.0), "ridge": (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1), **SMOOTHED},
        20,
    ),
    "local-linear": Search(
        {"neighbours": (8, 15, 40, 100), "components": (3, 4, 6, 8), "stride": (0.2, 0.5)},
        {"window": (0.6, 1.2, 2.3, 4.0), **RAW_ONLY},
        {"window": (1.2, 2.3, 4.0, 9.0), **SMOOTHED},
        12,
    ),
    "NVAR": Search(
        {"taps": (4, 6, 8, 10), "spacing": (0.4, 0.8, 1.1, 1.5), "order": (2, 3), "stride": (0.1,)},
        {"ridge": (1e-12, 1e-11, 1e-10, 1e-8, 1e-6), "lead": (RAW,), "hold": HOLD},
        {"ridge": (1e-7, 1e-5, 1e-3, 1e-2), **SMOOTHED},
        12,
    ),
    "ESN": Search(
        {"leak": (0.3, 0.6), "radius": (0.9, 1.2), "input": (0.5, 1.0), "stride": (0.1, 0.3)},
        {"ridge": (1e-9, 1e-8, 1e-7, 1e-6, 1e-4), "lead": (RAW,), "hold": HOLD},
        {"ridge": (1e-6, 1e-5, 1e-4, 1e-3, 1e-2), **SMOOTHED},
        10,
    ),
    "PySINDy": Search({"degree": (2, 3), "threshold": (0.02, 0.1, 0.3), "stride": (1.0,), "window": (2.0,)}, {}, {}, 6),
    "AR": Search({"window": (2.0, 5.0, 10.0), "ridge": (1e-8, 1e-4), "stride": (0.25,)}, {**RAW_ONLY}, {**SMOOTHED}, 8),
}


# -- equations ---------------------------------------------------------------------------------------------


def sindy(past: Past, setting: Setting) -> Rollout:
    """PySINDy's thresholded least squares on the jets u0, u1, u2 of a smoothing spline, time in tc."""
    import pysindy

    scales = past.tc ** np.arange(4)

    def jets(values: FloatArray, order: int) -> FloatArray:
        return smooth(values, 1.0, 5, "gcv").jets(order) * scales[: order + 1]

    trim = max(5, round(past.tc))
    u = jets(past.values, 3)[trim:-trim]
    library = pysindy.PolynomialLibrary(degree=int(setting["degree"]))
    model = pysindy.SINDy(
        optimizer=pysindy.STLSQ(threshold=setting["threshold"], alpha=1e-8), feature_library=library
    ).fit(u[:, :3], t=1.0 / past.tc, x_dot=u[:, 1:])
    powers = [tuple(int(k) for k in row) for row in library.powers_]
    rows = [{e: float(c) for e, c in zip(powers, row, strict=True) if c} for row in model.coefficients()]
    field = Field.polynomial(rows)
    spread = np.std(u[:, :3], axis=0)

    def one(values: FloatArray, end: int, steps: int) -> FloatArray:
        start = jets(values[max(0, end - round(60 * past.tc)) : end + 1], 2)[-1 - trim]
        limit = FAR * 4 * spread + np.abs(start)
        control = {"rtol": 1e-7, "atol": 1e-9, "max_step": 1.0, "bound": limit, "max_steps": 50_000}
        run = integrate(field, start, trim + steps + 1, 1.0 / past.tc, **control)
        out = np.full(steps + 1, np.nan)
        ahead = run.states[trim:, 0]
        out[: ahead.size] = ahead
        return out

    def rollout(values: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        return np.stack([one(values, int(end), steps) for end in ends])

    return rollout


# -- trivial ------------------------------------------------------------------------------------------------


def persistence(values: FloatArray, dt: float, seed: int) -> Rollout:
    """The last value for ever."""
    return linear.persistence((), 0.0)


def repetition(values: FloatArray, dt: float, seed: int) -> Rollout:
    """The last oscillation again and again."""
    return linear.repetition((), 2.0 * np.pi * Past.of(values)[0].tc)


# -- the registry --------------------------------------------------------------------------------------------


def _fitted(name: str, build: Builder, values: FloatArray, dt: float, seed: int) -> Rollout:
    """Choose settings, then fit the whole record."""
    past, middle, spread = Past.of(values, seed)
    rollout = build(past, choose(past, build, SEARCHES[name]))
    return lambda seen, ends, steps: middle + spread * rollout((seen - middle) / spread, ends, steps)


_BUILDERS: Mapping[str, tuple[Builder, str | None]] = {
    "kernel-ridge": (denoising(kernel_ridge), "sklearn"),
    "local-linear": (denoising(local_linear), None),
    "NVAR": (denoising(nvar), "reservoirpy"),
    "ESN": (denoising(echo_state), "reservoirpy"),
    "PySINDy": (sindy, "pysindy"),
    "AR": (denoising(autoregression), None),
}
PAPER = "jetode.experiments.peers.paper_method"  # by name, so that the other peers do not reach the whole of jetode


def _paper(values: FloatArray, dt: float, seed: int) -> Rollout:
    return import_module(PAPER).paper(values, dt, seed)


_PLAIN: Mapping[str, Peer] = {"paper": _paper, "persistence": persistence, "repetition": repetition}
NAMES = (*_BUILDERS, *_PLAIN)


def available() -> dict[str, Peer | None]:
    """Every peer by name; None where its library is absent (install jetode[bench])."""
    fitted: dict[str, Peer | None] = {
        name: partial(_fitted, name, build) if library is None or find_spec(library) else None
        for name, (build, library) in _BUILDERS.items()
    }
    return {**fitted, **_PLAIN}


def source(name: str) -> str:
    """The module that a peer's code begins in."""
    return PAPER if name == "paper" else __name__


def fit(name: str, values: ArrayLike, dt: float, seed: int = 0) -> Rollout:
    """A peer fitted to a record: call it with (values seen, end samples, steps); it looks only at what is up to each
    end and returns one row of steps + 1 values per end, from the end sample on, NaN where it has failed."""
    peers = available()
    if name not in peers:
        raise InputError(f"The 'name' parameter must be one of {', '.join(peers)}. Got {name!r} instead.")
    peer = peers[name]
    if peer is None:
        raise InputError(f"The peer {name!r} needs a library that is not there: install jetode[bench].")
    record = np.array(values, dtype=np.float64)
    if record.ndim != 1 or record.size < FEWEST_SAMPLES or not np.all(np.isfinite(record)):
        raise InputError(f"The 'values' parameter must be at least {FEWEST_SAMPLES} finite numbers in one dimension.")
    if not dt > 0:
        raise InputError(f"The 'dt' parameter must be > 0. Got {dt} instead.")
    try:
        with _quiet():
            rollout = peer(record, dt, seed)
    except Exception:  # whatever a library raises, the peer has no forecast for this record
        rollout = failed

    def sound(seen: FloatArray, ends: IntArray, steps: int) -> FloatArray:
        try:
            with _quiet():
                return rollout(seen, ends, steps)
        except Exception:  # the same for these ends; alone, some of them may go well
            if ends.size == 1:
                return failed(seen, ends, steps)
            return np.concatenate([sound(seen, ends[i : i + 1], steps) for i in range(ends.size)])

    return sound


def failed(seen: FloatArray, ends: IntArray, steps: int) -> FloatArray:
    """Forecasts that have nothing beyond the last sample."""
    out = np.full((ends.size, steps + 1), np.nan)
    out[:, 0] = seen[ends]
    return out


def forecast(name: str, values: ArrayLike, dt: float, steps: int, seed: int = 0) -> FloatArray:
    """``steps`` + 1 values from the last sample (index 0) on; NaN where the peer has failed."""
    if steps < 1:
        raise InputError(f"The 'steps' parameter must be an int ≥ 1. Got {steps} instead.")
    record = np.array(values, dtype=np.float64)
    return fit(name, record, dt, seed)(record, np.array([record.size - 1]), steps)[0]


@contextmanager
def _quiet() -> Iterator[None]:
    """Ill-conditioned candidates of a grid are scored, not reported; many small products need one thread."""
    with warnings.catch_warnings(), np.errstate(all="ignore"), one_thread():
        warnings.simplefilter("ignore")
        yield
