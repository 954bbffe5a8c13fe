"""The Run tab's controls: what is to be run, and how a choice becomes a checked Case.

The bounds of the widgets are for people. Whatever arrives is checked again by `choose_case`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import gradio as gr

from kernels import ALGORITHMS
from kernels.inputs import DTYPES, OWN_NUMBERS, PRESETS, Case, choose_case, one_of
from viz.figures.prose import name_of
from viz.locales import text
from viz.tabs.note import Note
from viz.tabs.page import dropdown

SOURCES = ("watched", "larger")
# A case that the interpreter does in a few seconds, whose last block is partly masked, and any row
# of which Watch can draw.
LARGER = {"preset": "normal", "n_rows": 40, "n_cols": 500, "block": 64, "head_dim": 16}
BLOCKS = [2**k for k in range(14)]
WARPS = [1, 2, 4, 8, 16, 32]
FIELDS = ("algorithm", "preset", "dtype", "n_rows", "n_cols", "head_dim", "block", "warps", "seed")


@dataclass(frozen=True)
class Form:
    """The controls, by name, in the order they stand."""

    source: gr.Dropdown
    fields: dict[str, gr.components.Component]
    run: gr.Button
    stop: gr.Button
    hint: Note

    @property
    def inputs(self) -> list:
        """The components that a run reads, in the order of `read`."""
        return [self.source, *(self.fields[name] for name in FIELDS)]

    @property
    def adapted(self) -> list:
        """What `adapt` returns updates for, in its order."""
        return [*(self.fields[name] for name in FIELDS), self.hint]


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
                dropdown(presets("en", True), "normal"),
                label="run.preset",
            ),
            "dtype": dropdown(list(DTYPES), "float32", label="dtype"),
            "n_rows": gr.Number(1, label="n_rows"),
            "n_cols": gr.Number(32, label="n_cols"),
            "head_dim": gr.Number(4, label="head_dim"),
            "block": dropdown(BLOCKS, 4, label="BLOCK_N"),
            "warps": dropdown(WARPS, 4, label="num_warps"),
            "seed": gr.Number(7, label="seed"),
        }
        for name, component in fields.items():
            component.elem_id = f"run-{name}"
        run = page.label(gr.Button("", variant="primary", elem_id="run-kernel"), value="run.button")
        stop = page.label(gr.Button("", elem_id="run-stop", visible=False), value="run.stop")
    return Form(source, fields, run, stop, Note(elem_id="run-hint"))


def sources(language: str) -> list[tuple[str, str]]:
    """Return the two sources with their names."""
    return [(text(language, f"run.source.{name}"), name) for name in SOURCES]


def algorithms(language: str) -> list[tuple[str, str]]:
    """Return every algorithm with its name."""
    return [(name_of(language, f"algorithm.{name}.title", name), name) for name in ALGORITHMS]


def presets(language: str, with_own: bool) -> list[tuple[str, str]]:
    """Return every preset with its name; pasted numbers only where those are being watched."""
    names = (*PRESETS, OWN_NUMBERS) if with_own else PRESETS
    return [(text(language, f"preset.{name}"), name) for name in names]


def shown_choice(watched: Mapping) -> dict[str, object]:
    """Return the values that the controls show for the numbers being watched."""
    return {
        "algorithm": watched.get("algorithm", next(iter(ALGORITHMS))),
        "preset": watched.get("preset", "normal"),
        "dtype": watched.get("dtype", "float32"),
        "n_rows": 1,
        "n_cols": watched.get("n_cols", 32),
        "head_dim": watched.get("head_dim", 4),
        "block": watched.get("block", 4),
        "seed": watched.get("seed", 7),
    }


def adapt(source: object, algorithm: object, watched: Mapping, language: str, fresh: bool) -> list:
    """Return updates for `Form.adapted`: what can be chosen, what is shown, and why not.

    ``fresh`` says that the source was just chosen, so that the larger case starts from its own
    sizes instead of the watched ones.
    """
    larger = source == "larger"
    values: dict[str, object] = {} if larger else shown_choice(watched)
    if larger and fresh:
        values = dict(LARGER)
    entry = ALGORITHMS.get(str(values.get("algorithm", algorithm)), next(iter(ALGORITHMS.values())))
    updates = []
    for name in FIELDS:
        can = larger or name == "warps"
        if name == "head_dim":
            can = can and entry.has_values
        if name == "block":
            can = can and not entry.whole_row
        update = {"interactive": can}
        if name in values:
            update["value"] = values[name]
        if name == "preset":
            update["choices"] = presets(language, with_own=not larger)
        updates.append(gr.update(**update))
    hint = text(language, "run.whole_row") if larger and entry.whole_row else ""
    return [*updates, [["p", {"class": "bw-how"}, hint]] if hint else []]


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
    if not entry.has_values:
        given["head_dim"] = 1  # a disabled control must not be what a run fails on
    if entry.whole_row:
        given["block"] = 1 << min(13, max(0, _width(given["n_cols"]) - 1).bit_length())
    case = choose_case(
        given["preset"],
        given["n_rows"],
        given["n_cols"],
        given["block"],
        given["head_dim"],
        given["dtype"],
        given["warps"],
        given["seed"],
        given.get("numbers", ""),
        with_values=entry.has_values,
        interpreted=interpreted,
    )
    return algorithm, case


def _width(n_cols: object) -> int:
    """Return ``n_cols`` where it is a usable number; what it is otherwise is said elsewhere."""
    is_number = isinstance(n_cols, int | float) and not isinstance(n_cols, bool)
    return int(n_cols) if is_number and 0 < n_cols < 2**31 else 1


def as_text(numbers: object) -> object:
    """Return a sequence of numbers as the text that `read_numbers` reads; text stays."""
    if isinstance(numbers, tuple | list):
        return " ".join(repr(number) for number in numbers)
    return numbers
