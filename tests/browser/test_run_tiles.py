"""The Run tab for algorithms on tiles in a real browser, on results made without a kernel."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from kernels import ALGORITHMS
from tests.browser.driving import nothing_is_cut_off
from tests.fake_check import check, tile_result
from tests.test_figures import words
from tests.workers import FakeWorker, served
from viz.figures import tile_tables, tile_verdict
from viz.locales import text
from viz.tabs.run_sizes import LARGER

pytestmark = pytest.mark.browser

TILES = [name for name, entry in ALGORITHMS.items() if entry.problem != "row"]
ATTENTION = next(name for name in TILES if ALGORITHMS[name].captured)
GRADIENTS = next(name for name in TILES if "dk" in ALGORITHMS[name].extra_outputs)
PRODUCT = next(name for name in TILES if ALGORITHMS[name].problem == "matmul")
ROW = next(iter(ALGORITHMS))


class QuickWorker(FakeWorker):
    """A worker that answers every job at once, with the mirror for a kernel."""

    def run(self, job, time_limit_s=None):
        self.jobs.append(job)
        made = check if ALGORITHMS[job.algorithm].problem == "row" else tile_result
        self.results = made(job.algorithm, job.case)
        yield self.results


@pytest.fixture(scope="module")
def worker():
    return QuickWorker()


@pytest.fixture(scope="module")
def address(worker):
    with served(worker) as url:
        yield f"{url}/"


@pytest.fixture
def opened(address, visit):
    """Give ``opened(algorithm, **context_settings)``: a visit to its Run tab."""

    def start(algorithm, query="", **settings):
        visited = visit(f"{address}?algo={algorithm}{query}", **settings)
        visited.page.get_by_role("tab").nth(1).click()
        visited.page.locator("#run-kernel").wait_for()
        return visited

    return start


def said(page, selector: str) -> str:
    return " ".join(page.locator(selector).inner_text().split())


def run(page) -> None:
    page.locator("#run-kernel").click()
    page.locator("#run-headline .bw-eyebrow").wait_for()
    page.locator("#run-numbers td").first.wait_for()
    page.locator("#run-errors .js-plotly-plot").wait_for()


def test_attention_from_the_form_to_the_row(opened, worker):
    """One visit, since opening a page takes longer than all else here."""
    page = (visited := opened(ATTENTION)).page
    page.locator("#run-seq_q input").wait_for()
    expect(page.locator("#run-n_cols, #run-size_m")).to_have_count(0)
    hint = said(page, "#run-hint .bw-how")
    run(page)
    result = worker.results
    blocks = {"used": f"{result.tiles.block_m} × {result.tiles.block_n}", "watched": "8 × 8"}
    assert hint == text("en", "run.small_blocks", **blocks)
    caption = " ".join(words(tile_verdict.headline(result, "en")[1]).split())
    expect(page.locator("#run-headline .bw-caption")).to_have_text(caption)
    assert said(page, "#run-outputs tbody tr:first-child td:nth-child(2)") in caption

    page.locator("#run-output label", has_text="lse").click()
    page.locator("#run-output-head", has_text="lse").wait_for()
    page.locator("#run-map-torch .js-plotly-plot").wait_for(state="detached")
    lse = " ".join(words(tile_tables.output_head(result, result.output("lse"), "en")).split())
    expect(page.locator("#run-output-head")).to_have_text(lse)
    other = next(d.row for d in result.rows if d.row != result.outputs[0].worst_row)
    page.locator("#run-row input").click()
    page.get_by_role("option", name=f"row {other}", exact=True).click()
    page.locator("#run-state-head", has_text=f"query {other} ").wait_for()
    expect(page.locator("#run-output-head")).to_have_text(lse)  # the chosen output stays

    page.get_by_role("button", name="中文").click()
    page.locator("#run-headline", has_text="通过").wait_for()
    expect(page.locator("#run-state-head")).to_contain_text(f"查询 {other}")
    expect(page.locator("#run-output-head")).to_contain_text("lse")
    assert len(worker.jobs) == 1 and visited.errors == []
    nothing_is_cut_off(page)


def test_products_gradients_and_rows_take_each_others_place(opened, worker):
    page = opened(PRODUCT).page
    page.locator("#run-size_m input").wait_for()
    run(page)
    expect(page.locator("#run-outputs")).to_contain_text("torch.matmul")
    page.locator("#watch-row").click()
    expect(page.locator("#watch-block_m input")).to_have_value("16")

    page.get_by_role("tab").nth(1).click()
    page.locator("#run-source input").click()
    page.get_by_role("option").nth(1).click()
    size_k = page.locator("#run-size_k input:enabled")
    expect(size_k).to_have_value(str(LARGER["matmul"]["size_k"]))
    choose_algorithm(page, GRADIENTS)
    page.locator("#run-seq_k input").wait_for()
    page.locator("#run-kernel").click()
    page.locator("#run-outputs", has_text="dk").wait_for()
    page.locator("#run-bars-head .js-plotly-plot").wait_for()
    expect(page.locator("#watch-row")).to_be_disabled()
    nothing_is_cut_off(page)

    choose_algorithm(page, ROW)
    page.locator("#run-n_cols input").wait_for()
    expect(page.locator("#run-size_m, #run-seq_q")).to_have_count(0)
    page.locator("#run-kernel").click()
    page.locator("#run-headline", has_text="40 rows of 500").wait_for()
    for gone in ("#run-outputs", "#run-bars", "#run-states", "#run-rivals"):
        expect(page.locator(f"{gone} .bw-head")).to_have_count(0)
    expect(page.locator("#run-main .js-plotly-plot")).to_have_count(4)


def choose_algorithm(page, name: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.locator("#run-algorithm input").click()
    page.get_by_role("option", name=text("en", f"algorithm.{name}.title"), exact=True).click()
