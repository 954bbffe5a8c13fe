"""The Run tab for algorithms on tiles, without a browser: the form, the screen, the files."""

from __future__ import annotations

import ast
import csv
import dataclasses
import io
import json
import math
import subprocess
import sys
from pathlib import Path

import gradio as gr
import numpy as np
import pytest

from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import Case
from kernels.problems import arrays_for, choose_for
from tests.fake_check import CPU, GPU, REFUSAL, TILES, tile_result
from tests.test_export import assert_same
from tests.test_figures import strictly, words
from tests.test_run_tab import adapted, filled
from tests.workers import FakeWorker
from viz import export
from viz.figures import (
    bars,
    error_map,
    histogram,
    state,
    state_map,
    tables,
    tile_tables,
    tile_verdict,
)
from viz.figures.base import ERROR, FOCUS, NEUTRAL
from viz.figures.numerals import short, ulps
from viz.locales import LANGUAGES, table, text
from viz.tabs import run, run_form, run_screen, run_sizes, run_tiles
from viz.tabs.page import Page

ENTRIES = {name: entry for name, entry in ALGORITHMS.items() if entry.problem != "row"}
ATTENTION = next(name for name, entry in ENTRIES.items() if entry.captured)
GRADIENTS = next(name for name, entry in ENTRIES.items() if "dk" in entry.extra_outputs)
PRODUCT = next(name for name, entry in ENTRIES.items() if entry.problem == "matmul")
SPLITS = next(name for name, entry in ENTRIES.items() if "n_splits" in entry.fields)
CASES = {
    "small": TILES,
    "one_head": dataclasses.replace(
        TILES, heads=1, kv_heads=1, mask="none", dtype="bfloat16", preset="huge"
    ),
    "no_key_seen": dataclasses.replace(TILES, seq_q=40, seq_k=8),
    "one_of_each": Case(seq_q=1, seq_k=1, head_dim=1, block=16, size_m=1, size_n=1, size_k=1),
    "pooled": dataclasses.replace(
        TILES, heads=2, kv_heads=1, seq_q=140, seq_k=20, size_m=30, size_n=140, mask="none"
    ),
}
WATCHED = {
    **{"algorithm": ATTENTION, "preset": "ties", "dtype": "float16", "seed": 5, "seq_q": 40},
    **{"seq_k": 48, "head_dim": 8, "block_m": 4, "block": 32, "mask": "causal", "numbers": ()},
}


def read(algorithm, watched=None, interpreted=True, source="larger", **changes):
    values = dict.fromkeys(run_form.FIELDS, "nonsense")  # what an algorithm has no control for
    values |= {"preset": "normal", "dtype": "float32", "warps": 4, "stages": 2, "seed": 7}
    values |= run_sizes.LARGER[run_sizes.kind_of(ENTRIES[algorithm])]
    values |= {"algorithm": algorithm, **changes}
    given = [source, *(values[name] for name in run_form.FIELDS)]
    return run_form.read(given, watched or WATCHED, interpreted)


@pytest.mark.parametrize("name", ENTRIES)
def test_the_larger_case_is_allowed_masks_its_last_blocks_and_is_soon_done(name):
    algorithm, case = read(name)
    entry, larger = ENTRIES[name], run_sizes.LARGER[run_sizes.kind_of(ENTRIES[name])]
    assert algorithm == name
    assert {field: getattr(case, field) for field in larger} == larger
    if entry.problem == "matmul":
        pairs = ((case.size_m, case.block_m), (case.size_n, case.block), (case.size_k, 64))
        n_tiles = math.prod(-(-size // block) for size, block in pairs)
    else:
        pairs = ((case.seq_q, case.block_m), (case.seq_k, case.block))
        n_tiles = case.heads * entry.n_passes * math.prod(-(-n // block) for n, block in pairs)
    assert all(size % block for size, block in pairs) and n_tiles <= 200


def test_watched_blocks_that_tl_dot_does_not_take_run_as_16_and_it_is_said():
    algorithm, case = read(ATTENTION, source="watched")
    assert (algorithm, case.block_m, case.block) == (ATTENTION, 16, 32)
    assert (case.seq_q, case.mask, case.dtype, case.heads) == (40, "causal", "float16", 1)
    told = adapted("watched", ATTENTION, WATCHED)
    assert told["block_m"]["value"] == 16 and told["seq_q"]["interactive"] is False
    said = {"used": "16 × 32", "watched": "4 × 32"}
    assert words(told["hint"]) == text("en", "run.small_blocks", **said)
    assert adapted("watched", ATTENTION, {**WATCHED, "block_m": 16})["hint"] == []
    assert adapted("larger", ATTENTION, WATCHED)["hint"] == []


@pytest.mark.parametrize(
    "name, changes",
    [
        (ATTENTION, {"seq_q": math.nan}),
        (ATTENTION, {"seq_k": 10**9}),
        (ATTENTION, {"head_dim": None}),
        (ATTENTION, {"heads": 3, "kv_heads": 2}),
        (ATTENTION, {"kv_heads": True}),
        (ATTENTION, {"mask": "diagonal"}),
        (ATTENTION, {"mask": ["causal"]}),
        (ATTENTION, {"block": 8}),
        (ATTENTION, {"preset": "masked_tail"}),
        (ATTENTION, {"warps": 32}),
        (ATTENTION, {"seq_q": 16_384, "seq_k": 65_536}),
        (ATTENTION, {"seq_q": 4096, "seq_k": 4096, "block": 16, "block_m": 16}),
        (SPLITS, {"n_splits": 0}),
        (PRODUCT, {"size_m": 0}),
        (PRODUCT, {"block_k": 48}),
        (PRODUCT, {"group_m": 2.5}),
        (PRODUCT, {"stages": 0}),
    ],
)
def test_whatever_arrives_is_one_sentence(name, changes):
    with pytest.raises(InputError) as caught:
        read(name, **changes)
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_only_the_sizes_that_an_algorithm_has_are_shown(name):
    entry = ALGORITHMS[name]
    told = adapted("larger", name)
    shown = {size for size in run_sizes.SIZES if told[size]["visible"]}
    own = {"n_rows", "n_cols", "head_dim", "block"} if entry.problem == "row" else {*entry.fields}
    assert shown == own | ({*run_sizes.HEADS} if entry.problem == "attention" else set())
    assert told["stages"]["visible"] == (entry.problem != "row")


def test_typed_sizes_stay_until_another_kind_of_problem_is_chosen():
    assert "value" not in adapted("larger", GRADIENTS, sized="attention")["seq_q"]
    for name in (PRODUCT, SPLITS):
        told, kind = adapted("larger", name, sized="attention"), run_sizes.kind_of(ENTRIES[name])
        assert told["sized"] == kind
        for size, value in run_sizes.LARGER[kind].items():
            assert told[size]["value"] == value
    assert adapted("watched", ATTENTION, WATCHED)["sized"] == ""


def test_a_run_ends_with_the_result_of_either_kind():
    result = tile_result(ATTENTION)
    larger = run_sizes.LARGER["attention"] | {"algorithm": ATTENTION, "preset": "normal"}
    larger |= {"dtype": "float32", "warps": 4, "stages": 2, "seed": 7}
    values = ["larger", *(larger.get(name) for name in run_form.FIELDS)]
    worker = FakeWorker(result)
    assert [*run.run(worker, "en", WATCHED, values)][-1].result is result
    assert worker.jobs[0].case.heads == 4


@pytest.fixture(scope="module")
def screen():
    with gr.Blocks():
        return run_screen.build_screen(Page(FakeWorker(), gr.State("en"), gr.State({})))


def expected_parts(entry, result, output) -> set[str]:
    """Return the parts that a result has something for."""
    kept = {"map_kernel", *(f"map_{which}" for which in ("torch", "between") if output.torch)}
    shown = {*kept, *(part.replace("map_", "head_") for part in kept)}
    shown |= {f"state_{what}_{field}" for what in ("head", "map") for field in entry.captured}
    if entry.captured:
        shown |= {"states_head", "state_words"}
        has_states = state.fields_of(run_tiles.detail_of(result, None))
        shown |= {"state"} if has_states else set()
    if len(output.by_head["kernel"]) > 1:
        shown |= {"bars_head_head", "bars_head"}
    everywhere = "headline outputs output_head key bars_block_head bars_block state_head numbers"
    return shown | set(f"{everywhere} rivals errors_head errors checked python".split())


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("name", ENTRIES)
def test_every_kind_of_result_draws_and_what_is_not_there_is_hidden(screen, name, case):
    result, entry = tile_result(name, case), ENTRIES[name]
    output = result.outputs[-1]
    drawn = run_screen.draw(result, None, "zh", output.name)
    shown = filled(screen, dict(zip(screen.outputs, drawn, strict=True)))
    assert shown == expected_parts(entry, result, output)


def test_another_row_redraws_what_depends_on_it(screen):
    result = tile_result(ATTENTION)
    by_part = dict(zip(screen.outputs, run_screen.draw(result, None, "en"), strict=True))
    worst = result.outputs[0].worst_row
    assert (
        by_part[screen.row]["value"] == worst
        and "the worst" in by_part[screen.row]["choices"][0][0]
    )
    other = next(detail.row for detail in result.rows if detail.row != worst)
    for row, same in ((worst, True), (math.nan, True), ([], True), (True, True), (other, False)):
        again = run_screen.draw_row(result, row, "en")
        changed = [
            value != by_part[component]
            for component, value in zip(screen.row_outputs, again, strict=True)
        ]
        assert any(changed) is not same


def test_a_row_whose_program_visited_no_tile_shows_no_state():
    result = tile_result(ATTENTION, CASES["no_key_seen"])
    row = next(detail.row for detail in result.rows if not len(detail.kernel_state["m"]))
    parts = run_tiles.fill_row(result, row, None, "en")
    assert "state" not in parts and words(parts["state_words"]) == table("en")["run.state.none"]


@pytest.mark.parametrize("output", [None, "nonsense", 3, ["dk"], "dk"])
def test_an_output_is_chosen_by_name_or_is_the_first(output):
    result = tile_result(GRADIENTS)
    shown = run_tiles.output_of(result, output)
    assert shown.name == ("dk" if output == "dk" else "dq")
    said = words(tile_tables.output_head(result, shown, "en"))
    assert said.startswith(f"Errors of {shown.name}, head {shown.worst_head}")
    assert run_tiles.output_choices(result, output) == (["dq", "dk", "dv"], shown.name)


def test_the_row_that_is_open_is_ringed_and_other_outputs_ring_their_worst():
    result = tile_result(GRADIENTS)
    for output, row in ((result.outputs[0], 3), (result.output("dv"), None)):
        row = output.worst_row if row is None else result.rows[1].row
        drawn = strictly(run_tiles.fill_row(result, row, output.name, "en")["map_kernel"])
        ring = next(s for s in drawn["layout"]["shapes"] if s["line"]["color"] == FOCUS)
        middle = 1 - (row + 0.5) / tile_tables.n_rows(result, output)
        assert (ring["y0"] + ring["y1"]) / 2 == pytest.approx(middle)


def test_bars_are_the_errors_by_head_and_by_block():
    output = tile_result(GRADIENTS).output("dk")
    kernel, torch = strictly(bars.by_head(output, "en"))["data"]
    assert kernel["y"] == output.by_head["kernel"].astype(float).tolist() and len(kernel["y"]) == 2
    assert torch["y"] == output.by_head["torch"].astype(float).tolist()
    assert (kernel["marker"]["color"], torch["marker"]["color"]) == (FOCUS, NEUTRAL)
    drawn = strictly(bars.by_block(output, "en"))
    assert drawn["data"][0]["y"] == output.by_block.astype(float).tolist()
    assert f"<b>{ulps(float(output.by_block.max()))}</b>" in str(drawn["layout"]["annotations"])


def test_bars_of_many_heads_are_grouped_and_a_mismatch_is_a_cross():
    output = tile_result(ATTENTION).outputs[0]
    many = {"kernel": np.arange(200.0), "torch": np.full(200, 3.0)}
    many["kernel"][7] = math.nan
    drawn = strictly(bars.by_head(dataclasses.replace(output, by_head=many), "en"))
    heights = drawn["data"][0]["y"]
    assert len(heights) == 40 and heights[1] is None and heights[-1] == 199
    assert "✕ 1" in str(drawn["layout"]["annotations"])


def test_state_maps_show_distances_and_hatch_what_was_skipped():
    result = tile_result(ATTENTION)
    apart = result.state_maps["acc"]
    drawn = strictly(state_map.state_map(result, "acc", 20))
    assert drawn["data"][0]["z"] == [
        [None if np.isnan(v) else int(error_map.bands(v)) for v in line] for line in apart
    ]
    assert np.isnan(apart).any(), "a causal mask skips tiles"
    hatching = [s["line"]["color"] for s in drawn["layout"]["shapes"] if s["type"] == "path"]
    assert hatching == [NEUTRAL]
    broken = dataclasses.replace(result, state_maps={"acc": np.where(apart > 0, math.inf, apart)})
    drawn = strictly(state_map.state_map(broken, "acc", 20))
    hatching = [s["line"]["color"] for s in drawn["layout"]["shapes"] if s["type"] == "path"]
    assert hatching == [NEUTRAL, ERROR]


def test_a_state_of_late_rows_alone_is_numbered_as_it_is():
    result = tile_result(ATTENTION)
    late = {"m": result.state_maps["m"][16:]}
    late = dataclasses.replace(result, state_row=16, state_maps=late)
    axis = strictly(state_map.state_map(late, "m", 30))["layout"]["yaxis"]
    assert axis["tickvals"][0] == 14 and ">30<" in axis["ticktext"][0]
    assert dict(zip(axis["tickvals"][1:], axis["ticktext"][1:]))[4] == "20"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_of_outputs_is_the_results_numbers(language):
    result = tile_result(ATTENTION)
    o, lse = result.outputs
    said = words(tile_tables.outputs(result, language))
    for number in (o.kernel.max_abs, o.torch.max_abs, tile_verdict.ratio(o), lse.kernel.max_abs):
        assert short(number) in said
    assert result.rival in said and ulps(o.kernel.max_ulp) in said
    assert tables.count(o.n_same_bits, o.n_compared, language) in said and "✕" not in said
    failed = dataclasses.replace(lse, passed=False, tolerance=1e-9)
    result = dataclasses.replace(result, verdict="failed", outputs=(o, failed))
    assert "✕" in words(tile_tables.outputs(result, language))


def test_every_rival_stands_with_its_error_or_with_why_it_refused():
    result = tile_result(GRADIENTS)
    said = words(tile_tables.rivals(result, "en"))
    assert REFUSAL in said and "SDPA flash" in said
    for name, error in result.rivals["SDPA math"].items():
        assert short(error) in said and short(result.output(name).kernel.max_abs) in said


def test_what_was_checked_is_the_outputs_numbers_and_no_time():
    result = tile_result(ATTENTION, CASES["no_key_seen"])
    for output in result.outputs:
        said = words(tile_tables.checked(result, output, "en"))
        for value in (output.kernel.rms, output.kernel.max_rel, output.tolerance):
            assert short(value) in said
    assert (
        result.n_masked_rows == 4 * 32 and "queries that see no key, checked to give 0128" in said
    )
    assert "programs launched12" in said


def spoiled(change):
    """Return a result whose stand-in kernel got ``change(outputs, n_unwritten)``."""
    return tile_result(ATTENTION, spoil=change)


def nan_in_lse(outputs, n_unwritten):
    outputs["lse"][0, 1, 2] = math.nan


def unwritten(outputs, n_unwritten):
    outputs["o"][0, 0, 3] = math.nan
    n_unwritten["o"] = 8


def wrong_lse(outputs, n_unwritten):
    outputs["lse"] += 1


def wrong_o(outputs, n_unwritten):
    outputs["o"] += 1


def replaced(**changes):
    result = tile_result(ATTENTION)
    first = dataclasses.replace(result.outputs[0], **changes)
    return dataclasses.replace(result, outputs=(first, *result.outputs[1:]))


def with_errors(kernel: float, torch: float):
    first = tile_result(ATTENTION).outputs[0]
    sides = {"kernel": kernel, "torch": torch}
    return replaced(
        **{n: dataclasses.replace(getattr(first, n), max_abs=e) for n, e in sides.items()}
    )


CAPTIONS = {
    "smaller": (lambda: with_errors(1e-8, 2e-8), "smaller: 1.0e−8; SDPA math has 2.0e−8"),
    "larger": (lambda: with_errors(2e-8, 1e-8), "SDPA math has the smaller"),
    "equal": (lambda: with_errors(2e-8, 2e-8), "have the same worst error in o: 2.0e−8"),
    "same_bits": (lambda: replaced(n_same_bits=1280), "All 1280 elements of o"),
    "alone": (lambda: replaced(torch=None, between=None), "worst error in o is"),
    "all_masked": (
        lambda: dataclasses.replace(replaced(n_compared=0), n_masked_rows=160),
        "No query sees a key",
    ),
    "unwritten": (lambda: spoiled(unwritten), "8 of 1280 elements of o were never written"),
    "outside": (lambda: failing(n_outside=5), "5 elements outside of o"),
    "mismatched": (lambda: spoiled(nan_in_lse), "1 of 160 elements of lse"),
    "over": (lambda: spoiled(wrong_o), "worst error in o, 1, is over the"),
    "over_alone": (lambda: spoiled(wrong_lse), "worst error in lse, 1, is over the"),
    "not_zero": (lambda: failing(), "not 0 where a query sees no key"),
}


def failing(**changes):
    return dataclasses.replace(replaced(passed=False, **changes), verdict="failed")


@pytest.mark.parametrize("key", CAPTIONS)
def test_every_verdict_has_its_caption_in_both_languages(key):
    make, said = CAPTIONS[key]
    result = make()
    assert tile_verdict.caption_key(result) == key
    english, chinese = (words(tile_verdict.headline(result, one)) for one in LANGUAGES)
    assert said in english
    assert any("\u4e00" <= letter <= "\u9fff" for letter in chinese)
    others = table("en")["run.tiles.caption.other"].format(names="lse").replace("`", "")
    # The caption of one output says of the other that it passes, where that is so.
    passes = result.verdict == "passed" and key != "all_masked"
    assert (others in english) == passes


def test_the_eyebrow_names_sizes_path_and_tiles():
    said = words(tile_verdict.headline(tile_result(ATTENTION), "en")[0])
    sizes = "batch 1, 4 heads, 2 of K and V, seq_q 40, seq_k 52, head_dim 8, causal"
    assert said == f"✓ Passed · {sizes}, float32, path fake, tiles 16 × 16"
    said = words(tile_verdict.headline(tile_result(PRODUCT), "en")[0])
    assert said == "✓ Passed · 40 × 50 times 50 × 36, float32, path fake, tiles 16 × 16 × 16"


def test_the_histogram_of_an_output_without_a_rival_is_the_kernels_alone():
    o, lse = tile_result(ATTENTION).outputs
    assert len(histogram.histogram(o, "en").data) == 2
    assert len(histogram.histogram(lse, "en").data) == 1


@pytest.mark.parametrize("name", ENTRIES)
def test_one_head_can_be_watched_with_the_very_numbers_that_were_run(name):
    case = Case(seq_q=20, seq_k=30, head_dim=4, size_m=20, size_n=30, size_k=20, seed=3)
    result = tile_result(name, case)
    wanted = run_screen.watched_row(result, None)
    choice = choose_for(ENTRIES[wanted["algorithm"]], wanted)
    mine, theirs = arrays_for(ENTRIES[name], case), arrays_for(ENTRIES[name], choice)
    assert all((np.squeeze(mine[array]) == theirs[array]).all() for array in mine)
    update = run_tiles.watch(result, None, "en")
    assert update == gr.update(value=table("en")["run.tiles.watch"], interactive=True)


def test_what_watch_cannot_draw_says_why_and_many_heads_become_one():
    update = run_tiles.watch(tile_result(ATTENTION, CASES["pooled"]), None, "en")
    assert update["interactive"] is False and "seq_q is over 128" in update["value"]
    many = run_tiles.watch(tile_result(ATTENTION), None, "en")
    assert many["interactive"] and many["value"] == table("en")["run.tiles.watch.one_head"]


@pytest.mark.parametrize("name", ENTRIES)
@pytest.mark.parametrize("case", [CASES["no_key_seen"], CASES["one_head"]])
def test_json_reads_back_to_the_same_result(name, case):
    result = tile_result(name, case)
    result = dataclasses.replace(result, rivals={**result.rivals, "odd": {"o": math.inf}})
    written = export.to_json(result)
    json.loads(written, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert_same(export.from_json(written), result)


def test_csv_has_every_output_of_the_rows_kept():
    result = tile_result(GRADIENTS)
    header, *lines = csv.reader(io.StringIO(export.to_csv(result)))
    assert tuple(header) == export.TILE_COLUMNS
    expected = [
        ["dq", str(result.state_head), str(d.row), str(c), *(repr(float(v)) for v in values)]
        for d in result.rows
        for c, values in enumerate(zip(*(d.outputs[w] for w in ("kernel", "torch", "float64"))))
    ]
    assert lines == expected


@pytest.mark.parametrize("device", [CPU, GPU], ids=lambda device: device.kind)
@pytest.mark.parametrize("name", ENTRIES)
def test_the_script_is_python_and_makes_the_same_case(name, device):
    entry = ENTRIES[name]
    read_fields = ("preset", "dtype", "seed", "num_warps", *entry.fields)
    if entry.problem == "attention":
        read_fields += run_sizes.HEADS
    case = dataclasses.replace(CASES["one_head"], n_splits=3, num_warps=2, group_m=2, seed=9)
    script = export.to_python(tile_result(name, case, device))
    call = next(
        node.value
        for node in ast.parse(script).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "case"
    )
    made = eval(ast.unparse(call), {"Case": Case})
    assert all(getattr(made, field) == getattr(case, field) for field in read_fields)
    assert ("TRITON_INTERPRET" in script) == (device is CPU)
    assert ('device="cuda"' in script) == (device is GPU)


@pytest.mark.slow
def test_the_script_runs_and_gives_the_gradients():
    pytest.importorskip("triton")
    case = Case(heads=2, seq_q=20, seq_k=20, head_dim=4, block=16, mask="causal")
    done = subprocess.run(
        [sys.executable, "-c", export.to_python(tile_result(GRADIENTS, case))],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "'dq'" in done.stdout and "'dv'" in done.stdout and "nan" not in done.stdout
