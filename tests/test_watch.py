"""The Watch tab's handlers, called as a browser calls them: what a change of a control changes."""

from __future__ import annotations

import itertools
import json
from dataclasses import asdict

import gradio as gr
import pytest

from kernels import ALGORITHMS
from kernels.problems import choose_for, presets_for
from viz.tabs.page import Page
from viz.tabs.watch import WatchTab
from viz.tabs.watch_controls import held
from viz.tabs.watch_state import START, WatchState, entries_of, rivals, settle, start_of

LANGUAGES = ("en", "zh")


@pytest.fixture(scope="module")
def tab() -> WatchTab:
    with gr.Blocks():
        made = WatchTab(Page(None, gr.State("en"), gr.State({})))
        made.listen()
    return made


class Visitor:
    """A browser: it shows what a handler returns, and sends what it shows."""

    def __init__(self, tab: WatchTab, **params: str) -> None:
        self.tab, self.language, self.seen = tab, "en", {}
        self.holds: dict[str, object] = held(WatchState())
        self.named = {component: name for name, component in tab.controls.named.items()}
        self.take(tab.open_link(params, "en")[1])

    def take(self, told: dict) -> None:
        """Show what was told. One update without a component, `gr.skip`, changes nothing."""
        for component, update in () if "__type__" in told else told.items():
            is_update = isinstance(update, dict) and "__type__" in update
            props = update if is_update else {"value": update}
            self.seen.setdefault(component, {}).update(props)
            if component in self.named and "value" in props:
                self.holds[self.named[component]] = props["value"]

    def set(self, **changes: object) -> None:
        """Change a control, as a user does."""
        self.holds |= changes
        values = [self.holds[name] for name in self.tab.controls.named]
        if "algorithm" in changes:
            self.take(self.tab.switch_algorithm(self.watched, self.language, *values))
        elif changes.keys() & {"preset", "compare"}:
            self.take(self.tab.show_whole(self.language, *values))
        else:
            told = self.tab.show(self.language, *values)
            assert told.keys() <= set(self.tab.shown)
            self.take(told)

    @property
    def watched(self) -> dict:
        return self.seen.get(self.tab.page.watch_choice, {"value": {}})["value"]

    @property
    def note(self) -> str:
        return json.dumps(self.seen[self.tab.note]["value"], ensure_ascii=False)

    @property
    def link(self) -> dict:
        return self.seen[self.tab.player]["value"]["link"]

    def is_seen(self, component) -> bool:
        return self.seen[component]["visible"] is True


def test_every_algorithm_opens_from_every_other_without_a_word(tab):
    for one, other in itertools.permutations(ALGORITHMS, 2):
        visitor = Visitor(tab, algo=one)
        visitor.set(algorithm=other)
        entry = ALGORITHMS[other]
        wanted = choose_for(entry, {"seed": START.seed})
        assert visitor.watched == {"algorithm": other, **asdict(wanted)}
        assert visitor.note == "[]"
        for name in entry.fields:
            assert visitor.holds[name] == start_of(entry, name)


def test_a_detour_over_other_problems_brings_defaults_back(tab):
    visitor = Visitor(tab, algo="flash_attention")
    for algorithm, seq_q, block_m in [
        ("split_kv", 1, 4),
        ("flash_attention", 64, 8),
        ("split_kv", 1, 4),
        ("matmul", 64, 8),
        ("flash_attention", 64, 8),
        ("split_kv", 1, 4),
        ("online_softmax", 64, 8),
        ("flash_backward", 32, 8),
    ]:
        visitor.set(algorithm=algorithm)
        assert (visitor.holds["seq_q"], visitor.holds["block_m"]) == (seq_q, block_m)


def test_what_was_chosen_stays(tab):
    visitor = Visitor(tab, algo="flash_attention")
    visitor.set(seq_q=40, mask="none", dtype="float16", seed=3, preset="rising")
    for algorithm in ("split_kv", "matmul", "online_softmax", "flash_backward"):
        visitor.set(algorithm=algorithm)
        assert visitor.note == "[]"
        assert visitor.watched["dtype"] == "float16" and visitor.watched["seed"] == 3
        assert visitor.watched["preset"] == "rising"
    assert visitor.watched["seq_q"] == 40 and visitor.watched["seq_k"] == 32
    # Not so the mask: none is where split_kv starts, and causal where the backward pass does.
    assert visitor.watched["mask"] == "causal"


@pytest.mark.parametrize(
    ("changes", "algorithm", "said", "kept"),
    [
        ({"block": 1}, "flash_attention", "BLOCK_N must be from 4 to 128, got 1.", {"block": 8}),
        ({"n_cols": 0}, "safe_softmax", "N must be from 1 to 512, got 0.", {"n_cols": 32}),
        ({"head_dim": None}, "split_kv", "head_dim must be a whole number", {"head_dim": 16}),
        ({"preset": "wild"}, "matmul", "preset must be one of normal", {"preset": "normal"}),
        ({"seed": -1}, "matmul", "seed must be from 0 to", {"seed": START.seed}),
    ],
)
def test_what_the_new_algorithm_cannot_take_falls_back_in_one_sentence(
    tab, changes, algorithm, said, kept
):
    visitor = Visitor(tab)
    visitor.holds |= changes
    visitor.set(algorithm=algorithm)
    assert said in visitor.note and visitor.note.count("Its default is used instead.") == 1
    for name, value in kept.items():
        assert visitor.watched[name] == visitor.holds[name] == value


def test_sizes_too_large_for_another_algorithm_fall_back_together(tab):
    visitor = Visitor(tab, algo="flash_attention", sq="128", sk="128", d="5", mask="none")
    assert visitor.note == "[]"
    visitor.set(algorithm="flash_backward")
    assert visitor.note.count("tiles may be at most 256 here, got 512.") == 1
    watched = visitor.watched
    assert (watched["seq_q"], watched["seq_k"], watched["head_dim"]) == (32, 32, 5)


@pytest.mark.parametrize("preset", ["masked_tail", "all_masked", "own"])
@pytest.mark.parametrize("algorithm", ["flash_attention", "matmul"])
def test_a_preset_of_rows_becomes_normal_without_a_word(tab, preset, algorithm):
    visitor = Visitor(tab, preset=preset, x="1,2,3")
    visitor.set(algorithm=algorithm)
    assert visitor.watched["preset"] == visitor.holds["preset"] == "normal"
    assert visitor.note == "[]"
    visitor.set(algorithm="safe_softmax")
    assert visitor.note == "[]" and visitor.watched["algorithm"] == "safe_softmax"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_only_what_is_read_is_seen_and_only_what_is_possible_is_offered(tab, algorithm):
    visitor, entry, controls = Visitor(tab, algo=algorithm), ALGORITHMS[algorithm], tab.controls
    seen = {name for name, made in controls.fields.items() if visitor.is_seen(made)}
    assert seen == set(entry.fields)
    assert [v for _, v in visitor.seen[controls.preset]["choices"]] == [*presets_for(entry)]
    assert visitor.is_seen(controls.own) == (entry.problem == "row")
    offered = [value for _, value in visitor.seen[controls.compare]["choices"]]
    assert offered == ["", *rivals(entry)] and algorithm not in offered
    assert {ALGORITHMS[name].problem for name in offered[1:]} <= {entry.problem}
    assert visitor.is_seen(controls.compare) == bool(rivals(entry))
    for block in visitor.seen[controls.fields["block"]]["choices"]:
        choose_for(entry, {"block": block})


def test_a_rivals_fields_are_seen_and_travel(tab):
    visitor = Visitor(tab, algo="flash_attention")
    visitor.set(compare="split_kv", n_splits=3)
    assert visitor.is_seen(tab.controls.fields["n_splits"])
    assert visitor.watched["n_splits"] == 3 and visitor.link["splits"] == "3"
    assert len(visitor.seen[tab.player]["value"]["figures"]) == 2
    visitor.set(compare="")
    assert not visitor.is_seen(tab.controls.fields["n_splits"]) and visitor.link["splits"] is None


def test_any_two_algorithms_of_a_problem_start_together(tab):
    for name, entry in ALGORITHMS.items():
        for other in rivals(entry):
            assert settle(entries_of(name, other), {})[1] == []


def test_only_rows_that_hold_the_same_numbers_stand_together(tab):
    """A softmax beside a backward pass has nothing in common with it, not even the ruler."""
    assert rivals(ALGORITHMS["single_backward"]) == ("block_backward",)
    assert rivals(ALGORITHMS["vector_add"]) == ("fused_chain",)
    assert {"attention_row", "split_softmax"} < {*rivals(ALGORITHMS["online_softmax"])}
    visitor = Visitor(tab, algo="online_softmax", **{"with": "split_softmax"})
    visitor.set(algorithm="block_backward")
    assert visitor.holds["compare"] == "" and visitor.note == "[]"


def test_pasted_numbers_are_what_the_algorithm_makes_its_rows_of(tab):
    visitor = Visitor(tab, algo="block_backward", preset="own", x="0,0,1,inf,0", seed="3")
    assert visitor.seen[tab.controls.numbers]["info"].startswith("y is the softmax of these")
    (figure,) = visitor.seen[tab.player]["value"]["figures"]
    assert figure["trace"]["arrays"]["y"][3] == "nan"
    visitor = Visitor(tab, algo="vector_add", preset="own", x="0,0,1,5,0", seed="3")
    assert visitor.seen[tab.controls.numbers]["info"].startswith("these are x")
    (figure,) = visitor.seen[tab.player]["value"]["figures"]
    assert figure["trace"]["arrays"]["x"] == [0, 0, 1, 5, 0]
    visitor.set(algorithm="safe_softmax")
    assert visitor.seen[tab.controls.numbers]["info"].startswith("parted by")


def test_a_comparison_left_from_another_problem_is_dropped_without_a_word(tab):
    visitor = Visitor(tab, algo="online_softmax", **{"with": "safe_softmax"})
    visitor.set(algorithm="flash_attention")
    assert visitor.holds["compare"] == "" and visitor.note == "[]"
    visitor.set(compare="safe_softmax")  # a client that sends it all the same
    assert len(visitor.seen[tab.player]["value"]["figures"]) == 1 and visitor.note == "[]"
    visitor.set(compare="wild")
    assert "compare must be one of" in visitor.note


def test_a_choice_that_is_reported_again_with_old_values_changes_nothing(tab):
    visitor = Visitor(tab)
    old = dict(visitor.holds)
    visitor.set(algorithm="flash_attention")
    now = dict(visitor.holds)
    visitor.set(**old | {"algorithm": "flash_attention"})
    assert visitor.watched["head_dim"] == now["head_dim"] == 16


@pytest.mark.parametrize("algorithm", ["flash", None, ["x"], 3, "x" * 10**6])
def test_an_unknown_algorithm_is_named_and_the_control_goes_back(tab, algorithm):
    visitor = Visitor(tab, algo="matmul")
    visitor.set(algorithm=algorithm)
    assert "algorithm must be one of" in visitor.note and len(visitor.note) < 500
    assert visitor.holds["algorithm"] == visitor.watched["algorithm"] == "matmul"


def test_an_address_keeps_nothing_of_another_problem(tab):
    visitor = Visitor(tab, n="48")
    visitor.set(algorithm="matmul")
    assert visitor.link["n"] is None and visitor.link["rows"] == "32"
    assert visitor.link["with"] is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_one_line_says_what_is_watched(tab, language):
    said = {}
    for algorithm in ALGORITHMS:
        said[algorithm] = Visitor(tab, algo=algorithm, lang=language).seen[tab.controls.setup]
    lines = {name: props["value"].split(" · ")[1] for name, props in said.items()}
    en = {
        "safe_softmax": "N 32, BLOCK_N 4",
        "flash_attention": "64 × 64, tiles 8 × 8, causal",
        "split_kv": "1 × 64, tiles 4 × 8, 4 splits",
        "matmul": "32 × 32 × 32, tiles 8 × 8 × 8",
    }
    zh = {
        "safe_softmax": "N 32，BLOCK_N 4",
        "flash_attention": "64 × 64，分块 8 × 8，因果",
        "split_kv": "1 × 64，分块 4 × 8，4 段",
        "matmul": "32 × 32 × 32，分块 8 × 8 × 8",
    }
    wanted = {"en": en, "zh": zh}[language]
    assert {name: lines[name] for name in wanted} == wanted


def test_a_switch_of_language_rewords_the_choices_even_beside_a_mistake(tab):
    visitor = Visitor(tab, algo="flash_attention")
    visitor.language = "zh"
    visitor.holds["seq_q"] = 0
    visitor.set(compare="")
    assert "seq_q 必须在 1 到 128 之间，收到的是 0。" in visitor.note
    assert visitor.seen[tab.controls.preset]["choices"][0] == ("正态", "normal")
    assert visitor.seen[tab.controls.compare]["choices"][0] == ("不对比", "")
    assert visitor.watched["seq_q"] == 64
