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

    @property
    def n_bytes(self) -> int:
        """What it takes to keep."""
        return len(self.body) + len(self.zipped or b"")


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
            headers, path = dict(scope["headers"]), scope["path"]
            if path == "/" and b"deep_link" not in scope["query_string"]:
                address = scope["scheme"], *(headers.get(name) for name in ADDRESS_HEADERS)
                kept = await self._of(self._pages, address, scope, receive)
            elif path.startswith(FILES) and not any(name in headers for name in PARTIAL):
                kept = await self._of(self._files, path, scope, receive)
        if kept is None:
            await self._app(scope, receive, send)
        else:
            await _answer(kept, b"gzip" in headers.get(b"accept-encoding", b""), send)

    async def _of(self, store: dict, key, scope, receive) -> Kept | None:
        """Return what a store holds for a key, made if need be; None where nothing is kept."""
        if key not in store and self._has_room(store):
            async with self._making:
                if key not in store:
                    made = await self._made(scope, receive)
                    if made is not None:
                        store[key] = made
                        if store is self._files:
                            self._file_bytes += made.n_bytes
        return store.get(key)

    def _has_room(self, store: dict) -> bool:
        """Whether a store may take more: so many addresses, or so many bytes of files."""
        if store is self._pages:
            return len(store) < MOST_ADDRESSES
        return self._file_bytes < MOST_FILE_BYTES

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
        headers += [FOREVER] if HASHED.fullmatch(scope["path"]) else []
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
