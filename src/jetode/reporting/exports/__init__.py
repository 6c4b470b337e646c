"""The identified equations as standalone code: a module here is a format, with its name and a function ``write``.

Every export holds the right-hand side of x' = f(x), the state at the last sample and the names of the coordinates:
the pole-free ones (u0 … u_{n−2}, w) where the model has a regular form, else the jets with u_{n−1}' = N/D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.reconstruction.model import Model
    from jetode.reporting.motion import Motion


class Formats(Mapping[str, "Callable[[Motion], str]"]):
    """Names of the modules of this package and their ``write``; a module is imported when it is asked for."""

    def __iter__(self) -> Iterator[str]:
        return (found.name for found in iter_modules(__path__))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Callable[[Motion], str]:
        if name not in list(self):
            raise KeyError(name)
        write: Callable[[Motion], str] = import_module(f"{__name__}.{name}").write
        return write


FORMATS = Formats()


def export(model: Model, format: str) -> str:
    """The model's equations as source text in one of :data:`FORMATS`."""
    from jetode.reporting.motion import equations

    if format not in FORMATS:
        raise InputError(f"The 'format' parameter must be one of {', '.join(FORMATS)}. Got {format!r} instead.")
    return FORMATS[format](equations(model))
