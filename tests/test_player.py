"""The player's value is small, plain JSON; its templates are inert; every case has a caption."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kernels import ALGORITHMS
from kernels.inputs import OWN_NUMBERS, PRESETS, choose, make_arrays
from kernels.problems import choose_for, trace_for
from tests.rows import ROWS
from viz.locales import LANGUAGES, table
from viz.player import player
from viz.player.player import SCRIPTS, STYLES, Player, player_value, reference_error

PLAYER = Path(player.__file__).parent
LIMIT_KB = 150
TILE_LIMIT_KB = 2000
TILES = [name for name in ALGORITHMS if name not in ROWS]
PASTED = (
    "1 2 nan 4 3 1 -inf -inf 5 0",
    "1 inf 2 3 inf 4",
    "-inf -inf -inf -inf 1 2",
    "nan nan nan nan nan",
    "inf",
    "0 0 0 0 0",
    "-200 -300 -400 -500 -150",
    "88.5 88.6 88.7 88.6 1 2 3 4",
    "100 2 3 4 5 6 7 8",
    "0 0.0004 0.0002 0 500 1",
)

# Cases that the page tells apart beyond what a mirror says; see ``captionCase`` in caption.js.
REFINED = {
    ("accumulate", "overflow"): ("overflow", "overflow_kept", "overflow_sum"),
    ("normalize", "normal"): ("normal", "zero"),
    ("store", "normal"): ("normal", "last"),
}


def traced(name, **choice):
    entry = ALGORITHMS[name]
    if name in TILES:
        return entry, trace_for(entry, choose_for(entry, choice))
    choice = choose(**choice)
    arrays = make_arrays(choice, entry.draws)
    return entry, entry.trace(arrays, choice.block, choice.dtype)


def value_of(*pairs, **more):
    settings = {"language": "en", "link": {"algo": "x"}, "run_id": "r1", **more}
    return player_value(pairs, **settings)


def cases(name):
    """Return every (phase, case) that a mirror emits over all presets and special values."""
    found = set()
    choices = [{"preset": preset, "n_cols": n} for preset in PRESETS for n in (1, 7, 32)]
    choices += [{"preset": OWN_NUMBERS, "numbers": text} for text in PASTED]
    for choice in choices:
        for dtype in ("float32", "float16"):
            _, trace = traced(name, block=4, dtype=dtype, **choice)
            found |= {(step.phase, step.case) for step in trace.steps}
    return found


def has_caption(name, phase, case):
    owners = [f"caption.{name}", "caption"] + ["caption.whole"] * ALGORITHMS[name].whole_row
    return any(f"{owner}.{phase}.{case}" in table("en") for owner in owners)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("preset", PRESETS)
def test_value_is_plain_json(name, preset):
    value = value_of(traced(name, preset=preset))
    assert json.loads(json.dumps(value, allow_nan=False)) == value


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("preset", PRESETS)
def test_value_of_512_sub_steps_is_small(name, preset):
    pair = traced(name, preset=preset, n_cols=512)
    n_steps = len(pair[1].steps)
    if n_steps > 512 + 8:
        pair = traced(name, preset=preset, n_cols=4 * (128 * 516 // n_steps))
        assert 480 < len(pair[1].steps) <= 512 + 8
    size = len(json.dumps(value_of(pair), separators=(",", ":")))
    assert size <= LIMIT_KB * 1000


def test_value_holds_what_was_asked_for():
    pair = traced("attention_row", n_cols=8)
    value = value_of(pair, pair, step=3, language="zh", link={"n": 8}, keep_step=True)
    assert (value["run"], value["lang"], value["step"]) == ("r1", "zh", 3)
    assert value["link"] == {"n": 8}
    assert value["keep_step"] is True
    assert [f["algorithm"]["name"] for f in value["figures"]] == ["attention_row"] * 2


@pytest.mark.parametrize("name", ALGORITHMS)
def test_traffic_is_the_trace_s(name):
    entry, trace = traced(name, **({"n_cols": 30} if name in ROWS else {}))
    figure = value_of((entry, trace))["figures"][0]
    assert figure["traffic"]["this"] == trace.traffic()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_error_is_measured_against_float64(name):
    entry, trace = traced(name)
    error = reference_error(entry, trace)
    assert 0 <= error < 1e-5
    _, rounded = traced(name, dtype="float16")
    assert reference_error(entry, rounded) > error


def test_error_is_none_where_nothing_is_finite():
    assert reference_error(*traced("safe_softmax", preset="all_masked")) is None


@pytest.mark.parametrize("name", ["player.html", *STYLES])
def test_templates_hold_nothing_that_is_evaluated(name):
    text = (PLAYER / name).read_text("utf-8")
    for forbidden in ("`", "${", "{{", "\\", "@children", "<script"):
        assert forbidden not in text


def test_scripts_never_make_html_of_a_string():
    for path in sorted((PLAYER / "js").glob("*.js")):
        code = path.read_text("utf-8")
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval("):
            assert forbidden not in code, path.name


def test_every_script_is_listed_once():
    on_disk = {path.stem for path in (PLAYER / "js").glob("*.js")}
    assert sorted(SCRIPTS) == sorted(on_disk)


def test_no_two_scripts_define_the_same_name():
    """They share one scope: the later of two functions would silently replace the other."""
    text = "\n".join((PLAYER / "js" / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", text, re.M)
    assert [name for name, n in Counter(names).items() if n > 1] == []


@pytest.mark.parametrize("path", sorted((PLAYER / "js").glob("*.js")), ids=lambda p: p.stem)
def test_script_files_stay_short(path):
    assert len(path.read_text("utf-8").splitlines()) <= 310


def test_component_says_every_string_in_every_language():
    shown = Player().props["strings"]
    assert set(shown) == set(LANGUAGES)
    assert shown["en"].keys() == shown["zh"].keys()


@pytest.mark.parametrize("name", ROWS)
def test_every_case_has_a_caption(name):
    missing = [
        (phase, refined)
        for phase, case in cases(name)
        for refined in REFINED.get((phase, case), (case,))
        if not has_caption(name, phase, refined)
    ]
    assert not missing


def known_names(script, function, after):
    """Return the names that a script gives to captions."""
    code = (PLAYER / "js" / f"{script}.js").read_text("utf-8")
    body = code[code.index(f"function {function}") : code.index(f"function {after}")]
    return set(re.findall(r"^ {4}(?:values\.)?(\w+)(?::| =)", body, re.M))


@pytest.mark.parametrize("language", LANGUAGES)
def test_captions_use_only_known_names(language):
    row = known_names("caption", "captionValues", "roundGap")
    row |= {"alpha", "l", "p_sum", "block_max", "lse", "passes"}  # scalars of the state
    row |= {"m_part", "l_part", "t_sum", "delta"}
    tile = known_names("tile-caption", "tileCaptionValues", "timesRead") | {"alphas"}
    assert len(row) > 10 and len(tile) > 10
    for key, template in table(language).items():
        if key.startswith("caption."):
            known = tile if key.split(".")[1] in ("tile", *TILES) else row
            assert set(re.findall(r"\{(\w+)\}", template)) <= known, key


@pytest.mark.parametrize("name", ROWS)
def test_every_phase_a_pass_and_an_input_has_its_words(name):
    entry, trace = traced(name, n_cols=9)
    for language in LANGUAGES:
        keys = table(language)
        for phase in {step.phase for step in trace.steps}:
            assert f"player.phase.{name}.{phase}" in keys or f"phase.{phase}" in keys
        if "operands" in entry.panels:
            assert all(f"player.holds.{entry.draws[row]}" in keys for row in entry.rows)


def test_the_error_of_a_row_with_infinite_outputs_is_that_of_the_others():
    """-inf + y is -inf in both: their difference, a NaN, is no error."""
    entry, trace = traced("vector_add", preset="masked_tail")
    assert np.isinf(trace.outputs["z"]).any() and 0 <= reference_error(entry, trace) < 1e-6


def test_masked_row_and_huge_scores_survive_the_journey():
    for preset in ("huge", "all_masked"):
        figure = value_of(traced("attention_row", preset=preset))["figures"][0]
        numbers = figure["trace"]["arrays"]["x"]
        assert all(isinstance(x, int | float) or x in ("inf", "-inf", "nan") for x in numbers)
    assert np.isfinite(value_of(traced("attention_row"))["figures"][0]["reference_error"])


# Grids of tiles.


def unpacked(packed):
    data = base64.b64decode(packed["f32"])
    return np.frombuffer(data, "<f4").reshape(packed["shape"])


@pytest.mark.parametrize("name", TILES)
def test_a_grid_says_how_it_is_drawn_and_loses_no_digit(name):
    entry, trace = traced(name, dtype="float16")
    value = value_of((entry, trace))
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    (figure,) = value["figures"]
    assert figure["algorithm"]["problem"] == entry.problem
    assert figure["algorithm"]["grid"]["ink"] == entry.grid.ink
    assert figure["algorithm"]["grid"]["rows"] in figure["trace"]["sizes"]
    assert figure["algorithm"]["axes"] == entry.axes
    assert figure["algorithm"]["matrices"] == list(entry.matrices)
    for sent, step in zip(figure["trace"]["steps"], trace.steps, strict=True):
        assert sent.get("program") == step.program
        assert sent.get("values", {}).keys() == step.values.keys()
        for variable, array in step.values.items():
            assert np.array_equal(unpacked(sent["values"][variable]), array, equal_nan=True)
    for tensor, array in trace.arrays.items():
        assert np.array_equal(unpacked(figure["trace"]["arrays"][tensor]), array)


LARGE = {
    "attention": (
        {"seq_q": 128, "seq_k": 128, "mask": "none", "block_m": 8, "block": 8},
        {"seq_q": 72, "seq_k": 72, "mask": "none", "block_m": 8, "block": 8},
        {"seq_q": 128, "seq_k": 128, "mask": "none", "block_m": 128, "block": 4},
        {"seq_q": 128, "seq_k": 128, "mask": "none", "block_m": 4, "block": 128},
        {"seq_q": 128, "seq_k": 128, "mask": "none", "block_m": 128, "block": 128},
    ),
    "matmul": (
        {"size_m": 64, "size_n": 64, "size_k": 32, "block_m": 8, "block": 8},
        {"size_m": 64, "size_n": 64, "size_k": 64, "block_m": 64, "block": 64, "block_k": 4},
    ),
}


@pytest.mark.parametrize("name", TILES)
def test_the_largest_grids_are_small_enough_to_send(name):
    entry = ALGORITHMS[name]
    sizes = []
    for sizes_ in LARGE[entry.problem]:
        given = {**sizes_, **({"head_dim": 16} if "head_dim" in entry.fields else {})}
        try:
            choice = choose_for(entry, given)
        except ValueError:  # more tiles than are watched
            continue
        value = value_of((entry, trace_for(entry, choice)))
        sizes.append(len(json.dumps(value, separators=(",", ":"))))
    assert len(sizes) >= 2
    assert max(sizes) < TILE_LIMIT_KB * 1000


def test_a_value_that_is_not_finite_survives_being_packed():
    entry, trace = traced("flash_attention", seq_q=5, seq_k=2, block_m=4, block=4)
    (figure,) = value_of((entry, trace))["figures"]
    scores = next(s for s in figure["trace"]["steps"] if s["phase"] == "scores")
    assert np.isneginf(unpacked(scores["values"]["scores"])).sum() == 7


def test_a_word_that_the_script_quotes_is_no_event():
    assert "'toggle'" in player.script() and not hasattr(Player(), "toggle")
