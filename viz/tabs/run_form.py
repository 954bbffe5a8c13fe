"""The Run tab's controls: what is to be run, and how a choice becomes a checked Case.

The bounds of the widgets are for people. Whatever arrives is checked again by `choose_case` and
`choose_tile_case`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import gradio as gr

from kernels import ALGORITHMS, tile_inputs
from kernels.algorithm import Algorithm
from kernels.inputs import (
    DTYPES,
    MAX_RUN_BLOCK,
    OWN_NUMBERS,
    PRESETS,
    Case,
    choose_case,
    one_of,
)
from kernels.tile_inputs import MASKS, choose_tile_case
from kernels.tiles import next_power_of_two
from viz.locales import text
from viz.tabs.note import Note
from viz.tabs.page import algorithms, dropdown
from viz.tabs.run_sizes import (
    FIELDS,
    HEADS,
    LARGER,
    ROW_BLOCKS,
    SIZES,
    STAGES,
    TILE_BLOCKS,
    TILE_WARPS,
    WARPS,
    kind_of,
    powers,
    runnable,
    sizes_of,
)

SOURCES = ("watched", "larger")


@dataclass(frozen=True)
class Form:
    """The controls, by name, in the order they stand.

    ``sized`` holds the kind whose larger sizes the controls were last filled with, "" if what is
    watched was last: sizes that someone typed stay while they fit.
    """

    source: gr.Dropdown
    fields: dict[str, gr.components.Component]
    run: gr.Button
    stop: gr.Button
    hint: Note
    sized: gr.State

    @property
    def inputs(self) -> list:
        """The components that a run reads, in the order of `read`."""
        return [self.source, *(self.fields[name] for name in FIELDS)]

    @property
    def adapted(self) -> list:
        """What `adapt` returns updates for, in its order."""
        return [*(self.fields[name] for name in FIELDS), self.hint, self.sized]


def build_form(page) -> Form:
    """Build the row of controls."""
    watched = page.watch_choice.value or {}
    algorithm = watched.get("algorithm") or next(iter(ALGORITHMS))
    with gr.Row(elem_id="run-controls"):
        source = page.label(
            dropdown(sources("en"), "watched", elem_id="run-source"),
            sources,
            label="run.source",
        )
        fields = {
            "algorithm": page.label(
                dropdown(algorithms("en"), algorithm),
                algorithms,
                label="run.algorithm",
            ),
            "preset": page.label(
                dropdown(presets("en", PRESETS), "normal"),
                label="run.preset",
            ),
            "dtype": dropdown(list(DTYPES), "float32", label="dtype"),
            **{name: _size(page, name) for name in SIZES},
            "warps": dropdown(WARPS, 4, label="num_warps"),
            "stages": dropdown(STAGES, 2, label="num_stages"),
            "seed": gr.Number(7, label="seed"),
        }
        for name, component in fields.items():
            component.elem_id = f"run-{name}"
        run = page.label(gr.Button("", variant="primary", elem_id="run-kernel"), value="run.button")
        stop = page.label(gr.Button("", elem_id="run-stop", visible=False), value="run.stop")
    return Form(source, fields, run, stop, Note(elem_id="run-hint"), gr.State(""))


def _size(page, name: str) -> gr.components.Component:
    """Return the control of one size, hidden where rows, which come first, do not have it."""
    shown = name in sizes_of(next(iter(ALGORITHMS.values())))
    field = tile_inputs.FIELDS.get(name)
    label = field.label if field else name
    if name == "mask":
        made = dropdown(masks("en"), MASKS[0], visible=shown)
        return page.label(made, masks, label="run.mask")
    first = next(sizes[name] for sizes in LARGER.values() if name in sizes)
    if field and field.kind == "power":
        return dropdown(powers(name), first, label=label, visible=shown)
    return gr.Number(first, label=label, visible=shown)


def sources(language: str) -> list[tuple[str, str]]:
    """Return the two sources with their names."""
    return [(text(language, f"run.source.{name}"), name) for name in SOURCES]


def presets(language: str, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return presets with their names."""
    return [(text(language, f"preset.{name}"), name) for name in names]


def masks(language: str) -> list[tuple[str, str]]:
    """Return both masks with their names."""
    return [(text(language, f"run.mask.{name}"), name) for name in MASKS]


def _presets_of(entry: Algorithm, watched: bool) -> tuple[str, ...]:
    """Return the presets an algorithm takes; pasted numbers only where those are watched."""
    if entry.problem != "row":
        return tile_inputs.PRESETS
    return (*PRESETS, OWN_NUMBERS) if watched else PRESETS


def entry_of(algorithm: object) -> Algorithm:
    """Return the algorithm of that name, or the first one."""
    known = isinstance(algorithm, str) and algorithm in ALGORITHMS
    return ALGORITHMS[algorithm if known else next(iter(ALGORITHMS))]


def shown_choice(watched: Mapping) -> dict[str, object]:
    """Return the values that the controls show for the numbers being watched."""
    entry = entry_of(watched.get("algorithm"))
    values = {
        "algorithm": watched.get("algorithm", entry.name),
        "preset": watched.get("preset", "normal"),
        "dtype": watched.get("dtype", "float32"),
        "seed": watched.get("seed", 7),
    }
    if entry.problem == "row":
        sizes = {"n_cols": 32, "head_dim": 4, "block": 4}
        return {**values, "n_rows": 1, **{n: watched.get(n, sizes[n]) for n in sizes}}
    for name in entry.fields:
        otherwise = entry.defaults.get(name, getattr(Case(), name))
        values[name] = runnable(name, watched.get(name, otherwise))
    return values | (dict.fromkeys(HEADS, 1) if entry.problem == "attention" else {})


def adapt(source: object, algorithm: object, watched: Mapping, language: str, sized: str) -> list:
    """Return updates for `Form.adapted`: what can be chosen, what is shown, and why not.

    The larger case starts from its own sizes when it is chosen, and when the kind changes.
    """
    larger = source == "larger"
    values: dict[str, object] = {} if larger else shown_choice(watched)
    entry = entry_of(values.get("algorithm", algorithm))
    kind = kind_of(entry)
    if larger and sized != kind:
        values = dict(LARGER[kind])
    shown = sizes_of(entry)
    updates = []
    for name in FIELDS:
        can = larger or name in ("warps", "stages")
        if entry.problem == "row":
            can = can and not (name == "head_dim" and not entry.has_values)
            can = can and not (name == "block" and entry.whole_row)
        update: dict[str, object] = {"interactive": can}
        if name in SIZES:
            update["visible"] = name in shown
        if name == "stages":
            update["visible"] = entry.problem != "row"
        if name in values:
            update["value"] = values[name]
        if name == "preset":
            update["choices"] = presets(language, _presets_of(entry, not larger))
        if name == "warps":
            update["choices"] = WARPS if entry.problem == "row" else TILE_WARPS
        if name == "block":
            update["choices"] = ROW_BLOCKS if entry.problem == "row" else powers(name)
        updates.append(gr.update(**update))
    hint = _hint(entry, larger, watched, values, language)
    said = [["p", {"class": "bw-how"}, hint]] if hint else []
    return [*updates, said, kind if larger else ""]


def _hint(entry: Algorithm, larger: bool, watched: Mapping, values: Mapping, language: str) -> str:
    """Return the sentence that says why something is not as it was chosen, or ""."""
    if larger:
        return text(language, "run.whole_row") if entry.whole_row else ""
    blocks = [name for name in TILE_BLOCKS if name in entry.fields and entry.problem != "row"]
    seen = [watched.get(name, values[name]) for name in blocks]
    used = [values[name] for name in blocks]
    if seen == used:
        return ""
    told = {"used": " × ".join(map(str, used)), "watched": " × ".join(map(str, seen))}
    return text(language, "run.small_blocks", **told)


def read(values: list, watched: object, interpreted: bool) -> tuple[str, Case]:
    """Return the algorithm's name and the checked Case of ``values``, as `Form.inputs` lists them.

    Raise InputError at the first fault.
    """
    source, *rest = values
    given = dict(zip(FIELDS, rest, strict=True))
    if one_of("source", source, SOURCES) == "watched":
        watched = watched if isinstance(watched, Mapping) else {}
        given |= shown_choice(watched)
        given["numbers"] = as_text(watched.get("numbers", ""))
    algorithm = one_of("algorithm", given.pop("algorithm"), tuple(ALGORITHMS))
    entry = ALGORITHMS[algorithm]
    given["num_warps"], given["num_stages"] = given.pop("warps"), given.pop("stages")
    if entry.problem != "row":
        return algorithm, choose_tile_case(entry, given, interpreted=interpreted)
    return algorithm, _row_case(entry, given, interpreted)


def _row_case(entry: Algorithm, given: dict[str, object], interpreted: bool) -> Case:
    """Return the checked Case of an algorithm that takes rows."""
    if not entry.has_values:
        given["head_dim"] = 1  # a disabled control must not be what a run fails on
    if entry.whole_row:
        given["block"] = min(MAX_RUN_BLOCK, next_power_of_two(_width(given["n_cols"])))
    names = ("preset", "n_rows", "n_cols", "block", "head_dim", "dtype", "num_warps", "seed")
    return choose_case(
        *(given[name] for name in names),
        given.get("numbers", ""),
        with_values=entry.has_values,
        interpreted=interpreted,
        shares_rows=entry.shares_rows,
    )


def _width(n_cols: object) -> int:
    """Return ``n_cols`` where it is a usable number; what it is otherwise is said elsewhere."""
    is_number = isinstance(n_cols, int | float) and not isinstance(n_cols, bool)
    return int(n_cols) if is_number and 0 < n_cols < 2**31 else 1


def as_text(numbers: object) -> object:
    """Return a sequence of numbers as the text that `read_numbers` reads; text stays."""
    if isinstance(numbers, tuple | list):
        return " ".join(repr(number) for number in numbers)
    return numbers
