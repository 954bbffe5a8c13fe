"""The Speed tab in a real browser, without a GPU: a guess, recorded curves, controls, a mistake."""

from __future__ import annotations

import pytest

from benchmarks import recorded
from tests.browser.driving import open_tab
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
    assert page.locator("#measure-start").is_disabled()
    assert page.locator("#measure-plot .js-plotly-plot").count() == 0
    page.locator("#measure-guess-second :is(input, textarea)").fill("1500")
    page.locator("#measure-guess-show").click()
    page.locator("#measure-guessed", has_text="50% too low").wait_for()
    # The bands of torch and ours, then the copy, torch, ours and the guess; Liger has no time.
    traces = page.locator("#measure-plot .js-plotly-plot .scatterlayer .trace")
    traces.nth(5).wait_for(state="attached")
    assert traces.count() == 6
    # The strip under them names the path, in the same figure.
    page.locator("#measure-plot .barlayer text", has_text="single").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    # What is rarely set is behind one line; another GPU's run lies beside the first.
    assert not page.locator("#measure-runs").is_visible()
    page.locator("#measure-more-button").click()
    page.locator("#measure-runs input").click()
    page.get_by_role("option", name="NVIDIA L4, 2026-01-01", exact=True).click()
    page.locator("#measure-headline", has_text="NVIDIA L4").wait_for()
    page.locator("#measure-key", has_text="1: Recorded on NVIDIA H200").wait_for()
    page.locator("#measure-headline").click()
    page.locator("#measure-hot input").check()
    page.locator("#measure-headline", has_text=text("en", "measure.hot.said")).wait_for()
    assert page.locator("#measure-key", has_text="1: Recorded").count() == 0

    page.locator("#measure-values :is(input, textarea)").fill("256, many")
    page.locator("#measure-values :is(input, textarea)").press("Enter")
    page.locator("#measure-note .bw-fault", has_text="got many").wait_for()
    assert "1.50×" in page.locator("#measure-headline").inner_text()
    page.locator("#measure-axis input").click()
    page.get_by_role("option", name="n_rows", exact=True).click()
    page.locator("#measure-cols").wait_for()
    page.locator("#measure-table", has_text=text("en", "measure.plan")).wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_text("中文", exact=True).click()
    page.locator("#measure-view", has_text=text("zh", "measure.view")).wait_for()
    assert not visited.errors
