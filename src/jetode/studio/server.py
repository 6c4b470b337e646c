"""``jetode studio``: a socket on this machine, one line that says where, and the server until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from types import FrameType

import uvicorn

from jetode.studio.app import Studio, make_app
from jetode.studio.files import prepare
from jetode.studio.guard import hosts
from jetode.studio.settings import PORT
from jetode.studio.store import Store
from jetode.studio.texts import say
from jetode.studio.uploads import take_in
from jetode.support.errors import InputError

DEMO_RECORD = "lorenz_x_15.csv"
TRIED = 20  # ports after the usual one
EVERYWHERE = ("0.0.0.0", "::", "")


@dataclass(frozen=True)
class Address:
    """A bound socket, and where the page is."""

    socket: socket.socket
    host: str
    port: int

    def url(self, token: str, record: int | None = None) -> str:
        """With the token, and the record that is to be shown."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?token={token}" + (f"#record={record}" if record is not None else "")


def data_directory() -> Path:
    """Where the history is kept unless said otherwise: what the system calls a user's data."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    return base / "jetode-studio"


def bind(host: str, port: int | None) -> Address:
    """A socket on ``host``: on ``port``, or on the usual one, the next free one where that is taken."""
    if host in EVERYWHERE:
        raise InputError(say("error_everywhere"))
    for tried in range(PORT, PORT + TRIED) if port is None else [port]:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, tried))
        except OSError as error:
            listening.close()
            reason = error.strerror or str(error)
            continue
        return Address(listening, host, int(listening.getsockname()[1]))
    raise InputError(say("error_bind", host=host, port=port or PORT, reason=reason))


class Server(uvicorn.Server):
    """uvicorn that ends the streams of open pages first, which would otherwise keep it alive."""

    studio: Studio

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Ctrl-C or SIGTERM."""
        self.studio.events.close()
        super().handle_exit(sig, frame)


def serve(address: Address, root: Path, demo: bool, opened: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; ``opened`` is told the address once connections are accepted."""
    store = Store(root)
    token = store.token
    record = None
    if demo:
        with as_file(files("jetode") / "data" / DEMO_RECORD) as path:
            record = take_in(store, path, DEMO_RECORD, path.suffix).id
    asyncio.run(_serve(address, store, token, lambda: opened(address.url(token, record))))


async def _serve(address: Address, store: Store, token: str, opened: Callable[[], None]) -> None:
    studio = Studio(store)
    app = make_app(studio, token, hosts(address.host, address.port), address.port)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2, lifespan="on"
    )
    server = Server(config)
    server.studio = studio
    prepare()
    address.socket.listen(128)
    opened()
    await server.serve(sockets=[address.socket])
