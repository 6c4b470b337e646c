"""What every kind of model can do: say where it is, run ahead with bands, write itself down.

A kind is one file of this folder.  It may have an equation or not, start from a smoothed or a past-only state, and
get its bands from a posterior or from held-out errors; whoever uses a model asks only for what is below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from jetode.equations.closure import Closure
from jetode.equations.polynomials import Exponents
from jetode.equations.regular import RegularClosure
from jetode.integration.forecast import Forecast
from jetode.records.series import Series
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

COORDINATES = ("auto", "jet", "regular")
NEEDS_RECORD = "A start sample needs the record, which a saved model does not hold: use with_record(record)."


@dataclass(frozen=True)
class Ahead:
    """One forecast that is asked for: ``horizon`` in the record's time, values ``dt`` apart, from sample ``start``
    (None: the end) whose state is estimated from its past unless ``past_only`` is False; ``samples`` members give the
    bands (0: none) where they come from an ensemble; ``coordinates`` and ``options`` are those of the integration."""

    horizon: float
    dt: float
    start: int | None = None
    past_only: bool = True
    samples: int = 200
    seed: int = 0
    coordinates: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.coordinates not in COORDINATES:
            raise InputError(
                f"The 'coordinates' parameter must be auto, jet or regular. Got {self.coordinates!r} instead."
            )


@dataclass(frozen=True)
class Coefficient:
    """One coefficient of an equation in the record's units, with its standard error (NaN: unknown, 0: fixed) and
    ``stability``: the share of resampled stretches on which the selection keeps its term (NaN where it cannot be left
    out)."""

    part: str
    powers: Exponents
    value: float
    standard_error: float
    stability: float = float("nan")


class Equation(Protocol):
    """Equations of motion that can be written down."""

    @property
    def names(self) -> tuple[str, ...]:
        """The coordinates."""

    def text(self, digits: int = 6) -> str:
        """One line per coordinate."""

    def latex(self, digits: int = 6) -> str:
        """LaTeX source."""

    def mathml(self) -> list[str]:
        """MathML, one element per line of the equation."""

    def rates(self) -> dict[str, Any]:
        """From coordinate to rate, as SymPy expressions."""


class Dynamics(Protocol):
    """What a model integrates.  Arrays are read-only; times are in the record's unit, values in its units."""

    @property
    def kind(self) -> str:
        """Its name in :data:`jetode.reconstruction.serialisation.KINDS`."""

    @property
    def order(self) -> int:
        """Number of coordinates of a state."""

    @property
    def spread(self) -> FloatArray:
        """Std of each coordinate over the record; the first is the signal's."""

    @property
    def end_state(self) -> FloatArray:
        """The state at the end of the (last) record, where a forecast starts unless told otherwise."""

    @property
    def records(self) -> tuple[Series, ...]:
        """The records in hand: those it was fitted to, or those of :meth:`with_records`; none after loading."""

    @property
    def equation(self) -> Equation | None:
        """What it says, where it says something that can be read."""

    @property
    def path(self) -> FloatArray | None:
        """States (n, order) at every sample of the last record, as well as the kind can tell; None without one."""

    @property
    def jet_path(self) -> FloatArray | None:
        """Signal without noise and its slopes (n, ≥ 2) at every sample of the last record; None without one."""

    @property
    def residuals(self) -> FloatArray | None:
        """Last record minus signal in units of the noise (NaN where missing); None without one."""

    @property
    def closure(self) -> Closure | None:
        """The rational closure D u_{n−1}' = N where it has one."""

    @property
    def regular(self) -> RegularClosure | None:
        """The pole-free form where it has one."""

    def coefficients(self) -> tuple[Coefficient, ...]:
        """The equation's coefficients with standard errors where they are known."""

    def state(self, start: int, past_only: bool = True) -> FloatArray:
        """The state at sample ``start`` of the last record, from the samples up to it unless ``past_only`` is False
        (then from the whole record, where the kind can)."""

    def forecast(self, ahead: Ahead) -> Forecast:
        """Run ahead; the bands, where there are any, are part of the forecast."""

    def rollout(self, duration: float, step: float) -> FloatArray:
        """Signal and slopes (m, ≥ 2) of a long run from the end of the record, as far as it gets."""

    def with_records(self, records: Sequence[Series]) -> Dynamics:
        """The same dynamics at the end of other records (of the last one) of the same sampling."""

    def to_json(self) -> dict[str, Any]:
        """Its part of a model file, the records left out; each kind has the inverse as ``from_json``."""


def read_only(values: Any) -> FloatArray:
    """A read-only float64 copy."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def check_start(start: int, n: int) -> None:
    """Refuse a sample that is not there."""
    if not 0 <= start < n:
        raise InputError(f"The 'start' parameter must be an int from 0 to {n - 1}. Got {start} instead.")
