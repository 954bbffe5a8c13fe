"""The Landscape tab's components and what of them follows the operation."""

from __future__ import annotations

import gradio as gr

from benchmarks.operations import OPERATIONS
from benchmarks.sweep_results import LandscapeCase
from kernels.inputs import DTYPES
from viz.locales import text
from viz.tabs.measure.files import build_actions
from viz.tabs.measure.landscape_cells import VIEWS, Look, operations, size_of
from viz.tabs.measure.measured import MeasuredTab, build_controls
from viz.tabs.measure.memory import masks
from viz.tabs.measure.speed_lines import default_view
from viz.tabs.note import Note
from viz.tabs.page import dropdown

FIELDS = (
    *("operation", "size", "dtype", "view", "up", "flat"),
    *("rows", "batch", "heads", "head_dim", "mask", "chosen"),
)
UPDATE = {"__type__": "update"}
SHOW, HIDE = {**UPDATE, "visible": True}, {**UPDATE, "visible": False}

# A measurement fills the same places: a cell is chosen while none is under way.
_CELLS = """
function cells() { return Array.from(root.querySelectorAll('[role=button]')); }
function pick(cell) {
  if (cell && !document.querySelector('#landscape-stop')) trigger('select', { cell: cell.id });
}
function placeOf(cell) { return cell.id.split('-').slice(-2).map(Number); }
function beside(cell, up, right) {
  const [row, column] = placeOf(cell);
  let best = null, least = Infinity;
  for (const other of cells()) {
    const [toRow, toColumn] = placeOf(other);
    const ahead = (toRow - row) * up + (toColumn - column) * right;
    const aside = Math.abs((toRow - row) * right) + Math.abs((toColumn - column) * up);
    if (ahead > 0 && aside === 0 && ahead < least) { best = other; least = ahead; }
  }
  return best;
}
const STEPS = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
root.addEventListener('click', (event) => pick(event.target.closest('[role=button]')));
root.addEventListener('keydown', (event) => {
  const cell = event.target.closest('[role=button]');
  if (!cell) return;
  if (event.key === 'Enter' || event.key === ' ') pick(cell);
  else if (STEPS[event.key]) (beside(cell, ...STEPS[event.key]) || cell).focus();
  else return;
  event.preventDefault();
});
"""


class HeatMap(Note):
    """A map whose cells can be chosen; fires ``select`` with the id of a cell."""

    script = _CELLS


def operation_choices(language: str) -> list[tuple[str, str]]:
    """Return the operations that have a landscape, with their names."""
    return [(text(language, f"measure.operation.{name}"), name) for name in operations()]


def view_choices(language: str) -> list[tuple[str, str]]:
    """Return the views with their names: units as they are, the rest in words."""
    words = {name: text(language, f"landscape.view.{name}") for name in VIEWS[3:]}
    return [(words.get(view, view), view) for view in VIEWS]


def control_updates(
    case: LandscapeCase, names: tuple[str, ...], look: Look, sizes: list[str]
) -> dict[str, dict]:
    """Return the controls as a case has them: which there are, and what they may be.

    names   the settings that vary
    sizes   that are offered; any other can be typed
    """
    about = OPERATIONS[case.operation]
    is_row, is_attention = "n_rows" in about.axes, about.algorithm.problem == "attention"
    shown = {"rows": is_row, **dict.fromkeys(("batch", "heads", "head_dim"), is_attention)}
    shown["mask"] = is_attention and about.axes[0] == "seq"
    axes = {
        side: {**UPDATE, "choices": list(names), "value": value, "visible": len(names) > 1}
        for side, value in (("up", look.up), ("flat", look.flat))
    }
    return {
        "size": {**UPDATE, "choices": sizes, "label": size_of(case)[0]},
        **axes,
        **{name: SHOW if is_shown else HIDE for name, is_shown in shown.items()},
    }


def build_screen(page, first: dict[str, object]) -> MeasuredTab:
    """Build every component, empty: the first picture is drawn when the tab is opened.

    first   where the controls begin, by name
    """
    operation = operations()[0]
    labels = {"up": "landscape.up", "flat": "landscape.flat", "rows": "measure.rows"}

    def labelled(name: str, component):
        return page.label(component, label=labels[name])

    fields = {
        "operation": lambda: page.label(
            dropdown(operation_choices("en"), operation),
            operation_choices,
            label="measure.operation",
        ),
        "size": lambda: dropdown([first["size"]], first["size"], label="N"),
        "dtype": lambda: dropdown(list(DTYPES), first.get("dtype", "bfloat16"), label="dtype"),
        "view": lambda: page.label(
            dropdown(view_choices("en"), default_view(operation)),
            view_choices,
            label="measure.view",
        ),
        "up": lambda: labelled("up", dropdown([], "")),
        "flat": lambda: labelled("flat", dropdown([], "")),
        "rows": lambda: labelled("rows", gr.Textbox(first["rows"], max_lines=1)),
        "batch": lambda: gr.Number(1, label="batch", visible=False),
        "heads": lambda: gr.Number(16, label="heads", visible=False),
        "head_dim": lambda: gr.Number(64, label="head_dim", visible=False),
        "mask": lambda: page.label(
            dropdown(masks("en"), "none", visible=False), masks, label="memory.mask"
        ),
    }
    built, measure, stop = build_controls(page, "landscape", fields)
    note = Note(live=True, elem_id="landscape-note")
    parts = _build_ask(page) | _build_parts(page)
    built["chosen"] = parts["chosen"]
    kept = gr.State(None)
    # Controls are parts too: another operation has others, and a click chooses.
    parts |= {name: built[name] for name in FIELDS[1:]} | {"measured": kept}
    return MeasuredTab("landscape", built, measure, stop, note, parts, kept, ("operation",))


def _build_ask(page) -> dict[str, gr.components.Component]:
    """Build the form that asks for a guess."""
    with gr.Column(visible=False, elem_id="landscape-ask") as ask:
        question = Note(elem_id="landscape-question")
        with gr.Row(elem_id="landscape-ask-row"):
            guess_up = dropdown([], "", elem_id="landscape-guess-up")
            guess_flat = dropdown([], "", elem_id="landscape-guess-flat")
            show = gr.Button("", variant="primary", elem_id="landscape-guess-show")
            skip = gr.Button("", elem_id="landscape-guess-skip")
    return {
        "ask": ask,
        "question": question,
        "guess_up": guess_up,
        "guess_flat": guess_flat,
        "guess_show": page.label(show, value="landscape.ask.show"),
        "guess_skip": page.label(skip, value="measure.ask.skip"),
    }


def _build_parts(page) -> dict[str, gr.components.Component]:
    """Build the two columns and what can be done with a landscape."""
    parts: dict[str, gr.components.Component] = {}
    with gr.Row(elem_id="landscape-page"):
        with gr.Column(min_width=0, elem_id="landscape-left"):
            parts["headline"] = Note(elem_id="landscape-headline")
            parts["guessed"] = Note(elem_id="landscape-guessed")
            parts["map"] = HeatMap(elem_id="landscape-map")
            parts["key"] = Note(elem_id="landscape-key")
        with gr.Column(min_width=0, elem_id="landscape-right"):
            parts["card"] = Note(elem_id="landscape-card")
            chosen = dropdown([], "", visible=False, elem_id="landscape-chosen")
            parts["chosen"] = page.label(chosen, label="landscape.chosen")
            parts["about"] = Note(elem_id="landscape-about")
            parts["recorded"] = Note(elem_id="landscape-recorded")
    parts["table"] = Note(elem_id="landscape-table")
    words = {"csv": "run.csv", "json": "run.json", "again": "measure.ask.again"}
    parts["actions"], buttons = build_actions(page, "landscape", words)
    parts |= buttons
    return parts
