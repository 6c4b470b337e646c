"""The equations of motion of a model as an export writes them down: symbols, rates, start state, how the signal is read
off the state, and comments that say what all of it is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from jetode.equations import element_writing
from jetode.equations.closure import Closure
from jetode.equations.equation import Readout
from jetode.equations.field import Field
from jetode.equations.notation import symbol
from jetode.equations.polynomials import Polynomial
from jetode.equations.writers import Writer
from jetode.integration.dop853 import integrate
from jetode.reconstruction.model import Model
from jetode.support.arrays import FloatArray
from jetode.support.errors import InputError

TIGHT = 1e-10  # relative and, in units of the start state, absolute: a reference for other integrators


@dataclass(frozen=True)
class Motion:
    """``names``, ``rates`` (numerator, denominator or None) and the state ``start`` at the last sample; the recorded
    ``signal`` is offset + gain · coordinate (``readout``); ``dt`` is the record's sampling interval; ``title`` has two
    lines that say what this is, ``meanings`` one for each coordinate; rates are over the coordinates and, after them,
    the elements of the ``field``."""

    names: tuple[str, ...]
    rates: tuple[tuple[Polynomial, Polynomial | None], ...]
    start: tuple[float, ...]
    dt: float
    title: tuple[str, str]
    meanings: tuple[str, ...]
    signal: str
    readout: Readout
    field: Field

    def written(self, writer: Writer) -> list[str]:
        """The right-hand sides in one notation."""
        names = (*self.names, *(element_writing.written(writer, one, self.names) for one in self.field.elements))
        out = []
        for above, below in self.rates:
            rate = writer.polynomial(above, names)
            out.append(rate if below is None else writer.ratio(rate, writer.polynomial(below, self.names)))
        return out

    @property
    def comments(self) -> tuple[str, ...]:
        """All lines that explain the equations."""
        return (*self.title, *self.meanings, "Written by jetode.")

    @property
    def reads(self) -> bool:
        """Whether the signal is more than a coordinate."""
        return self.readout != Readout(self.readout.index)

    def read(self, writer: Writer) -> str:
        """The signal in one notation, as a function of the coordinates."""
        n, read = len(self.names), self.readout
        signal: Polynomial = {tuple(int(i == read.index) for i in range(n)): read.gain}
        return writer.polynomial(signal | ({(0,) * n: read.offset} if read.offset else {}), self.names)

    def reference(self, steps: int) -> FloatArray:
        """States (steps + 1, n) of a tight integration from the start, as far as it gets."""
        tolerance = TIGHT * (abs(float(max(self.start, key=abs))) or 1.0)
        return integrate(
            self.field, self.start, steps + 1, self.dt, rtol=TIGHT, atol=tolerance, max_step=5 * self.dt
        ).states


def equations(model: Model) -> Motion:
    """The equations of motion a forecast of ``model`` integrates."""
    named = model.named
    if named is None:
        raise InputError(
            f"A model of the kind {model.dynamics.kind!r} has no equation to export; it can only forecast."
        )
    start: FloatArray = model.end_state
    rates: list[tuple[Polynomial, Polynomial | None]]
    form = named.form
    if isinstance(form, Closure):
        n = form.order
        rates = [({tuple(int(j == i + 1) for j in range(n)): 1.0}, None) for i in range(n - 1)]
        rates.append((form.numerator, form.denominator))
        readout, field = Readout(), Field.from_closure(form)
    else:
        rates, readout, field = [(rate, None) for rate in form.rates()], form.readout, form.field
        if model.coordinates == "jet":
            start = model.regular_state(start)
    record = model.record
    channel = f"{record.name or 'The record'}" + (f" [{record.unit}]" if record.unit else "")
    time = f"t in {record.time_unit}" if record.time_unit else "t in the record's time unit"
    verdict = f"Grade {model.verdict.grade}: {model.verdict.reason}"
    meanings = (f"{name}: {meaning}" for name, meaning in named.meanings())
    first, second, *lines = (_comment(line) for line in (f"{channel}, {time}.", verdict, *meanings))
    return Motion(
        named.names,
        tuple(rates),
        tuple(float(v) for v in start),
        float(record.dt),
        (first, second),
        tuple(lines),
        _signal(record.name, named.names, readout),
        readout,
        field,
    )


def _signal(name: str, names: tuple[str, ...], readout: Readout) -> str:
    """The signal's symbol: its coordinate's where it is one, else one that no coordinate has."""
    if readout == Readout(readout.index):
        return names[readout.index]
    wanted = symbol(name)
    return wanted if wanted.lower() not in {n.lower() for n in names} else f"{wanted}_signal"


def _comment(line: str) -> str:
    """A name out of a file must not end a comment in any language, and a line stays a line."""
    return re.sub(r"[\r\n\x00]|\*/|--|\"|\\", " ", line)
