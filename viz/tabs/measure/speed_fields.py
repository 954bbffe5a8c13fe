"""The Speed tab's controls: what each may be, and what they are for another operation or run."""

from __future__ import annotations

import gradio as gr

from benchmarks.operations import NAMES, OPERATIONS
from benchmarks.sweep_choice import SIZES
from benchmarks.sweep_results import SweepCase, SweepRun
from kernels.inputs import DTYPES
from kernels.tile_inputs import MASKS
from viz.locales import text
from viz.tabs.measure.speed_lines import VIEWS, default_view
from viz.tabs.measure.speed_runs import MOST_SWEEPS, key_of, run_choices, values_text
from viz.tabs.page import dropdown

# The controls in the order in which handlers get them.
FIELDS = (
    *("operation", "axis", "values", "dtype", "providers", "runs", "view", "reference"),
    *("rows", "cols", "seq", "batch", "heads", "head_dim", "n_splits", "mask", "hot"),
)
SIZE_FIELDS = ("rows", "cols", "seq", "batch", "heads", "head_dim", "n_splits", "mask", "hot")
NUMBERS = {"cols": 4096, "seq": 4096, "batch": 1, "heads": 16, "head_dim": 64, "n_splits": 16}
LABELS = {"cols": "N", "n_splits": "splits"}
USUAL = ("ours", "torch", "compile", "sdpa_flash", "sdpa_cudnn", "flash")
# By axis: what a visitor finds there where nothing has been recorded.
VALUES = {
    "n_cols": "256..65536 x2",
    "n_rows": "1024..262144 x4",
    "seq": "512..16384 x2",
    "seq_k": "1024..131072 x2",
    "size": "256..8192 x2",
    "head_dim": "32, 64, 96, 128, 192, 256",
    "heads": "1..64 x2",
    "batch": "1..64 x2",
    "n_splits": "1..64 x2",
}


def named(values: list) -> dict:
    """Return the controls' values by name."""
    return dict(zip(FIELDS, values, strict=True))


def operations(language: str) -> list[tuple[str, str]]:
    """Return every operation with its name."""
    return [(text(language, f"measure.operation.{name}"), name) for name in OPERATIONS]


def axes(operation: str) -> list[tuple[str, str]]:
    """Return the sizes that can vary, by the names that they have on the page."""
    return [(SIZES[axis][0], axis) for axis in OPERATIONS[operation].axes]


def provider_choices(operation: str) -> list[tuple[str, str]]:
    """Return an operation's providers with their exact names."""
    return [(NAMES[name], name) for name in OPERATIONS[operation].providers]


def usual(operation: str) -> list[str]:
    """Return the providers that are shown unless others are chosen; all where few are usual."""
    found = [name for name in OPERATIONS[operation].providers if name in USUAL]
    return found if len(found) > 1 else list(OPERATIONS[operation].providers)


def views(language: str) -> list[tuple[str, str]]:
    """Return the views with their names."""
    ratio = text(language, "measure.view.ratio")
    return [(ratio if view == "ratio" else view, view) for view in VIEWS]


def masks(language: str) -> list[tuple[str, str]]:
    """Return both masks with their names."""
    return [(text(language, f"memory.mask.{mask}"), mask) for mask in MASKS]


def values_label(axis: str, language: str) -> str:
    """Return the label of the values: which size it is."""
    return text(language, "measure.values", name=SIZES[axis][0])


def visible(operation: str, axis: str) -> dict[str, bool]:
    """Return which sizes an operation has that do not vary."""
    about = OPERATIONS[operation]
    is_row, is_attention = "n_rows" in about.axes, about.algorithm.problem == "attention"
    is_decode = "n_splits" in about.axes
    return {
        "rows": is_row and axis != "n_rows",
        "cols": is_row and axis != "n_cols",
        "seq": is_attention and axis not in ("seq", "seq_k"),
        "batch": is_attention and axis != "batch",
        "heads": is_attention and axis != "heads",
        "head_dim": is_attention and axis != "head_dim",
        "n_splits": is_decode and axis != "n_splits",
        "mask": is_attention and not is_decode,
    }


def for_operation(operation: str, language: str) -> dict:
    """Return the controls as another operation has them, but for its sizes."""
    choices = provider_choices(operation)
    others = [name for name in usual(operation) if name not in ("ours", "flash")]
    sizes, axis = axes(operation), OPERATIONS[operation].axes[0]
    return {
        "axis": gr.update(choices=sizes, value=axis),
        "providers": gr.update(choices=choices, value=usual(operation)),
        "reference": gr.update(choices=choices, value=(others or ["ours"])[0]),
        "view": gr.update(value=default_view(operation)),
    }


def for_axis(operation: str, axis: str, runs: list[SweepRun], language: str) -> dict:
    """Return sizes and recorded runs for another axis: as the newest run has them, or as usual."""
    shown = {name: {"visible": is_shown} for name, is_shown in visible(operation, axis).items()}
    sizes: dict[str, dict] = {}
    picked = []
    values = VALUES[axis]
    if runs:
        picked, sizes, values = [key_of(runs[0])], of_case(runs[0].case), values_text(runs[:1])
    return {
        "values": gr.update(value=values, label=values_label(axis, language)),
        "runs": gr.update(choices=run_choices(runs, language), value=picked),
        **{
            name: gr.update(**shown.get(name, {}), **sizes.get(name, {}))
            for name in {**shown, **sizes}
        },
    }


def of_case(case: SweepCase) -> dict[str, dict]:
    """Return the sizes that a run has, each as what is set of its control."""
    sizes = case.sizes
    rows = f"{sizes.n_rows}" if case.fixed_rows and case.axis != "n_rows" else ""
    found: dict[str, object] = {"rows": rows, "hot": case.is_hot, "mask": sizes.mask}
    about = OPERATIONS[case.operation]
    if "n_rows" in about.axes:
        found["cols"] = sizes.n_cols
    elif about.algorithm.problem == "attention":
        found |= {"seq": sizes.seq_k, "batch": sizes.batch, "heads": sizes.heads}
        found |= {"head_dim": sizes.head_dim, "n_splits": sizes.n_splits}
    varying = {"n_cols": "cols", "seq_k": "seq"}.get(case.axis, case.axis)
    found.pop(varying, None)
    return {name: {"value": value} for name, value in found.items()}


def build_first_row(page, operation: str, values: str) -> dict:
    """Build what everyone sets."""
    axis = OPERATIONS[operation].axes[0]
    return {
        "operation": page.label(
            dropdown(operations("en"), operation), operations, label="measure.operation"
        ),
        "axis": page.label(dropdown(axes(operation), axis), label="measure.axis"),
        "values": gr.Textbox(
            values, label=values_label(axis, "en"), placeholder="256..65536x2", max_lines=1
        ),
        "dtype": dropdown(list(DTYPES), "bfloat16", label="dtype"),
        "providers": page.label(
            dropdown(
                provider_choices(operation), usual(operation), multiselect=True, max_choices=30
            ),
            label="measure.providers",
        ),
    }


def build_second_row(page, operation: str, runs: list[SweepRun]) -> dict:
    """Build which recorded runs are drawn and how, and the sizes that do not vary."""
    is_shown = visible(operation, OPERATIONS[operation].axes[0])
    picked = [key_of(run) for run in runs[:1]]
    built = {
        "runs": page.label(
            dropdown(run_choices(runs, "en"), picked, multiselect=True, max_choices=MOST_SWEEPS),
            label="measure.runs",
        ),
        "view": page.label(
            dropdown(views("en"), default_view(operation)), views, label="measure.view"
        ),
        "reference": page.label(
            dropdown(provider_choices(operation), "torch", visible=False),
            label="measure.reference",
        ),
        "rows": page.label(
            gr.Textbox("", max_lines=1, visible=is_shown["rows"]), label="measure.rows"
        ),
    }
    for name, usual_size in NUMBERS.items():
        label = LABELS.get(name, name)
        built[name] = gr.Number(usual_size, label=label, visible=is_shown[name])
    built["mask"] = page.label(
        dropdown(masks("en"), "none", visible=is_shown["mask"]), masks, label="memory.mask"
    )
    built["hot"] = page.label(gr.Checkbox(False), label="measure.hot")
    return built
