"""The kernel's testimony: its own variables after every block, held against the mirror's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.ulp import distance, spacing
from kernels.algorithm import Algorithm, largest_magnitude
from kernels.problems import row_of
from kernels.trace import Trace

State = dict[str, np.ndarray]

MAX_STATE_ROWS = 64
# A mirror takes about 0.1 ms a block: these keep the comparison under two seconds.
MAX_MIRROR_BLOCKS = 8192
MAX_MIRROR_PRODUCTS = 2**24  # of a weight and a value


@dataclass(frozen=True)
class RowState:
    """One row's state, as `results.RowDetail` holds it."""

    kernel: State
    mirror: State
    ulps: State


def mirror_state(entry: Algorithm, trace: Trace) -> State:
    """Return each captured field after every block: [n_blocks], and acc [n_blocks, head_dim].

    The value is the last that the block's own steps assigned, so a field that only one pass sets
    has the value it had in that pass. ``m`` is also read from ``m_new``, which becomes it.
    """
    n_blocks = 1 + max(step.block for step in trace.steps if step.block is not None)
    state: State = {}
    for field in entry.captured:
        width = (n_blocks, trace.sizes["head_dim"]) if field == "acc" else (n_blocks,)
        state[field] = np.full(width, np.nan, np.float32)
    for step in trace.steps:
        if step.block is None:
            continue
        for name, value in step.values.items():
            field = "m" if name == "m_new" else name
            if field in state:
                state[field][step.block] = value
    return state


def mirror_scales(trace: Trace) -> dict[str, float]:
    """Return the magnitude at which a field's ULPs are counted, of fields that can cancel to 0.

    delta is a sum of terms of either sign: at its largest term, or at its own largest value.
    """
    terms = [step.values["t"] for step in trace.steps if "t" in step.values]
    sums = [step.values["delta"] for step in trace.steps if "delta" in step.values]
    if not terms:
        return {}
    return {"delta": largest_magnitude(np.concatenate([*terms, np.atleast_1d(sums)]))}


def kernel_state(entry: Algorithm, captured: np.ndarray) -> State:
    """Return one row's captured state [n_blocks, n_fields] by field, as `mirror_state` does."""
    state: State = {}
    width = captured.shape[1] - (len(entry.captured) - 1)  # of acc, where there is one
    column = 0
    for field in entry.captured:
        if field == "acc":
            state[field] = captured[:, column : column + width]
            column += width
        else:
            state[field] = captured[:, column]
            column += 1
    return state


def state_ulps(kernel: State, mirror: State, scales: Mapping[str, float] | None = None) -> State:
    """Return field -> [n_blocks]: float32 ULPs between the two, inf where only one is finite.

    Scalars by `ulp.distance`, or at the magnitude that ``scales`` gives. acc, whose elements can
    cancel to nearly 0, in units of the spacing at the row's largest |acc| of that block, the
    largest over its columns.
    """
    ulps: State = {}
    for field, ours in kernel.items():
        theirs = mirror[field]
        if field == "acc":
            scale = np.max(np.where(np.isfinite(theirs), np.abs(theirs), 0), axis=1, initial=0)
            ulps[field] = _apart(ours, theirs, scale[:, None]).max(axis=1, initial=0.0)
        elif scales and field in scales:
            ulps[field] = _apart(ours, theirs, np.array(scales[field]))
        else:
            ulps[field] = distance(ours, theirs)
    return ulps


def _apart(ours: np.ndarray, theirs: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the distances in the spacing at ``scale``; 0 of the same NaN or infinity."""
    with np.errstate(all="ignore"):
        apart = np.abs(ours.astype(np.float64) - theirs) / spacing(scale, "float32")
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    comparable = np.isfinite(ours) & np.isfinite(theirs)
    return np.where(comparable, apart, np.where(same, 0.0, np.inf))


def rows_to_compare(n_rows: int, worst_row: int, n_wanted: int) -> list[int]:
    """Return up to ``n_wanted`` rows in order: the worst one, and others spread evenly."""
    n_wanted = max(1, min(n_rows, n_wanted))
    if n_wanted == 1:
        return [worst_row]
    rows = np.linspace(0, n_rows - 1, n_wanted).round().astype(int)
    if worst_row not in rows:
        rows[np.argmin(np.abs(rows - worst_row))] = worst_row
    return sorted({int(row) for row in rows})


def affordable_rows(n_cols: int, n_blocks: int, head_dim: int) -> int:
    """Return how many rows' mirrors can be run in reasonable time; at least one."""
    by_blocks = MAX_MIRROR_BLOCKS // max(n_blocks, 1)
    by_products = MAX_MIRROR_PRODUCTS // max(n_cols * head_dim, 1)
    return max(1, min(MAX_STATE_ROWS, by_blocks, by_products))


def compare_rows(
    entry: Algorithm,
    arrays: Mapping[str, np.ndarray],
    rows: list[int],
    captured: np.ndarray,
    block: int,
    dtype: str,
) -> dict[int, RowState]:
    """Return row -> RowState for ``rows`` of captured [n_rows, n_blocks, n_fields]."""
    states = {}
    for row in rows:
        trace = entry.trace(row_of(entry, arrays, row), block, dtype)
        mirror, kernel = mirror_state(entry, trace), kernel_state(entry, captured[row])
        states[row] = RowState(kernel, mirror, state_ulps(kernel, mirror, mirror_scales(trace)))
    return states
