"""What every tab shares: the worker, the language, and the components whose words follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import gradio as gr

from benchmarks.results import Device
from benchmarks.worker import JobFailed, Worker
from kernels import ALGORITHMS
from kernels.errors import InputError
from viz.figures.prose import error_sentence, fault
from viz.locales import text

DEVICE_WAIT_S = 120.0  # torch's first import from a cold disk is slow
BEAT_S = 0.25
# Gradio runs forty events at once. A class that opens the page before the worker is up must not
# take them all by waiting for it: Watch would stand still.
WAITING = {"concurrency_id": "device", "concurrency_limit": 4}
# Gradio tells an event's progress to all of its outputs, and at every word of it again to those of
# every earlier event, looking through the whole page for each: with tabs open a switch of language
# kept a browser busy for ten seconds. This page says itself what is under way, so nobody is told.
NO_PROGRESS = {"show_progress": "hidden", "show_progress_on": []}
QUIET = {**NO_PROGRESS, "api_visibility": "private"}

Words = dict[str, str]  # property of a component -> locale key


@dataclass
class Page:
    """One page under construction, passed to every tab's ``build``.

    watch_choice holds what is being watched, for the Run tab: a plain dict with the fields of a
    `kernels.inputs.Choice` and "algorithm".
    """

    worker: Worker
    language: gr.State
    watch_choice: gr.State
    words: list[tuple[gr.components.Component, Words, Callable | None]] = field(
        default_factory=list
    )

    def label(self, component, choices: Callable | None = None, **words: str):
        """Give ``component`` its English words, register it for language switches, return it.

        ``words`` maps properties such as ``label`` or ``value`` to locale keys; ``choices`` is
        called with a language and returns a dropdown's (text, value) pairs.
        """
        self.words.append((component, words, choices))
        for prop, key in words.items():
            setattr(component, prop, text("en", key))
        return component

    def relabel(self, language: str) -> dict[gr.components.Component, dict]:
        """Return an update for every registered component."""
        updates = {}
        for component, words, choices in self.words:
            props = {prop: text(language, key) for prop, key in words.items()}
            if choices:
                props["choices"] = choices(language)
            updates[component] = gr.update(**props)
        return updates

    @property
    def labelled(self) -> list[gr.components.Component]:
        """The components that `relabel` updates."""
        return [component for component, _, _ in self.words]


def merge(*told: dict) -> dict:
    """Return several handlers' updates as one; of a component they add up, the last one winning."""
    merged: dict = {}
    for updates in told:
        for component, update in updates.items():
            before = merged.get(component)
            both = isinstance(before, dict) and "__type__" in before
            merged[component] = {**before, **update} if both else update
    return merged


def algorithms(language: str) -> list[tuple[str, str]]:
    """Return every algorithm as a dropdown's (text, value): rows, then attention, then products."""
    return [(text(language, f"algorithm.{name}.title"), name) for name in ALGORITHMS]


def dropdown(choices: list, value: object, **settings: object) -> gr.Dropdown:
    """Return a dropdown that passes on whatever arrives: handlers refuse it in one sentence.

    Gradio would refuse an unknown value itself, in English and without saying so on the page.
    """
    return gr.Dropdown(choices, value=value, allow_custom_value=True, **settings)


async def known_device(worker: Worker) -> Device | None:
    """Return what runs the kernels, waiting without a thread: a whole class may open the page."""
    for _ in range(round(DEVICE_WAIT_S / BEAT_S)):
        try:
            return worker.device(0.0)
        except JobFailed as failure:
            if failure.kind != "not_ready":
                return None
            await asyncio.sleep(BEAT_S)
    return None


def why_ended(error: InputError | JobFailed, language: str) -> list:
    """Return the note of what ended a run: a visitor's mistake, or a failure."""
    key = f"error.{error.key}" if isinstance(error, InputError) else f"failed.{error.kind}"
    return fault(error_sentence(language, key, error.details, str(error)))


def explain(error: InputError, language: str) -> str:
    """Return the sentence for a user's mistake in ``language``."""
    return text(language, f"error.{error.key}", **error.details)
