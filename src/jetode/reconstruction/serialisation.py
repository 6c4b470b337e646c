"""Models as plain JSON (``schemas/model.schema.json``): all that a forecast from the end of the record needs.

Version 2 (2026) knows regular and rational dynamics and verdicts that trust or do not; it is still read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from jetode.reconstruction.dynamics.base import Ahead, Dynamics
from jetode.reconstruction.dynamics.black_box import BlackBoxDynamics
from jetode.reconstruction.dynamics.memory import MemoryDynamics
from jetode.reconstruction.dynamics.rational import RationalDynamics
from jetode.reconstruction.dynamics.regular import RegularDynamics
from jetode.reconstruction.evidence import evidence_of
from jetode.reconstruction.held_out_bands import HeldOutBands
from jetode.reconstruction.record_info import RecordInfo, SplineInfo
from jetode.reconstruction.verdict import Verdict
from jetode.support.errors import InputError
from jetode.support.json import plain
from jetode.support.schema import Mismatch, check

if TYPE_CHECKING:
    from jetode.reconstruction.model import Model

FORMAT = "jetode-model"
VERSION = 3
READABLE = (2, 3)
MOST_BYTES = 256 << 20  # of a file: a black box that keeps ten million samples
SUMMARISED = ("kind", "closure", "regular", "poles")  # of the dynamics, in a summary

# a kind of dynamics by its name: what reads its part of a file
KINDS: Mapping[str, Callable[[Mapping[str, Any]], Dynamics]] = MappingProxyType(
    {
        "rational": RationalDynamics.from_json,
        "regular": RegularDynamics.from_json,
        "memory": MemoryDynamics.from_json,
        "black box": BlackBoxDynamics.from_json,
    }
)


def summary(model: Model) -> dict[str, Any]:
    """What was found and how far to rely on it."""
    signal = float(model.spread[0])
    dynamics = model.dynamics.to_json()
    return {
        "method": model.method,
        "order": model.order,
        "record": model.record.to_json(),
        "noise": {"sigma": model.noise_sigma, "fraction": model.noise_sigma / signal if signal else 0.0},
        **{name: dynamics[name] for name in SUMMARISED if name in dynamics},
        "verdict": model.verdict.to_json(),
        "spline": None if model.spline is None else vars(model.spline) | {},
        "settings": dict(model.settings),
        "diagnostics": dict(model.diagnostics),
    }


def to_json(model: Model) -> dict[str, Any]:
    """Everything but the records."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **summary(model),
        **model.dynamics.to_json(),
        "forecaster": None if model.forecaster is None else model.forecaster.to_json(),
        "bands": None if model.bands is None else model.bands.to_json(),
    }


def from_json(data: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of a model, by name."""
    if data.get("format") != FORMAT:
        raise InputError(f"This is no jetode model: its 'format' must be {FORMAT!r}.")
    if data.get("version") not in READABLE:
        known = " and ".join(str(version) for version in READABLE)
        raise InputError(f"The model has version {data.get('version')}, and this jetode reads versions {known}.")
    _check(data)
    try:
        evidence_of(data["diagnostics"])  # read when it is asked for, and whether it can be is known now
        return {
            "method": str(data["method"]),
            "noise_sigma": float(data["noise"]["sigma"]),
            "record": _record(data),
            "verdict": Verdict.from_json(data["verdict"]),
            "dynamics": _dynamics(data),
            "spline": None if data["spline"] is None else SplineInfo(**data["spline"]),
            "settings": dict(data["settings"]),
            "diagnostics": dict(data["diagnostics"]),
            "forecaster": _dynamics({**data, **data["forecaster"]}) if data.get("forecaster") else None,
            "bands": HeldOutBands.from_json(data["bands"]) if data.get("bands") else None,
        }
    except InputError as error:
        raise InputError(f"The model file is damaged: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise InputError(f"The model file is damaged: {error!r}.") from None


@cache
def schema() -> dict[str, Any]:
    """What a model file must look like."""
    text = files("jetode.reconstruction").joinpath("schemas", "model.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def _check(data: Mapping[str, Any]) -> None:
    """Before anything is made of them: types, bounds, sizes of the arrays that belong together."""
    kind = data.get("kind")
    if kind is not None and not (isinstance(kind, str) and kind in KINDS):
        raise InputError(f"The model is of the kind {str(kind)[:40]!r}, and this jetode knows {', '.join(KINDS)}.")
    try:
        check(data, schema())
    except Mismatch as problem:
        raise InputError(f"The model file is damaged: {problem}.") from None


def _record(data: Mapping[str, Any]) -> RecordInfo:
    """Version 2 keeps what was done to the record among the settings."""
    notes = data["settings"].get("reduction") or ()
    return RecordInfo.from_json({"notes": notes, **data["record"]})


def _dynamics(data: Mapping[str, Any]) -> Dynamics:
    dynamics = KINDS[data.get("kind") or ("rational" if data["identified"] is None else "regular")](data)
    if isinstance(dynamics, MemoryDynamics | BlackBoxDynamics):  # settings that belong together: one step tells
        dt = dynamics.samples.dt
        dynamics.forecast(Ahead(dt, dt, samples=0))
        if not np.isfinite(dynamics.end_state).all():
            raise ValueError("its last state is not finite")
    return dynamics


def read(path: str | Path) -> dict[str, Any]:
    """The JSON object in a file."""
    try:
        if Path(path).stat().st_size > MOST_BYTES:
            raise InputError(f"The model {str(path)!r} is larger than {MOST_BYTES >> 20} MB: this is no jetode model.")
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"The model {str(path)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise InputError(f"The model {str(path)!r} is no JSON file.") from None
    if not isinstance(data, dict):
        raise InputError(f"This is no jetode model: its 'format' must be {FORMAT!r}.")
    return data


def text(model: Model) -> str:
    """The file as it is written."""
    return json.dumps(plain(to_json(model)), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
