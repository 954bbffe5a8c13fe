"""The Memory tab in a real browser, without a GPU: what can be chosen, said and seen."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.driving import fits, open_tab
from tests.workers import served_without_torch
from viz.locales import text

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """An app whose worker says at once that there is no GPU."""
    with served_without_torch(tmp_path_factory) as url:
        yield url


def test_the_tab_follows_its_controls_refuses_in_a_sentence_and_fits_a_phone(address, visit):
    visited = visit(address, viewport={"width": 390, "height": 844})
    page = visited.page
    open_tab(page, "measure", "memory")
    page.locator("#memory-measure", has_text=text("en", "memory.measure.no_gpu")).wait_for()
    expect(page.locator("#memory-measure")).to_be_disabled()
    expect(page.locator("#memory-page .js-plotly-plot")).to_have_count(2)
    page.locator("#memory-peak-headline", has_text="17.4 GB").wait_for()
    fits(page)

    page.locator("#memory-mask input").click()
    page.get_by_role("option", name=text("en", "memory.mask.causal"), exact=True).click()
    page.locator("#memory-traffic-headline", has_text="slope 1.99").wait_for()
    page.locator("#memory-heads input").fill("999")
    page.locator("#memory-note .bw-fault", has_text="from 1 to 64, got 999").wait_for()
    expect(page.locator("#memory-peak-headline")).to_contain_text("17.4 GB")
    page.locator("#memory-heads input").fill("8")
    page.locator("#memory-peak-headline", has_text="8.69 GB").wait_for()
    page.locator("#memory-note .bw-fault").wait_for(state="detached")

    # Labels and numbers of a chart stay inside it, and its colours are the reader's theme's.
    # The plot of the last answer may still be drawing: it is asked until it is so.
    page.wait_for_function(
        """() => [...document.querySelectorAll('#memory-page .js-plotly-plot')].every((plot) => {
          const frame = plot.getBoundingClientRect();
          return [...plot.querySelectorAll('text')].every((word) => {
            const box = word.getBoundingClientRect();
            return box.left >= frame.left - 1 && box.right <= frame.right + 1;
          });
        })"""
    )
    page.get_by_text("中文", exact=True).click()
    page.locator("#memory-peak-headline", has_text="8.69 GB").wait_for()
    page.locator("#memory-claims", has_text=text("zh", "memory.claims")).wait_for()
    page.locator("#memory-measure", has_text=text("zh", "memory.measure.no_gpu")).wait_for()
    assert not visited.errors
