"""The Claims tab in a real browser, without a GPU: a verdict, another claim by a click, a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from benchmarks import recorded
from tests.browser.driving import fits, open_tab
from tests.test_claims_tab import lengths
from tests.workers import served_without_torch
from viz.locales import text

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """An app with the recorded runs of three claims, whose worker says that there is no GPU."""
    folder = tmp_path_factory.mktemp("recorded")
    for run in lengths(4):
        recorded.write(run, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded.read_all, "__defaults__", (folder,))
        with served_without_torch(tmp_path_factory) as url:
            yield url


def test_a_click_in_the_list_shows_a_claim_and_a_phone_has_room(address, visit):
    visited = visit(address, viewport={"width": 390, "height": 844})
    page = visited.page
    open_tab(page, "measure", "claims")
    page.locator("#claims-measure", has_text=text("en", "memory.measure.no_gpu")).wait_for()
    expect(page.locator("#claims-measure")).to_be_disabled()
    page.locator("#claims-head", has_text="claims C1 --run --record").wait_for()
    expect(page.locator("#claims-plot .js-plotly-plot")).to_have_count(0)
    rows = page.locator("#claims-list tbody tr")
    expect(rows.nth(0)).to_have_attribute("aria-current", "true")
    expect(rows.filter(has_text="✓ holds")).to_have_count(1)
    expect(rows.filter(has_text="↑ more than claimed")).to_have_count(1)

    page.locator("#claim-C8 .bw-says").click()
    page.locator("#claims-head .bw-caption", has_text="✓ holds.").wait_for()
    expect(page.locator("#claims-claim input")).to_have_value(re.compile("^C8"))
    # What is told of it is before one's eyes again, over the list.
    page.wait_for_function(
        "() => document.querySelector('#claims-controls').getBoundingClientRect().top >= -1"
    )
    # Six providers in two batches.
    page.locator("#claims-plot .js-plotly-plot .scatterlayer .trace").nth(11).wait_for()
    fits(page)
    # The row's ground is that of what is chosen, over the page's rule for tables.
    page.wait_for_function(
        """() => {
          const ground = (name) => getComputedStyle(document.querySelector(name)).backgroundColor;
          return ground('#claim-C8 th') !== ground('#claim-C7 th');
        }"""
    )

    page.locator("#claims-claim input").fill("C99")
    page.locator("#claims-claim input").press("Enter")
    page.locator("#claims-note .bw-fault", has_text="got C99").wait_for()
    expect(page.locator("#claims-head")).to_contain_text(text("en", "claim.C8.says"))
    page.locator("#claim-C7").press("Enter")
    page.locator("#claims-head", has_text=text("en", "claim.C7.says")).wait_for()
    page.locator("#claims-note .bw-fault").wait_for(state="detached")
    page.get_by_text("中文", exact=True).click()
    page.locator("#claims-list", has_text=text("zh", "claims.verdict.none")).wait_for()
    assert not visited.errors
