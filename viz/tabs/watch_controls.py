"""The row of controls over the Watch tab: one for every field, of which those that count are seen.

All of them are in the page from the start. A change of algorithm shows and hides them in the same
message that brings the new picture, so that nothing jumps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import gradio as gr

from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.inputs import DTYPES, MAX_BLOCK, OWN_NUMBERS
from kernels.problems import presets_for
from kernels.tile_inputs import FIELDS, MASKS
from viz.locales import text
from viz.tabs.link import spell
from viz.tabs.page import Page, algorithms, dropdown
from viz.tabs.watch_state import NOTHING, START, WatchState, rivals

# In the order they stand. What an algorithm does not read is hidden.
SIZES = ("n_cols", "seq_q", "seq_k", "size_m", "size_n", "size_k")
BLOCKS = ("block_m", "block", "block_k")
REST = ("group_m", "head_dim", "mask", "n_splits")
MONO = "bw-mono"  # named as in the code


class Controls:
    """The components, what they hold, and what a state makes of them."""

    def __init__(self, page: Page) -> None:
        """Lay out the controls for the state that the page opens with."""
        self.page = page
        state = WatchState()
        self.setup = gr.Button(setup_label(state), elem_id="watch-setup", size="md")
        with gr.Row(elem_id="watch-controls"):
            self.algorithm = page.label(
                dropdown(algorithms("en"), state.algorithm, elem_id="watch-algorithm"),
                algorithms,
                label="watch.algorithm",
            )
            self.preset = page.label(
                dropdown(_presets("en", state.entries[0]), START.preset, elem_id="watch-preset"),
                label="watch.preset",
            )
            self.fields = {name: self._field(name, state) for name in (*SIZES, *BLOCKS, *REST)}
            self.dtype = dropdown(
                list(DTYPES), START.dtype, label="dtype", elem_id="watch-dtype", elem_classes=MONO
            )
            self.seed = page.label(gr.Number(START.seed, elem_id="watch-seed"), label="watch.seed")
            self.compare = page.label(
                dropdown(_rivals("en", state.entries[0]), NOTHING, elem_id="watch-compare"),
                label="watch.compare",
            )
            self.own = page.label(gr.Button(elem_id="watch-own"), value="watch.own")
        with gr.Row(visible=False, elem_id="watch-numbers-row") as self.numbers_row:
            self.numbers = page.label(
                gr.Textbox(lines=2, max_lines=6, elem_id="watch-numbers"), label="watch.numbers"
            )
        first = ("n_cols", "block", "head_dim")  # the order is part of the API: new ones follow
        self.named: dict[str, gr.components.Component] = {
            "algorithm": self.algorithm,
            "preset": self.preset,
            **{name: self.fields[name] for name in first},
            "dtype": self.dtype,
            "seed": self.seed,
            "numbers": self.numbers,
            "compare": self.compare,
            **{name: made for name, made in self.fields.items() if name not in first},
        }

    def _field(self, name: str, state: WatchState) -> gr.components.Component:
        """Return the control of one field."""
        label = FIELDS[name].label if name in FIELDS else "N"
        settings = {
            "label": label,
            "elem_id": f"watch-{name}",
            "elem_classes": MONO,
            "visible": True if name in state.reads else "hidden",
        }
        value = getattr(state.choice, name)
        if name == "mask":
            return self.page.label(dropdown(_masks("en"), value, **settings), _masks)
        if name in BLOCKS:
            return dropdown(_blocks(name, state.entries[0].problem), value, **settings)
        return gr.Number(value, **settings)

    @property
    def inputs(self) -> list[gr.components.Component]:
        """What a handler is given, in the order of `given`."""
        return list(self.named.values())

    @property
    def plain(self) -> list[gr.components.Component]:
        """The controls that change nothing about the others."""
        return [*self.fields.values(), self.dtype, self.seed]

    @property
    def outputs(self) -> list[gr.blocks.Block]:
        """What `updates` may change."""
        return [*self.inputs, self.own, self.numbers_row]

    def given(self, values: Sequence[object]) -> dict[str, object]:
        """Return what the controls hold, by name, unchecked."""
        return dict(zip(self.named, values, strict=True))

    def updates(self, state: WatchState, values: Mapping[str, object] | None = None) -> dict:
        """Return what a checked state changes: which controls count, and ``values`` if given."""
        entries, choice = state.entries, state.choice
        entry, own = entries[0], choice.preset == OWN_NUMBERS
        props: dict = {
            made: {"visible": True if name in state.reads else "hidden"}
            for name, made in self.fields.items()
        }
        props[self.fields["n_cols"]] |= {"interactive": not own}
        props[self.fields["n_cols"]] |= {"value": choice.n_cols} if own else {}
        props[self.fields["block"]] |= {
            "choices": _blocks("block", entry.problem),
            "interactive": not all(e.whole_row for e in entries),
        }
        props[self.fields["head_dim"]] |= {
            "interactive": any(e.has_values or e.problem != "row" for e in entries)
        }
        props |= self._choices(state.language, entry)
        props[self.own] = {"visible": True if entry.problem == "row" else "hidden"}
        props[self.numbers_row] = {"visible": own}
        for name, value in (values or {}).items():
            props.setdefault(self.named[name], {})["value"] = value
        return {made: gr.update(**changed) for made, changed in props.items()}

    def reworded(self, language: str, algorithm: object) -> dict:
        """Return the choices that depend on language and algorithm, whatever else is wrong."""
        entry = ALGORITHMS.get(algorithm) if isinstance(algorithm, str) else None
        changed = self._choices(language, entry) if entry else {}
        return {made: gr.update(**new) for made, new in changed.items()}

    def _choices(self, language: str, entry: Algorithm) -> dict:
        """Return the properties of what offers or says something else for every algorithm."""
        others = _rivals(language, entry)
        return {
            self.preset: {"choices": _presets(language, entry)},
            self.numbers: {"info": numbers_info(language, entry)},
            self.compare: {"choices": others, "visible": True if others[1:] else "hidden"},
        }


def held(state: WatchState) -> dict[str, object]:
    """Return what the controls hold for a checked state."""
    fields = {name: getattr(state.choice, name) for name in START.__dataclass_fields__}
    fields["numbers"] = ", ".join(map(spell, state.choice.numbers))
    return {"algorithm": state.algorithm, **fields, "compare": state.compare or NOTHING}


def numbers_info(language: str, entry: Algorithm) -> str:
    """Return how own numbers are written and, where an algorithm takes more rows, what they are."""
    info = text(language, "watch.numbers_info")
    if len(entry.rows) < 2:
        return info
    return text(language, f"watch.numbers_are.{entry.draws[entry.rows[0]]}") + info


def setup_label(state: WatchState) -> str:
    """Return the one line that stands for the controls on a phone."""
    language, choice, entry = state.language, state.choice, state.entries[0]
    title = text(language, f"algorithm.{state.algorithm}.title")
    numbers = {name: getattr(choice, name) for name in (*SIZES, *BLOCKS, *REST)}
    said = text(language, f"watch.setup.{entry.problem}", title=title, **numbers)
    if "mask" in entry.fields and choice.mask == "causal":
        said += text(language, "watch.setup.causal")
    if "n_splits" in entry.fields:
        said += text(language, "watch.setup.splits", **numbers)
    return said


def _blocks(name: str, problem: str) -> list[int]:
    """Return the powers of two that a block can be."""
    of_row = name == "block" and problem == "row"
    low, high = (1, MAX_BLOCK) if of_row else FIELDS[name].watch
    return [2**k for k in range(high.bit_length()) if 2**k >= low]


def _masks(language: str) -> list[tuple[str, str]]:
    """Return every mask as a dropdown's (text, value)."""
    return [(text(language, f"mask.{name}"), name) for name in MASKS]


def _presets(language: str, entry: Algorithm) -> list[tuple[str, str]]:
    """Return the presets of an algorithm as a dropdown's (text, value)."""
    return [(text(language, f"preset.{name}"), name) for name in presets_for(entry)]


def _rivals(language: str, entry: Algorithm) -> list[tuple[str, str]]:
    """Return what an algorithm can be compared with, nothing first."""
    others = [(text(language, f"algorithm.{name}.title"), name) for name in rivals(entry)]
    return [(text(language, "watch.compare_nothing"), NOTHING), *others]
