"""The contract of one algorithm: what a folder of ``kernels/`` must say about itself.

The page, the tests and the benchmarks iterate over ``kernels.ALGORITHMS`` and know no algorithm by
name. Each folder's ``__init__.py`` builds one `Algorithm`; its kernel stays unimported (it needs
torch and Triton) until a worker asks for ``kernel_module``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernels.trace import Trace

# A kernel marks its phases at the end of a line: ``l = l * alpha  #: rescale``. Where a kernel
# passes over the row more than once, later passes say so: ``#: load, pass 2``.
MARKER = re.compile(r"\s*#: (?P<phase>\w+)(?:, pass (?P<number>\d+))?\s*(?P<note>.*)$")


@dataclass(frozen=True)
class Shape:
    """The sizes that decide cost. ``itemsize`` is bytes an element of the inputs and outputs."""

    n_rows: int
    n_cols: int
    head_dim: int
    itemsize: int


@dataclass(frozen=True)
class Line:
    """One line of the update formula: ``target = expression``.

    The expression names variables in braces, ``exp({m} - {m_new})``: the page prints it once with
    the symbols and once with this step's numbers. ``later`` is the part of the line that a later
    phase of the same block adds.
    """

    target: str
    expression: str
    later: str = ""


@dataclass(frozen=True)
class Stanza:
    """The lines of the formula that one phase of one pass computes."""

    phase: str
    lines: tuple[Line, ...]
    pass_index: int = 0


class SourceLine(NamedTuple):
    """One line of a kernel's source as the page shows it, its marker split off."""

    number: int
    code: str
    phase: str | None
    pass_index: int


class Launch(NamedTuple):
    """What a kernel's ``launch`` returns.

    outputs     tensors by name
    state       the kernel's own variables after every block, ``[n_rows, n_blocks, fields]`` in
                float32, or None unless captured; fields are `Algorithm.captured`, and ``acc``
                stands for ``head_dim`` of them
    path        which code path ran
    n_programs  how many programs were launched
    """

    outputs: Mapping[str, object]
    state: object | None
    path: str
    n_programs: int


@dataclass(frozen=True)
class Algorithm:
    """One entry of ``kernels.ALGORITHMS``.

    name        its folder, and its name in links, locale keys and recorded runs
    inputs      tensor names, in the order the kernel takes them
    output      the tensor that is compared; ``("lse",)`` and such follow in ``extra_outputs``
    on_chip     the variables kept between blocks, by the kernel's names
    captured    the fields of the kernel's captured state, in order
    panels      what the player draws, top to bottom: ``scores``, ``weights``, ``outputs``,
                ``weighted_values``
    stanzas     the update formula, phase by phase
    trace       mirror: (arrays, block, dtype) -> Trace of one row
    reference   float64 outputs for whole inputs: (arrays) -> {name: array}
    hbm_bytes   what this schedule moves, by tensor
    naive_bytes what the unfused schedule would move, by tensor, for the comparison drawn
    min_bytes   each input read once, each output written once: the GB/s axis
    flops       floating-point operations, exp counted as one
    whole_row   True where one block must hold the row: the block size is then not a choice
    n_passes    how often the row is read
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    on_chip: tuple[str, ...]
    captured: tuple[str, ...]
    panels: tuple[str, ...]
    stanzas: tuple[Stanza, ...]
    n_passes: int
    trace: Callable[[Mapping[str, np.ndarray], int, str], Trace]
    reference: Callable[[Mapping[str, np.ndarray]], Mapping[str, np.ndarray]]
    hbm_bytes: Callable[[Shape], dict[str, int]]
    naive_bytes: Callable[[Shape], dict[str, int]]
    min_bytes: Callable[[Shape], int]
    flops: Callable[[Shape], int]
    torch_expression: str
    extra_outputs: tuple[str, ...] = ()
    whole_row: bool = False

    @property
    def has_values(self) -> bool:
        """Whether a value matrix ``v`` of width ``head_dim`` is an input."""
        return "v" in self.inputs

    @property
    def folder(self) -> Path:
        """Where this algorithm's files are."""
        return Path(__file__).parent / self.name

    @property
    def kernel_module(self) -> str:
        """The module to import, in a worker, for ``launch`` and the jitted functions."""
        return f"kernels.{self.name}.kernel"

    def lesson(self, language: str) -> str:
        """Return the lesson's Markdown in ``language``, or in English where that is missing."""
        path = self.folder / f"lesson.{language}.md"
        return (path if path.exists() else self.folder / "lesson.en.md").read_text("utf-8")

    @cached_property
    def source(self) -> tuple[SourceLine, ...]:
        """The kernel's jitted functions as text: read, never imported."""
        return tuple(read_source((self.folder / "kernel.py").read_text("utf-8")))


def read_source(text: str) -> list[SourceLine]:
    """Return the lines from the first ``@triton.jit`` to the last marked line of ``text``."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("@triton.jit"))
    last = max(i for i, line in enumerate(lines) if MARKER.search(line))
    shown = []
    for number in range(first, last + 1):
        found = MARKER.search(lines[number])
        if not found:
            shown.append(SourceLine(number + 1, lines[number].rstrip(), None, 0))
            continue
        code = lines[number][: found.start()].rstrip()
        if found["note"]:
            code += f"  # {found['note']}"
        pass_index = int(found["number"] or 1) - 1
        shown.append(SourceLine(number + 1, code, found["phase"], pass_index))
    return shown
