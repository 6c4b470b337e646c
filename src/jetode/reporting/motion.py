"""The equations of motion of a model as an export writes them down: names, rates, start state, a title."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jetode.equations.polynomials import Polynomial
from jetode.equations.writers import Writer
from jetode.reconstruction.model import Model
from jetode.support.arrays import FloatArray


@dataclass(frozen=True)
class Motion:
    """Names, rates (numerator, denominator or None) and the state at the last sample, with the sampling interval of the
    record and two lines that say what this is."""

    names: tuple[str, ...]
    rates: tuple[tuple[Polynomial, Polynomial | None], ...]
    start: tuple[float, ...]
    dt: float
    title: tuple[str, str]

    def written(self, writer: Writer) -> list[str]:
        """The right-hand sides in one notation."""
        out = []
        for above, below in self.rates:
            rate = writer.polynomial(above, self.names)
            out.append(rate if below is None else writer.ratio(rate, writer.polynomial(below, self.names)))
        return out


def equations(model: Model) -> Motion:
    """The equations of motion a forecast of ``model`` integrates."""
    start: FloatArray = model.end_state
    rates: list[tuple[Polynomial, Polynomial | None]]
    if model.regular is None:
        names, n = model.closure.names, model.closure.order
        rates = [({tuple(int(j == i + 1) for j in range(n)): 1.0}, None) for i in range(n - 1)]
        rates.append((model.closure.numerator, model.closure.denominator))
    else:
        names, rates = model.regular.names(), [(rate, None) for rate in model.regular.rates()]
        if model.coordinates == "jet":
            start = model.regular_state(start)
    record = model.record
    channel = f"u0 = {record.name or 'the record'}" + (f" [{record.unit}]" if record.unit else "")
    time = f"t in {record.time_unit}" if record.time_unit else "t in the record's time unit"
    verdict = ("Trusted: " if model.verdict.trusted else "Not trusted: ") + model.verdict.reason
    # a name out of a file must not end a comment
    first, second = (re.sub(r"[\r\n]|\*/|--|\"\"\"", " ", line) for line in (f"{channel}, {time}.", verdict))
    return Motion(names, tuple(rates), tuple(float(v) for v in start), float(record.dt), (first, second))
