"""The Landscape tab in a real browser, without a GPU: a guess, the map, a cell, a mistake."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from benchmarks import recorded
from tests.browser.driving import fits, open_tab
from tests.landscapes import ATTENTION, SOFTMAX
from tests.workers import served_without_torch
from viz.locales import text

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """An app with two recorded landscapes, whose worker says at once that there is no GPU."""
    folder = tmp_path_factory.mktemp("recorded")
    for run in (SOFTMAX, ATTENTION):
        recorded.write(run, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded.read_all, "__defaults__", (folder,))
        with served_without_torch(tmp_path_factory) as url:
            yield url


def test_a_guess_opens_the_map_whose_cells_can_be_chosen_and_a_mistake_loses_nothing(
    address, visit
):
    visited = visit(address, viewport={"width": 390, "height": 844})
    page = visited.page
    open_tab(page, "measure", "landscape")
    page.locator("#landscape-measure", has_text=text("en", "memory.measure.no_gpu")).wait_for()
    expect(page.locator("#landscape-measure")).to_be_disabled()
    expect(page.locator("#landscape-map .bw-heat-hidden")).to_have_count(29)
    page.locator("#landscape-cell-2-2").click()  # a click on a cell is the guess
    page.locator("#landscape-guessed", has_text="21% slower").wait_for()
    expect(page.locator(".bw-heat-best", has_text="537")).to_have_count(1)
    expect(page.locator("#landscape-cell-2-2 .bw-heat-ring")).to_have_count(1)
    fits(page)

    # By keys: from the fastest one row up, and chosen.
    page.locator("#landscape-cell-4-2").press("ArrowUp")
    page.locator("#landscape-cell-5-2:focus").press("Enter")
    page.locator("#landscape-about h3", has_text="block 8192, num_warps 8").wait_for()
    expect(page.locator("#landscape-cell-5-2.bw-heat-chosen")).to_have_count(1)

    # Another operation begins with what was recorded of it.
    page.locator("#landscape-operation input").click()
    page.get_by_role("option", name=text("en", "measure.operation.attention"), exact=True).click()
    page.locator("#landscape-headline", has_text="batch 4").wait_for()
    page.locator("#landscape-headline", has_text="fastest of 41").wait_for()
    page.locator("#landscape-size input").fill("long")
    page.locator("#landscape-size input").press("Enter")
    page.locator("#landscape-note .bw-fault", has_text="got long").wait_for()
    expect(page.locator("#landscape-map .bw-heat")).to_have_count(12)
    page.get_by_text("中文", exact=True).click()
    page.locator("#landscape-view", has_text=text("zh", "measure.view")).wait_for()
    assert not visited.errors
