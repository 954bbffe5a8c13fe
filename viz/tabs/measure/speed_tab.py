"""Put the Speed tab together: its components, and which handler answers which of them."""

from __future__ import annotations

import gradio as gr
from gradio.context import Context

from benchmarks.operations import OPERATIONS
from kernels.errors import InputError
from viz.figures.prose import fault
from viz.tabs.measure import speed as handlers
from viz.tabs.measure import speed_guess as guesses
from viz.tabs.measure import speed_live as live
from viz.tabs.measure.files import wire_files
from viz.tabs.measure.measured import Recordings, button, wire_measure
from viz.tabs.measure.speed_fields import SIZE_FIELDS, values_label
from viz.tabs.measure.speed_runs import run_choices, runs_for
from viz.tabs.measure.speed_screen import Screen, build_screen
from viz.tabs.page import NO_PROGRESS, QUIET, WAITING, explain, known_device
from viz.tabs.run import device_now

_OPEN_MORE = """() => {
  document.querySelector('#measure-more-button').classList.toggle('bw-open');
}"""


def build(page, kept: Recordings, outer: gr.Tab) -> Screen:
    """Build the tab; called inside ``with gr.Tab(...)``, which lies in the tab ``outer``.

    Its picture is drawn when either is opened: it is the first thing that ``outer`` shows.
    """
    first = next(iter(OPERATIONS))
    axis = OPERATIONS[first].axes[0]
    screen = build_screen(page, handlers.suggested(first, axis, "bfloat16", kept))
    _wire_controls(page, screen, kept, [outer.select, Context.block.select])
    _wire_guess(page, screen, kept)
    _wire_files(page, screen, kept)
    _wire_measure(page, screen, kept)
    return screen


def _drawn(screen: Screen) -> list:
    """Return what a redraw may change."""
    ask = [screen.ask[name] for name in ("ask", "question", "guess_provider", *guesses.FIELDS)]
    others = [screen.buttons["clear"], screen.fields["reference"]]
    return [screen.note, *ask, *screen.parts.values(), *others]


def _given(page, screen: Screen) -> list:
    """Return what a redraw reads."""
    return [*screen.values, screen.measured, screen.guess, page.language]


def _wire_controls(page, screen: Screen, kept: Recordings, opened: list) -> None:
    """Connect the controls, the language and the device."""
    given, drawn = _given(page, screen), _drawn(screen)

    is_drawn = gr.State(False)

    def show(*values):
        *values, measured, guess, language = values
        return screen.named(handlers.redraw(values, measured, guess, kept, language))

    def open_speed(*values):
        return {**show(*values), is_drawn: True}

    def retell_speed(*values):
        *values, once_drawn = values
        return show(*values) if once_drawn else gr.skip()  # unopened: there are no words yet

    def show_anew(*values):
        *values, measured, guess, language = values
        return screen.named(handlers.anew(values, measured, guess, kept, language))

    def show_dtype(*values):
        *values, measured, guess, language = values
        return screen.named(handlers.anew(values, measured, guess, kept, language, True))

    fields = screen.fields
    followed = [fields[name].input for name in ("providers", "view", "reference")]
    typed = [fields["values"].submit, fields["values"].blur]
    gr.on(
        [*followed, *typed, *opened],
        open_speed,
        given,
        [*drawn, is_drawn],
        **NO_PROGRESS,
        api_name="sweeps",
    )
    page.language.change(retell_speed, [*given, is_drawn], drawn, **QUIET)
    sizes = [fields[name].input for name in SIZE_FIELDS]
    gr.on(sizes, show_anew, given, [*drawn, fields["runs"]], **QUIET)
    others = [fields[name] for name in ("runs", "values", *SIZE_FIELDS)]
    fields["dtype"].input(show_dtype, given, [*drawn, *others], **QUIET)
    screen.more.click(None, js=_OPEN_MORE)
    _wire_switches(page, screen, kept, show)

    async def say_device(language):
        return button(await known_device(page.worker), language)

    Context.root_block.load(say_device, page.language, screen.measure, **WAITING, **QUIET)


def _wire_switches(page, screen: Screen, kept: Recordings, show) -> None:
    """Connect the controls that set others, and what the language changes of them."""
    fields, given, drawn = screen.fields, _given(page, screen), _drawn(screen)

    def switcher(is_axis: bool):
        def switch_sweep(operation, axis, dtype, language):
            told = operation, axis if is_axis else None, dtype
            try:
                return screen.named(handlers.switch_to(*told, kept, language))
            except InputError as error:
                return screen.named({"note": fault(explain(error, language))})

        return switch_sweep

    asked = [fields["operation"], fields["axis"], fields["dtype"], page.language]
    for name in ("operation", "axis"):
        switched = fields[name].input(
            switcher(name == "axis"), asked, [screen.note, *screen.values[1:]], **QUIET
        )
        switched.success(show, given, drawn, **QUIET)

    def take_run(*values):
        *values, _, _, language = values
        try:
            return screen.named(handlers.pick(values, kept)) or gr.skip()
        except InputError as error:
            return screen.named({"note": fault(explain(error, language))})

    picked = [screen.note, fields["values"], *(fields[name] for name in SIZE_FIELDS)]
    taken = fields["runs"].input(take_run, given, picked, **QUIET)
    taken.success(show, given, drawn, **QUIET)

    def relabel(language, operation, axis, dtype):
        # A client can send anything, what has no hash too.
        if not isinstance(operation, str) or operation not in OPERATIONS:
            operation = next(iter(OPERATIONS))
        axes = OPERATIONS[operation].axes
        axis = axis if axis in axes else axes[0]
        runs = handlers.suggested(operation, axis, dtype, kept)
        words = gr.update(label=values_label(axis, language))
        choices = gr.update(choices=run_choices(runs, language))
        return button(device_now(page.worker), language), words, choices

    page.language.change(
        relabel,
        [page.language, *asked[:3]],
        [screen.measure, fields["values"], fields["runs"]],
        **QUIET,
    )


def _wire_guess(page, screen: Screen, kept: Recordings) -> None:
    """Connect the form that asks for a guess."""
    given, drawn = _given(page, screen), [*_drawn(screen), screen.guess]
    fields = [screen.ask[name] for name in guesses.FIELDS]

    def show_guess(*values):
        given, (provider, *speeds) = values[: -len(fields) - 1], values[-len(fields) - 1 :]
        *values, measured, _, language = given
        try:
            case, shown, picked = handlers.choose(values, kept)
            runs = runs_for(case, picked, measured, kept)
            at = guesses.asked(runs[-1], shown) if runs else ()
            guess = guesses.choose_guess(case, provider, speeds, at)
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
        [screen.ask["guess_show"].click, *(field.submit for field in fields)],
        show_guess,
        [*given, screen.ask["guess_provider"], *fields],
        drawn,
        **QUIET,
    )
    screen.ask["guess_skip"].click(answer({}), given, drawn, **QUIET)
    screen.buttons["again"].click(answer(None), given, drawn, **QUIET)


def _wire_files(page, screen: Screen, kept: Recordings) -> None:
    """Connect the downloads, and the button that forgets one's own sweeps."""
    given = _given(page, screen)

    def run_of(*values):
        *values, measured, _, _ = values
        try:
            case, _, picked = handlers.choose(values, kept)
        except InputError:
            return None  # the note says already what is wrong
        return next(reversed(runs_for(case, picked, measured, kept)), None)

    wire_files(screen.buttons, given, run_of)

    def clear(*values):
        *values, _, guess, language = values
        parts = handlers.redraw(values, [], guess, kept, language)
        return screen.named({**parts, "measured": []})

    drawn = [*_drawn(screen), screen.measured]
    screen.buttons["clear"].click(clear, given, drawn, **QUIET)


def _wire_measure(page, screen: Screen, kept: Recordings) -> None:
    """Connect Measure and Stop."""

    def measure_speed(*values):
        *values, measured, guess, language = values
        yield from live.measure(page.worker, values, measured, guess, kept, language)

    drawn = [*_drawn(screen), screen.guess]
    wire_measure(page, screen, measure_speed, _given(page, screen), drawn, "sweep")
