"""What the studio hands out: its own pages, and the files of a result.

No path is made from a request: names are looked up among those that are there.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response

from jetode import __version__
from jetode.reporting.page_parts import scripts
from jetode.studio.settings import EXPORT, FORECAST, MODEL, PAGE, REPORT
from jetode.studio.texts import say, texts

TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
ENDINGS = {
    "c": ".c",
    "julia": ".jl",
    "matlab": ".m",
    "modelica": ".mo",
    "modelingtoolkit": ".jl",
    "ode": ".ode",
    "python": ".py",
    "sbml": ".xml",
    "scipy": ".py",
}
# the report brings its own scripts: it runs in a sandbox of its own origin, without the studio's cookie
SANDBOX = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob:; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class Asset:
    """A file of the page."""

    content: bytes
    type: str

    @property
    def tag(self) -> str:
        """Changes with the content."""
        return f'"{hashlib.blake2b(self.content, digest_size=12).hexdigest()}"'


@cache
def assets() -> dict[str, Asset]:
    """Every file of the page by name, with the scripts that the report draws by."""
    found = {}
    for entry in (resources("jetode.studio") / "static").iterdir():
        kind = TYPES.get(Path(entry.name).suffix)
        if kind is not None:
            found[entry.name] = Asset(entry.read_bytes(), kind)
    found |= {name: Asset(content, TYPES[".js"]) for name, content in scripts().items()}
    return found


async def static(request: Request) -> Response:
    """GET /static/{name}."""
    asset = assets().get(str(request.path_params["name"]))
    if asset is None:
        return PlainTextResponse(say("error_no_file") + "\n", 404)
    headers = {"cache-control": "private, no-cache", "etag": asset.tag}
    if request.headers.get("if-none-match") == asset.tag:
        return Response(status_code=304, headers=headers)
    return Response(asset.content, media_type=asset.type, headers=headers)


@cache
def _index() -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("jetode.studio", "static"), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("index.html").render(t=texts(), version=__version__)


def prepare() -> None:
    """Read everything once, before the first page is asked for."""
    assets()
    _index()


async def index(request: Request) -> Response:
    """GET /: the one page."""
    return HTMLResponse(_index())


def page(folder: Path) -> dict[str, Any] | None:
    """The page of a result; None where there is none."""
    try:
        found: dict[str, Any] = json.loads((folder / PAGE).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found


def download(folder: Path, kind: str, name: str, view: bool) -> Response | None:
    """A file of a result under a name that says whose it is; None where there is no such file."""
    there = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    plain = {"model": (MODEL, ".json", "application/json"), "forecast": (FORECAST, ".csv", "text/csv")}
    title = "".join(c if c.isalnum() or c in "-_." else "-" for c in name).strip("-.")[:60] or "result"
    if kind == "report" and REPORT in there:
        headers = {"content-encoding": "gzip", "content-security-policy": SANDBOX}
        shown = "inline" if view else "attachment"
        return FileResponse(
            there[REPORT],
            media_type="text/html",
            headers=headers,
            filename=f"{title}-report.html",
            content_disposition_type=shown,
        )
    stored, ending, type_ = plain.get(kind, (f"{EXPORT}{kind}", ENDINGS.get(kind, ".txt"), "text/plain"))
    if stored not in there:
        return None
    return FileResponse(there[stored], media_type=type_, filename=f"{title}-{kind}{ending}")
