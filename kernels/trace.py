"""What a mirror saw, step by step: the frozen records that the player draws.

A mirror (``kernels/<algorithm>/mirror.py``) runs the algorithm in NumPy and emits one `Step` per
sub-step of every block. A `Trace` is those steps, the inputs, and the outputs: everything the page
needs to draw any moment of the run, so that a picture is a pure function of (trace, index).

A step holds *what it assigned*, not the whole state: the state at index i is the fold of
``values`` over steps 0..i (`Trace.state_at`). Numbers are exact here and rounded to seven
significant digits in `Trace.as_json`, which is for drawing; checks use the arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

Value = float | np.ndarray

SIGNIFICANT_DIGITS = 7


@dataclass(frozen=True)
class Step:
    """One sub-step of one block.

    phase       what the kernel's marked line does: ``load``, ``block_max``, ``new_max``,
                ``rescale``, ``accumulate``, ``normalize``, ``store``
    pass_index  which pass over the row, from 0
    block       which block of the row, from 0; None for what happens once a row
    start, stop the columns of that block, [start, stop)
    program     which program of the launch grid runs, in the order they are numbered; None where
                a row is all there is. Variables start anew with each program of each pass
    tile        (row, column) of the tile in the entry's `Grid`, or None
    case        what happened, for the caption: ``rise``, ``same``, ``first``, ``nan`` …
    values      the variables this sub-step assigned, by the kernel's names
    reads, writes   bytes of HBM traffic, by tensor
    """

    phase: str
    pass_index: int
    block: int | None
    start: int
    stop: int
    case: str = "normal"
    values: Mapping[str, Value] = field(default_factory=dict)
    reads: Mapping[str, int] = field(default_factory=dict)
    writes: Mapping[str, int] = field(default_factory=dict)
    program: int | None = None
    tile: tuple[int, int] | None = None


@dataclass(frozen=True)
class Trace:
    """One run of one algorithm over one row, or over one head's matrices.

    arrays      the inputs as the kernel sees them (already rounded to ``dtype``), float32
    outputs     what the mirror computed: float32 arrays, rounded to ``dtype``
    sizes       ``n_cols``, ``block``, and ``head_dim`` where the algorithm has one; of a grid,
                the lengths and `kernels.tiles.Tiles.sizes`
    """

    algorithm: str
    dtype: str
    sizes: Mapping[str, int]
    arrays: Mapping[str, np.ndarray]
    steps: tuple[Step, ...]
    outputs: Mapping[str, np.ndarray]

    def state_at(self, index: int) -> dict[str, Value]:
        """Return every variable assigned up to and including step ``index``."""
        state: dict[str, Value] = {}
        for step in self.steps[: index + 1]:
            state.update(step.values)
        return state

    def traffic(self) -> dict[str, int]:
        """Return the bytes all steps moved, by tensor, reads and writes together."""
        total: dict[str, int] = {}
        for step in self.steps:
            for moved in (step.reads, step.writes):
                for tensor, n_bytes in moved.items():
                    total[tensor] = total.get(tensor, 0) + n_bytes
        return total

    def as_json(self) -> dict:
        """Return plain lists, numbers and strings; ±inf and NaN become strings."""
        return {
            "algorithm": self.algorithm,
            "dtype": self.dtype,
            "sizes": dict(self.sizes),
            "arrays": {name: encode(array) for name, array in self.arrays.items()},
            "outputs": {name: encode(array) for name, array in self.outputs.items()},
            "steps": [_step_json(step) for step in self.steps],
        }


def _step_json(step: Step) -> dict:
    """Return one step, without what is empty or normal: a trace has hundreds of them."""
    out: dict = {
        "phase": step.phase,
        "pass": step.pass_index,
        "block": step.block,
        "start": step.start,
        "stop": step.stop,
    }
    if step.program is not None:
        out["program"] = step.program
    if step.tile is not None:
        out["tile"] = list(step.tile)
    if step.case != "normal":
        out["case"] = step.case
    if step.values:
        out["values"] = {name: encode(value) for name, value in step.values.items()}
    if step.reads:
        out["reads"] = dict(step.reads)
    if step.writes:
        out["writes"] = dict(step.writes)
    return out


def encode(value: Value) -> object:
    """Return ``value`` as JSON can hold it: seven digits, and "inf", "-inf", "nan" as strings."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [encode(item) for item in value]
    number = float(value)
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    rounded = float(f"{number:.{SIGNIFICANT_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e7 else rounded


def decode(value: object) -> Value:
    """Return what `encode` was given, to seven digits."""
    if isinstance(value, list):
        return np.array([decode(item) for item in value], dtype=np.float64)
    return float(value)


def as_steps(
    phases: Iterator, pass_index: int, block: int, start: int, stop: int, **place: object
) -> Iterator[Step]:
    """Turn an update's (phase, case, values) into Steps, and return what the update returns.

    ``place`` is the program and the tile, where there is a grid.
    """
    while True:
        try:
            phase, case, values = next(phases)
        except StopIteration as finished:
            return finished.value
        yield Step(phase, pass_index, block, start, stop, case, values, **place)


def blocks(n_cols: int, block: int) -> list[tuple[int, int, int]]:
    """Return (index, start, stop) for every block of a row; the last one may be shorter."""
    return [(b, lo, min(lo + block, n_cols)) for b, lo in enumerate(range(0, n_cols, block))]


def gather(
    name: str,
    arrays: Mapping[str, np.ndarray],
    output: str,
    block: int,
    dtype: str,
    run: Iterator[Step],
) -> Trace:
    """Run a row's mirror to its end and return its Trace, the blocks of ``output`` put together."""
    with np.errstate(all="ignore"):
        steps = tuple(run)
    whole = np.concatenate([step.values[output] for step in steps if output in step.values])
    sizes = {"n_cols": len(whole), "block": block}
    return Trace(name, dtype, sizes, arrays, steps, {output: whole})


def load_case(pass_index: int, n_lanes: int, block: int) -> str:
    """Say what is particular about a load: a masked tail, or a row that was read before."""
    if n_lanes < block:
        return "tail" if pass_index == 0 else "tail_again"
    return "again" if pass_index else "normal"


def max_case(m: float, block_max: float, scores: np.ndarray) -> str:
    """Say how a block's maximum stands to the running one, special values first."""
    if np.isnan(scores).any():
        return "nan"
    if block_max == np.inf:
        return "inf"
    if block_max == -np.inf:
        return "masked"
    if m == -np.inf:
        return "first"
    return "rise" if block_max > m else "equal" if block_max == m else "same"


def rescale_case(m: float, m_new: float, alpha: float) -> str:
    """Say what the rescale does: nothing, a shrink, or a special value that spreads."""
    if np.isinf(m_new):
        return "inf" if m_new > 0 else "masked"
    if m == -np.inf:
        return "first"
    return "same" if alpha == 1 else "vanish" if alpha == 0 else "shrink"


def sum_case(l_old: float, l_new: float, p: np.ndarray) -> str:
    """Say what was added to the sum: something, nothing, or a NaN or infinity that stays."""
    if np.isnan(l_new):
        return "nan" if np.isnan(p).any() or np.isinf(p).any() else "nan_kept"
    if np.isinf(l_new):
        return "overflow"
    if l_new == 0:
        return "masked"
    return "first" if l_old == 0 else "normal"


def output_case(values: np.ndarray) -> str:
    """Say whether an output is finite."""
    return "nan" if np.isnan(values).any() else "normal"
