"""The contract of one algorithm: what a folder of ``kernels/`` must say about itself.

The page, the tests and the benchmarks iterate over ``kernels.ALGORITHMS`` and know no algorithm by
name. Each folder's ``__init__.py`` builds one `Algorithm`; its kernel stays unimported (it needs
torch and Triton) until a worker asks for ``kernel_module``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kernels.trace import Trace
from kernels.tuning import Config

# A kernel marks its phases at the end of a line: ``l = l * alpha  #: rescale``. Where a kernel
# passes over the row more than once, later passes say so: ``#: load, pass 2``. ``any`` stands for
# all phases of its pass, where one line calls the kernel of a whole stage.
MARKER = re.compile(r"\s*#: (?P<phase>\w+)(?:, pass (?P<number>\d+))?\s*(?P<note>.*)$")


@dataclass(frozen=True)
class Shape:
    """The sizes that decide a row's cost. ``itemsize`` is bytes an element of inputs and outputs.

    ``block`` is the schedule's: only where programs share a row does it decide what is moved.
    Attention and matrix products have shapes of their own: `kernels.attention.AttentionShape`,
    `kernels.product.MatmulShape`.
    """

    n_rows: int
    n_cols: int
    head_dim: int
    itemsize: int
    block: int = 0

    @classmethod
    def of(cls, sizes: Mapping[str, int], itemsize: int) -> Shape:
        """Return the shape of one traced row."""
        return cls(1, sizes["n_cols"], sizes.get("head_dim", 1), itemsize, sizes["block"])


@dataclass(frozen=True)
class Grid:
    """The matrix of tiles that the player draws.

    rows, cols      names in ``Trace.sizes`` of the matrix's height and width
    row_block, col_block  names there of a tile's height and width
    ink             the variable, one value a cell of the step's tile, that inks the cells: ``p``
                    (from 0 to 1, rescaled by every later alpha) or a signed one
    row_reads, col_reads  tensors of which a tile's row or column of the grid is a block: each read
                    of such a block is counted, and drawn as a dot
    """

    rows: str
    cols: str
    row_block: str
    col_block: str
    ink: str
    row_reads: tuple[str, ...] = ()
    col_reads: tuple[str, ...] = ()


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
    compiled    what Triton compiled for the kernel that does most, None from the interpreter
    """

    outputs: Mapping[str, object]
    state: object | None
    path: str
    n_programs: int
    compiled: object | None = None


@dataclass(frozen=True)
class Algorithm:
    """One entry of ``kernels.ALGORITHMS``.

    name        its folder, and its name in links, locale keys and recorded runs
    inputs      tensor names, in the order the kernel takes them
    output      the tensor that is compared; ``("lse",)`` and such follow in ``extra_outputs``
    on_chip     the variables kept between blocks, by the kernel's names
    captured    the fields of the kernel's captured state, in order
    panels      what the player draws, top to bottom: ``scores``, ``weights``, ``outputs``,
                ``weighted_values``, ``operands``, ``products`` of a row; ``tiles``, ``rows``,
                ``matrices``, ``merge`` of a grid
    stanzas     the update formula, phase by phase
    trace       mirror: (arrays, schedule, dtype) -> Trace. A row's schedule is its block size, a
                grid's is a `kernels.tiles.Tiles`
    reference   float64 outputs for whole inputs: (arrays) -> {name: array}; a grid's also takes
                the Tiles, for mask and scale
    shape       (trace.sizes, itemsize) -> what the cost functions take
    hbm_bytes   what this schedule moves, by tensor
    naive_bytes what the unfused schedule would move, by tensor, for the comparison drawn
    min_bytes   each input read once, each output written once: the GB/s axis
    flops       floating-point operations, exp counted as one
    whole_row   True where one block must hold the row: the block size is then not a choice
    n_passes    how often the row is read; of a grid, how many kernels run one after another
    draws       input -> what it holds, of rows: ``scores`` are the preset's row or pasted numbers,
                ``softmax`` is the softmax of them, ``normal`` another row of random numbers, and
                ``values`` a matrix [n_cols, head_dim] that all rows share
    magnitude   of a row: (arrays) -> the largest of the terms that cancel in an output, which is
                what float32's rounding is relative to. None where none do: then it is the output
    problem     what kind of inputs it takes: ``row``, ``attention`` or ``matmul``
    fields      the choices it reads beside preset, dtype and seed, in the order of the controls
    defaults    where a choice starts for this algorithm, if not where it does for all
    grid        the tile grid, for all but rows
    axes        variable -> what its dimensions run over: ``m`` rows and ``n`` columns of the tile,
                ``k`` the inner block, ``d`` head_dim, ``s`` splits; "" for a scalar. All but rows.
    matrices    the variables that the panel ``matrices`` draws, in order
    shares_rows whether several programs share a row, each of which may have to read all of it
    configs     shape -> the settings of a launch that are worth trying, where there is a choice
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
    shape: Callable[[Mapping[str, int], int], object] = Shape.of
    draws: Mapping[str, str] = field(default_factory=lambda: {"x": "scores"})
    magnitude: Callable[[Mapping[str, np.ndarray]], float] | None = None
    problem: str = "row"
    fields: tuple[str, ...] = ("n_cols", "block", "head_dim")
    defaults: Mapping[str, object] = field(default_factory=dict)
    grid: Grid | None = None
    axes: Mapping[str, str] = field(default_factory=dict)
    matrices: tuple[str, ...] = ()
    shares_rows: bool = False
    configs: Callable[[object], list[Config]] | None = None

    @property
    def has_values(self) -> bool:
        """Whether a value matrix ``v`` of width ``head_dim`` is an input beside a row."""
        return "values" in self.draws.values()

    @property
    def rows(self) -> tuple[str, ...]:
        """The inputs that are rows of ``n_cols``; the first is the one that the player counts."""
        return tuple(name for name, what in self.draws.items() if what != "values")

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


def largest_magnitude(array: np.ndarray) -> float:
    """Return the largest finite magnitude in ``array``, 0 if there is none."""
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def read_source(text: str) -> list[SourceLine]:
    """Return the lines from the first ``@triton.jit`` to the last marked line of ``text``.

    Where nothing is jitted, they start at the function that holds the first marked line.
    """
    lines = text.splitlines()
    marked = [i for i, line in enumerate(lines) if MARKER.search(line)]
    jitted = [i for i, line in enumerate(lines) if line.startswith("@triton.jit")]
    functions = [i for i in range(marked[0]) if lines[i].startswith("def ")]
    first, last = min(jitted, default=functions[-1] if functions else marked[0]), marked[-1]
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
