"""Who may speak to the studio: this machine's browser that knows the token, from the studio's own pages; nobody else.

Every request is checked for its Host (a page elsewhere may point its own name at 127.0.0.1), its Origin (one elsewhere
may post forms here) and its token (cookie, header or, once, the address).  Every answer says what it may load.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse, Response

from jetode.studio.texts import say

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}
TOKEN_HEADER = "x-jetode-token"
CHANGING = ("POST", "PUT", "PATCH", "DELETE")
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """Starlette's application behind the checks.  ``hosts``: names and ports under which the studio is reached."""

    def __init__(self, app: App, token: str, hosts: frozenset[str], port: int) -> None:
        self._app, self._token, self._hosts = app, token, hosts
        self.cookie = f"jetode-{port}"  # cookies do not know ports: two studios must not share one

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if refusal is None and self._in_address(scope):
                    keep = f"{self.cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
                    headers.append("set-cookie", keep)
            await send(message)

        await (refusal or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return _refused(scope, 421, "error_host")
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self._hosts}:
            return _refused(scope, 403, "error_origin")
        if scope["method"] in CHANGING and headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return _refused(scope, 403, "error_origin")
        if not self._knows(scope, headers):
            return _refused(scope, 403, "error_token")
        return None

    def _knows(self, scope: Scope, headers: Headers) -> bool:
        said = [headers.get(TOKEN_HEADER, "")]
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(self.cookie)
        except CookieError:
            kept = None
        if kept is not None:
            said.append(kept.value)
        return self._in_address(scope) or any(self._same(word) for word in said)

    def _in_address(self, scope: Scope) -> bool:
        """The address opens the page itself, nothing else."""
        if scope["path"] != "/" or scope["method"] != "GET":
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return any(self._same(word) for word in given)

    def _same(self, word: str) -> bool:
        return hmac.compare_digest(word.encode("utf-8", "surrogateescape"), self._token.encode())


def _refused(scope: Scope, status: int, key: str) -> Response:
    if scope["path"].startswith("/api/"):
        return JSONResponse({"error": say(key)}, status)
    return PlainTextResponse(say(key) + "\n", status)


def hosts(address: str, port: int) -> frozenset[str]:
    """Names under which a studio on ``address`` may be reached."""
    names = set(LOCAL) if address in ("127.0.0.1", "::1", "localhost") else {*LOCAL, address}
    return frozenset(f"{name}:{port}" for name in names) | (frozenset(names) if port == 80 else frozenset())
