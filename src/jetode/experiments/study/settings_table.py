"""Table (settings): every setting as the code has it now, computed or tried, beside the printed one."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np

from jetode.catalogue.systems import systems
from jetode.equations.polynomials import Library
from jetode.experiments.core.store import Task
from jetode.experiments.study import printed
from jetode.experiments.study.cells import (
    DT,
    FRACTIONS,
    INITIAL,
    SYSTEMS,
    TRANSIENT,
    Cell,
    Realization,
    jets,
    realize,
)
from jetode.experiments.study.sections import Item, Plan, Results, Section, Table
from jetode.integration import forecast as forecasting
from jetode.integration import valid_prediction_time as score
from jetode.signal.noise import MAD_TO_SIGMA, noise_scale

CHOSEN = {  # where the paper is open or dimensional, and what is done here
    "Initial state U(0)": "what varies at 0 % noise",
    "Penalty weight λ": "λ",
    "Numerator library Φ_N": "Rössler's numerator degree",
    "rtol, atol": "tolerances free of units",
    "max_step": "tolerances free of units",
    "Realizations per system per noise level": "the number of realizations",
}
DEGREES = {3: "cubic", 5: "quintic", 7: "septic"}
RULES = {"residual": "Reinsch", "interpolate": "interpolating"}
RECOVERY = {
    "global": "global SVD",
    "pooled-samples": "average over 12 windows of 120 samples",
    "pooled-rows": "average over 12 windows of 120 rows",
}
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _decimal(value: Fraction) -> str:
    """0.2 for 1/5, but 8/3."""
    return f"{float(value):g}" if 1000 * value == int(1000 * value) else str(value)


def _parameters(system: str) -> str:
    return f"({', '.join(_decimal(v) for v in systems[system].parameters.values())})"


def _numerators(system: str, order: int) -> str:
    degree = Cell(system, 0.15).settings.numerator_degree
    return f"{systems[system].title} degree ≤ {degree}, {len(Library.total_degree(order, degree))} monomials"


def _normalised(realization: Realization) -> str:
    """Tried: a constant error just inside and just outside of the threshold × std of the truth."""
    truth = realization.truth[: realization.steps + 1]
    size = score.THRESHOLD * float(np.std(truth))
    inside, outside = (score.valid_prediction_time(truth + f * size, truth, DT) for f in (0.999, 1.001))
    return "std of the truth on [0, H]" if outside == 0.0 < inside else "another"


def _noise_scale(values: np.ndarray) -> str:
    """Tried: the estimate beside the printed formula."""
    second = np.diff(values, 2)
    formula = MAD_TO_SIGMA * float(np.median(np.abs(second - np.median(second)))) / sqrt(6.0)
    return f"{MAD_TO_SIGMA:g} MAD(Δ²y)/√6" if np.isclose(noise_scale(values), formula, rtol=1e-3) else "another"


def measured(plan: Plan, delays: list[int]) -> dict[str, str]:
    """Every setting of the table, in its words."""
    cell, clean = Cell("lorenz", 0.15), Cell("lorenz", 0.0)
    realization, settings = realize(cell, plan.seed, 0), cell.settings
    record, starts = realization.record, realization.starts
    embedding = jets(cell, record)
    interior = starts[0] > 0 and starts[-1] + realization.steps < record.n - 1
    order = embedding.order
    coordinates = [f"u{i}" for i in range(order)]
    variables = [f"u{i}" for i in settings.denominator_variables]
    lengths = {s: ["({:g}, {:g})".format(*Cell(s, fraction).lengths) for fraction in (0.0, 0.15)] for s in SYSTEMS}
    return {
        "Lorenz (σ, ρ, β)": _parameters("lorenz"),
        "Rössler (a, b, c)": _parameters("rossler"),
        "Scalar observable": f"s = {record.name}",
        "Sampling step Δt": f"{record.dt:g}",
        "Initial state U(0)": f"({', '.join(f'{v:g}' for v in INITIAL)}); at 0 % noise varied on the attractor, "
        "realization 0 excepted",
        "Transient": f"{TRANSIENT:g}",
        "Noise σ_frac": ", ".join(f"{f:.2f}" if f else "0" for f in FRACTIONS) + "; σ_η = σ_frac std(s)",
        "Lorenz (t_total, H)": "{} clean, {} noisy".format(*lengths["lorenz"]),
        "Rössler (t_total, H)": "{} clean, {} noisy".format(*lengths["rossler"]),
        "Realizations per system per noise level": f"{plan.realizations:,}",
        "Initial-condition windows": f"{starts.size}, {'interior' if interior else 'not all interior'}",
        "Coordinates": f"{order}: ({', '.join(coordinates)})",
        "FNN delay τ (Lorenz, Rössler)": f"{', '.join(map(str, delays))} samples",
        "Spline": f"{DEGREES[embedding.spline.degree]} {RULES.get(embedding.spline.rule, embedding.spline.rule)}",
        "Penalty weight λ": "such that the residual sum of squares is N σ̂²; interpolation where σ̂ is curvature only",
        "Noise scale σ̂": _noise_scale(record.values),
        "Test function ψ(ξ)": f"(1 − ξ²){str(settings.exponent).translate(SUPERSCRIPT)}",
        "Windows K, half-width R": f"{settings.windows}, {settings.half_width} samples",
        "Denominator library Φ_D": f"{{{', '.join(['1', *variables])}}} (d_D = {settings.denominator_degree})",
        "Numerator library Φ_N": "; ".join(_numerators(s, order) for s in SYSTEMS),
        "Denominator recovery": f"{RECOVERY[clean.settings.denominator]} (clean); "
        f"{RECOVERY[settings.denominator]} (noisy)",
        "Numerator solve": "bounded at the pole" if settings.crossing else "ordinary least squares",
        "Integrator": forecasting.BACKENDS[0].upper(),
        "rtol, atol": f"{forecasting.RTOL:.0e}, {forecasting.ATOL:.0e} × std of each coordinate",
        "max_step": f"{forecasting.MAX_STEP:g} Δt = {forecasting.MAX_STEP * record.dt:g}",
        "Error threshold": f"{score.THRESHOLD:g}",
        "Sustained run": f"{score.RUN} consecutive samples",
        "Normalization": _normalised(realization),
    }


def _tasks(plan: Plan) -> list[Task]:
    return [plan.system("delays", system) for system in SYSTEMS]


def section(plan: Plan, results: Results) -> Section:
    """The table, and which settings are not the paper's."""
    ours = measured(plan, [results.one("delays", system)["delay"] for system in SYSTEMS])
    rows = [(name, value, ours[name]) for name, value in printed.SETTINGS]
    differ = [name for name, value, mine in rows if mine != value]
    surprising = [name for name in differ if name not in CHOSEN]
    choices = list(dict.fromkeys(CHOSEN[name] for name in differ if name in CHOSEN))
    data: dict[str, Any] = {
        "rows": [{"setting": name, "paper": value, "ours": mine, "same": mine == value} for name, value, mine in rows],
        "identification": {
            f"{cell.system}-{cell.fraction:.2f}": asdict(cell.settings)
            for cell in (Cell(s, f) for s in SYSTEMS for f in FRACTIONS)
        },
    }
    others = f"; differs, and not by choice, in {', '.join(surprising)}" if surprising else ""
    sentence = (
        f"{'Differs' if surprising else 'Agrees'}: {len(rows) - len(differ)} of {len(rows)} settings are the paper's; "
        f"by choice others are {', '.join(choices)}{others}."
    )
    table = Table("Settings", ["setting", "paper", "ours"], rows)
    return Section("settings", "Benchmark settings", "Table settings", sentence, not surprising, data, (table,))


ITEM = Item("settings", _tasks, section)
