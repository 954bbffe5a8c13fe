"""The player's value is small, plain JSON; its templates are inert; every case has a caption."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from kernels import ALGORITHMS
from kernels.inputs import OWN_NUMBERS, PRESETS, choose, make_arrays
from viz.locales import LANGUAGES, table
from viz.player import player
from viz.player.player import SCRIPTS, Player, player_value, reference_error

PLAYER = Path(player.__file__).parent
LIMIT_KB = 150
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
    choice = choose(**choice)
    arrays = make_arrays(choice, entry.has_values)
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
    keys = table("en")
    return f"caption.{name}.{phase}.{case}" in keys or f"caption.{phase}.{case}" in keys


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("preset", PRESETS)
def test_value_is_plain_json(name, preset):
    value = value_of(traced(name, preset=preset))
    assert json.loads(json.dumps(value, allow_nan=False)) == value


@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("preset", PRESETS)
def test_value_of_512_sub_steps_is_small(name, preset):
    n_cols, block = 512, 4
    while True:
        pair = traced(name, preset=preset, n_cols=n_cols, block=block)
        if len(pair[1].steps) <= 512 + 8:
            break
        n_cols -= 4
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
    entry, trace = traced(name, n_cols=30)
    figure = value_of((entry, trace))["figures"][0]
    assert figure["traffic"]["this"] == trace.traffic()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_error_is_measured_against_float64(name):
    entry, trace = traced(name)
    error = reference_error(entry, trace)
    assert 0 <= error < 1e-6
    _, rounded = traced(name, dtype="float16")
    assert reference_error(entry, rounded) > error


def test_error_is_none_where_nothing_is_finite():
    assert reference_error(*traced("safe_softmax", preset="all_masked")) is None


@pytest.mark.parametrize("name", ["player.html", "player.css"])
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


@pytest.mark.parametrize("path", sorted((PLAYER / "js").glob("*.js")), ids=lambda p: p.stem)
def test_script_files_stay_short(path):
    assert len(path.read_text("utf-8").splitlines()) <= 310


def test_component_says_every_string_in_every_language():
    shown = Player().props["strings"]
    assert set(shown) == set(LANGUAGES)
    assert shown["en"].keys() == shown["zh"].keys()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_case_has_a_caption(name):
    missing = [
        (phase, refined)
        for phase, case in cases(name)
        for refined in REFINED.get((phase, case), (case,))
        if not has_caption(name, phase, refined)
    ]
    assert not missing


@pytest.mark.parametrize("language", LANGUAGES)
def test_captions_use_only_known_names(language):
    code = (PLAYER / "js" / "caption.js").read_text("utf-8")
    body = code[code.index("function captionValues") : code.index("function roundGap")]
    known = set(re.findall(r"^ {4}(?:values\.)?(\w+)(?::| =)", body, re.M))
    known |= {"alpha", "l", "p_sum", "block_max", "lse"}  # scalars of the state
    known |= {"passes"}
    for key, template in table(language).items():
        if key.startswith("caption."):
            assert set(re.findall(r"\{(\w+)\}", template)) <= known, key


def test_masked_row_and_huge_scores_survive_the_journey():
    for preset in ("huge", "all_masked"):
        figure = value_of(traced("attention_row", preset=preset))["figures"][0]
        numbers = figure["trace"]["arrays"]["x"]
        assert all(isinstance(x, int | float) or x in ("inf", "-inf", "nan") for x in numbers)
    assert np.isfinite(value_of(traced("attention_row"))["figures"][0]["reference_error"])
