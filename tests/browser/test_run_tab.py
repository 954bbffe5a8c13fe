"""The Run tab in a real browser, on a real worker: press Run, read the numbers, change the row."""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest
from playwright.sync_api import expect

from benchmarks.worker import Worker
from tests.browser.conftest import Visit
from tests.browser.driving import nothing_is_cut_off
from tests.test_figures import words
from tests.workers import served
from viz import export
from viz.figures import verdict
from viz.locales import text
from viz.tabs import run_rows

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    # Found, not imported: in this process Triton must be imported in the mode the kernel tests set.
    pytest.mark.skipif(find_spec("triton") is None, reason="Triton exists for Linux only"),
]

RUN_MS = 90_000  # the worker's first start, and the interpreter on a busy machine


@pytest.fixture(scope="module")
def address():
    worker = Worker()
    worker.start()
    with served(worker) as url:
        yield f"{url}/"
    worker.close()


@pytest.fixture
def opened(address, visit):
    """Give ``opened()``: a visit that stands on the Run tab."""

    def start():
        return on_run_tab(visit(address))

    return start


def on_run_tab(visited, address=None):
    """Return the visit, of ``address`` if there is one, once the Run tab knows the device."""
    if address:
        visited.page.goto(address)
    visited.page.get_by_role("tab").nth(1).click()
    visited.page.locator("#run-kernel").wait_for()
    visited.page.locator("#run-device .bw-device").wait_for(timeout=RUN_MS)
    return visited


@pytest.fixture(scope="module")
def after_a_run(address, browser):
    """A visit on the Run tab, the watched numbers run; who changes it changes it back."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    visited = Visit(context.new_page())
    on_run_tab(visited, address)
    run(visited.page)
    yield visited
    context.close()


def choose(page, field: str, label: str) -> None:
    page.locator(f"#run-{field} input").click()
    page.get_by_role("option", name=label, exact=True).click()


def larger(page, **numbers: int) -> None:
    """Switch to a larger case, small enough for a test."""
    choose(page, "source", text("en", "run.source.larger"))
    page.locator("#run-n_rows input:enabled").wait_for()
    for field, value in numbers.items():
        page.locator(f"#run-{field} input").fill(str(value))


def run(page, expected: str = "") -> str:
    """Press Run, wait for the picture that says ``expected``, and return the headline's words."""
    page.locator("#run-kernel").click()
    page.locator("#run-headline .bw-eyebrow", has_text=expected).wait_for(timeout=RUN_MS)
    page.locator("#run-kernel").wait_for()
    page.locator("#run-results .js-plotly-plot").nth(3).wait_for()
    return said(page, "#run-headline")


def said(page, selector: str) -> str:
    return " ".join(page.locator(selector).inner_text().split())


def downloaded(page):
    """Return the result as the page's JSON download gives it."""
    with page.expect_download(timeout=30_000) as caught:
        page.locator("#run-json").click()
    with open(caught.value.path(), encoding="utf-8") as file:
        return export.from_json(file.read())


def flat(nodes) -> str:
    return " ".join(words(nodes).split())


def test_the_watched_numbers_run_and_the_page_shows_the_results_own_numbers(after_a_run):
    page = after_a_run.page
    headline = said(page, "#run-headline")
    result = downloaded(page)
    assert result.case.n_rows == 1 and result.verdict == "passed"
    assert headline.replace(" ", "") == flat(verdict.headline(result, "en")).replace(" ", "")
    cells = flat_cells(run_rows.fill_row(result, None, None, "en")["numbers"]).split()
    expect(page.locator("#run-numbers td")).to_have_text(cells)
    expect(page.locator("#run-main .js-plotly-plot")).to_have_count(4)
    assert not after_a_run.errors


def flat_cells(nodes) -> str:
    """Return the words of all td cells of a tree, parted by spaces."""
    if not isinstance(nodes, list) or not nodes:
        return ""
    if nodes[0] == "td":
        return words(nodes) + " "
    return "".join(flat_cells(node) for node in nodes)


def test_another_row_opens_without_running_again(opened):
    page = opened().page
    larger(page, n_rows=8, n_cols=100)
    headline = run(page)
    result = downloaded(page)
    other = next(d for d in result.rows if d.row != result.worst_row)
    expect(page.locator("#run-state-head")).to_contain_text(f"row {result.worst_row}")
    choose(page, "row", text("en", "run.row.other", row=other.row))
    page.locator("#run-state-head", has_text=f"row {other.row}").wait_for()
    expected = flat_cells(run_rows.fill_row(result, other.row, None, "en")["numbers"]).split()
    expect(page.locator("#run-numbers td")).to_have_text(expected)
    chosen = page.locator("#run-map-kernel .ytick tspan[style*='fill']")
    expect(chosen).to_have_text([str(other.row)])
    watch = page.locator("#run-watch-row, #watch-row")
    expect(watch).to_have_text(text("en", "run.watch_row", row=other.row))
    assert said(page, "#run-headline") == headline
    expect(page.locator("#run-stop")).to_be_hidden()


def test_bad_input_is_one_sentence_and_the_picture_stays(opened):
    page = opened().page
    headline = run(page)
    larger(page, n_rows=-5)
    page.locator("#run-kernel").click()
    sentence = text("en", "error.out_of_range", name="n_rows", low=1, high=4096, got="-5")
    expect(page.locator("#run-note")).to_have_text(f"✕ {sentence}")
    assert said(page, "#run-headline") == headline
    expect(page.locator("#run-main .js-plotly-plot")).to_have_count(4)
    page.locator("#run-n_rows input").fill("2")
    run(page, "2 rows of 500")
    expect(page.locator("#run-note")).to_have_text("")


def test_stop_ends_a_run_and_the_next_one_works(opened):
    page = opened().page
    larger(page, n_rows=900)
    page.locator("#run-kernel").click()
    page.locator("#run-stop").wait_for()
    page.locator("#run-note", has_text=text("en", "progress.kernel")).wait_for(timeout=RUN_MS)
    page.locator("#run-stop").click()
    page.locator("#run-kernel").wait_for(timeout=10_000)
    expect(page.locator("#run-note")).to_have_text(text("en", "run.stopped"), timeout=10_000)
    page.wait_for_timeout(1000)  # and nothing that was under way comes after it
    expect(page.locator("#run-note")).to_have_text(text("en", "run.stopped"))
    expect(page.locator("#run-results")).to_be_hidden()
    page.locator("#run-n_rows input").fill("3")
    run(page, "3 rows of 500")


def test_two_visitors_get_their_own_results(opened):
    first, second = opened().page, opened().page
    larger(first, n_rows=2, n_cols=90)
    larger(second, n_rows=3, n_cols=70)
    for page in (first, second):
        page.locator("#run-kernel").click()
    for page, expected in ((first, "2 rows of 90"), (second, "3 rows of 70")):
        expect(page.locator("#run-headline")).to_contain_text(expected, timeout=RUN_MS)


def test_another_language_says_the_same_without_running_again(after_a_run):
    page = after_a_run.page
    result = downloaded(page)
    page.get_by_role("button", name="中文").click()
    chinese = flat(verdict.headline(result, "zh")).replace(" ", "")
    page.locator("#run-headline", has_text="通过").wait_for()
    assert said(page, "#run-headline").replace(" ", "") == chinese
    expect(page.locator("#run-kernel")).to_have_text(text("zh", "run.button"))
    page.get_by_role("button", name="EN", exact=True).click()
    page.locator("#run-kernel", has_text=text("en", "run.button")).wait_for()


def test_the_script_is_copied_as_it_is_shown(after_a_run):
    page = after_a_run.page
    page.locator("#run-copy").click()
    page.locator("#run-copy.bw-done").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == export.to_python(downloaded(page))
    with page.expect_download() as caught:
        page.locator("#run-csv").click()
    assert caught.value.suggested_filename.endswith(".csv")


def test_nothing_is_cut_off_and_no_time_is_shown(after_a_run):
    page = after_a_run.page
    nothing_is_cut_off(page)
    if page.locator("#run-device .bw-device-interpreter").count():
        shown = said(page, "#run-main") + said(page, "#run-side")
        assert shown and not re.search(r"\d\s?(ms|µs|s|GB/s)\b", shown)
