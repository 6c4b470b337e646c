"""What a notebook shows while a fit goes on: its stage, its seconds, and that kernels are compiled once.

Outside of a notebook nothing is shown: the library never prints.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from jetode.support.compiled import told_of_compilation

Say = Callable[[str], None]


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this code."""
    module: Any = sys.modules.get("IPython")
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def watched(title: str) -> Iterator[Say | None]:
    """In a notebook, yields what is told each stage and shows it in one line that is gone in the end; else None."""
    if not in_notebook():
        yield None
        return
    from IPython import display as imported

    ipython: Any = imported  # has no types
    begin = monotonic()

    def line(stage: str) -> Any:
        return ipython.HTML(f"<em>{title}: {stage} ({monotonic() - begin:.0f} s)</em>")

    shown: Any = ipython.display(line("starting"), display_id=True)

    def say(stage: str) -> None:
        shown.update(line(stage))

    try:
        with told_of_compilation(say):
            yield say
    finally:
        shown.update(ipython.HTML(f"<em>{title}: {monotonic() - begin:.1f} s</em>"))
