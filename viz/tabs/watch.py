"""Watch: choose numbers, and see an algorithm take them in block by block.

Every control acts at once: the mirror runs here, in NumPy, in milliseconds, and the whole trace
goes to the player in one message. A value that cannot be used is answered with one sentence, and
the player keeps what it shows.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path

import gradio as gr

from benchmarks.results import CheckResult
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import OWN_NUMBERS, Choice, make_arrays, one_of, overflowing
from kernels.pasted import read_numbers
from kernels.problems import trace_for
from kernels.trace import Trace
from viz.locales import text
from viz.player.player import Player, player_value
from viz.tabs.link import EVERY, read_link, spell, write_link
from viz.tabs.note import Note
from viz.tabs.page import NO_PROGRESS, QUIET, Page, explain
from viz.tabs.run_screen import watched_row
from viz.tabs.watch_controls import Controls, held, setup_label
from viz.tabs.watch_state import WatchState, check, entries_of, moved, rivals, settle

WATCH_CSS = Path(__file__).with_name("watch.css").read_text("utf-8")


class WatchTab:
    """The components of the tab, and the handlers that fill them.

    Handlers return what changes, by component.
    """

    def __init__(self, page: Page) -> None:
        """Lay out the tab inside an open `gr.Tab`."""
        self.page = page
        self.controls = Controls(page)
        self.note = Note(elem_id="watch-note", live=True)
        self.player = Player(elem_id="watch-player")
        self.inputs = self.controls.inputs
        # Gradio pays for every output of an event, also for those that stay: most need only these.
        self.shown = [self.player, self.note, page.watch_choice, self.controls.setup]
        self.whole = [*self.shown, *self.controls.outputs]

    def listen(self) -> None:
        """Answer every change of a control, and the button for own numbers."""
        controls, quick = self.controls, {**NO_PROGRESS, "concurrency_limit": None}
        given = [self.page.language, *self.inputs]
        told = [self.page.watch_choice, *given]
        private = {**QUIET, **quick}
        gr.on(
            [control.input for control in controls.plain],
            self.show,
            given,
            self.shown,
            trigger_mode="always_last",
            api_name="watch",
            **quick,
        )
        gr.on(
            [controls.preset.input, controls.compare.input],
            self.show_whole,
            given,
            self.whole,
            trigger_mode="always_last",
            **private,
        )
        switch = {"fn": self.switch_algorithm, "inputs": told, "outputs": self.whole}
        controls.algorithm.input(**switch, trigger_mode="always_last", **private)
        # Gradio does not report the first edit after it filled a textbox as an input, only as a
        # change; and a change also when it is filled. So changes are heard, and old news ignored.
        numbers = {"fn": self.show_numbers, "inputs": told, "outputs": self.whole}
        controls.numbers.change(**numbers, trigger_mode="always_last", **private)
        controls.own.click(self.use_own, given, self.whole, **private)
        # On a phone the controls are folded away behind one line; the rest is CSS.
        controls.setup.click(None, js="() => { document.body.classList.toggle('bw-setup-open'); }")

    def show(self, language: str, *values: object) -> dict:
        """Return the player's value for the controls, or one sentence and everything else kept."""
        try:
            state = check(language, self.controls.given(values))
        except InputError as error:
            return {self.note: [alert_node(explain(error, language))]}
        return self.picture(state, keep_step=True)

    def show_whole(self, language: str, *values: object) -> dict:
        """Return what `show` does, and what that changes about the controls and their words."""
        given = self.controls.given(values)
        try:
            state = check(language, given)
        except InputError as error:
            reworded = self.controls.reworded(language, given["algorithm"])
            return {self.note: [alert_node(explain(error, language))], **reworded}
        return self.render(state, keep_step=True)

    def switch_algorithm(self, watched: dict, language: str, *values: object) -> dict:
        """Return what another algorithm shows: what it cannot take falls back to its default."""
        given, before = self.controls.given(values), watched.get("algorithm")
        try:
            name = one_of("algorithm", given["algorithm"], tuple(ALGORITHMS))
        except InputError as error:
            said = {self.note: [alert_node(explain(error, language))]}
            return said | ({self.controls.algorithm: before} if before else {})
        if name == before:  # a list reports a choice again when it is left, with old values
            return gr.skip()
        entry = ALGORITHMS[name]
        asked = moved(watched, entry, given)
        compare = asked["compare"] if asked["compare"] in rivals(entry) else None
        choice, errors = settle(entries_of(name, compare), asked)
        state = WatchState(name, choice, compare, language)
        told = [text(language, "watch.fell_back", reason=explain(e, language)) for e in errors]
        now = held(state)
        values = {n: value for n, value in asked.items() if value is not given[n]}
        values |= {n: now[n] for n in ("algorithm", *state.reads, "compare") if n != "numbers"}
        return self.render(state, values, keep_step=True, notices=told)

    def show_numbers(self, watched: dict, language: str, *values: object) -> dict:
        """Return what `show_whole` does, if the pasted numbers are not those that are shown."""
        given = self.controls.given(values)
        if given["preset"] != OWN_NUMBERS:
            return gr.skip()
        try:
            same = repr(read_numbers(given["numbers"])) == repr(tuple(watched["numbers"]))
        except (InputError, KeyError):
            same = False
        return gr.skip() if same else self.show_whole(language, *values)

    def render(
        self, state: WatchState, values: Mapping[str, object] | None = None, **settings: object
    ) -> dict:
        """Return everything for a checked state; ``values`` are what controls are to hold then."""
        return {**self.picture(state, **settings), **self.controls.updates(state, values)}

    def picture(
        self, state: WatchState, *, keep_step: bool = False, notices: Sequence[str] = ()
    ) -> dict:
        """Return what a checked state shows beside the controls, under these notices."""
        value = player_value(
            [(entry, trace_of(entry.name, state.choice)) for entry in state.entries],
            language=state.language,
            link=dict.fromkeys(EVERY) | write_link(state),
            step=state.step,
            run_id=uuid.uuid4().hex[:12],
            keep_step=keep_step,
        )
        return {
            self.player: value,
            self.note: [*map(alert_node, notices), *map(remark_node, remarks(state))],
            self.page.watch_choice: {"algorithm": state.algorithm, **asdict(state.choice)},
            self.controls.setup: gr.update(value=setup_label(state)),
        }

    def use_own(self, language: str, *values: object) -> dict:
        """Switch to pasted numbers, starting from the ones on screen, or back to a preset."""
        try:
            state = check(language, self.controls.given(values))
        except InputError:
            state = WatchState(language=language)
        if state.entries[0].problem != "row":
            return gr.skip()
        if state.choice.preset == OWN_NUMBERS:
            state = replace(state, choice=replace(state.choice, preset="normal", numbers=()))
            return self.render(state, {"preset": "normal"}, keep_step=True)
        x = make_arrays(state.choice, {"x": "scores"})["x"]
        numbers = tuple(float(str(value)) for value in x)
        state = replace(state, choice=replace(state.choice, preset=OWN_NUMBERS, numbers=numbers))
        spelled = ", ".join(map(spell, numbers))
        return self.render(state, {"preset": OWN_NUMBERS, "numbers": spelled}, keep_step=True)

    def open_link(self, params: dict[str, str], language: str) -> tuple[WatchState, dict]:
        """Return the state that a link asks for, and what it shows."""
        state, errors = read_link(params, WatchState(language=language))
        notices = tuple(
            text(state.language, "watch.link_changed", reason=explain(error, state.language))
            for error in errors
        )
        return state, self.render(state, held(state), notices=notices)

    def open_row(self, language: str, result: CheckResult | None, row: object) -> dict:
        """Return what shows one row of a case that was run."""
        if result is None:
            return {}
        try:
            state = check(language, watched_row(result, row))
        except InputError as error:
            return {self.note: [alert_node(explain(error, language))]}
        return self.render(state, held(state))


@lru_cache(maxsize=64)
def trace_of(algorithm: str, choice: Choice) -> Trace:
    """Run the mirror. A lecture hall opens one link: the same trace is made once."""
    return trace_for(ALGORITHMS[algorithm], choice)


def remarks(state: WatchState) -> list[str]:
    """Return what should be said about a valid state: rounding that changed the numbers."""
    lost = overflowing(state.choice)
    if not lost:
        return []
    return [text(state.language, "watch.overflow", n=lost, dtype=state.choice.dtype)]


def alert_node(sentence: str) -> list:
    """Return a sentence about a mistake as a node."""
    return ["p", {"class": "bw-alert", "role": "alert"}, sentence]


def remark_node(sentence: str) -> list:
    """Return a sentence worth knowing as a node."""
    return ["p", {"class": "bw-remark"}, sentence]
