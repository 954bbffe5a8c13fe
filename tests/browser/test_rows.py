"""Rows with more than scores in a real browser: operands, parts that merge, lanes that are off."""

from __future__ import annotations

import json
import re
import urllib.parse
from itertools import count

import numpy as np
import pytest

from kernels import ALGORITHMS
from kernels.problems import choose_for, trace_for
from tests.browser.driving import go, serve_player, submit, text
from viz.player.player import player_value

pytestmark = pytest.mark.browser

RUN_IDS = count()
STILL = {"reduced_motion": "reduce"}


def run(name, **given):
    entry = ALGORITHMS[name]
    return entry, trace_for(entry, choose_for(entry, given))


def show(spec):
    given = json.loads(spec)
    names, lang = given.pop("algo", ["vector_add"]), given.pop("lang", "en")
    return player_value(
        [run(name, **given) for name in names], language=lang, link={}, run_id=str(next(RUN_IDS))
    )


@pytest.fixture(scope="module")
def rows_address(serve):
    return serve_player(serve, show)


@pytest.fixture
def open_rows(visit, show_in, rows_address):
    """Give ``open_rows(name, **given)``: a visit of the player with one algorithm."""

    def start(*names, settings=None, **given):
        if settings is None:
            return show_in("rows", rows_address, {"algo": names, **given}, **STILL)
        query = urllib.parse.urlencode({"show": json.dumps({"algo": names, **given})})
        visited = visit(f"{rows_address}?{query}", **settings)
        visited.page.wait_for_selector(".bwp-caption:not(:empty)")
        return visited

    return start


def bars(page, *names):
    """Return the signed heights of bars, in pixels, from left to right."""
    found = page.evaluate(
        """(names) => names.flatMap((name) => {
          const d = document.querySelector(`[data-testid=${name}]`).getAttribute('d') || '';
          return [...d.matchAll(/M(\\S+) (\\S+)V(\\S+)h/g)].map((m) => m.slice(1).map(Number));
        }).sort((a, b) => a[0] - b[0]).map(([, y0, y1]) => y0 - y1)""",
        list(names),
    )
    return np.array(found)


def is_to_scale(drawn, wanted):
    """Whether signed bars are ``wanted``, to a pixel, and one scale serves them all."""
    wanted = np.asarray(wanted)[np.asarray(wanted) != 0]
    scale = np.abs(drawn).max() / np.abs(wanted).max()
    return len(drawn) == len(wanted) and np.allclose(drawn, wanted * scale, atol=0.05)


def test_a_sum_is_drawn_on_one_axis_and_the_mask_switches_its_last_lanes_off(open_rows):
    _, trace = run("vector_add", n_cols=30)
    page = open_rows("vector_add", n_cols=30).page
    last = len(trace.steps) - 1
    go(page, last)
    heights = {name: bars(page, f"{name}-past", f"{name}-now") for name in "xy"}
    z = bars(page, "outputs-rest", "outputs-now")
    for name, drawn in {**heights, "z": z}.items():
        assert is_to_scale(drawn, {**trace.arrays, **trace.outputs}[name]), name
    whole = [np.abs(drawn).max() for drawn in (*heights.values(), z)]
    sizes = [np.abs(a).max() for a in (*trace.arrays.values(), trace.outputs["z"])]
    assert np.allclose(np.array(whole) / whole[0], np.array(sizes) / sizes[0], atol=0.01)
    assert "pid 7" in page.locator(".bwp-picture").text_content()
    assert page.locator("[data-testid=dead-lanes]").count() == 1
    go(page, last - 2)
    assert "has 2\u00a0lanes past the end" in text(page, "caption")
    submit(page, algo=["vector_add"], n_cols=32)
    assert page.locator("[data-testid=dead-lanes]").count() == 0


def test_the_parts_of_a_row_shrink_to_the_maximum_of_all_when_they_are_merged(open_rows):
    _, trace = run("split_softmax", seed=1415)
    page = open_rows("split_softmax", seed=1415).page
    firsts = {s.phase: i for i, s in reversed(list(enumerate(trace.steps)))}
    m_parts, l_parts = (
        np.array([s.values[name] for s in trace.steps if s.pass_index == 0 and name in s.values])
        for name in ("m_part", "l_part")
    )
    go(page, firsts["publish"])
    assert "waits for 7\u00a0other programs" in text(page, "caption")
    assert text(page, "m") == f"{m_parts[0]:.2f}" and text(page, "l") == f"{l_parts[0]:.3f}"
    go(page, firsts["merge"])
    factors = np.exp(m_parts - m_parts.max())
    chips = page.locator(".bwp-history [data-testid=history-alpha]:visible").all_text_contents()
    assert chips == [f"{factor:.3f}" for factor in factors if factor != 1]
    assert text(page, "l") == f"{(l_parts * factors).sum():.3f}"
    assert "x no more" in text(page, "caption")
    go(page, firsts["normalize"])
    assert text(page, "alpha-chip") == f"× {factors[0]:.3f}"
    go(page, len(trace.steps) - 1)
    assert is_to_scale(bars(page, "outputs-rest", "outputs-now"), trace.outputs["y"])
    assert text(page, "hbm-bytes").startswith(f"{sum(trace.traffic().values())} of ")


@pytest.mark.parametrize("name", ["single_backward", "block_backward"])
def test_a_backward_pass_sums_its_products_into_delta(open_rows, name):
    _, trace = run(name, n_cols=30)
    page = open_rows(name, n_cols=30).page
    for index in [i for i, step in enumerate(trace.steps) if step.phase == "dot"][-2:]:
        go(page, index)
        delta = f"{float(trace.steps[index].values['delta']):.3f}".replace("-", "−")
        assert text(page, "delta") == delta and delta in text(page, "caption")
    products = trace.arrays["y"] * trace.arrays["dy"]
    assert is_to_scale(bars(page, "products-rest", "products-now"), products)
    go(page, len(trace.steps) - 1)
    assert is_to_scale(bars(page, "outputs-rest", "outputs-now"), trace.outputs["dx"])
    assert page.locator("[data-testid=m]").count() == 0


def test_a_fused_chain_is_all_drawn_and_two_kernels_of_the_same_rows_share_a_ruler(open_rows):
    _, trace = run("fused_chain", n_cols=21)
    page = open_rows("vector_add", "fused_chain", n_cols=21).page
    lefts = page.evaluate(
        "[...document.querySelectorAll('.bwp-hit')].map((n) => n.getBoundingClientRect())"
        ".map(({ left, width }) => Math.round(left) + ' ' + Math.round(width))"
    )
    assert len(set(lefts)) == 1
    submit(page, algo=["fused_chain"], n_cols=21)
    go(page, 3)
    assert is_to_scale(bars(page, "y-now"), trace.arrays["y"])
    assert is_to_scale(bars(page, "outputs-now"), trace.outputs["z"])
    assert is_to_scale(bars(page, "weights-rest"), trace.steps[2].values["p"])
    page.locator(".bwp-as-text summary").click()
    heads = page.locator(".bwp-as-text th").all_text_contents()
    assert heads[-6:] == ["y", "m", "l", "p", "z", "HBM"]


def test_words_of_new_figures_stay_inside_on_a_phone_and_in_chinese(open_rows):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, **STILL}
    visited = open_rows("vector_add", settings=phone)
    page = visited.page
    for name in ("vector_add", "split_softmax", "block_backward", "fused_chain"):
        submit(page, algo=[name], n_cols=30, lang="zh")
        go(page, 3)
        assert re.search("[\u4e00-\u9fff]", text(page, "caption"))
        wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wide <= 0, name
    assert visited.errors == []
