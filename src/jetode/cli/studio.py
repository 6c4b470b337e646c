"""``jetode studio``: a local page from record to report."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click

from jetode.cli.common import OK
from jetode.support.errors import InputError


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), help="Port (default: 8642, or the next free one; 0: any).")
@click.option("--no-browser", is_flag=True, help="Print the address and open nothing.")
@click.option("--demo", is_flag=True, help="Begin with the shipped Lorenz record.")
@click.option(
    "--data", type=click.Path(path_type=Path), help="Directory of the history (default: your user's data directory)."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on: this machine's alone.")
def studio(port: int | None, no_browser: bool, demo: bool, data: Path | None, host: str) -> int:
    """Drop a recording on a page, watch the fit, get the report (extra: jetode[studio]).

    Prints one line with the address and its token, and serves until Ctrl-C. Records, settings and results stay on this
    machine.

    \b
    Example:
      jetode studio --demo
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise InputError("The studio needs the 'studio' extra: pip install 'jetode[studio]'.")
    from jetode.studio.server import bind, data_directory, serve

    def opened(url: str) -> None:
        click.echo(url)
        if not no_browser:
            with suppress(webbrowser.Error):
                webbrowser.open(url)

    with suppress(KeyboardInterrupt):
        serve(bind(host, port), data or data_directory(), demo, opened)
    return OK
