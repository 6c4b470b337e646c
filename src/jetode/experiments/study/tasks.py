"""What a worker can be asked to do: the kinds of :class:`jetode.experiments.core.store.Task` and their functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from jetode.experiments.core.store import Result, Task
from jetode.experiments.study import diagnostics, joint_cells
from jetode.experiments.study.cells import Cell, paper_row, realize, transfer_row

Row = Callable[[Cell, int, int], dict[str, Any]]


def _rows(row: Row) -> Callable[[Task], Result]:
    """One row per realization."""

    def run(task: Task) -> Result:
        cell = Cell(**task.options["cell"])
        return {"rows": [row(cell, task.seed, index) for index in range(task.first, task.stop)]}

    return run


def _selected(cell: Cell, seed: int, index: int) -> dict[str, Any]:
    """Degrees and window that the paper's rule (largest VPT against the record) selects."""
    from jetode.reconstruction.reconstruct import reconstruct

    model = reconstruct(realize(cell, seed, index).record, method="paper")
    names = ("denominator_degree", "numerator_degree", "half_width", "exponent")
    return {"index": index} | {name: model.settings[name] for name in names}


def _peer(task: Task) -> Result:
    cell = Cell(**task.options["cell"])
    rows = [
        joint_cells.peer_row(task.options["name"], cell, task.seed, index) for index in range(task.first, task.stop)
    ]
    return {"rows": rows}


def _one(function: Callable[..., Result]) -> Callable[[Task], Result]:
    """A function of one realization: the task's first."""

    def run(task: Task) -> Result:
        options = dict(task.options)
        return function(Cell(**options.pop("cell")), task.seed, task.first, **options)

    return run


def _system(function: Callable[[str], Result]) -> Callable[[Task], Result]:
    """A function of a system."""

    def run(task: Task) -> Result:
        return function(task.label)

    return run


def _without_oracle(cell: Cell, seed: int, index: int) -> dict[str, Any]:
    return joint_cells.joint_row(cell, seed, index, with_oracle=False)


KINDS: Mapping[str, Callable[[Task], Result]] = MappingProxyType(
    {
        "paper": _rows(paper_row),
        "joint": _rows(joint_cells.joint_row),
        "joint-plain": _rows(_without_oracle),
        "transfer": _rows(transfer_row),
        "joint-transfer": _rows(joint_cells.joint_transfer_row),
        "selected": _rows(_selected),
        "peer": _peer,
        "delays": _system(diagnostics.delays),
        "screening": _system(diagnostics.screening),
        "tolerance": _system(diagnostics.tolerance),
        "rollout": _one(diagnostics.rollout),
        "overlay": _one(diagnostics.overlay),
        "coefficients": _one(diagnostics.coefficients),
    }
)


def run_task(task: Task) -> Result:
    """Do it."""
    return KINDS[task.kind](task)
