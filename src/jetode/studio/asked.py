"""What a page may ask for, checked once where it enters: how to read a record, and the settings of a fit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from jetode.studio.settings import LIMITS
from jetode.studio.texts import say
from jetode.support.errors import InputError

LOSSES = ("auto", "gaussian", "student")
LARGEST = 2**31 - 1
LONGEST_UNIT = 24  # characters


def _refused(name: str, wanted: str, value: Any) -> InputError:
    return InputError(say("error_field", field=name, wanted=say(wanted), value=repr(value)[:60]))


def whole(data: Mapping[str, Any], name: str, least: int = 0) -> int | None:
    """An int ≥ ``least``, or None where there is none."""
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
        raise _refused(name, "wanted_whole", value)
    return value


def positive(data: Mapping[str, Any], name: str) -> float | None:
    """A number > 0, or None where there is none."""
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not (math.isfinite(value) and value > 0):
        raise _refused(name, "wanted_positive", value)
    return float(value)


def line(data: Mapping[str, Any], name: str, most: int = LIMITS.name) -> str | None:
    """One line of text without control characters, or None where there is none."""
    value = data.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise _refused(name, "wanted_text", value)
    return tidy(value, most)


def tidy(text: str, most: int = LIMITS.name) -> str:
    """Text from outside as one line that can be shown and stored: nothing that moves a cursor or turns the writing."""
    kept = "".join(
        c if c.isprintable() and not 0x202A <= ord(c) <= 0x202E else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    return kept.strip()[:most]


def known(cls: type, data: Any) -> Mapping[str, Any]:
    """``data`` as an object with no other names than the fields of ``cls``."""
    if not isinstance(data, Mapping):
        raise InputError(say("error_object"))
    for name in data:
        if name not in {field.name for field in fields(cls)}:
            raise InputError(say("error_unknown", field=tidy(str(name), 40)))
    return data


@dataclass(frozen=True)
class Asked:
    """How one channel is to be read: columns by number from 1, the unit of time as a label, the stretch in samples."""

    column: int | None = None
    time: int | None = None
    dt: float | None = None
    resample: float | None = None
    skip_rows: int | None = None
    time_unit: str | None = None
    begin: int | None = None
    end: int | None = None

    @classmethod
    def of(cls, data: Any) -> Asked:
        """From a request."""
        given = known(cls, data)
        return cls(
            whole(given, "column", 1),
            whole(given, "time", 1),
            positive(given, "dt"),
            positive(given, "resample"),
            whole(given, "skip_rows"),
            line(given, "time_unit", LONGEST_UNIT),
            whole(given, "begin"),
            whole(given, "end"),
        )

    def to_json(self) -> dict[str, Any]:
        """What differs from the default."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class Settings:
    """Options of :func:`jetode.reconstruct` that the page offers; None is the default of each."""

    order: int | None = None
    sigma: float | None = None
    max_seconds: float | None = None
    loss: str | None = None
    symmetric: bool | None = None
    seed: int | None = None

    @classmethod
    def of(cls, data: Any) -> Settings:
        """From a request."""
        given = known(cls, data)
        loss, symmetric = given.get("loss"), given.get("symmetric")
        if loss is not None and loss not in LOSSES:
            raise _refused("loss", "wanted_loss", loss)
        if symmetric is not None and not isinstance(symmetric, bool):
            raise _refused("symmetric", "wanted_yes_no", symmetric)
        order = whole(given, "order", 2)
        if order is not None and order > 5:
            raise _refused("order", "wanted_order", order)
        return cls(
            order, positive(given, "sigma"), positive(given, "max_seconds"), loss, symmetric, whole(given, "seed")
        )

    def to_json(self) -> dict[str, Any]:
        """What differs from the default."""
        return {name: value for name, value in asdict(self).items() if value is not None}
