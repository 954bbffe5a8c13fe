"""Serve the page itself from memory, compressed: a class opens it within seconds.

Gradio makes the same megabyte of HTML anew for every visitor, a tenth of a second of work, and
sends it as it is. It holds nothing of a visitor, only the address it was asked at, so one copy for
each address serves everybody. Whatever else is asked for passes through.
"""

from __future__ import annotations

import asyncio
import gzip
from typing import NamedTuple

# Gradio takes the page's address from these. Anyone can send any: few addresses are kept.
ADDRESS_HEADERS = (b"host", b"x-forwarded-host", b"x-forwarded-proto")
MOST_ADDRESSES = 8


class Kept(NamedTuple):
    """A page that was made: its headers without length and coding, its body, and that in gzip."""

    headers: list[tuple[bytes, bytes]]
    body: bytes
    zipped: bytes


class FirstPage:
    """ASGI middleware that answers ``GET /``; ``deep_link`` pages are Gradio's own."""

    def __init__(self, app) -> None:
        """Wrap ``app``."""
        self._app = app
        self._kept: dict[tuple, Kept] = {}
        self._making = asyncio.Lock()  # a class that comes at once waits for one copy

    async def __call__(self, scope, receive, send) -> None:
        """Answer from memory, or let the app make the page and keep it."""
        is_page = scope["type"] == "http" and (scope["method"], scope["path"]) == ("GET", "/")
        if not is_page or b"deep_link" in scope["query_string"]:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        address = scope["scheme"], *(headers.get(name) for name in ADDRESS_HEADERS)
        async with self._making:
            kept = self._kept.get(address)
            if kept is None and len(self._kept) < MOST_ADDRESSES:
                kept = await self._made(scope, receive)
                if kept is not None:
                    self._kept[address] = kept
        if kept is None:
            await self._app(scope, receive, send)
            return
        is_zipped = b"gzip" in headers.get(b"accept-encoding", b"")
        body = kept.zipped if is_zipped else kept.body
        told = [*kept.headers, (b"content-length", str(len(body)).encode())]
        told += [(b"vary", b"accept-encoding")]
        told += [(b"content-encoding", b"gzip")] if is_zipped else []
        await send({"type": "http.response.start", "status": 200, "headers": told})
        await send({"type": "http.response.body", "body": body})

    async def _made(self, scope, receive) -> Kept | None:
        """Return the page as the app makes it, or None if it answers with anything else."""
        start: dict = {}
        parts: list[bytes] = []

        async def hear(message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))

        await self._app(scope, receive, hear)
        names = (b"content-length", b"content-encoding", b"vary")
        headers = [pair for pair in start.get("headers", ()) if pair[0].lower() not in names]
        is_coded = any(name.lower() == b"content-encoding" for name, _ in start.get("headers", ()))
        if start.get("status") != 200 or is_coded:
            return None
        body = b"".join(parts)
        return Kept(headers, body, gzip.compress(body))
