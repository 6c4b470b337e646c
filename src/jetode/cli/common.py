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


def numbers(name: str, text: str) -> tuple[float, ...]:
    """Numbers separated by commas."""
    try:
        return tuple(float(word) for word in text.split(","))
    except ValueError:
        raise InputError(f"The '--{name}' option must be numbers with commas. Got {text!r} instead.") from None


def command_line(*always: str, leave_out: tuple[str, ...] = ("out",)) -> str:
    """The command as typed, without the options in ``leave_out``; those in ``always`` even where default."""
    context = click.get_current_context()
    words: list[str] = []
    for parameter in context.command.params:
        value, name = context.params[str(parameter.name)], str(parameter.name)
        if isinstance(parameter, click.Argument):
            words += [str(v) for v in value] if isinstance(value, tuple) else [str(value)]
        elif value is not None and (name in always or (name not in leave_out and value != parameter.default)):
            words += _option(parameter, value)
    return shlex.join([*_names(context), *words])


def _option(parameter: click.Parameter, value: Any) -> list[str]:
    """An option as it is typed: flags by their own names, the rest with its value."""
    if value is True:
        return [parameter.opts[0]]
    return parameter.secondary_opts[:1] if value is False else [parameter.opts[0], str(value)]


def _names(context: click.Context) -> list[str]:
    """jetode and its commands down to this one, whatever the program was called by."""
    return ["jetode"] if context.parent is None else [*_names(context.parent), str(context.info_name)]


def write_lines(path: Path | None, lines: Iterable[str]) -> None:
    """To a file that appears whole, or to standard output."""
    if path is None:
        sys.stdout.writelines(lines)
        return
    with whole_file(path) as file:
        file.writelines(lines)
