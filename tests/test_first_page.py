"""The page from memory: what Gradio makes, made once, and smaller on the wire."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from viz import first_page
from viz.first_page import FirstPage


class App:
    """Answers with the host that was asked and the number of its answer."""

    def __init__(self, status: int = 200, **headers: str) -> None:
        self.n, self.status = 0, status
        self.headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope, receive, send) -> None:
        self.n += 1
        body = dict(scope["headers"])[b"host"] + b" %d" % self.n
        await asyncio.sleep(0)
        headers = [(b"content-type", b"text/html"), *self.headers]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body[:3], "more_body": True})
        await send({"type": "http.response.body", "body": body[3:]})


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


def test_a_class_that_comes_at_once_is_given_one_copy():
    async def visit():
        app = App()
        page = FirstPage(app)
        answers = await asyncio.gather(*(ask(page, query=b"n=%d" % k) for k in range(50)))
        return app.n, answers

    n, answers = asyncio.run(visit())
    assert n == 1
    assert {body for _, _, body in answers} == {b"here 1"}
    assert all(told[b"content-length"] == b"6" for _, told, _ in answers)
    assert all(b"content-encoding" not in told for _, told, _ in answers)


def test_who_takes_gzip_is_sent_it():
    async def visit():
        page = FirstPage(App())
        return await ask(page, accept_encoding="gzip, br")

    status, told, body = asyncio.run(visit())
    assert status == 200 and gzip.decompress(body) == b"here 1"
    assert told[b"content-encoding"] == b"gzip" and told[b"vary"] == b"accept-encoding"
    assert told[b"content-length"] == str(len(body)).encode()
    assert told[b"content-type"] == b"text/html"


@pytest.mark.parametrize(
    "other",
    [{"host": "there"}, {"x_forwarded_host": "there"}, {"x_forwarded_proto": "https"}],
)
def test_another_address_has_a_page_of_its_own(other):
    async def visit():
        page = FirstPage(App())
        return [(await ask(page, **about))[2] for about in ({}, other, {}, other)]

    first, second, third, fourth = asyncio.run(visit())
    assert first != second and (first, second) == (third, fourth)


def test_only_few_addresses_are_kept_and_the_rest_still_answered():
    async def visit():
        app = App()
        page = FirstPage(app)
        for k in range(first_page.MOST_ADDRESSES + 5):
            await ask(page, host=f"h{k}")
        return [(await ask(page, host=host))[2] for host in ("h0", "h11", "h11")]

    kept, anew, again = asyncio.run(visit())
    assert kept == b"h0 1" and anew.startswith(b"h11 ") and again != anew


@pytest.mark.parametrize(
    "about", [{"path": "/config"}, {"method": "POST"}, {"query": b"deep_link=x"}]
)
def test_anything_else_passes_through(about):
    async def visit():
        page = FirstPage(App())
        return [(await ask(page, **about))[2] for _ in range(2)]

    assert asyncio.run(visit()) == [b"here 1", b"here 2"]


@pytest.mark.parametrize("app", [App(status=500), App(**{"content-encoding": "br"})])
def test_what_is_no_plain_page_is_not_kept(app):
    async def visit():
        page = FirstPage(app)
        return [await ask(page) for _ in range(2)]

    answers = asyncio.run(visit())
    assert [status for status, *_ in answers] == [app.status] * 2
    assert answers[0][2] != answers[1][2]
