"""A command is one file: the command line lists its folder and takes what holds a command of its own name."""

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from jetode import cli as folder
from jetode.cli.main import cli

INTERRUPTED = """
import click


@click.command()
def interrupted():
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise ImportError("initialization failed") from error
"""
TOY = '''"""``jetode toy-sum``: adds."""

import click

from jetode.cli.common import OK


@click.command()
@click.argument("numbers", nargs=-1, type=float)
def toy_sum(numbers):
    """Adds NUMBERS."""
    click.echo(sum(numbers))
    return OK
'''


@pytest.fixture
def toy(tmp_path, monkeypatch):
    (tmp_path / "toy_sum.py").write_text(TOY)
    (tmp_path / "helper.py").write_text("import click\n")
    (tmp_path / "interrupted.py").write_text(INTERRUPTED)
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    yield
    for name in ("toy_sum", "helper", "interrupted"):
        sys.modules.pop(f"{folder.__name__}.{name}", None)
        if hasattr(folder, name):
            delattr(folder, name)


def test_a_new_command_is_one_file(toy):
    assert "toy-sum      Adds NUMBERS." in CliRunner().invoke(cli, ["--help"]).stdout
    result = CliRunner().invoke(cli, ["toy-sum", "1", "2.5"])
    assert (result.exit_code, result.stdout) == (0, "3.5\n")


def test_the_documentation_lists_every_command():
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
    for name in cli.list_commands(click.Context(cli)):
        assert f"| `jetode {name}" in page


def test_a_file_without_a_command_of_its_name_is_none(toy):
    for name in ("helper", "common", "terminal", "main", "toy", "__init__"):
        result = CliRunner().invoke(cli, [name])
        assert result.exit_code == 2 and result.stderr == f"Error: No such command {name!r}.\n"


def test_ctrl_c_inside_an_import_is_ctrl_c(toy):
    """Compiled modules that are interrupted while they are imported raise an ImportError instead."""
    result = CliRunner().invoke(cli, ["interrupted"])
    assert result.exit_code == 130 and result.stderr == "Stopped; nothing was left half-written.\n"
