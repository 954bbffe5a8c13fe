"""Watch for tiles in a browser: the controls of each problem, in one row, changed at one moment."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

import app
from benchmarks.worker import Worker
from kernels import ALGORITHMS
from tests.browser.driving import fits
from tests.test_app import free_port
from viz.locales import text

pytestmark = pytest.mark.browser
ALWAYS = ["algorithm", "preset", "dtype", "seed"]

# Every frame in which something else is seen: the controls, the row's height, the player's place.
RECORD = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const watched = '#watch-controls .form > *, #watch-own';
  window.frames_seen = [];
  const look = () => {
    const seen = [...document.querySelectorAll(watched)].filter((e) => e.offsetParent);
    const now = JSON.stringify({
      controls: seen.map((e) => e.id.replace('watch-', '')),
      height: box('#watch-controls').height,
      top: box('#watch-player').top,
    });
    if (window.frames_seen.at(-1) !== now) window.frames_seen.push(now);
    requestAnimationFrame(look);
  };
  look();
}"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """An app whose worker is not started: nothing is run here."""
    worker, port = Worker(), free_port()
    page = app.serve(worker, "127.0.0.1", port)
    yield f"http://127.0.0.1:{port}"
    page.close()
    worker.close()


def choose(page, name: str) -> None:
    """Choose an algorithm as a visitor does, and wait until it is shown."""
    title = text("en", f"algorithm.{name}.title")
    page.locator("#watch-algorithm input").click()
    page.get_by_role("option", name=title, exact=True).click()
    page.locator("#watch-setup", has_text=f"{title} ·").wait_for(state="attached")


def hold(page, **values: str) -> None:
    """Wait until these controls have these values."""
    for name, value in values.items():
        expect(page.locator(f"#watch-{name} input")).to_have_value(value)


def test_a_change_of_algorithm_changes_the_controls_at_once_and_moves_nothing(visit, url):
    visited = visit(f"{url}/?preset=masked_tail&n=48")
    page = visited.page
    page.locator("#watch-setup", has_text="N 48").wait_for(state="attached")
    page.evaluate(RECORD)
    order = ["flash_attention", "split_kv", "matmul", "online_softmax"]
    for name in order:
        choose(page, name)
        hold(page, preset="normal")
        if name == "split_kv":
            hold(page, seq_q="1", seq_k="64", block_m="4", mask="none")
        if name == "flash_attention":
            hold(page, seq_q="64", seq_k="64", block_m="8", mask="causal")
    hold(page, n_cols="48")
    expect(page.locator("#watch-note [role=alert]")).to_have_count(0)
    frames = [json.loads(frame) for frame in page.evaluate("window.frames_seen")]
    assert {frame["height"] for frame in frames} == {frames[0]["height"]}, "the row broke in two"
    assert frames[0]["height"] < 60 and len({frame["top"] for frame in frames}) == 1
    assert len(frames) == 1 + len(order), "something was seen that is neither before nor after"
    for name, frame in zip(order, frames[1:], strict=True):
        entry = ALGORITHMS[name]
        beside = {"row": ["compare", "own"], "attention": ["compare"], "matmul": []}[entry.problem]
        assert set(frame["controls"]) == {*ALWAYS, *entry.fields, *beside}
    assert visited.errors == []


def test_a_link_opens_the_step_of_a_tile_and_another_algorithm_takes_the_address(visit, url):
    visited = visit(f"{url}/?algo=flash_attention&mask=none&step=103&n=48")
    page = visited.page
    page.get_by_text("step 104 of 344").wait_for()
    page.wait_for_function("location.search.includes('sq=64') && !location.search.includes('n=48')")
    choose(page, "matmul")
    page.wait_for_function(
        "location.search.includes('rows=32') && !location.search.includes('sq=')"
    )
    assert visited.errors == []


def test_a_phone_shows_one_line_and_opens_it(visit, url):
    link = f"{url}/?algo=split_kv&lang=zh&mask=causal&splits=3"
    page = visit(link, viewport={"width": 390, "height": 844}).page
    setup = page.locator("#watch-setup", has_text="1 × 64，分块 4 × 8，因果，3 段")
    setup.wait_for()
    expect(page.locator("#watch-controls")).to_be_hidden()
    setup.click()
    page.locator("#watch-seq_q").wait_for()
    fits(page)
    wide = page.locator("#watch-controls .form > *:visible")
    expect(wide).to_have_count(12)
    boxes = [wide.nth(i).bounding_box() for i in range(wide.count())]
    assert all(b["x"] >= 0 and b["x"] + b["width"] <= 390 for b in boxes)
