"""Judge a kernel on tiles: its outputs, and its state after every block, with the evidence.

Everything here is NumPy. What ran it, and torch's part, are in `tile_run`, `rivals` and
`attention_reference`; what an error is measured by, in `tolerances`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks import compare as cmp
from benchmarks import tile_states
from benchmarks.check import MAX_DETAIL_ROWS, MAX_DETAIL_VALUES
from benchmarks.results import Device, OutputCheck, RowDetail, TileCheckResult
from benchmarks.states import rows_to_compare
from benchmarks.tile_run import TileRan
from benchmarks.tolerances import tolerance
from benchmarks.ulp import spacing
from kernels.algorithm import Algorithm
from kernels.inputs import Case
from kernels.tiles import Tiles

Arrays = Mapping[str, np.ndarray]
Capture = Callable[[list[int], int], np.ndarray]


@dataclass(frozen=True)
class Evidence:
    """What is known once a kernel and its rivals have run; arrays as their shapes are.

    rival       the name of the rival that sets the tolerance
    by_torch    its outputs
    rivals      every rival's largest error by output, or why it refused
    reference, magnitudes  float64 outputs, and what errors grow with
    """

    device: Device
    tiles: Tiles
    ran: TileRan
    rival: str
    by_torch: Arrays
    rivals: Mapping[str, Mapping[str, float] | str]
    reference: Arrays
    magnitudes: Mapping[str, float]


def judge(
    entry: Algorithm, case: Case, arrays: Arrays, evidence: Evidence, capture: Capture
) -> TileCheckResult:
    """Compare everything and return the verdict with its evidence.

    ``arrays`` are the inputs, [batch, heads, …] or matrices. ``capture`` (heads, first_row) returns
    the captured state of those heads from that row on, or None where nothing is captured.
    """
    names = (entry.output, *entry.extra_outputs)
    outputs = tuple(_output_check(name, case, evidence) for name in names)
    main = outputs[0]
    compared = compare_states(entry, case, arrays, evidence.tiles, main.worst_head, capture)
    kept = compared.get(main.worst_head)
    step = cmp.map_step(*kept.visited.shape) if kept else (1, 1)
    return TileCheckResult(
        case=case,
        algorithm=entry.name,
        device=evidence.device,
        path=evidence.ran.path,
        n_programs=evidence.ran.n_programs,
        tiles=evidence.tiles,
        verdict="passed" if all(output.passed for output in outputs) else "failed",
        rival=evidence.rival,
        outputs=outputs,
        rivals=evidence.rivals,
        n_masked_rows=n_hidden(entry, case) * case.batch * case.heads,
        state_ulps=_worst_ulps(compared),
        state_maps={f: _state_map(ulps, step) for f, ulps in kept.ulps.items()} if kept else {},
        state_step=step,
        state_head=main.worst_head,
        state_row=kept.first_row if kept else 0,
        n_state_heads=len(compared),
        rows=_details(main, evidence, kept),
    )


def n_hidden(entry: Algorithm, case: Case) -> int:
    """Return how many queries of a head see no key: the first so many."""
    if entry.problem != "attention" or case.mask != "causal":
        return 0
    return max(0, case.seq_q - case.seq_k)


def tolerance_of(
    name: str,
    case: Case,
    tiles: Tiles,
    largest: float,
    magnitudes: Mapping[str, float],
    rivals_error: float | None,
) -> float:
    """Return the largest error of an output of ``case`` that passes; `tolerances` says why."""
    scale = tiles.scale_for(case.head_dim)
    over_queries = name in ("dk", "dv")
    n_blocks = -(-case.seq_q // tiles.block_m) if over_queries else -(-case.seq_k // tiles.block_n)
    return tolerance(name, case.dtype, largest, magnitudes, scale, n_blocks, rivals_error)


def _output_check(name: str, case: Case, evidence: Evidence) -> OutputCheck:
    """Hold one output against float64 and the rival."""
    ran, tiles = evidence.ran, evidence.tiles
    actual, expected = (as_heads(name, side[name]) for side in (ran.outputs, evidence.reference))
    by_torch = evidence.by_torch.get(name)
    by_torch = None if by_torch is None else as_heads(name, by_torch)
    hidden = max(0, case.seq_q - case.seq_k) if case.mask == "causal" else 0
    hidden = hidden if name in ("o", "lse", "dq") else 0
    unit = _unit(name, expected, case.dtype)
    kernel = _compare(actual, expected, unit)
    torch = between = None
    if by_torch is not None:
        torch, between = (
            _compare(side[:, hidden:], other[:, hidden:], unit[:, hidden:])
            for side, other in ((by_torch, expected), (actual, by_torch))
        )
    largest = float(np.abs(expected[np.isfinite(expected)]).max(initial=0.0))
    rivals_error = None if torch is None else torch[0].max_abs
    allowed = tolerance_of(name, case, tiles, largest, evidence.magnitudes, rivals_error)
    in_ulps = {"kernel": kernel[1]}
    if torch is not None:
        in_ulps |= {"torch": _below(torch[1], hidden), "between": _below(between[1], hidden)}
    head, row = _worst(kernel[1])
    block_rows = tiles.block_n if name in ("dk", "dv") else tiles.block_m
    step = cmp.map_step(*actual.shape[1:])
    n_wrong = ran.n_unwritten[name] + ran.n_outside[name] + kernel[0].n_mismatched
    is_zero = name == "lse" or not actual[:, :hidden].any()
    return OutputCheck(
        name=name,
        kernel=kernel[0],
        torch=None if torch is None else torch[0],
        between=None if between is None else between[0],
        tolerance=allowed,
        passed=not n_wrong and is_zero and kernel[0].max_abs <= allowed,
        n_outputs=actual.size,
        n_compared=0 if torch is None else torch[1].size,
        n_same_bits=_same_bits(actual, by_torch, hidden),
        n_unwritten=ran.n_unwritten[name],
        n_outside=ran.n_outside[name],
        maps={side: cmp.downsample(ulps[head], step) for side, ulps in in_ulps.items()},
        map_step=step,
        by_head={s: u.max(axis=(1, 2), initial=0.0) for s, u in in_ulps.items() if s != "between"},
        by_block=_by_block(kernel[1], block_rows),
        block_rows=block_rows,
        worst_head=head,
        worst_row=row,
        histogram=_histogram(kernel[1][:, hidden:], torch),
    )


def as_heads(name: str, array: np.ndarray) -> np.ndarray:
    """Return an output as [heads, rows, cols]: all batches' heads, or one for a matrix."""
    if name == "c":
        return array[None]
    array = array[..., None] if name == "lse" else array
    return array.reshape(-1, *array.shape[2:])


def _unit(name: str, expected: np.ndarray, dtype: str) -> np.ndarray:
    """Return [heads, rows]: what an ULP is, as `OutputCheck` says."""
    finite = np.where(np.isfinite(expected), np.abs(expected), 0.0)
    if name == "lse":
        return spacing(np.maximum(finite[..., 0], 1.0), "float32")
    largest = finite.max(axis=2, initial=0.0)
    if name in ("dq", "dk", "dv"):
        largest = np.broadcast_to(largest.max(axis=1, keepdims=True, initial=0.0), largest.shape)
    return spacing(largest, dtype)


def _compare(actual: np.ndarray, expected: np.ndarray, unit: np.ndarray) -> tuple:
    """Return the ErrorStats of all heads together, and ulps [heads, rows, cols]."""
    flat = (side.reshape(-1, side.shape[2]) for side in (actual, expected))
    found = cmp.compare(*flat, unit.reshape(-1))
    return found.stats, found.ulps.reshape(actual.shape)


def _below(ulps: np.ndarray, n_rows: int) -> np.ndarray:
    """Return ulps [heads, rows, cols] below so many rows of zeros."""
    return np.pad(ulps, ((0, 0), (n_rows, 0), (0, 0))) if n_rows else ulps


def _worst(ulps: np.ndarray) -> tuple[int, int]:
    """Return the head with the most mismatches, or else the largest error, and its worst row."""
    if not ulps.size:
        return 0, 0
    missing = np.isnan(ulps).sum(axis=2)
    by_row = missing if missing.any() else ulps.max(axis=2)
    by_head = by_row.sum(axis=1) if missing.any() else by_row.max(axis=1)
    head = int(by_head.argmax())
    return head, int(by_row[head].argmax())


def _by_block(ulps: np.ndarray, block_rows: int) -> np.ndarray:
    """Return [row blocks]: the largest over heads and columns; NaN where there is one."""
    by_row = ulps.max(axis=(0, 2), initial=0.0)
    return np.maximum.reduceat(by_row, np.arange(0, len(by_row), block_rows))


def _same_bits(actual: np.ndarray, by_torch: np.ndarray | None, hidden: int) -> int:
    """Return how many elements are bit-identical to the rival's, masked rows left out."""
    if by_torch is None:
        return 0
    return cmp.n_same_bits(actual[:, hidden:], by_torch[:, hidden:])


def _histogram(kernel: np.ndarray, torch: tuple | None) -> Arrays:
    """Return the counts of both sides; torch's are 0 where it gives no such output."""
    theirs = np.zeros(0, np.float32) if torch is None else torch[1]
    return cmp.histogram(kernel, theirs)


def compare_states(
    entry: Algorithm, case: Case, arrays: Arrays, tiles: Tiles, worst: int, capture: Capture
) -> dict[int, tile_states.HeadState]:
    """Return head -> its state over the mirror's, for the worst head and others spread evenly."""
    n_heads, first_row = tile_states.affordable(entry, vars(case), tiles)
    if not entry.captured or not n_heads:
        return {}
    total = 1 if entry.problem == "matmul" else case.batch * case.heads
    heads = rows_to_compare(total, worst, n_heads)
    captured = capture(heads, first_row)
    return {
        head: tile_states.compare(
            entry, head_arrays(entry, arrays, head, first_row), state, tiles, case.dtype, first_row
        )
        for head, state in zip(heads, captured, strict=True)
    }


def head_arrays(entry: Algorithm, arrays: Arrays, head: int, first_row: int = 0) -> Arrays:
    """Return the inputs of one head, from a query, or row of a, on."""
    if entry.problem == "matmul":
        return {**arrays, "a": arrays["a"][first_row:]}
    n_heads, kv_heads = arrays["q"].shape[1], arrays["k"].shape[1]
    batch, of_q = divmod(head, n_heads)
    of_k = of_q // (n_heads // kv_heads)
    return {
        name: array[batch, of_k] if name in ("k", "v") else array[batch, of_q, first_row:]
        for name, array in arrays.items()
    }


def _worst_ulps(compared: Mapping[int, tile_states.HeadState]) -> dict[str, float]:
    """Return each field's largest distance over all heads."""
    worst: dict[str, float] = {}
    for state in compared.values():
        for field, ulps in state.ulps.items():
            largest = ulps[~np.isnan(ulps)].max(initial=0.0)
            worst[field] = max(worst.get(field, 0.0), float(largest))
    return worst


def _state_map(ulps: np.ndarray, step: tuple[int, int]) -> np.ndarray:
    """Return the largest of every ``step`` block, NaN only where no tile was visited."""
    rows, cols = (np.arange(0, n, by) for n, by in zip(ulps.shape, step))
    return np.fmax.reduceat(np.fmax.reduceat(ulps, rows, axis=0), cols, axis=1)


def _details(
    main: OutputCheck, evidence: Evidence, kept: tile_states.HeadState | None
) -> tuple[RowDetail, ...]:
    """Return rows of the worst head in full: the worst row, and others whose state was compared."""
    sides = {"kernel": evidence.ran.outputs, "torch": evidence.by_torch}
    sides["float64"] = evidence.reference
    values = {
        side: as_heads(main.name, outputs[main.name])[main.worst_head]
        for side, outputs in sides.items()
    }
    n_rows, width = values["kernel"].shape
    first = kept.first_row if kept else 0
    n_captured = sum(a[0].size for a in kept.kernel.values()) if kept else 0
    n_wanted = min(MAX_DETAIL_ROWS, max(1, MAX_DETAIL_VALUES // max(width, n_captured, 1)))
    worst = max(0, main.worst_row - first)
    spread = [first + row for row in rows_to_compare(n_rows - first, worst, n_wanted)]
    chosen = sorted({*spread[1 if main.worst_row < first else 0 :], main.worst_row})
    return tuple(_detail(row, values, kept) for row in chosen)


def _detail(row: int, values: Arrays, kept: tile_states.HeadState | None) -> RowDetail:
    """Return one row: its outputs, and the state after each block that its program visited."""
    outputs = {side: array[row] for side, array in values.items()}
    if kept is None or row < kept.first_row:
        return RowDetail(row, outputs, {}, {}, {})
    at = row - kept.first_row
    blocks = kept.visited[at]
    states = (kept.kernel, kept.mirror, kept.ulps)
    return RowDetail(row, outputs, *({f: a[at][blocks] for f, a in s.items()} for s in states))
