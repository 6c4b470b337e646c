"""The fixed parts of a page, shared by the report that holds them and the studio that hands them out."""

from __future__ import annotations

import base64
import gzip
from importlib.resources import files

LIBRARY, TRACES, FONT = "plotly-gl3d.min.js.gz", "traces.js", "stix-two-math.woff2"


def part(name: str) -> bytes:
    """A file of the templates."""
    return (files("jetode.reporting") / "templates" / name).read_bytes()


def packed(name: str) -> str:
    """A binary file of the templates as text that a page can hold."""
    return base64.b64encode(part(name)).decode()


def scripts() -> dict[str, bytes]:
    """What draws figures, by the names that a page asks for."""
    return {"plotly.js": gzip.decompress(part(LIBRARY)), TRACES: part(TRACES)}
