"""Watch: choose numbers, and see an algorithm take them in block by block.

Every control acts at once: the mirror runs here, in NumPy, in milliseconds, and the whole trace
goes to the player in one message. A value that cannot be used is answered with one sentence, and
the player keeps what it shows.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path

import gradio as gr

from benchmarks.results import CheckResult
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import (
    DTYPES,
    MAX_BLOCK,
    OWN_NUMBERS,
    PRESETS,
    Choice,
    choose,
    make_arrays,
    one_of,
    overflowing,
)
from kernels.pasted import read_numbers
from kernels.trace import Trace
from viz.locales import text
from viz.player.player import Player, player_value
from viz.tabs.link import WatchState, read_link, spell, write_link
from viz.tabs.note import Note
from viz.tabs.page import Page, dropdown, explain
from viz.tabs.run_screen import watched_row

WATCH_CSS = Path(__file__).with_name("watch.css").read_text("utf-8")
BLOCKS = [2**k for k in range(MAX_BLOCK.bit_length())]
NOTHING = ""  # the choice of no second algorithm


class WatchTab:
    """The components of the tab, and the handlers that fill them."""

    def __init__(self, page: Page) -> None:
        """Lay out the tab inside an open `gr.Tab`."""
        self.page = page
        state = WatchState()
        choice = state.choice
        self.setup = gr.Button(_setup_label(state), elem_id="watch-setup", size="md")
        with gr.Row(elem_id="watch-controls"):
            self.algorithm = self._worded("algorithm", _algorithms, state.algorithm)
            self.preset = self._worded("preset", _presets, choice.preset)
            self.n_cols = gr.Number(choice.n_cols, label="N", elem_id="watch-n_cols")
            self.block = dropdown(
                list(BLOCKS), choice.block, label="BLOCK_N", elem_id="watch-block"
            )
            self.head_dim = gr.Number(choice.head_dim, label="head_dim", elem_id="watch-head_dim")
            self.dtype = dropdown(list(DTYPES), choice.dtype, label="dtype", elem_id="watch-dtype")
            self.seed = page.label(gr.Number(choice.seed, elem_id="watch-seed"), label="watch.seed")
            self.compare = self._worded("compare", _comparisons, NOTHING)
            self.own = page.label(gr.Button(elem_id="watch-own"), value="watch.own")
        with gr.Row(visible=False, elem_id="watch-numbers-row") as self.numbers_row:
            self.numbers = page.label(
                gr.Textbox(lines=2, max_lines=6, elem_id="watch-numbers"),
                label="watch.numbers",
                info="watch.numbers_info",
            )
        self.note = Note(elem_id="watch-note", live=True)
        self.player = Player(elem_id="watch-player")
        self.inputs = [
            self.algorithm,
            self.preset,
            self.n_cols,
            self.block,
            self.head_dim,
            self.dtype,
            self.seed,
            self.numbers,
            self.compare,
        ]
        self.shown = [self.player, self.note, page.watch_choice, self.setup, *self._dependent()]

    def _worded(self, name: str, choices: Callable, value: str) -> gr.Dropdown:
        """Return a dropdown whose label and choices follow the language."""
        made = dropdown(choices("en"), value, elem_id=f"watch-{name}")
        return self.page.label(made, choices, label=f"watch.{name}")

    def _dependent(self) -> list:
        """Return the controls whose use depends on the others."""
        return [self.n_cols, self.block, self.head_dim, self.numbers_row]

    def listen(self) -> None:
        """Answer every change of a control, and the button for own numbers."""
        quick = {"show_progress": "hidden", "concurrency_limit": None}
        gr.on(
            [control.input for control in self.inputs if control is not self.numbers],
            self.show,
            [self.page.language, *self.inputs],
            self.shown,
            trigger_mode="always_last",
            api_name="watch",
            **quick,
        )
        # Gradio does not report the first edit after it filled a textbox as an input, only as a
        # change; and a change also when it is filled. So changes are heard, and old news ignored.
        self.numbers.change(
            self.show_numbers,
            [self.page.watch_choice, self.page.language, *self.inputs],
            self.shown,
            trigger_mode="always_last",
            api_visibility="private",
            **quick,
        )
        self.own.click(
            self.use_own,
            [self.page.language, *self.inputs],
            [self.preset, self.numbers, *self.shown],
            api_visibility="private",
            **quick,
        )
        # On a phone the controls are folded away behind one line; the rest is CSS.
        self.setup.click(None, js="() => { document.body.classList.toggle('bw-setup-open'); }")

    def show(self, language: str, *values: object) -> list:
        """Return the player's value for the controls, or one sentence and everything else kept."""
        try:
            state = check(language, *values)
        except InputError as error:
            return [
                gr.skip(),
                alert(explain(error, language)),
                *[gr.skip()] * (len(self.shown) - 2),
            ]
        return self.render(state, keep_step=True)

    def show_numbers(self, watched: dict, language: str, *values: object) -> list:
        """Return what `show` does if the pasted numbers are not those that are shown already."""
        nothing_new = [gr.skip()] * len(self.shown)
        given = dict(zip(self.inputs, values, strict=True))
        if given[self.preset] != OWN_NUMBERS:
            return nothing_new
        try:
            same = repr(read_numbers(given[self.numbers])) == repr(tuple(watched["numbers"]))
        except (InputError, KeyError):
            same = False
        return nothing_new if same else self.show(language, *values)

    def render(
        self, state: WatchState, *, keep_step: bool = False, notices: tuple[str, ...] = ()
    ) -> list:
        """Return the values of everything in ``shown`` for a checked state."""
        shown = [state.algorithm] + [state.compare] * bool(state.compare)
        value = player_value(
            [(ALGORITHMS[name], trace_of(name, state.choice)) for name in shown],
            language=state.language,
            link=write_link(state),
            step=state.step,
            run_id=uuid.uuid4().hex[:12],
            keep_step=keep_step,
        )
        entries = [ALGORITHMS[name] for name in shown]
        own = state.choice.preset == OWN_NUMBERS
        return [
            value,
            [*map(alert_node, notices), *map(remark_node, remarks(state))],
            {"algorithm": state.algorithm, **asdict(state.choice)},
            gr.update(value=_setup_label(state)),
            gr.update(interactive=not own, value=state.choice.n_cols),
            gr.update(interactive=not all(e.whole_row for e in entries)),
            gr.update(interactive=any(e.has_values for e in entries)),
            gr.update(visible=own),
        ]

    def use_own(self, language: str, *values: object) -> list:
        """Switch to pasted numbers, starting from the ones on screen, or back to a preset."""
        try:
            state = check(language, *values)
        except InputError:
            state = WatchState(language=language)
        if state.choice.preset == OWN_NUMBERS:
            state = replace(state, choice=replace(state.choice, preset="normal", numbers=()))
            return ["normal", gr.skip(), *self.render(state, keep_step=True)]
        x = make_arrays(state.choice, with_values=False)["x"]
        numbers = tuple(float(str(value)) for value in x)
        state = replace(state, choice=replace(state.choice, preset=OWN_NUMBERS, numbers=numbers))
        spelled = ", ".join(map(spell, numbers))
        return [OWN_NUMBERS, spelled, *self.render(state, keep_step=True)]

    def open_link(self, params: dict[str, str], language: str) -> tuple[WatchState, list]:
        """Return the state that a link asks for, and the values of `inputs` and `shown`."""
        state, errors = read_link(params, WatchState(language=language))
        notices = tuple(
            text(state.language, "watch.link_changed", reason=explain(error, state.language))
            for error in errors
        )
        return state, self.fill(state, notices)

    def fill(self, state: WatchState, notices: tuple[str, ...] = ()) -> list:
        """Return the values of `inputs` and `shown` for a checked state."""
        choice = state.choice
        values = [
            state.algorithm,
            choice.preset,
            choice.n_cols,
            choice.block,
            choice.head_dim,
            choice.dtype,
            choice.seed,
            ", ".join(map(spell, choice.numbers)),
            state.compare or NOTHING,
        ]
        return [*values, *self.render(state, notices=notices)]

    def open_row(self, language: str, result: CheckResult | None, row: object) -> list:
        """Return `inputs` and `shown` for one row of a case that was run, to watch it."""
        if result is None:
            return [gr.skip()] * (len(self.inputs) + len(self.shown))
        try:
            state = check(language, *watched_row(result, row).values(), None)
        except InputError as error:
            kept = [gr.skip()] * (len(self.inputs) + len(self.shown))
            kept[len(self.inputs) + self.shown.index(self.note)] = alert(explain(error, language))
            return kept
        return self.fill(state)


def check(
    language: object,
    algorithm: object,
    preset: object,
    n_cols: object,
    block: object,
    head_dim: object,
    dtype: object,
    seed: object,
    numbers: object,
    compare: object,
) -> WatchState:
    """Return the checked state of the controls. Raise InputError at the first fault."""
    algorithm = one_of("algorithm", algorithm, tuple(ALGORITHMS))
    choice = choose(preset, n_cols, block, head_dim, dtype, seed, numbers)
    if compare in (None, NOTHING, algorithm):
        return WatchState(algorithm, choice, None, str(language))
    compare = one_of("compare", compare, tuple(ALGORITHMS))
    return WatchState(algorithm, choice, compare, str(language))


@lru_cache(maxsize=64)
def trace_of(algorithm: str, choice: Choice) -> Trace:
    """Run the mirror. A lecture hall opens one link: the same trace is made once."""
    entry = ALGORITHMS[algorithm]
    return entry.trace(make_arrays(choice, entry.has_values), choice.block, choice.dtype)


def remarks(state: WatchState) -> list[str]:
    """Return what should be said about a valid state: rounding that changed the numbers."""
    lost = overflowing(state.choice)
    if not lost:
        return []
    return [text(state.language, "watch.overflow", n=lost, dtype=state.choice.dtype)]


def alert(sentence: str) -> list:
    """Return a note's value that says what was wrong."""
    return [alert_node(sentence)]


def alert_node(sentence: str) -> list:
    """Return a sentence about a mistake as a node."""
    return ["p", {"class": "bw-alert", "role": "alert"}, sentence]


def remark_node(sentence: str) -> list:
    """Return a sentence worth knowing as a node."""
    return ["p", {"class": "bw-remark"}, sentence]


def _setup_label(state: WatchState) -> str:
    """Return the one line that stands for the controls on a phone."""
    title = text(state.language, f"algorithm.{state.algorithm}.title")
    return f"{title} · N {state.choice.n_cols}, BLOCK_N {state.choice.block}"


def _algorithms(language: str) -> list[tuple[str, str]]:
    """Return every algorithm as a dropdown's (text, value)."""
    return [(text(language, f"algorithm.{name}.title"), name) for name in ALGORITHMS]


def _comparisons(language: str) -> list[tuple[str, str]]:
    """Return what an algorithm can be compared with."""
    return [(text(language, "watch.compare_nothing"), NOTHING), *_algorithms(language)]


def _presets(language: str) -> list[tuple[str, str]]:
    """Return every preset as a dropdown's (text, value)."""
    return [(text(language, f"preset.{name}"), name) for name in (*PRESETS, OWN_NUMBERS)]
