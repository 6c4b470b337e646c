"""The command line: one file per command, one sentence per error, exit codes 0, 2, 3 and 4.

0 an exact model (or a command that has none to judge); 4 an approximate equation, or forecasts without one; 3 the
record was read but neither was found; 2 bad usage or input; 130 stopped by Ctrl-C.  Every file appears whole or
not at all.
"""

from __future__ import annotations

import io
import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import click

from jetode import cli as folder
from jetode.cli.common import BAD_INPUT, INTERRUPTED, OK
from jetode.support.errors import InputError


class Commands(click.Group):
    """The commands of this folder: a file that holds a command of its own name.

    Failures are one sentence on stderr and an exit code, never a traceback.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        names = sorted(found.name.replace("_", "-") for found in iter_modules(folder.__path__))
        return [name for name in names if self.get_command(ctx, name) is not None]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = cmd_name.replace("-", "_")
        if name not in {found.name for found in iter_modules(folder.__path__)}:
            return None
        command = getattr(import_module(f"{folder.__name__}.{name}"), name, None)
        return command if isinstance(command, click.Command) else None

    def main(self, *args: Any, **kwargs: Any) -> Any:
        kwargs["standalone_mode"] = False
        try:
            code = super().main(*args, **kwargs)
        except click.ClickException as error:
            code = _fail(error.format_message())
        except InputError as error:
            code = _fail(str(error))
        except MemoryError:
            code = _fail("There is not enough memory for this record; decimate it or use a shorter stretch.")
        except (KeyboardInterrupt, click.Abort):
            code = _stop()
        except Exception as error:
            if not _by_interruption(error):
                raise
            code = _stop()
        sys.exit(code or OK)


def _fail(sentence: str) -> int:
    click.echo(f"Error: {' '.join(sentence.split())}", err=True)
    return BAD_INPUT


def _stop() -> int:
    click.echo("Stopped; nothing was left half-written.", err=True)
    return INTERRUPTED


def _by_interruption(error: BaseException | None) -> bool:
    """Ctrl-C while a compiled module is imported arrives as the cause of that module's ImportError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="jetode")
@click.pass_context
def cli(context: click.Context) -> None:
    """One noisy channel in, its differential equation and its forecast out.

    \b
    Start with your own record (a CSV with a time column, or one column and --dt):
      jetode diagnose record.csv
      jetode reconstruct record.csv --out result
      jetode forecast result/model.json --horizon 20
      jetode export result/model.json --format c
    or with the one that comes along:
      jetode demo

    Shell completion: eval "$(_JETODE_COMPLETE=bash_source jetode)" (or zsh_source, fish_source).
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """Entry point of the ``jetode`` command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Unicode shows ? for σ
    cli()
