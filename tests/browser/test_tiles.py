"""The figure of a grid of tiles: what it draws is what the mirror did, at every step."""

from __future__ import annotations

import json
import re
import urllib.parse
from itertools import count

import numpy as np
import pytest

from kernels import ALGORITHMS
from kernels.problems import choose_for, trace_for
from kernels.tiles import Tiles
from tests.browser.driving import go, index_of, serve_player, submit, text
from tests.rows import ROWS
from viz.player.player import player_value

pytestmark = pytest.mark.browser

TILES = [name for name in ALGORITHMS if name not in ROWS]
FORWARD = next(name for name in TILES if ALGORITHMS[name].captured == ("m", "l", "alpha", "acc"))
SPLIT = next(name for name in TILES if "merge" in ALGORITHMS[name].panels)
PRODUCT = next(name for name in TILES if ALGORITHMS[name].problem == "matmul")
STAGES = next(name for name in TILES if ALGORITHMS[name].grid.ink == "s")
RUN_IDS = count()
STILL = {"reduced_motion": "reduce"}
SMALL = {"seq_q": 16, "seq_k": 16, "block_m": 4, "block": 4, "head_dim": 4, "mask": "causal"}


def traced(spec):
    """Return [(entry, trace)] of a spec: the names in ``algo``, and choices."""
    given = {k: v for k, v in spec.items() if k not in ("algo", "step", "lang")}
    entries = [ALGORITHMS[name] for name in spec.get("algo", [FORWARD])]
    return [(entry, trace_for(entry, choose_for(entry, given))) for entry in entries]


def show(text):
    spec = json.loads(text)
    return player_value(
        traced(spec),
        language=spec.get("lang", "en"),
        link={},
        step=spec.get("step", 0),
        run_id=str(next(RUN_IDS)),
    )


@pytest.fixture(scope="session")
def tiles_address(serve):
    """The address of a page with the player, and a box whose text chooses what it shows."""
    return serve_player(serve, show, fill_width=True)


@pytest.fixture
def open_tiles(visit, show_in, tiles_address):
    """Give ``open_tiles(**spec)``: the visit, its player drawn at ``step``.

    With settings, if only {}, the page is opened for this test alone.
    """

    def start(settings=None, **spec):
        if settings is None:
            return show_in("tiles", f"{tiles_address}?__theme=light", spec, **STILL)
        query = urllib.parse.urlencode({"show": json.dumps(spec), "__theme": "light"})
        visited = visit(f"{tiles_address}?{query}", **{**STILL, **(settings or {})})
        visited.page.wait_for_selector(".bwp-caption:not(:empty)")
        return visited

    return start


def caption(page):
    return text(page, "caption").replace("−", "-")


def step_where(trace, **wanted):
    """Return the index of the first step with these fields."""
    return next(
        i
        for i, step in enumerate(trace.steps)
        if all(getattr(step, k) == v for k, v in wanted.items())
    )


def tile_states(page):
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('[data-tile]')]
          .map((node) => [node.dataset.tile, node.getAttribute('class').split('bwp-tile-')[1]]))"""
    )


def test_the_grid_shows_which_tiles_are_done(open_tiles):
    ((_, trace),) = traced(SMALL)
    page = open_tiles(**SMALL).page
    for index in (0, 13, 31, len(trace.steps) - 1):
        go(page, index)
        wanted = {}
        for i, step in enumerate(trace.steps):
            if step.tile is None:
                continue
            name = ",".join(map(str, step.tile))
            first, last = wanted.get(name, (i, i))
            wanted[name] = (first, i)
        wanted = {
            name: "done" if last < index else "next" if first > index else "now"
            for name, (first, last) in wanted.items()
        }
        assert tile_states(page) == wanted
    drawn = page.locator("[data-testid=skipped]").get_attribute("d")
    assert drawn.count("M") == 16 - len(wanted) == 6
    assert "never loaded" in page.locator(".bwp-picture").text_content().replace(
        "neverloaded", "never loaded"
    )
    assert page.locator("[data-testid=masked]").get_attribute("d").count("M") == 12


def inked(page, row, col, index):
    """Return the opacity of a cell's ink, from the middle of the cell."""
    go(page, index)
    return page.evaluate(
        """([row, col]) => {
          const canvas = document.querySelector('.bwp-picture canvas');
          const box = document.querySelector('[data-tile="0,0"]').getBoundingClientRect();
          const last = document.querySelector('[data-tile="3,3"]').getBoundingClientRect();
          const host = canvas.getBoundingClientRect();
          const at = (start, end, n) => start + ((n + 0.5) / 16) * (end - start);
          const scale = canvas.width / host.width;
          const x = (at(box.left, last.right, col) - host.left) * scale;
          const y = (at(box.top, last.bottom, row) - host.top) * scale;
          return canvas.getContext('2d').getImageData(x, y, 1, 1).data[3] / 255;
        }""",
        [row, col],
    )


def test_ink_is_the_weight_rescaled_by_every_later_alpha(open_tiles):
    ((_, trace),) = traced(SMALL)
    page = open_tiles(**SMALL).page
    program = 2
    steps = [(i, s) for i, s in enumerate(trace.steps) if s.program == program]
    weights = next(s.values["p"] for _, s in steps if "p" in s.values)
    alphas = [s.values["alpha"] for _, s in steps if "alpha" in s.values][1:]
    done = next(i for i, s in steps if s.phase == "normalize")
    total = trace.state_at(done)["l"]
    final = weights * np.prod(alphas, axis=0)[:, None] / total[:, None]
    leave = steps[-1][0] + 1  # the next program runs: this one's rows are no longer lit
    for i, j in ((0, 0), (1, 2), (3, 1)):
        got = inked(page, 4 * program + i, j, leave)
        assert got == pytest.approx(float(final[i, j]) ** 0.4, abs=0.04)
    # The rows of softmax: where everything is known, a row's squared inks are its weights.
    assert inked(page, 15, 3, done) == 0


def test_a_rescale_names_the_rows_that_shrink_and_by_how_much(open_tiles):
    ((_, trace),) = traced({})
    page = open_tiles().page
    page.keyboard.press("r")
    index = index_of(page)
    step = trace.steps[index]
    before = trace.state_at(index - 1)["l"]
    shrinking = [a for a, l in zip(step.values["alpha"], before, strict=True) if a != 1 and l != 0]
    assert step.phase == "rescale" and shrinking
    chips = page.locator(".bwp-caption .bwp-k-alpha").all_text_contents()
    assert [float(chip) for chip in chips] == [round(float(a), 3) for a in shrinking[:4]]
    drawn = page.locator(".bwp-panel .bwp-chip:not([style*=none]) text").all_text_contents()
    assert len(drawn) == len(shrinking)
    earlier = [i for i, s in enumerate(trace.steps[:index]) if s.phase == "rescale"]
    for i in earlier:
        if trace.steps[i].case != "first":
            alpha, l = trace.steps[i].values["alpha"], trace.state_at(i - 1)["l"]
            assert not ((alpha != 1) & (l != 0)).any()


def test_a_click_on_a_row_makes_it_the_formulas(open_tiles):
    ((_, trace),) = traced({})
    index = step_where(trace, phase="new_max", tile=(3, 1))
    page = open_tiles({}, step=index).page  # a chosen row stays chosen
    formula = page.locator(".bwp-formula .bwp-running")
    tops = trace.steps[index].values["m_new"]

    def follows(row):
        note = page.locator(".bwp-update .bwp-section-note").text_content()
        printed = f"{float(tops[row]):.3f}".replace("-", "−")
        return f"row {24 + row};" in note and printed in formula.text_content()

    page.locator(".bwp-panel-rows").get_by_text("29", exact=True).click(force=True)
    assert follows(5)
    page.keyboard.press("ArrowUp")
    assert follows(4)
    page.keyboard.press("ArrowDown")
    assert follows(5)
    box = page.locator('[data-tile="3,1"]').bounding_box()
    page.mouse.click(box["x"] + 4, box["y"] + 2.5 / 8 * box["height"])
    assert follows(2)
    assert index_of(page) == index
    box = page.locator('[data-tile="5,2"]').bounding_box()
    page.mouse.click(box["x"] + 9, box["y"] + 9)
    assert trace.steps[index_of(page)].tile == (5, 2)


def reads_so_far(entry, trace, index, side, tensors):
    """Return how many programs have read each block of a tensor, as the grid's rows or columns."""
    seen = {}
    tiles = Tiles.of(trace.sizes)
    n = -(-trace.sizes[entry.grid.cols] // tiles.block_n)
    for step in trace.steps[: index + 1]:
        if tensors in step.reads:
            place = step.tile[side] if step.tile else step.program
            seen.setdefault(place, set()).add((step.pass_index, step.program))
    return [len(seen.get(b, ())) for b in range(n)]


@pytest.mark.parametrize("name", TILES)
def test_a_dot_is_a_read_of_the_trace(open_tiles, name):
    ((entry, trace),) = traced({"algo": [name]})
    page = open_tiles(algo=[name]).page
    for index in (0, len(trace.steps) // 2, len(trace.steps) - 1):
        go(page, index)
        shown = page.evaluate(
            """() => [...document.querySelectorAll('[data-reads]')]
              .filter((node) => node.getBoundingClientRect().width)
              .map((node) => [...node.dataset.reads.split(' '), parseInt(node.textContent, 10)])"""
        )
        counted = [(tensor, int(b), n) for tensor, b, n in shown if tensor in entry.grid.col_reads]
        assert counted
        for tensor, b, n in counted:
            wanted = reads_so_far(entry, trace, index, 1, tensor)
            assert n == wanted[b], (index, tensor, b)
        dots = page.evaluate(
            """() => [...document.querySelectorAll('[data-testid=reads-done]')]
              .filter((node) => node.getBoundingClientRect().width)
              .map((node) => (node.getAttribute('d').match(/M/g) || []).length)"""
        )
        assert dots[0] == sum(n for *_, n in counted) if counted and dots else True


def test_the_merge_weighs_the_splits_as_the_mirror_does(open_tiles):
    spec = {"algo": [SPLIT], "seq_q": 4, "seq_k": 40, "n_splits": 4, "block": 8, "block_m": 4}
    ((_, trace),) = traced(spec)
    waiting = step_where(trace, pass_index=0, program=1, phase="normalize")
    weighed = step_where(trace, phase="weights")
    page = open_tiles(step=waiting, **spec).page

    def leaves():
        return [
            page.locator(f"[data-testid=leaf-{s}]:visible").get_attribute("class").split("-")[-1]
            for s in range(4)
        ]

    assert leaves() == ["done", "now", "next", "next"]
    assert page.locator("[data-testid=weight-0]:visible").count() == 0
    go(page, weighed)
    values = trace.steps[weighed].values
    shares = values["weight"] / values["sum"][:, None]
    for row in (0, 3):
        printed = [
            float(page.locator(f"[data-testid=weight-{s}]:visible").text_content())
            for s in range(4)
        ]
        assert np.allclose(printed, shares[row], atol=0.006)
        assert sum(printed) == pytest.approx(1, abs=0.02)
        for _ in range(3):
            page.keyboard.press("ArrowDown")
    assert shares[:, 3].max() == 0  # five key blocks, two a split: none is left for the last
    assert page.get_by_text("no keys: weight 0").last.is_visible()


def test_a_products_numbers_are_the_mirrors(open_tiles):
    spec = {"algo": [PRODUCT], "size_m": 8, "size_n": 8, "size_k": 8, "block_m": 4, "block": 4}
    spec["block_k"] = 4
    ((_, trace),) = traced(spec)
    index = step_where(trace, phase="accumulate", program=1, block=1)
    page = open_tiles(step=index, **spec).page
    cells = page.locator(".bwp-panel-matrices .bwp-cell").all_text_contents()
    printed = [float(cell.replace("−", "-")) for cell in cells]
    assert len(printed) == 48
    acc = trace.steps[index].values["acc"]
    assert np.allclose(printed[:16], acc.ravel(), atol=0.0051)
    assert "acc = " in page.locator(".bwp-formula .bwp-running").text_content().replace(
        "acc=", "acc = "
    )
    rows = list(range(4 * trace.steps[index].tile[0], 4 * trace.steps[index].tile[0] + 4))
    assert np.allclose(printed[16:32], trace.arrays["a"][rows, 4:8].ravel(), atol=0.0051)


EXTREMES = (
    {},
    {"seq_q": 5, "seq_k": 2, "block_m": 4, "block": 4, "mask": "causal", "n_splits": 3},
    {"seq_q": 1, "seq_k": 1, "head_dim": 1, "size_m": 1, "size_n": 1, "size_k": 1},
    {"seq_q": 9, "seq_k": 128, "block_m": 128, "block": 128, "preset": "huge", "lang": "zh",
     "size_m": 9, "size_n": 33, "size_k": 20},
)  # fmt: skip


@pytest.mark.parametrize("name", TILES)
def test_every_step_has_a_caption_and_draws_without_errors(open_tiles, name):
    for extreme in (SMALL, *EXTREMES):
        visited = open_tiles(algo=[name], **extreme)
        captions, bad = visited.page.evaluate(
            """() => {
              const range = document.querySelector('.bwp-range');
              const captions = [];
              const bad = [];
              const every = Math.ceil(Number(range.max) / 20) || 1;
              for (let i = 0; i <= Number(range.max); i += every) {
                range.value = i;
                range.dispatchEvent(new Event('input'));
                captions.push(document.querySelector('.bwp-caption').textContent);
                const words = document.querySelector('.bw-player').textContent;
                if (/undefined|\\[object|caption\\.|player\\./.test(words)) bad.push([i, words]);
                const pictures = [...document.querySelectorAll('.bw-player svg')];
                const drawn = pictures.map((svg) => svg.outerHTML).join('');
                const odd = /="[^"]*(NaN|undefined|Infinity)[^"]*"/.exec(drawn);
                if (odd) bad.push([i, odd[0]]);
              }
              return [captions, bad];
            }"""
        )
        assert bad == [], extreme
        assert all(captions) and not [said for said in captions if re.search(r"[{}]", said)]
    assert visited.errors == []


def everything(page):
    """Return all text, every visible shape, and the ink of every canvas."""
    return page.evaluate(
        """() => {
          const root = document.querySelector('.bw-player');
          const shapes = [...root.querySelectorAll('svg path, svg rect, svg circle, svg text')]
            .filter((node) => !node.closest('[style*="none"], pattern, button, text:empty'))
            .map((node) => ['d', 'x', 'y', 'cx', 'cy', 'width', 'height', 'class']
              .map((name) => node.getAttribute(name)).join(' ') + node.textContent);
          const inks = [...root.querySelectorAll('canvas')].map((node) => node.toDataURL());
          const words = [...root.querySelectorAll('.bwp-figure > p, .bwp-formula, .bwp-traffic')]
            .map((node) => node.innerText);
          return [...words, ...shapes.sort(), ...inks].join('\\n');
        }"""
    )


@pytest.mark.parametrize("name", [FORWARD, STAGES])
def test_a_step_is_a_pure_function_of_its_index(open_tiles, name):
    spec = {**SMALL, "algo": [name], "seq_q": 8, "seq_k": 8}
    ((_, trace),) = traced(spec)
    last = len(trace.steps) - 1
    page = open_tiles(**spec).page
    forward = {}
    for index in range(last + 1):
        go(page, index)
        if index % 4 == 1 or index == last:
            forward[index] = everything(page)
    for index in sorted(forward, key=lambda i: i * 7 % 11):
        go(page, index)
        assert everything(page) == forward[index], index


def test_ink_follows_the_theme(open_tiles):
    page = open_tiles({}, **SMALL, step=40).page

    def hue():
        return page.evaluate(
            """() => {
              const canvas = document.querySelector('.bwp-picture canvas');
              const { width, height } = canvas;
              const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
              let at = 3;
              while (data[at] < 250) at += 4;
              return [...data.slice(at - 3, at)];
            }"""
        )

    light = hue()
    page.evaluate("() => document.body.classList.add('dark')")
    page.wait_for_timeout(100)
    assert hue() != light


def test_two_grids_share_one_cursor(open_tiles):
    page = open_tiles(**SMALL, algo=[FORWARD, STAGES]).page
    eyebrows = page.locator("[data-testid=eyebrow]")
    assert eyebrows.count() == 2
    page.keyboard.press("End")
    assert eyebrows.nth(0).text_content().endswith("done")
    page.keyboard.press("Home")
    page.locator(".bwp-figure").nth(1).hover()
    page.wait_for_selector(f"text={STAGES}/kernel.py")


def test_a_phone_never_scrolls_sideways(open_tiles):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    visited = open_tiles(settings=phone)
    page = visited.page
    for name in TILES:
        submit(page, algo=[name], step=30)
        assert page.locator(".bwp-phone").count() == 1
        widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert widths[0] <= widths[1], name
        grid, rest = (page.locator(f".bwp-{part}").bounding_box() for part in ("side", "main"))
        assert rest["y"] >= grid["y"] + grid["height"]
        panel = page.locator(".bwp-panel svg:visible").first.bounding_box()
        assert panel["width"] > 300 and panel["x"] + panel["width"] <= 390, name
        assert len(page.locator(".bwp-transport button:visible").all()) == 6
    assert visited.errors == []


def test_lecture_mode_keeps_the_figure_alone(open_tiles):
    page = open_tiles(step=108).page
    page.keyboard.press("l")
    assert page.locator(".bwp-lecture").count() == 1
    assert not page.locator(".bwp-formula").is_visible()
    foot = page.locator(".bwp-transport").bounding_box()
    assert foot["y"] + foot["height"] <= 900
    assert page.locator("[data-testid=row-chosen]").is_visible()
