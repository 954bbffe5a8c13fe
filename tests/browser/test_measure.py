"""The Measure tab in a real browser, without a GPU: a guess, the recorded curve, a mistake."""

from __future__ import annotations

import pytest

from benchmarks import recorded
from tests.test_measure import RUN
from tests.workers import served_without_torch
from viz.locales import text

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """An app with one recorded sweep, whose worker says at once that there is no GPU."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "read_all", lambda *_: ([RUN], []))
        with served_without_torch(tmp_path_factory) as url:
            yield url


def test_a_guess_opens_the_recorded_curve_and_a_mistake_loses_nothing(address, visit):
    visited = visit(address, viewport={"width": 390, "height": 844})
    page = visited.page
    page.get_by_role("tab", name=text("en", "tab.measure"), exact=True).click()
    page.locator("#measure-start", has_text=text("en", "memory.measure.no_gpu")).wait_for()
    page.locator("#measure-question", has_text="N = 1024").wait_for()
    assert page.locator("#measure-start").is_disabled()
    assert page.locator("#measure-plot .js-plotly-plot").count() == 0
    page.locator("#measure-guess-speed :is(input, textarea)").fill("1500")
    page.locator("#measure-guess-show").click()
    page.locator("#measure-guessed", has_text="50% too low").wait_for()
    # The copy, torch, ours and the guess; Liger has no time.
    page.locator("#measure-plot .js-plotly-plot .scatterlayer .trace").nth(3).wait_for()
    assert page.locator("#measure-plot .scatterlayer .trace").count() == 4
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.locator("#measure-values :is(input, textarea)").fill("256, many")
    page.locator("#measure-values :is(input, textarea)").press("Enter")
    page.locator("#measure-note .bw-fault", has_text="got many").wait_for()
    assert "1.50×" in page.locator("#measure-headline").inner_text()
    page.get_by_text("中文", exact=True).click()
    page.locator("#measure-view", has_text=text("zh", "measure.view")).wait_for()
    assert not visited.errors
