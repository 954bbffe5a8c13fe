"""The Run tab: the real kernel on the numbers being watched, or on a larger case, and its errors.

A run streams from the worker: where it stands, then a result. The result is kept in the visitor's
own state, so changing the output, the row or the language redraws it without running again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gradio as gr
from gradio.context import Context
from gradio.processing_utils import save_bytes_to_cache

from benchmarks.jobs import CheckJob
from benchmarks.results import CheckResult, Device, Progress, TileCheckResult
from benchmarks.worker import JobFailed
from kernels.errors import InputError
from viz import export
from viz.figures import tables
from viz.figures.base import stand_in_css
from viz.figures.prose import error_sentence, rich
from viz.locales import text
from viz.tabs import run_export
from viz.tabs.note import Note
from viz.tabs.page import NO_PROGRESS, QUIET, WAITING, known_device, why_ended
from viz.tabs.run_form import Form, adapt, build_form, read
from viz.tabs.run_screen import Result, Screen, build_screen, draw, draw_row, view_of

RUN_CSS = Path(__file__).with_name("run.css").read_text("utf-8") + stand_in_css()

# Waiting visitors hold a thread each; the worker itself runs one job at a time.
WAITING_ROOM = 8
START_LIMIT_S = 120.0
BEAT_S = 0.3


@dataclass(frozen=True)
class RunTab:
    """What other tabs may connect to."""

    watch_button: gr.Button
    result: gr.State
    row: gr.Dropdown
    run_button: gr.Button


def build(page) -> RunTab:
    """Build the tab; called inside ``with gr.Tab(...)``."""
    form = build_form(page)
    note = Note(live=True, elem_id="run-note")
    screen = build_screen(page)
    run_export.build(page, form)
    result = gr.State(None)
    _wire_run(page, form, note, screen, result)
    _wire_form(page, form)
    _wire_screen(page, form, screen, result)
    return RunTab(screen.watch, result, screen.row, form.run)


def _wire_run(page, form: Form, note: Note, screen: Screen, result: gr.State) -> None:
    """Connect Run and Stop."""

    def on_run(language, watched, *values):
        for update in run(page.worker, language, watched, list(values)):
            told = {note: update.note}
            if update.running is not None:
                told[form.run] = gr.update(visible=not update.running)
                told[form.stop] = gr.update(visible=update.running)
            if update.device is not None:
                told[screen.device] = tables.device_box(update.device, language)
            if update.result is not None:
                told[result] = update.result
                drawn = draw(update.result, None, language)
                told |= dict(zip(screen.outputs, drawn, strict=True))
            yield told

    started = form.run.click(
        on_run,
        [page.language, page.watch_choice, *form.inputs],
        [note, form.run, form.stop, screen.device, result, *screen.outputs],
        concurrency_id="kernels",
        concurrency_limit=WAITING_ROOM,
        **NO_PROGRESS,
        api_name="run",
    )
    form.stop.click(
        lambda language: (
            rich(text(language, "run.stopped")),
            gr.update(visible=True),
            gr.update(visible=False),
        ),
        page.language,
        [note, form.run, form.stop],
        cancels=[started],
        queue=False,
        **QUIET,
    )


def _wire_form(page, form: Form) -> None:
    """Keep the controls showing what would be run, and only what can be chosen."""
    inputs = [form.source, form.fields["algorithm"], page.watch_choice, page.language, form.sized]
    gr.on(
        [
            form.source.input,
            form.fields["algorithm"].input,
            page.watch_choice.change,
            page.language.change,
            Context.root_block.load,
        ],
        adapt,
        inputs,
        form.adapted,
        trigger_mode="always_last",  # a link changes what is watched while the page still loads
        **QUIET,
    )


def _wire_screen(page, form: Form, screen: Screen, result: gr.State) -> None:
    """Connect what can be done with a result, and the device."""
    chosen = [result, screen.row, page.language, screen.output]

    def redraw(kept, row, language, output):
        device = tables.device_box(device_now(page.worker), language)
        return [*draw(kept, row, language, output), device]

    page.language.change(redraw, chosen, [*screen.outputs, screen.device], **QUIET)
    screen.output.input(draw, chosen, screen.outputs, **QUIET)
    screen.row.input(draw_row, chosen, screen.row_outputs, **QUIET)

    async def say_device(language):
        return tables.device_box(await known_device(page.worker), language)

    Context.root_block.load(say_device, page.language, screen.device, **WAITING, **QUIET)
    for button, write, suffix in (
        (screen.csv, export.to_csv, "csv"),
        (screen.json, export.to_json, "json"),
    ):
        button.click(_file_writer(write, suffix, screen.file), result, screen.file, **QUIET).then(
            None, js=_FETCH_FILE
        )
    screen.copy.click(None, js=_COPY)


# The link is drawn a moment after its value arrives.
_FETCH_FILE = """() => setTimeout(() => {
  const file = document.querySelector('#run-file');
  (file.querySelector('a, button') || file).click();
}, 150)"""

# The clipboard interface exists on https and localhost only; elsewhere the old command is left.
_COPY = """async () => {
  const code = document.querySelector('#run-python pre');
  if (!code) return;
  try { await navigator.clipboard.writeText(code.textContent); }
  catch (refused) {
    code.closest('details').open = true;
    const range = document.createRange(); range.selectNodeContents(code);
    getSelection().removeAllRanges(); getSelection().addRange(range);
    document.execCommand('copy');
  }
  const button = document.querySelector('#run-copy');
  button.classList.add('bw-done');
  setTimeout(() => button.classList.remove('bw-done'), 1500);
}"""


def _file_writer(write, suffix: str, button: gr.DownloadButton):
    """Return a handler that writes a result to a file among Gradio's own, which it clears away."""

    def handler(kept: Result | None) -> object:
        if kept is None:
            return gr.skip()
        name = f"{view_of(kept).file_name(kept)}.{suffix}"
        return save_bytes_to_cache(write(kept).encode(), name, button.GRADIO_CACHE)

    return handler


@dataclass(frozen=True)
class Update:
    """What changes on the page at one moment of a run."""

    note: object
    running: bool | None = None
    device: Device | None = None
    result: Result | None = None


def run(worker, language: str, watched: object, values: list) -> Iterator[Update]:
    """Run what the form says, yielding what to change; a fault is one sentence, nothing more."""
    try:
        yield Update(_progress(Progress("starting"), language), running=True)
        device = yield from _wait_for(worker, language)
        algorithm, case = read(values, watched, interpreted=device.kind != "gpu")
        finished = None
        last: object = None
        for item in worker.run(CheckJob(algorithm, case)):
            if isinstance(item, CheckResult | TileCheckResult):
                finished = item
                continue
            # The same stage again is only a chance to stop: nothing is sent to be drawn.
            said = gr.skip() if item == last else _progress(item, language)
            last = item
            yield Update(said, device=None)
        if finished is None:
            raise JobFailed("crashed", signal="")
        yield Update([], running=False, device=finished.device, result=finished)
    except (InputError, JobFailed) as error:
        yield Update(why_ended(error, language), False)


def _wait_for(worker, language: str) -> Iterator[Update]:
    """Wait for the worker to say what it runs on, pausing often enough to be stopped."""
    waited = 0.0
    while True:
        try:
            return worker.device(BEAT_S)
        except JobFailed as error:
            waited += BEAT_S
            if error.kind != "not_ready" or waited > START_LIMIT_S:
                raise
        yield Update(gr.skip())


def _progress(item: Progress, language: str) -> list:
    """Return the sentence of a stage."""
    key = f"progress.{item.stage}"
    said = error_sentence(language, key, item.details, item.stage)
    return [["p", {"class": "bw-progress"}, *rich(said)]]


def device_now(worker, timeout_s: float = 0.0) -> Device | None:
    """Return what runs the kernels here, or None while that is not known."""
    try:
        return worker.device(timeout_s)
    except JobFailed:
        return None
