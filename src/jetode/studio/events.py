"""Server-sent events: what happens is told to every open page as it happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from jetode.studio.settings import LIMITS

BEHIND = 1000  # events that a page may be behind before it is cut off; it then asks for everything again


class Events:
    """The pages that listen."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[str | None]] = set()
        self.count = 0  # sent so far: an answer that was made before an event that a page knows is out of date

    @property
    def full(self) -> bool:
        """Whether no other page may listen."""
        return len(self._listeners) >= LIMITS.streams

    def send(self, kind: str, data: dict[str, Any]) -> None:
        """Tell every page."""
        self.count += 1
        text = f"id: {self.count}\nevent: {kind}\ndata: {json.dumps(data, allow_nan=False)}\n\n"
        for listener in list(self._listeners):
            if listener.qsize() >= BEHIND:
                self._listeners.discard(listener)
                listener.put_nowait(None)
            else:
                listener.put_nowait(text)

    def close(self) -> None:
        """End every stream: the server stops."""
        for listener in self._listeners:
            listener.put_nowait(None)
        self._listeners.clear()

    async def stream(self) -> AsyncIterator[str]:
        """Events from now on, with a comment now and then on a quiet stream."""
        mine: asyncio.Queue[str | None] = asyncio.Queue()
        self._listeners.add(mine)
        try:
            yield f"retry: 1000\nid: {self.count}\nevent: hello\ndata: {{}}\n\n"
            while True:
                try:
                    text = await asyncio.wait_for(mine.get(), LIMITS.keep_alive)
                except TimeoutError:
                    text = ": still there\n\n"
                if text is None:
                    return
                yield text
        finally:
            self._listeners.discard(mine)
