"""What the commands share: options, exit codes, checks of numbers, and the command as it was typed."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jetode.support.errors import InputError
from jetode.support.files import whole_file

if TYPE_CHECKING:
    from jetode.records.series import Series

OK, BAD_INPUT, NOTHING, PARTLY, INTERRUPTED = 0, 2, 3, 4, 130
EXIT_CODES = {"exact": OK, "approximate": PARTLY, "forecast": PARTLY, "none": NOTHING}  # by the verdict's grade

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")


READING = (
    click.option("--column", help="Column of the record, by name or number from 1."),
    click.option("--time", help="Time column, by name or number (default: t or time)."),
    click.option("--dt", type=float, help="Sampling interval, where there is no time column."),
    click.option("--resample", type=float, metavar="DT", help="Resample unequal times to steps of DT (never unasked)."),
    click.option("--skip-rows", type=int, metavar="N", help="Lines before the table, where they are not found."),
)


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How to read a record, the same for every command; the command gets one ``reading``."""

    @wraps(command)
    def with_reading(*args: Any, **options: Any) -> Any:
        from jetode.records.table import Reading  # imported when a record is read: help is there at once

        names = {field.name for field in fields(Reading)} & options.keys()
        reading = Reading(**{name: options.pop(name) for name in names})
        return command(*args, reading=reading, **options)

    for decorate in reversed(READING):
        with_reading = decorate(with_reading)
    return with_reading


def read_with(*arguments: Any) -> Series:
    """:func:`jetode.records.reading.read_with`, imported when a record is read."""
    from jetode.records import reading

    return reading.read_with(*arguments)


def positive(name: str, value: float) -> float:
    """Refuse what is no number > 0."""
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"The '--{name}' option must be a number > 0. Got {value} instead.")
    return value


def command_line(*always: str, leave_out: tuple[str, ...] = ("out",)) -> str:
    """The command as typed, without the options in ``leave_out``; those in ``always`` even where default."""
    context = click.get_current_context()
    words = []
    for parameter in context.command.params:
        value = context.params[str(parameter.name)]
        if value is None or value is False:
            continue
        if isinstance(parameter, click.Argument):
            words += [str(v) for v in value] if isinstance(value, tuple) else [str(value)]
        elif parameter.name in always or (parameter.name not in leave_out and value != parameter.default):
            words += [parameter.opts[0]] if value is True else [parameter.opts[0], str(value)]
    return shlex.join(["jetode", str(context.info_name), *words])


def write_lines(path: Path | None, lines: Iterable[str]) -> None:
    """To a file that appears whole, or to standard output."""
    if path is None:
        sys.stdout.writelines(lines)
        return
    with whole_file(path) as file:
        file.writelines(lines)
