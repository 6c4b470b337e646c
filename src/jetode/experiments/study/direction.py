"""Closure direction against pole location on noisy Lorenz (Sec. 5.1, Fig. pole_decoupling)."""

from __future__ import annotations

from typing import Any

import numpy as np

from jetode.experiments.core.store import Task
from jetode.experiments.study import plots
from jetode.experiments.study.cells import Cell
from jetode.experiments.study.printed import DIRECTION
from jetode.experiments.study.sections import READINGS, Drawing, Item, Plan, Results, Section, Table, number
from jetode.experiments.study.statistics import Rows, rank_correlation

CELLS = (Cell("lorenz", 0.15), Cell("lorenz", 0.30))
ROWS_READING = tuple(Cell("lorenz", cell.fraction, denominator="pooled-rows") for cell in CELLS)
ALIGNED = 0.9
LONGEST = 20


def _tasks(plan: Plan) -> list[Task]:
    tasks = [task for cell in CELLS for task in plan.split("joint", cell, plan.joint, 1)]
    tasks += [task for cell in CELLS for task in plan.split("paper", cell, plan.realizations)]
    count = min(plan.realizations, READINGS)
    return tasks + [task for cell in ROWS_READING for task in plan.split("paper", cell, count)]


def summary(rows: Rows) -> dict[str, Any]:
    """The numbers the text quotes."""
    cos_n, cos_d, best = (np.array([row[key] for row in rows]) for key in ("cos_n", "cos_d", "best"))
    pole = np.array([np.nan if row["pole"] is None else row["pole"] for row in rows])
    aligned = cos_d > ALIGNED
    longest = np.argsort(-best, kind="stable")[:LONGEST]
    inside = pole[aligned & np.isfinite(pole)]
    return {
        "realizations": len(rows),
        "median_cos_d": float(np.median(cos_d)),
        "median_cos_n": float(np.median(cos_n)),
        "share_cos_d_above": float(np.mean(aligned)),
        "share_cos_n_above": float(np.mean(cos_n > ALIGNED)),
        "rank_correlation_n": rank_correlation(cos_n, best),
        "rank_correlation_d": rank_correlation(cos_d, best),
        "longest_cos_n": float(cos_n[longest[0]]),
        "longest_with_cos_n_below_0.1": int(np.sum(cos_n[longest] < 0.1)),
        "longest_counted": len(longest),
        "pole_spread_aligned": float(np.std(inside)) if inside.size else None,
        "sign_reversals_aligned": float(np.mean(inside < 0)) if inside.size else None,
        "pole_median": float(np.nanmedian(pole)) if np.isfinite(pole).any() else None,
        "rank_correlation_pole": rank_correlation(np.abs(pole[np.isfinite(pole)]), best[np.isfinite(pole)]),
    }


def _direction(plan: Plan, results: Results) -> Section:
    rows = {cell: results.rows("paper", cell.name) for cell in (*CELLS, *ROWS_READING)}
    data: dict[str, Any] = {cell.name: summary(found) for cell, found in rows.items()}
    joint: dict[Cell, dict[str, Any]] = {}
    for cell in CELLS:
        fitted = results.rows("joint", cell.name)
        if fitted:
            joint[cell] = summary([{**row, "best": max(row["past"])} for row in fitted])
            data[f"{cell.name}-joint"] = joint[cell]
    table = _table(plan, data, joint)
    first, second = (data[cell.name] for cell in CELLS)
    weak, sentence = _sentence(first, second)
    drawing = Drawing(
        "decoupling",
        "Noisy Lorenz: (a, b) the direction of D and (c, d) its pole against VPT; dark where cos_D > 0.9.",
        lambda: plots.decoupling({cell.fraction: rows[cell] for cell in CELLS}, ALIGNED),
    )
    return Section(
        "decoupling",
        "Direction versus pole",
        "Fig. pole_decoupling, Sec. 5.1",
        sentence,
        weak and abs(first["median_cos_d"] - DIRECTION.median_cos_d) < 0.05,
        data,
        (table,),
        (drawing,),
    )


def _table(plan: Plan, data: dict[str, Any], joint: dict[Cell, dict[str, Any]]) -> Table:
    """The numbers beside the printed ones, a column per cell and reading."""
    columns = [data[c.name] for c in CELLS] + [joint[c] for c in joint] + [data[c.name] for c in ROWS_READING]
    printed = {
        "median cos_D": ("median_cos_d", f"{DIRECTION.median_cos_d:g}"),
        "share with cos_D > 0.9": ("share_cos_d_above", "not given"),
        "share with cos_N > 0.9": ("share_cos_n_above", f"about {DIRECTION.share_cos_n_above:g}"),
        "rank correlation of cos_N and VPT": (
            "rank_correlation_n",
            f"|ρ| ≤ {DIRECTION.largest_rank_correlation:g}",
        ),
        "rank correlation of cos_D and VPT": (
            "rank_correlation_d",
            f"|ρ| ≤ {DIRECTION.largest_rank_correlation:g}",
        ),
        "rank correlation of |pole| and VPT": ("rank_correlation_pole", "not given"),
        "cos_N of the longest forecast": ("longest_cos_n", f"{DIRECTION.longest_cos_n:g} (at 0.15)"),
        "of the 20 longest, with cos_N < 0.1": ("longest_with_cos_n_below_0.1", "most"),
        "sd of the pole where cos_D > 0.9": ("pole_spread_aligned", f"{DIRECTION.pole_spread:g}"),
        "sign reversals where cos_D > 0.9": ("sign_reversals_aligned", f"about {DIRECTION.sign_reversals:g}"),
    }
    return Table(
        "Noisy Lorenz: direction, pole and forecast",
        [
            "",
            "paper",
            *(f"σ_frac {c.fraction:.2f}" for c in CELLS),
            *(f"{c.fraction:.2f}, joint fit" for c in joint),
            *(f"{c.fraction:.2f}, rows" for c in ROWS_READING),
        ],
        [[name, says, *(number(column[key], 2) for column in columns)] for name, (key, says) in printed.items()],
        f"The columns on the right read the 12 windows as 120 of the K rows "
        f"({min(plan.realizations, READINGS)} realizations). "
        + (
            f"Joint fit: {plan.joint} realizations, past-only best of 8." if joint else "Joint fit: ask with --joint N."
        ),
    )


def _sentence(first: dict[str, Any], second: dict[str, Any]) -> tuple[bool, str]:
    """Whether the direction says as little about the forecast as the paper finds, and in words."""
    correlations = [
        abs(value or 0.0) for d in (first, second) for value in (d["rank_correlation_n"], d["rank_correlation_d"])
    ]
    weak = max(correlations) < 0.3
    sentence = (
        f"{'Agrees in substance: the direction says little' if weak else 'Differs: the direction says something'} "
        f"about the forecast (largest |ρ| {max(correlations):.2f} of {first['realizations']} realizations; paper 0.04 "
        f"of 5,000) and the pole scatters even where cos_D > 0.9 (sd "
        f"{number(first['pole_spread_aligned'], 2)} and {number(second['pole_spread_aligned'], 2)}; paper 0.27), but "
        f"the median cos_D is {first['median_cos_d']:.2f} and {second['median_cos_d']:.2f} (paper 0.93) and cos_N > "
        f"0.9 in {first['share_cos_n_above']:.0%} and {second['share_cos_n_above']:.0%} (paper about 25 %): the paper "
        "does not say where its 12 windows lie nor which test functions they hold."
    )
    return weak, sentence


ITEMS = (Item("decoupling", _tasks, _direction),)
