"""What browser tests share: small Gradio apps on free ports, and pages that report their errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.driving import submit

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

OPEN_MS = 60_000  # a cold Chromium on a busy machine
expect.set_options(timeout=OPEN_MS)


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """Give ``serve(demo, **launch_settings)``: start it on a free port, return its address."""
    running = []

    def start(demo: object, **settings: object) -> str:
        _, address, _ = demo.launch(
            prevent_thread_lock=True,
            quiet=True,
            server_name="127.0.0.1",
            ssr_mode=False,
            run_history=False,  # as the app has it: else every answer is written into the browser
            **settings,
        )
        running.append(demo)
        return address

    yield start
    for demo in running:
        demo.close()


class Visit:
    """One open page, with what it complained about and what it asked the network for."""

    def __init__(self, page: object) -> None:
        """Listen to ``page`` from now on."""
        self.page = page
        self.errors: list[str] = []
        self.addresses: list[str] = []
        self.showing: dict | None = None
        page.set_default_timeout(OPEN_MS)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", self._hear)
        page.on("request", lambda request: self.addresses.append(request.url))

    def _hear(self, message: object) -> None:
        """Keep what the console calls an error."""
        if message.type == "error":
            self.errors.append(message.text)


@pytest.fixture
def visit(browser: object) -> Iterator[Callable[..., Visit]]:
    """Give ``visit(address, **context_settings)``: open a page in a context of its own."""
    contexts = []

    def start(address: str, **settings: object) -> Visit:
        settings.setdefault("viewport", {"width": 1440, "height": 900})
        context = browser.new_context(**settings)
        contexts.append(context)
        visited = Visit(context.new_page())
        visited.page.goto(address)
        return visited

    yield start
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def shared(browser: object) -> Iterator[dict[str, Visit]]:
    """Pages that a module's tests have one after another: to open one takes seconds."""
    pages: dict[str, Visit] = {}
    yield pages
    for visited in pages.values():
        visited.page.context.close()


@pytest.fixture
def show_in(browser: object, shared: dict[str, Visit]) -> Callable[..., Visit]:
    """Give ``show_in(name, address, spec, **settings)``: a shared page's player shows ``spec``.

    The page is opened at ``address``, with the context's ``settings``, the first time. Later it is
    sent the new value, and begins with it; the value it has already it would not take.
    """

    def start(name: str, address: str, spec: dict, **settings: object) -> Visit:
        viewport = settings.setdefault("viewport", {"width": 1440, "height": 900})
        if name not in shared:
            shared[name] = Visit(browser.new_context(**settings).new_page())
        visited = shared[name]
        if visited.showing in (None, spec):
            visited.page.goto(address)
            visited.page.wait_for_selector(".bwp-caption:not(:empty)")
        visited.showing = spec
        visited.page.set_viewport_size(viewport)
        submit(visited.page, **spec)
        visited.errors.clear()
        return visited

    return start
