"""From a record to a model: the default way, or the paper's workflow (Fig. pipeline).

``METHODS`` maps a method's name to the function that runs it; the modules of this package named after them compose the
stages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from types import MappingProxyType
from typing import Any

from jetode.reconstruction.joint_method import joint
from jetode.reconstruction.model import Model
from jetode.reconstruction.paper_method import paper
from jetode.records.conversion import as_records
from jetode.records.series import Series
from jetode.signal.artefacts import find_artefacts, note
from jetode.support.blas import one_thread
from jetode.support.errors import InputError
from jetode.support.notebook import watched

METHODS: Mapping[str, Callable[..., Model]] = MappingProxyType({"joint": joint, "paper": paper})


@one_thread()
def reconstruct(record: Any, method: str | None = None, dt: float | None = None, **options: Any) -> Model:
    """The differential equation of a record, as a :class:`jetode.reconstruction.model.Model`.

    ``record``: a Series, an array with its ``dt``, pandas, xarray or a path (:func:`.as_series`), or a list of these.
    ``method="joint"`` takes the options of :func:`joint`, ``method="paper"`` those of :func:`paper`; without a method
    it is the paper's where the degrees of its closure are given, else the joint fit.
    """
    method = method_of({"method": method, **options})
    if method not in METHODS:
        allowed = ", ".join(METHODS)
        raise InputError(f"The 'method' parameter must be one of {allowed}. Got {method!r} instead.")
    known = signature(METHODS[method]).parameters
    for name in options:
        if name not in known:
            raise InputError(f"The method {method!r} takes no option {name!r}. It takes {', '.join(known)}.")
    records = as_records(record, dt)
    if "progress" not in known or options.get("progress") is not None:
        return _with_artefacts(METHODS[method](records, **options), records)
    with watched("Reconstructing") as say:
        return _with_artefacts(METHODS[method](records, **options | {"progress": say}), records)


def _with_artefacts(model: Model, records: Series | Sequence[Series]) -> Model:
    """A verdict that is not exact names what the recording left in the record (clipping, hum, a drifting gain)."""
    if model.verdict.trusted:
        return model
    given = (records,) if isinstance(records, Series) else records
    found = " ".join(dict.fromkeys(text for record in given if (text := note(find_artefacts(record)))))
    advice = f"{found} {model.verdict.advice}".strip()
    return replace(model, verdict=replace(model.verdict, advice=advice)) if found else model


def method_of(options: Mapping[str, Any]) -> str:
    """The method asked for, else the paper's where the degrees of its closure are given, else the joint fit."""
    default = "paper" if {"denominator_degree", "numerator_degree"} & options.keys() else "joint"
    return options.get("method") or default
