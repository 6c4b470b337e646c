"""What the commands share: options, exit codes, checks of numbers, and the command as it was typed."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from jetode.support.errors import InputError

if TYPE_CHECKING:
    from jetode.records.series import Series

OK, BAD_INPUT, NOT_TRUSTED, INTERRUPTED = 0, 2, 3, 130

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
quiet_option = click.option("--quiet", is_flag=True, help="Print nothing but errors.")


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How to read a record."""
    for decorate in (
        click.option("--dt", type=float, help="Sampling interval, where there is no time column."),
        click.option("--time", help="Time column, by name or number (default: t or time)."),
        click.option("--column", help="Column of the record, by name or number from 1."),
    ):
        command = decorate(command)
    return command


def read(*arguments: Any, **options: Any) -> Series:
    """:func:`jetode.read`; imported when a record is read, so that help and completion are there at once."""
    from jetode.records.reading import read as read_record

    return read_record(*arguments, **options)


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
