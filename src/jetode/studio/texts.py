"""Every text of the studio, from one file (``static/en.json``), so that a translation is one more file."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

LANGUAGE = "en"


@cache
def texts() -> dict[str, str]:
    """By key; ``{name}`` in a text stands for a value."""
    found: dict[str, str] = json.loads((files("jetode.studio") / "static" / f"{LANGUAGE}.json").read_text("utf-8"))
    return found


def say(key: str, **values: Any) -> str:
    """The text of ``key`` with its values."""
    return texts()[key].format(**values)
