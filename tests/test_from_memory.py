"""The page and its files from memory: what Gradio makes, made once, and smaller on the wire."""

from __future__ import annotations

import asyncio
import gzip
from concurrent.futures import ThreadPoolExecutor

import pytest

from viz import from_memory
from viz.from_memory import FromMemory


class App:
    """Answers with the host that was asked and the number of its answer."""

    def __init__(self, status: int = 200, more: bytes = b"", **headers: str) -> None:
        self.n, self.status, self.more = 0, status, more
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope, receive, send) -> None:
        self.n += 1
        body = dict(scope["headers"])[b"host"] + b" %d" % self.n + self.more
        await asyncio.sleep(0)
        headers = [(b"content-type", b"text/html"), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body[:3], "more_body": True})
        await send({"type": "http.response.body", "body": body[3:]})


def run(visit):
    """Return what ``visit`` does, in a thread: a browser's tests leave their loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(visit())).result()


async def ask(page, host="here", path="/", method="GET", query=b"", **headers):
    told = [(b"host", host.encode())]
    told += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope = {
        "type": "http", "scheme": "http", "method": method, "path": path,
        "query_string": query, "headers": told,
    }  # fmt: skip
    sent = []

    async def send(message):
        sent.append(message)

    await page(scope, None, send)
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], dict(sent[0]["headers"]), body


@pytest.mark.parametrize("path", ["/", "/assets/index-DphvyggB.js"])
def test_a_class_that_comes_at_once_is_given_one_copy(path):
    async def visit():
        app = App()
        page = FromMemory(app)
        queries = (b"n=%d" % k for k in range(50))
        answers = await asyncio.gather(*(ask(page, path=path, query=query) for query in queries))
        return app.n, answers

    n, answers = run(visit)
    assert n == 1
    assert {body for _, _, body in answers} == {b"here 1"}
    assert all(told[b"content-length"] == b"6" for _, told, _ in answers)
    assert all(b"content-encoding" not in told for _, told, _ in answers)


@pytest.mark.parametrize("path", ["/", "/assets/index-DphvyggB.js"])
def test_who_takes_gzip_is_sent_it_where_it_is_smaller(path):
    async def visit():
        long, short = FromMemory(App(more=b"x" * 500)), FromMemory(App())
        return [
            await ask(page, path=path, accept_encoding=coding)
            for page, coding in ((long, "gzip, br"), (long, "br"), (short, "gzip"))
        ]

    zipped, plain, short = run(visit)
    assert gzip.decompress(zipped[2]) == plain[2] == b"here 1" + b"x" * 500
    assert zipped[1][b"content-encoding"] == b"gzip" and b"content-encoding" not in plain[1]
    assert short[2] == b"here 1" and b"content-encoding" not in short[1]
    for status, told, body in (zipped, plain, short):
        assert (status, told[b"vary"]) == (200, b"accept-encoding")
        assert told[b"content-length"] == str(len(body)).encode()
        assert told[b"content-type"] == b"text/html"


def test_a_file_is_read_once_for_every_address_and_only_a_hashed_name_is_kept_forever():
    async def visit():
        page = FromMemory(App())
        paths = ("/assets/index-DphvyggB.js", "/static/fonts/Plex.woff2", "/assets/plain.js")
        asked = [(path, host) for path in paths for host in ("here", "there")]
        return [await ask(page, host=host, path=path) for path, host in asked]

    answers = run(visit)
    assert [body for _, _, body in answers] == [b"here 1"] * 2 + [b"here 2"] * 2 + [b"here 3"] * 2
    cached = [told.get(b"cache-control", b"") for _, told, _ in answers]
    assert [b"immutable" in each for each in cached] == [True] * 2 + [False] * 4


def test_files_are_kept_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(from_memory, "MOST_FILE_BYTES", 8)

    async def visit():
        page = FromMemory(App())
        return [(await ask(page, path=f"/assets/{name}"))[2] for name in "aabbccaa"]

    # Two of 6 bytes pass the limit.
    wanted = [b"here 1", b"here 1", b"here 2", b"here 2", b"here 3", b"here 4"]
    assert run(visit) == [*wanted, b"here 1", b"here 1"]


@pytest.mark.parametrize(
    "other",
    [{"host": "there"}, {"x_forwarded_host": "there"}, {"x_forwarded_proto": "https"}],
)
def test_another_address_has_a_page_of_its_own(other):
    async def visit():
        page = FromMemory(App())
        return [(await ask(page, **about))[2] for about in ({}, other, {}, other)]

    first, second, third, fourth = run(visit)
    assert first != second and (first, second) == (third, fourth)


def test_only_few_addresses_are_kept_and_the_rest_still_answered():
    async def visit():
        app = App()
        page = FromMemory(app)
        for k in range(from_memory.MOST_ADDRESSES + 5):
            await ask(page, host=f"h{k}")
        return [(await ask(page, host=host))[2] for host in ("h0", "h11", "h11")]

    kept, anew, again = run(visit)
    assert kept == b"h0 1" and anew.startswith(b"h11 ") and again != anew


@pytest.mark.parametrize(
    "about",
    [
        {"path": "/config"},
        {"method": "POST"},
        {"query": b"deep_link=x"},
        {"path": "/assets/x.js", "range": "bytes=0-3"},
        {"path": "/assets/x.js", "if_none_match": "x"},
        {"path": "/file/assets/x.js"},
    ],
)
def test_anything_else_passes_through(about):
    async def visit():
        page = FromMemory(App())
        return [(await ask(page, **about))[2] for _ in range(2)]

    assert run(visit) == [b"here 1", b"here 2"]


@pytest.mark.parametrize("app", [App(status=500), App(**{"content-encoding": "br"})])
def test_what_is_no_plain_page_is_not_kept(app):
    async def visit():
        page = FromMemory(app)
        return [await ask(page) for _ in range(2)]

    answers = run(visit)
    assert [status for status, *_ in answers] == [app.status] * 2
    assert answers[0][2] != answers[1][2]
