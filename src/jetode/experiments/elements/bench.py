"""How often the right function is found: one record of one system with an element, reconstructed and scored."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from jetode.experiments.elements.cases import ElementCase, TrueElement
from jetode.reconstruction.model import Model
from jetode.reconstruction.reconstruct import reconstruct

WITHIN = 3.0  # standard errors
FIXED = 0.01  # absolute: what a parameter without a standard error may be off, one that the fit has set to 0


def scored(case: ElementCase, noise: float, seed: int, **options: Any) -> dict[str, Any]:
    """The names found, whether they are the right ones, parameters in standard errors, grade and time."""
    record, _ = case.record(noise, seed)
    began = time.process_time()
    model = reconstruct(record, **options)
    names = sorted(e.name for e in model.elements)
    right = names == sorted(e.name for e in case.elements)
    errors = parameter_errors(model, case) if right else {}
    return {
        "case": case.name,
        "noise": noise,
        "seed": seed,
        "grade": model.verdict.grade,
        "names": names,
        "named": right,
        "within": bool(right and all(e <= WITHIN for e in errors.values())),
        "errors": errors,
        "equation": model.equation(),
        "reason": model.verdict.reason,
        "seconds": time.process_time() - began,
    }


def parameter_errors(model: Model, case: ElementCase) -> dict[str, float]:
    """The distance of every parameter from the truth in standard errors; of one that was fixed, 0 or infinite."""
    out: dict[str, float] = {}
    for true in case.elements:
        found = next(e for e in model.elements if e.name == true.name)
        for name, value in true.parameters.items():
            got, error = found.parameters[name]
            out[f"{true.name}.{name}"] = _distance(got, error, value)
    return out


def _distance(got: float, error: float, true: float) -> float:
    if error > 0.0:
        return float(abs(got - true) / error)
    return 0.0 if abs(got - true) <= FIXED else float(np.inf)


def describe(true: tuple[TrueElement, ...]) -> str:
    """The names of the true elements."""
    return " + ".join(e.name for e in true)
