"""Figures show the result's own numbers, for every kind of result, and never NaN or infinity."""

from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from benchmarks import compare
from benchmarks.results import Device, RowDetail
from kernels.inputs import Case
from tests.fake_check import CPU, GPU, PICTURE, check
from tests.rows import ROWS
from viz.figures import (
    base,
    distance,
    error_map,
    hatching,
    histogram,
    numerals,
    state,
    tables,
    verdict,
)
from viz.figures.prose import rich, say
from viz.locales import LANGUAGES

CASES = {
    "watched": Case(),
    "one_element": Case(n_cols=1, block=1, head_dim=1),
    "all_masked": Case("all_masked", 3, 20, 4, 3),
    "constant": Case("all_equal", 3, 20, 4, 3),
    "huge": Case("huge", 3, 20, 4, 3, "float16"),
    "special": Case("own", 1, 5, 2, 2, numbers=(1.0, math.nan, math.inf, -math.inf, 2.0)),
    "many_blocks": Case(n_rows=2, n_cols=2000, block=1, head_dim=2),
    "many_rows": Case(n_rows=300, n_cols=3, block=2, head_dim=2),
}
NAN, INF = math.nan, math.inf


def strictly(figure) -> dict:
    """Return a figure as the page gets it; strict JSON fails on NaN and infinity."""

    def refuse(name):
        raise AssertionError(f"{name} in the figure's JSON")

    return json.loads(base.payload(figure), parse_constant=refuse)


def words(nodes) -> str:
    """Return all text of a tree of nodes."""
    if isinstance(nodes, str):
        return nodes
    if nodes and isinstance(nodes[0], str) and len(nodes) > 1 and isinstance(nodes[1], dict):
        return "".join(words(node) for node in nodes[2:])
    return "".join(words(node) for node in nodes)


def numbers(result, detail, language):
    away = distance.row_distances(detail, result.case.dtype)
    return tables.numbers(detail, away, "outputs", language)


@pytest.fixture(scope="module")
def picture():
    return check("attention_row", PICTURE)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_everything_draws_for_every_kind_of_result(name, case):
    result = check(name, case)
    for detail in (result.rows[0], result.rows[-1]):
        for which in error_map.MAPS:
            strictly(error_map.error_map(result, which, detail.row, case.n_rows))
        for language in LANGUAGES:
            drawn = strictly(state.state_figure(detail, language))
            assert drawn["layout"]["height"] < 500
            assert words(tables.state_words(result.state_ulps, detail, "here", language))
            assert words(numbers(result, detail, language))
    for language in LANGUAGES:
        strictly(histogram.histogram(result, language))
        assert words(tables.checked(result, language))
        assert words(verdict.headline(result, language))


@pytest.mark.parametrize("which", error_map.MAPS)
def test_a_maps_cells_are_the_results_errors(picture, which):
    heat = strictly(error_map.error_map(picture, which, picture.worst_row, 40))["data"][0]
    errors = picture.maps[which]
    assert heat["text"] == [[numerals.ulps(float(e)) for e in line] for line in errors]
    edges = (0, *error_map.EDGES, INF)
    for line, tints in zip(errors, heat["z"], strict=True):
        for error, tint in zip(line, tints, strict=True):
            assert edges[tint] <= error < edges[tint + 1]


def test_tints_are_steps_with_the_documented_edges():
    errors = np.array([0, 0.49, 0.5, 0.99, 1, 2, 3.9, 4, 7.9, 8, 1e9, NAN])
    assert error_map.bands(errors).tolist() == [0, 0, 1, 1, 2, 3, 3, 4, 4, 5, 5, -1]
    scale = error_map._steps()
    assert [stop for stop, _ in scale[1::2]][:-1] == [stop for stop, _ in scale[2::2]]
    assert len(set(error_map.TINTS)) == 6


def test_the_chosen_row_is_ringed_where_it_is_drawn(picture):
    for row in (0, 15, 39):
        drawn = strictly(error_map.error_map(picture, "torch", row, 40))
        ring = next(s for s in drawn["layout"]["shapes"] if s["line"]["color"] == base.FOCUS)
        assert (ring["y0"] + ring["y1"]) / 2 == pytest.approx(1 - (row + 0.5) / 40)
        bold = [t for t in drawn["layout"]["yaxis"]["ticktext"] if "<b>" in t]
        assert len(bold) == 1 and f">{row}<" in bold[0]


def test_a_pooled_map_rings_the_cell_that_holds_the_row():
    result = check("online_softmax", CASES["many_rows"])
    assert result.map_step[0] == 3
    ring = error_map.error_map(result, "torch", 299, 300).layout.shapes[-1]
    assert (ring.y0 + ring.y1) / 2 == pytest.approx(1 - 99.5 / 100)


def test_cells_without_a_number_are_crossed_and_counted():
    def spoil(kernel):
        kernel[1, 2] = NAN
        kernel[3] = INF

    result = check("attention_row", spoil=spoil)
    drawn = strictly(error_map.error_map(result, "kernel", 0, 6))
    z = drawn["data"][0]["z"]
    assert z[1][2] is None and z[3] == [None] * 5 and z[0][0] is not None
    path = next(s["path"] for s in drawn["layout"]["shapes"] if s["type"] == "path")
    assert path.startswith("M1.66,0.66L2.34,1.34")
    assert "✕ 6" in words(tables.map_head(result, "kernel", "en"))
    assert "✕" not in words(tables.map_head(result, "torch", "en"))


def test_hatching_covers_every_region_and_stays_inside():
    rng = np.random.default_rng(3)
    for _ in range(30):
        cells = rng.random((9, 13)) < 0.4
        covered = np.zeros_like(cells)
        for top, bottom, left, right in hatching.rectangles(cells):
            assert not covered[top:bottom, left:right].any()
            covered[top:bottom, left:right] = True
        assert (covered == cells).all()
    for region in ((0, 1, 0, 1), (2, 5, 1, 4), (7, 9, 0, 13)):
        top, bottom, left, right = region
        for stroke in hatching._hatch(*region, 2.0, 3.0):
            a, b = (tuple(map(float, p.split(","))) for p in stroke[1:].split("L"))
            assert all(left - 0.5 <= x <= right - 0.5 for x in (a[0], b[0]))
            assert all(top - 0.5 <= y <= bottom - 0.5 for y in (a[1], b[1]))
        assert hatching._hatch(*region, 2.0, 3.0)


def test_the_histogram_is_the_counts(picture):
    torch, kernel = strictly(histogram.histogram(picture, "en"))["data"]
    edges = picture.histogram["edges"]
    for drawn, who in ((torch, "torch"), (kernel, "kernel")):
        counts = picture.histogram[who]
        assert drawn["x"] == np.repeat(edges, 2).tolist()
        assert drawn["y"] == [0, *np.repeat(counts, 2).tolist(), 0]
        assert sum(counts) == 1280
    assert kernel["line"]["color"] == base.FOCUS and torch["line"]["color"] == base.NEUTRAL


def test_the_states_are_the_kernels_and_the_mirrors(picture):
    detail = picture.rows[0]
    drawn = strictly(state.state_figure(detail, "en"))["data"]
    stairs, m_rings, bars, l_rings = drawn[:4]
    assert stairs["y"] == np.repeat(detail.mirror_state["m"].astype(float), 2).tolist()
    assert stairs["x"][:4] == [-0.5, 0.5, 0.5, 1.5]
    assert m_rings["y"] == detail.kernel_state["m"].astype(float).tolist()
    assert bars["y"] == detail.mirror_state["l"].astype(float).tolist()
    assert l_rings["y"] == detail.kernel_state["l"].astype(float).tolist()
    printed = {trace["y"][0]: trace["text"] for trace in drawn[4:]}
    assert printed[0] == ["0"] * 8 and printed[1] == ["–", *["0"] * 7]
    apart = [numerals.ulps(float(d)) for d in detail.state_ulps["acc"]]
    assert [t.removeprefix("<b>").removesuffix("</b>") for t in printed[3]] == apart
    assert set(apart) != {"0"}


@pytest.mark.parametrize(
    ("name", "stairs", "bars"),
    [
        ("split_softmax", "m_part", "l_part"),
        ("block_backward", "delta", None),
        ("naive_softmax", None, "l"),
    ],
)
def test_every_captured_field_is_drawn_and_named(name, stairs, bars):
    detail = check(name, Case(n_rows=2, n_cols=40, block=16)).rows[0]
    drawn = strictly(state.state_figure(detail, "en"))
    lines = [t for t in drawn["data"] if t.get("mode") == "lines"]
    assert [t["y"][::2] for t in lines] == (
        [detail.mirror_state[stairs].astype(float).tolist()] if stairs else []
    )
    solid = [t["y"] for t in drawn["data"] if t["type"] == "bar"]
    assert solid == ([detail.mirror_state[bars].astype(float).tolist()] if bars else [])
    said = [note["text"] for note in drawn["layout"]["annotations"]]
    margin = drawn["layout"]["margin"]["l"]
    for field in filter(None, (stairs, bars)):
        assert sum(f">{field}<" in text for text in said) == 2, "at its panel and at its ULPs"
        assert margin >= state.GUTTER + state.LETTER * (len(field) - 1) - 1


def test_a_gradients_ulps_say_what_they_are_counted_at():
    result = check("block_backward", Case(n_rows=2, n_cols=40, block=16))
    said = words(tables.state_words(result.state_ulps, result.rows[0], "here", "en"))
    assert "ULPs of delta are those of its largest term." in said


def test_inputs_stand_before_the_outputs_in_the_same_columns():
    result = check("vector_add", Case(n_rows=2, n_cols=10, block=4))
    detail = result.rows[0]
    _, (_, _, (_, _, head, body)) = numbers(result, detail, "en")
    names = [words(cell) for cell in head[2][2:]]
    assert names[:6] == ["column", "x", "y", "kernel", "torch", "float64"]
    for column, line in enumerate(body[2:]):
        shown = [words(cell) for cell in line[2:]]
        given = [numerals.exact(float(detail.inputs[name][column])) for name in "xy"]
        assert shown[1:3] == given and shown[3] == numerals.exact(
            float(detail.outputs["kernel"][column])
        )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_softmax_says_which_path_softmax_would_take_and_why(language):
    told = {"softmax_path": "split", "softmax_reason": "split ran at 1,768 GB/s."}
    result = dataclasses.replace(check("online_softmax"), **told)
    said = tables.checked(result, language)
    assert "split ran at 1,768 GB/s." in words(said) and ["code", {}, "split"] in said[-1]
    assert "GB/s" not in words(tables.checked(check("vector_add"), language))


def hand_made(m, l) -> RowDetail:
    """Return a row whose kernel and mirror have these m and l."""
    kept = {"m": np.array(m, np.float32), "l": np.array(l, np.float32)}
    zeros = {"m": np.zeros(len(m)), "l": np.zeros(len(l))}
    return RowDetail(0, {}, kept, kept, zeros)


@pytest.mark.parametrize(
    "m, l, said",
    [
        ([-INF, -INF, 1.0], [0, 0, 1], ["−∞"]),
        ([NAN, NAN], [NAN, NAN], ["✕ NaN", "✕ NaN"]),
        ([2, 2], [1, INF], ["∞"]),
        ([0.0], [0.0], []),
    ],
)
def test_states_that_have_no_place_on_the_axis_are_named(m, l, said):
    figure = state.state_figure(hand_made(m, l), "en")
    for trace in figure.data:
        assert all(y is None or math.isfinite(y) for y in trace.y)
    drawn = strictly(figure)
    texts = [t["text"] for t in drawn["data"] if t.get("mode") == "text"][: len(said)]
    assert [t for line in texts for t in line][: len(said)] == said or not said
    for axis in ("yaxis", "yaxis2"):
        low, high = drawn["layout"][axis]["range"]
        assert low < high


def test_rows_of_many_blocks_are_thinned_and_say_so():
    result = check("online_softmax", CASES["many_blocks"])
    drawn = strictly(state.state_figure(result.rows[0], "en"))
    assert len(drawn["data"][1]["x"]) == 500 and drawn["data"][1]["x"][-1] == 1999
    said = words(tables.state_words(result.state_ulps, result.rows[0], "here", "en"))
    assert "largest of 200 blocks" in said and "Every 4th block" in said


def test_the_largest_of_a_group_is_what_is_printed():
    detail = dataclasses.replace(
        hand_made([1] * 30, [1] * 30), state_ulps={"m": np.arange(30.0), "alpha": np.arange(30.0)}
    )
    assert state.groups(30, 10)[1] == (3, 6)
    assert state.apart(detail, "m", (3, 6)) == "5.0"
    assert state.apart(detail, "alpha", (0, 1)) == "–"
    detail.state_ulps["m"][4] = INF
    assert state.apart(detail, "m", (3, 6)) == "∞"


CAPTIONS = {
    "smaller": "worst error is the smaller",
    "larger": "torch’s worst error is the smaller",
    "equal": "the same worst error",
    "same_bits": "same bits",
    "same_bits_exact": "equal float64",
    "one_output": "The one output",
    "all_nan": "No output is a finite number",
    "all_masked": "Every score is −∞",
    "overflowed": "exp overflowed: 12 of 30",
    "overflowed_sum": "the sum l is ∞",
    "unwritten": "7 of 30 outputs were never written",
    "outside": "12 elements beside the output were overwritten",
    "mismatched": "12 of 30 outputs are NaN or ∞ on one side only",
    "beyond": "is over the",
    "failed": "A check failed",
}


def made_to_say(key: str):
    """Return a result whose numbers call for the caption ``key``."""
    result = check("attention_row")
    kernel, torch = result.kernel, result.torch

    def change(verdict="passed", k=None, t=None, **more):
        return dataclasses.replace(
            result,
            verdict=verdict,
            kernel=dataclasses.replace(kernel, **(k or {})),
            torch=dataclasses.replace(torch, **(t or {})),
            **more,
        )

    nans = dict(result.rows[0].outputs, float64=np.full(5, NAN))
    return {
        "smaller": lambda: change(k={"max_abs": 1e-8}, t={"max_abs": 2e-8}),
        "larger": lambda: change(k={"max_abs": 3e-8}, t={"max_abs": 2e-8}),
        "equal": lambda: change(k={"max_abs": 2e-8}, t={"max_abs": 2e-8}),
        "same_bits": lambda: change(n_same_bits=30),
        "same_bits_exact": lambda: change(k={"max_abs": 0.0}, n_same_bits=30),
        "one_output": lambda: change(n_same_bits=1, n_compared=1, n_outputs=1),
        "all_nan": lambda: change(rows=(dataclasses.replace(result.rows[0], outputs=nans),)),
        "all_masked": lambda: change(n_masked_rows=6),
        "overflowed": lambda: change("overflowed", k={"n_mismatched": 12}),
        "overflowed_sum": lambda: change("overflowed"),
        "unwritten": lambda: change("failed", k={"n_mismatched": 7}, n_unwritten=7),
        "outside": lambda: change("failed", n_outside=12),
        "mismatched": lambda: change("failed", k={"n_mismatched": 12}),
        "beyond": lambda: change("failed", k={"max_abs": 1.0}),
        "failed": lambda: change("failed"),
    }[key]()


@pytest.mark.parametrize("key", CAPTIONS)
def test_every_verdict_has_its_caption_in_both_languages(key):
    result = made_to_say(key)
    assert verdict.caption_key(result) == key
    english, chinese = (words(verdict.headline(result, language)) for language in LANGUAGES)
    assert CAPTIONS[key] in english
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese)
    for number in ("12", "30", "7"):
        assert (number in english) == (number in chinese) or number not in CAPTIONS[key]


def test_the_caption_says_who_is_closer_and_by_how_much(picture):
    said = words(verdict.caption_nodes(picture, "en"))
    for value in (picture.kernel.max_abs, picture.torch.max_abs, picture.between.max_abs):
        assert numerals.short(value) in said
    assert "×" not in said and "ms" not in said.split()


def test_the_eyebrow_names_sizes_path_and_the_masked_tail(picture):
    said = words(verdict.headline(picture, "en")[0])
    tail = "8 blocks, the last masked to 104 of 128"
    assert said == f"✓ Passed · 40 rows of 1000, float32, path online, {tail}"
    single = words(verdict.headline(check("single_softmax", Case(n_cols=30)), "en")[0])
    assert single.endswith("one block, masked to 30 of 32")


def test_numbers_that_differ_never_look_the_same():
    assert verdict.told_apart(1.44e-7, 1.41e-7) == ("1.44e−7", "1.41e−7")
    assert verdict.told_apart(1.4e-7, 1.4e-7) == ("1.4e−7", "1.4e−7")
    assert verdict.told_apart(0.0, 1e-9) == ("0", "1.0e−9")
    near = verdict.told_apart(1.0, 1.0 + 2**-52)
    assert near[0] != near[1]


@pytest.mark.parametrize(
    "value, short, ulps",
    [
        (0, "0", "0"),
        (0.56, "0.56", "0.56"),
        (7, "7", "7.0"),
        (128.4, "128", "128"),
        (9.5e-7, "9.5e−7", "9.5e−7"),
        (-0.25, "−0.25", None),
        (12345, "1.2e4", "12345"),
        (NAN, "NaN", "NaN"),
        (INF, "∞", "∞"),
        (-INF, "−∞", "−∞"),
    ],
)
def test_numerals(value, short, ulps):
    assert numerals.short(value) == short
    assert ulps is None or numerals.ulps(value) == ulps


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_distances_of_a_row_are_those_of_the_check(dtype):
    result = check("attention_row", Case(n_rows=4, n_cols=40, block=8, head_dim=6, dtype=dtype))
    for detail in result.rows:
        exact = detail.outputs["float64"][None]
        unit = compare.row_ulp(exact, dtype)
        assert distance.row_ulp(detail, dtype) == unit[0]
        for who, away in distance.row_distances(detail, dtype).items():
            expected = compare.compare(detail.outputs[who][None], exact, unit).ulps[0]
            assert away == pytest.approx(expected)


def test_the_table_of_outputs_shows_the_worst_one_with_digits_enough(picture):
    detail = picture.rows[2]
    away = distance.row_distances(detail, "float32")["kernel"]
    said = words(numbers(picture, detail, "en"))
    worst = int(away.argmax())
    for column in (0, worst):
        assert numerals.exact(float(detail.outputs["kernel"][column])) in said
    assert numerals.ulps(float(away.max())) in said


def test_what_was_checked_is_the_results_numbers(picture):
    said = words(tables.checked(picture, "en"))
    for stats in (picture.kernel, picture.torch):
        for value in (stats.max_abs, stats.rms, stats.max_rel):
            assert numerals.short(value) in said
    assert f"{picture.n_same_bits} of 1280" in said
    assert "at least 1e−6" in said and "programs launched40" in said


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_device_says_what_is_real_and_shows_no_time(language):
    said = {d.kind: words(tables.device_box(d, language)) for d in (CPU, GPU)}
    assert "NVIDIA H200" in said["gpu"] and "sm_90" in said["gpu"] and "cuda 13.0" in said["gpu"]
    assert "triton 3.7.1" in said["interpreter"]
    assert words(tables.device_box(None, language))
    odd = Device("interpreter", "CPU", reason="not_known_yet")
    assert "not_known_yet" in words(tables.device_box(odd, language))


def test_marked_sentences_become_nodes_and_details_stay_words():
    assert rich("a **b** `c`") == ["a ", ["b", {}, "b"], " ", ["code", {}, "c"]]
    said = say("en", "run.checked.against", expression="`**x**`", floor="1")
    assert "**" not in words(said) and ["b", {}, "x"] not in said


def test_stand_ins_are_mapped_for_marks_and_words():
    css = base.stand_in_css()
    for colour, token in base.STAND_INS.items():
        assert f'tspan[style*="fill:{colour}"]{{fill:var(--bw-{token})' in css
    assert 'stroke: rgb(24, 24, 27)"]{stroke:var(--bw-ink)!important}' in css
