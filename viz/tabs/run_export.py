"""Take the kernel away: what the Run tab's form would run, compiled for any GPU that is named.

The compiler runs in a child process with a time limit, one at a time for all visitors.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

import gradio as gr
from gradio.processing_utils import save_bytes_to_cache

from benchmarks.export import Exported, files_of
from benchmarks.export_command import command_of
from benchmarks.export_gpus import GPUS, choose_gpu
from benchmarks.export_process import ExportJob, compiled, missing
from benchmarks.worker import JobFailed, default_time_limit
from kernels.errors import InputError
from viz.figures import tables
from viz.figures.prose import error_sentence, fault
from viz.locales import text
from viz.tabs.note import Note
from viz.tabs.page import NO_PROGRESS, QUIET, dropdown
from viz.tabs.run_form import Form, read

FIRST_GPU = next(gpu.label for gpu in GPUS if gpu.sm == 90)
COLUMNS = {
    "num_warps": "run.export.warps",
    "dynamic_shared_bytes": "run.export.shared",
    "registers_per_thread": "run.export.registers",
    "stack_bytes_per_thread": "run.export.stack",
}


@dataclass(frozen=True)
class Taken:
    """What was compiled: the facts of each kernel, and the command that does it again."""

    facts: tuple[Mapping[str, object], ...]
    command: str


def build(page, form: Form) -> None:
    """Build the section; ``form`` says what is to be compiled."""
    with gr.Column(elem_id="run-export"):
        head = Note(_head("en"), elem_id="run-export-head")
        lacking = missing()
        with gr.Row(elem_id="run-export-controls", visible=not lacking):
            labels = [gpu.label for gpu in GPUS]
            gpu = dropdown(labels, FIRST_GPU, elem_id="run-export-gpu")
            page.label(gpu, label="run.export.gpu")
            button = page.label(
                gr.Button("", size="sm", elem_id="run-export-button"), value="run.export.button"
            )
            file = page.label(
                gr.DownloadButton("", size="sm", visible=False, elem_id="run-export-file"),
                label="run.export.download",
            )
        note = Note(_lacking(lacking, "en"), live=True, elem_id="run-export-note")
        shown = Note(elem_id="run-export-facts")
    kept = gr.State(None)

    def begin(language):
        words = ["p", {"class": "bw-progress"}, text(language, "run.export.working")]
        return [words], gr.update(interactive=False)

    def on_export(language, watched, gpu_name, *values):
        try:
            taken, name, content = take(list(values), watched, gpu_name)
        except (InputError, JobFailed) as error:
            said = fault(_sentence(error, language))
            return said, [], gr.update(visible=False), None
        path = save_bytes_to_cache(content, name, file.GRADIO_CACHE)
        return [], draw(taken, language), gr.update(value=path, visible=True), taken

    button.click(begin, page.language, [note, button], queue=False, **QUIET).then(
        on_export,
        [page.language, page.watch_choice, gpu, *form.inputs],
        [note, shown, file, kept],
        concurrency_id="export",
        concurrency_limit=1,
        **NO_PROGRESS,
        api_name="export",
    ).then(lambda: gr.update(interactive=True), None, button, queue=False, **QUIET)
    page.language.change(
        lambda language, taken: (
            _head(language),
            _lacking(missing(), language),
            draw(taken, language) if taken else gr.skip(),
        ),
        [page.language, kept],
        [head, note, shown],
        **QUIET,
    )


def take(values: list, watched: object, gpu_name: object) -> tuple[Taken, str, bytes]:
    """Return what was compiled, and the zip of its files with a name for it.

    Raise InputError for what cannot be chosen, JobFailed for what cannot be compiled.
    """
    gpu = choose_gpu(gpu_name)
    algorithm, case = read(values, watched, interpreted=False)
    (kernels,) = compiled([ExportJob(algorithm, case, gpu)], default_time_limit())
    if isinstance(kernels, JobFailed):
        raise kernels
    facts = tuple(kernel.facts for kernel in kernels)
    taken = Taken(facts, command_of(algorithm, case, gpu))
    return taken, f"{algorithm}-sm_{gpu.sm}.zip", zipped(kernels)


def zipped(kernels: tuple[Exported, ...]) -> bytes:
    """Return the files of all kernels in one zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files_of(kernels).items():
            archive.writestr(name, content)
    return packed.getvalue()


def draw(taken: Taken, language: str) -> list:
    """Return the table of facts, each kernel's arguments closed until asked for, the command."""
    heads = [
        text(language, "run.export.kernel"),
        *(text(language, key) for key in COLUMNS.values()),
    ]
    heads.append(text(language, "run.export.grid"))
    lines = []
    for facts in taken.facts:
        numbers = (facts["launch"][name] for name in COLUMNS)
        told = ["–" if number is None else str(number) for number in numbers]
        lines.append([_stem(facts), *told, _grid(facts)])
    nodes: list = [["div", {"class": "bw-scroll"}, tables.table(heads, lines, "bw-numbers")]]
    for key in sorted({key for facts in taken.facts for key in facts["notes"]}):
        nodes.append(["p", {"class": "bw-how"}, text(language, f"run.export.note.{key}")])
    nodes += [_arguments(facts, language) for facts in taken.facts]
    summary = ["summary", {}, text(language, "run.export.command")]
    code = ["pre", {"class": "bw-code"}, taken.command]
    return [*nodes, ["details", {"class": "bw-details"}, summary, code]]


def _stem(facts: Mapping) -> str:
    """Return what the kernel's files are called."""
    return facts["files"]["cubin"].removesuffix(".cubin")


def _grid(facts: Mapping) -> str:
    """Return the grid's rule and what it comes to: "n_rows = 8"."""
    pairs = list(zip(facts["grid"]["rule"], facts["grid"]["here"], strict=True))
    while len(pairs) > 1 and pairs[-1][0] == "1":
        pairs.pop()
    return " × ".join(_equals(rule, n) for rule, n in pairs)


def _equals(rule: str, value: object) -> str:
    """Return "n_rows = 8"; a rule that is the number itself is said once."""
    return rule if rule == str(value) else f"{rule} = {value}"


def _arguments(facts: Mapping, language: str) -> list:
    """Return the arguments in the order of the cubin, as a table that opens."""
    names = [text(language, f"run.export.argument.{key}") for key in ("name", "type", "given")]
    lines = []
    for argument in facts["arguments"]:
        kind = argument["c_type"]
        if "points_to" in argument:
            kind += f" → {argument['points_to']}"
        given = str(argument.get("value", ""))
        if "rule" in argument:
            given = _equals(argument["rule"], argument["value"])
        elif "tensor" in argument:
            given = f"{argument['tensor']} {argument['shape']}"
        elif argument.get("role") == "scratch":
            given = text(language, "run.export.scratch", n=argument["bytes_per_program"])
        if "divisible_by" in argument:
            given += f" · {text(language, 'run.export.divisible', n=argument['divisible_by'])}"
        lines.append([argument["name"], kind, given])
    title = text(language, "run.export.arguments", kernel=_stem(facts), n=len(lines))
    listed = tables.table(names, lines, "bw-numbers bw-export-arguments")
    told = ["div", {"class": "bw-scroll"}, listed]
    return ["details", {"class": "bw-details"}, ["summary", {}, title], told]


def _head(language: str) -> list:
    """Return the section's name and what it is for."""
    return [tables.head(text(language, "run.export"), text(language, "run.export.how"))]


def _lacking(package: str, language: str) -> list:
    """Return the sentence that says why nothing can be compiled here, or nothing."""
    if not package:
        return []
    return [["p", {"class": "bw-how"}, text(language, f"run.export.failed.no_{package}")]]


def _sentence(error: InputError | JobFailed, language: str) -> str:
    """Return what went wrong, in the visitor's language."""
    if isinstance(error, InputError):
        return error_sentence(language, f"error.{error.key}", error.details, str(error))
    key = f"run.export.failed.{error.kind}"
    fallback = error_sentence(language, f"failed.{error.kind}", error.details, str(error))
    return error_sentence(language, key, error.details, fallback)
