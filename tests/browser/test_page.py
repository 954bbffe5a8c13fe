"""The whole page in a browser: links, languages, own numbers, and no request to anywhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

import app
from benchmarks.worker import Worker
from tests.browser.driving import fits
from tests.test_app import free_port

pytestmark = pytest.mark.browser
READY_MS = 60_000  # a busy machine; an idle one needs about one second


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    worker = Worker()
    worker.start()
    port = free_port()
    page = app.serve(worker, "127.0.0.1", port)
    yield f"http://127.0.0.1:{port}"
    page.close()
    worker.close()


@pytest.fixture
def page(browser) -> Iterator[object]:
    """A page that may only talk to this machine, and must not log an error."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    context.set_default_timeout(READY_MS)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda m: faults.append(m.text) if m.type == "error" else None)
    outside: list[str] = []

    def route(route):
        if re.match(r"https?://(127\.0\.0\.1|localhost)[:/]", route.request.url):
            route.continue_()
        else:
            outside.append(route.request.url)
            route.abort()

    context.route("**/*", route)
    yield page
    context.close()
    assert outside == [], "the page asked another machine"
    assert faults == []


def test_a_link_opens_its_step_and_stepping_keeps_the_address(page, url):
    page.goto(f"{url}/?algo=online_softmax&n=24&block=4&seed=3&step=8")
    page.wait_for_selector("text=step 9 of")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=step 10 of")
    page.wait_for_function("new URLSearchParams(location.search).get('step') === '9'")
    # In a page of its own: leaving one while it still listens to the server is logged as an error.
    again = page.context.new_page()
    again.goto(page.url)
    again.wait_for_selector("text=step 10 of")


def test_a_link_opens_a_comparison_at_its_step(page, url):
    page.goto(f"{url}/?algo=online_softmax&with=safe_softmax&n=24&block=4&step=30")
    page.wait_for_selector("text=safe softmax, three passes ·")
    page.wait_for_function("new URLSearchParams(location.search).get('step') === '30'")
    page.wait_for_timeout(1500)  # nothing that follows the load may take it back
    expect(page.get_by_text("safe softmax, three passes ·").first).to_be_visible()
    assert "step=30" in page.url and "with=safe_softmax" in page.url


def test_a_wrong_link_says_what_was_changed(page, url):
    page.goto(f"{url}/?n=9999&block=8")
    note = page.locator("#watch-note [role=alert]")
    expect(note).to_contain_text("N must be from 1 to 512, got 9999")
    expect(page.locator("#watch-n_cols input")).to_have_value("32")


def test_a_mistake_keeps_the_picture_and_is_forgotten_when_mended(page, url):
    page.goto(url)
    page.wait_for_selector("text=step 1 of 42")
    size = page.locator("#watch-n_cols input")
    size.fill("513")
    note = page.locator("#watch-note [role=alert]")
    expect(note).to_contain_text("from 1 to 512, got 513")
    expect(page.get_by_text("step 1 of 42").first).to_be_visible()
    size.fill("16")
    page.wait_for_selector("text=step 1 of 22")
    expect(note).to_have_count(0)


def test_a_changed_control_is_in_the_address_at_once(page, url):
    page.goto(f"{url}/?n=100&block=1&d=4")
    page.wait_for_selector("text=step 1 of 502")
    page.locator("#watch-seed input").fill("5")
    page.wait_for_function("new URLSearchParams(location.search).get('seed') === '5'")


def test_own_numbers_start_from_those_on_screen(page, url):
    page.goto(url)
    page.wait_for_selector("text=step 1 of 42")
    page.locator("#watch-own").click()
    box = page.locator("#watch-numbers textarea")
    expect(box).to_have_value(re.compile(r"^([^,]+,){31}[^,]+$"))
    box.fill("1 2 inf")
    page.wait_for_selector("text=step 1 of 7")
    box.fill("1, 2, three")
    page.wait_for_selector("text=“three”")
    expect(page.get_by_text("step 1 of 7").first).to_be_visible()


def test_the_language_switch_keeps_the_step(page, url):
    page.goto(f"{url}/?step=7")
    page.wait_for_selector("text=step 8 of 42")
    page.get_by_role("button", name="中文").click()
    page.wait_for_selector("text=第 8 步")
    page.get_by_role("tab", name="运行").wait_for()
    page.get_by_role("button", name="EN", exact=True).click()
    page.wait_for_selector("text=step 8 of 42")


def test_the_browsers_language_is_taken(browser, url):
    context = browser.new_context(locale="zh-CN")
    page = context.new_page()
    page.goto(url)
    page.get_by_role("tab", name="观看").wait_for(timeout=READY_MS)
    context.close()


def test_running_the_watched_numbers_and_watching_a_row_of_a_larger_case(page, url):
    page.goto(url)
    page.wait_for_selector("text=step 1 of 42")
    page.get_by_role("tab", name="Run").click()
    page.locator("#run-kernel").click()
    page.wait_for_selector("text=Passed")
    page.get_by_role("button", name="Watch row 0").click()
    page.wait_for_selector("text=step 1 of 42")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_scrolls_sideways(page, url, language):
    page.goto(f"{url}/?lang={language}&step=8")
    page.wait_for_selector("#watch-player .bwp-caption:not(:empty)")
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        page.wait_for_timeout(500)
        fits(page)
