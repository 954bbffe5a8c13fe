"""Put the Measure tab together: its components, and which handler answers which of them."""

from __future__ import annotations

from pathlib import Path

import gradio as gr
from gradio.context import Context
from gradio.processing_utils import save_bytes_to_cache

from benchmarks.operations import OPERATIONS
from benchmarks.sweep_results import SweepRun
from kernels.errors import InputError
from kernels.inputs import one_of
from viz.figures.prose import fault
from viz.locales import text
from viz.tabs import measure as handlers
from viz.tabs import measure_files as files
from viz.tabs import measure_guess as guesses
from viz.tabs.measure_screen import Screen, build_screen, for_operation, values_label
from viz.tabs.measured import QUIET, Recordings, button, said
from viz.tabs.page import WAITING, explain, known_device
from viz.tabs.run import WAITING_ROOM, device_now

MEASURE_CSS = Path(__file__).with_name("measure.css").read_text("utf-8")

# The link is drawn a moment after its value arrives.
_FETCH_FILE = """() => setTimeout(() => {
  const file = document.querySelector('#measure-file');
  (file.querySelector('a, button') || file).click();
}, 150)"""


def build(page, opened: gr.Tab) -> Screen:
    """Build the tab; called inside ``with gr.Tab(...)``. Its picture is drawn when it is opened."""
    kept = Recordings.load(SweepRun)
    first = next(iter(OPERATIONS))
    screen = build_screen(page, handlers.suggested(first, "bfloat16", kept))
    _wire_controls(page, screen, kept, opened)
    _wire_guess(page, screen, kept)
    _wire_files(page, screen, kept)
    _wire_measure(page, screen, kept)
    return screen


def _drawn(screen: Screen) -> list:
    """Return what a redraw may change."""
    ask = [screen.ask[name] for name in ("ask", "question", "guess_provider")]
    return [screen.note, *ask, *screen.parts.values(), screen.buttons["clear"]]


def _given(page, screen: Screen) -> list:
    """Return what a redraw reads."""
    return [*screen.values, screen.measured, screen.guess, page.language]


def _wire_controls(page, screen: Screen, kept: Recordings, opened: gr.Tab) -> None:
    """Connect the controls, the language and the device."""
    given, drawn = _given(page, screen), _drawn(screen)

    def show(*values):
        *values, measured, guess, language = values
        return screen.named(handlers.redraw(values, measured, guess, kept, language))

    def switch_operation(operation, dtype, language):
        try:
            one_of("operation", operation, tuple(OPERATIONS))
        except InputError as error:
            return screen.named({"note": fault(explain(error, language))})
        values = handlers.suggested(operation, dtype, kept)
        return screen.named(for_operation(operation, values, language))

    fields = screen.fields
    followed = [
        field.input for name, field in fields.items() if name not in ("operation", "values")
    ]
    typed = [fields["values"].submit, fields["values"].blur]
    gr.on(
        [*followed, *typed, opened.select, page.language.change],
        show,
        given,
        drawn,
        show_progress="hidden",
        api_name="sweeps",
    )
    fields["operation"].input(
        switch_operation,
        [fields["operation"], fields["dtype"], page.language],
        [screen.note, *screen.values[1:]],
        **QUIET,
    ).success(show, given, drawn, **QUIET)

    def relabel(language, operation):
        name = operation if operation in OPERATIONS else next(iter(OPERATIONS))
        words = gr.update(label=values_label(name, language))
        return button(device_now(page.worker), language), words

    page.language.change(
        relabel,
        [page.language, fields["operation"]],
        [screen.measure, fields["values"]],
        **QUIET,
    )

    async def say_device(language):
        return button(await known_device(page.worker), language)

    Context.root_block.load(say_device, page.language, screen.measure, **WAITING, **QUIET)


def _wire_guess(page, screen: Screen, kept: Recordings) -> None:
    """Connect the form that asks for a guess."""
    given, drawn = _given(page, screen), [*_drawn(screen), screen.guess]
    asked = [screen.ask["guess_provider"], screen.ask["guess_speed"]]

    def show(*values):
        *values, measured, _, language, provider, speed = values
        try:
            case, _ = handlers.choose(values)
            guess = guesses.choose_guess(case, provider, speed)
        except InputError as error:
            return screen.named({"note": fault(explain(error, language))})
        parts = handlers.redraw(values, measured, guess, kept, language)
        return screen.named({**parts, "guess": guess})

    def answer(guess):
        def handler(*values):
            *values, measured, _, language = values
            parts = handlers.redraw(values, measured, guess, kept, language)
            return screen.named({**parts, "guess": guess})

        return handler

    gr.on(
        [screen.ask["guess_show"].click, screen.ask["guess_speed"].submit],
        show,
        [*given, *asked],
        drawn,
        **QUIET,
    )
    screen.ask["guess_skip"].click(answer({}), given, drawn, **QUIET)
    screen.buttons["again"].click(answer(None), given, drawn, **QUIET)


def _wire_files(page, screen: Screen, kept: Recordings) -> None:
    """Connect the downloads, and the button that forgets one's own sweeps."""
    file, given = screen.buttons["file"], _given(page, screen)

    def writer(write, suffix: str):
        def handler(*values):
            *values, measured, _, _ = values
            try:
                case, _ = handlers.choose(values)
            except InputError:
                return gr.skip()  # the note says already what is wrong
            runs = handlers.runs_for(case, measured, kept)
            if not runs:
                return gr.skip()
            name = f"{files.file_name(runs[-1])}.{suffix}"
            return save_bytes_to_cache(write(runs[-1]).encode(), name, file.GRADIO_CACHE)

        return handler

    for name, write in (("csv", files.to_csv), ("json", files.to_json)):
        clicked = screen.buttons[name].click(writer(write, name), given, file, **QUIET)
        clicked.then(None, js=_FETCH_FILE)

    def clear(*values):
        *values, _, guess, language = values
        parts = handlers.redraw(values, [], guess, kept, language)
        return screen.named({**parts, "measured": []})

    drawn = [*_drawn(screen), screen.measured]
    screen.buttons["clear"].click(clear, given, drawn, **QUIET)


def _wire_measure(page, screen: Screen, kept: Recordings) -> None:
    """Connect Measure and Stop."""
    switched = [screen.measure, screen.stop, *screen.values]

    def running(is_running: bool) -> dict:
        locked = {field: gr.update(interactive=not is_running) for field in screen.values}
        return {
            screen.measure: gr.update(visible=not is_running),
            screen.stop: gr.update(visible=is_running),
            **locked,
        }

    def on_measure(*values):
        *values, measured, guess, language = values
        for update in handlers.measure(page.worker, values, measured, guess, kept, language):
            told = {**screen.named(update.shown), **running(update.running)}
            if update.run is not None:
                told[screen.measured] = update.run
            if guess is None:
                told[screen.guess] = {}  # who measures without a guess has skipped it
            yield told

    started = screen.measure.click(
        on_measure,
        _given(page, screen),
        [*_drawn(screen), screen.measured, screen.guess, *switched],
        concurrency_id="kernels",
        concurrency_limit=WAITING_ROOM,
        show_progress="hidden",
        api_name="sweep",
    )

    def stopped(language: str) -> dict:
        return {screen.note: said(text(language, "measured.stopped")), **running(False)}

    halt = {
        "inputs": page.language,
        "outputs": [screen.note, *switched],
        "queue": False,
        **QUIET,
    }
    # Said twice: on a busy page, what the run had already sent is shown after the first answer.
    screen.stop.click(stopped, cancels=[started], **halt).then(stopped, **halt)
