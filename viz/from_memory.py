"""Serve the page and the files it is made of from memory, compressed: a class opens it in seconds.

Gradio makes the same megabyte of HTML anew for every visitor, and reads and compresses ninety files
for each: about a second of work together. None of it holds anything of a visitor, so what was made
once is kept. Whatever else is asked for passes through.
"""

from __future__ import annotations

import asyncio
import gzip
import re
from typing import NamedTuple

# Gradio takes the page's address from these, and puts it in. Anyone can send any: few are kept.
ADDRESS_HEADERS = (b"host", b"x-forwarded-host", b"x-forwarded-proto")
MOST_ADDRESSES = 8
FILES = ("/assets/", "/static/")
MOST_FILE_BYTES = 2**26
# A name with a hash of what is in it: such a file never changes.
HASHED = re.compile(r"/assets/.*-[\w-]{8}\.\w+")
FOREVER = (b"cache-control", b"public, max-age=31536000, immutable")
# What a request may want other than the whole file.
PARTIAL = (b"range", b"if-none-match", b"if-modified-since", b"if-range")


class Kept(NamedTuple):
    """A response: its headers without length and coding, its body, and that in gzip if smaller."""

    headers: list[tuple[bytes, bytes]]
    body: bytes
    zipped: bytes | None


class FromMemory:
    """ASGI middleware that answers ``GET /`` and the files; ``deep_link`` pages are Gradio's."""

    def __init__(self, app) -> None:
        """Wrap ``app``."""
        self._app = app
        self._pages: dict[tuple, Kept] = {}
        self._files: dict[str, Kept] = {}
        self._file_bytes = 0
        self._making = asyncio.Lock()  # a class that comes at once waits for one copy

    async def __call__(self, scope, receive, send) -> None:
        """Answer from memory, or let the app make the response and keep it."""
        kept = None
        if scope["type"] == "http" and scope["method"] == "GET":
            headers = dict(scope["headers"])
            if scope["path"] == "/" and b"deep_link" not in scope["query_string"]:
                kept = await self._page(scope, receive, headers)
            elif scope["path"].startswith(FILES) and not any(name in headers for name in PARTIAL):
                kept = await self._file(scope, receive)
        if kept is None:
            await self._app(scope, receive, send)
        else:
            await _answer(kept, b"gzip" in headers.get(b"accept-encoding", b""), send)

    async def _page(self, scope, receive, headers: dict[bytes, bytes]) -> Kept | None:
        """Return the page for an address, or None where no more are kept."""
        address = scope["scheme"], *(headers.get(name) for name in ADDRESS_HEADERS)
        async with self._making:
            if address not in self._pages and len(self._pages) < MOST_ADDRESSES:
                made = await self._made(scope, receive)
                if made is not None:
                    self._pages[address] = made
        return self._pages.get(address)

    async def _file(self, scope, receive) -> Kept | None:
        """Return a file, or None where it is none, or there is no more room."""
        path = scope["path"]
        if path not in self._files and self._file_bytes < MOST_FILE_BYTES:
            made = await self._made(scope, receive)
            if made is not None and path not in self._files:
                if HASHED.fullmatch(path):
                    made.headers.append(FOREVER)
                self._files[path] = made
                self._file_bytes += len(made.body) + len(made.zipped or b"")
        return self._files.get(path)

    async def _made(self, scope, receive) -> Kept | None:
        """Return the response as the app makes it, or None if it is anything but a whole one."""
        start: dict = {}
        parts: list[bytes] = []

        async def hear(message) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))

        await self._app(scope, receive, hear)
        told = [(name.lower(), value) for name, value in start.get("headers", ())]
        if start.get("status") != 200 or b"content-encoding" in dict(told):
            return None
        body = b"".join(parts)
        zipped = gzip.compress(body)
        headers = [pair for pair in told if pair[0] not in (b"content-length", b"vary")]
        return Kept(headers, body, zipped if len(zipped) < 0.9 * len(body) else None)


async def _answer(kept: Kept, takes_gzip: bool, send) -> None:
    """Send what is kept."""
    is_zipped = takes_gzip and kept.zipped is not None
    body = kept.zipped if is_zipped else kept.body
    headers = [*kept.headers, (b"content-length", str(len(body)).encode())]
    headers += [(b"vary", b"accept-encoding")]
    headers += [(b"content-encoding", b"gzip")] if is_zipped else []
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
