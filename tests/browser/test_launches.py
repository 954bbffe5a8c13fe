"""The Launches tab in a real browser, without a GPU: what can be chosen, said and seen."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from benchmarks import recorded
from tests.browser.driving import fits, open_tab
from tests.test_launches import RUN
from tests.workers import served_without_torch
from viz.locales import text

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """An app with one recorded run, whose worker says at once that there is no GPU."""
    folder = tmp_path_factory.mktemp("recorded")
    recorded.write(RUN, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded.read_all, "__defaults__", (folder,))
        with served_without_torch(tmp_path_factory) as url:
            yield url


def test_the_tab_shows_a_recording_follows_its_controls_and_fits_a_phone(address, visit):
    visited = visit(address, viewport={"width": 390, "height": 844})
    page = visited.page
    open_tab(page, "measure", "launches")
    page.locator("#launches-measure", has_text=text("en", "memory.measure.no_gpu")).wait_for()
    expect(page.locator("#launches-measure")).to_be_disabled()
    page.locator("#launches-timeline-headline", has_text="3.00× less").wait_for()
    # A bar a launch, and one that holds its name: three of torch's, none of the one that could not
    # run, one of ours.
    expect(page.locator("#launches-timeline-plot .js-plotly-plot .bars .point")).to_have_count(8)
    fits(page)

    page.locator("#launches-direction input").click()
    page.get_by_role("option", name=text("en", "launches.backward"), exact=True).click()
    page.locator("#launches-bytes-headline", has_text="126 MB").wait_for()
    page.locator("#launches-claim", has_text="15 passes over memory become 5").wait_for()
    page.locator("#launches-size input").fill("4 × 99999")
    page.locator("#launches-size input").press("Enter")
    page.locator("#launches-note .bw-fault", has_text="got 99999").wait_for()
    expect(page.locator("#launches-bytes-headline")).to_contain_text("126 MB")
    page.get_by_text("中文", exact=True).click()
    page.locator("#launches-direction", has_text=text("zh", "launches.direction")).wait_for()
    assert not visited.errors
