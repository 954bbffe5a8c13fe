"""The Speed tab in a real browser, without a GPU: a guess, recorded curves, controls, a mistake."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from benchmarks import recorded
from tests.browser.driving import fits, open_tab
from tests.test_measure import HOT, OTHER, RUN
from tests.workers import served_without_torch
from viz.locales import text

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """An app with recorded sweeps of two GPUs, whose worker says at once that there is no GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "read_all", lambda *_: ([RUN, OTHER, HOT], []))
        with served_without_torch(tmp_path_factory) as url:
            yield url


def test_a_guess_opens_the_recorded_curve_and_a_mistake_loses_nothing(address, visit):
    visited = visit(address, viewport={"width": 390, "height": 844})
    page = visited.page
    open_tab(page, "measure")
    page.locator("#measure-start", has_text=text("en", "memory.measure.no_gpu")).wait_for()
    page.locator("#measure-question", has_text="N = 1024").wait_for()
    expect(page.locator("#measure-start")).to_be_disabled()
    expect(page.locator("#measure-plot .js-plotly-plot")).to_have_count(0)
    page.locator("#measure-guess-second :is(input, textarea)").fill("1500")
    page.locator("#measure-guess-show").click()
    page.locator("#measure-guessed", has_text="50% too low").wait_for()
    # The bands of torch and ours, then the copy, torch, ours and the guess; Liger has no time.
    expect(page.locator("#measure-plot .js-plotly-plot .scatterlayer .trace")).to_have_count(6)
    # The strip under them names the path, in the same figure.
    page.locator("#measure-plot .barlayer text", has_text="single").wait_for()
    fits(page)

    # What is rarely set is behind one line; another GPU's run lies beside the first.
    expect(page.locator("#measure-runs")).to_be_hidden()
    page.locator("#measure-more-button").click()
    page.locator("#measure-runs input").click()
    page.get_by_role("option", name="NVIDIA L4, 2026-01-01", exact=True).click()
    page.locator("#measure-headline", has_text="NVIDIA L4").wait_for()
    page.locator("#measure-key", has_text="1: Recorded on NVIDIA H200").wait_for()
    page.locator("#measure-headline").click()
    page.locator("#measure-hot input").check()
    page.locator("#measure-headline", has_text=text("en", "measure.hot.said")).wait_for()
    expect(page.locator("#measure-key", has_text="1: Recorded")).to_have_count(0)

    page.locator("#measure-values :is(input, textarea)").fill("256, many")
    page.locator("#measure-values :is(input, textarea)").press("Enter")
    page.locator("#measure-note .bw-fault", has_text="got many").wait_for()
    expect(page.locator("#measure-headline")).to_contain_text("1.50×")
    page.locator("#measure-axis input").click()
    page.get_by_role("option", name="n_rows", exact=True).click()
    page.locator("#measure-cols").wait_for()
    page.locator("#measure-table", has_text=text("en", "measure.plan")).wait_for()
    fits(page)
    page.get_by_text("中文", exact=True).click()
    page.locator("#measure-view", has_text=text("zh", "measure.view")).wait_for()
    assert not visited.errors
