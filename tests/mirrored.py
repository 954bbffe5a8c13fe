"""Kernels that do exactly what their mirrors do, to judge and to spoil in tests."""

from __future__ import annotations

import numpy as np

from benchmarks import check, states, tile_check, tile_run, tile_states
from benchmarks.results import Device
from kernels import ALGORITHMS
from kernels.inputs import Case, make_matrix, round_to
from kernels.problems import arrays_for, row_of
from kernels.tile_inputs import tiles_of

CPU = Device("interpreter", "CPU", reason="no_driver")


def mirrored(entry, case, arrays):
    """Return what a kernel that does exactly what the mirror does would give."""
    rows = [row_of(entry, arrays, row) for row in range(case.n_rows)]
    traces = [entry.trace(row, case.block, case.dtype) for row in rows]
    outputs = {entry.output: np.stack([trace.outputs[entry.output] for trace in traces])}
    for name in entry.extra_outputs:
        outputs[name] = np.concatenate([trace.outputs[name] for trace in traces])
    state = None
    if entry.captured:
        by_row = [states.mirror_state(entry, trace) for trace in traces]
        state = np.stack(
            [
                np.concatenate([np.reshape(s[f], (len(s[f]), -1)) for f in entry.captured], axis=1)
                for s in by_row
            ]
        )
    return check.Ran(outputs, state, "online", case.n_rows, 0)


def by_torch(entry, case, arrays):
    """Return float64's outputs rounded to the dtype; attention's NaN in rows all -inf."""
    result = round_to(entry.reference(arrays)[entry.output], case.dtype)
    if entry.has_values:
        result[(arrays["x"] == -np.inf).all(axis=1)] = np.nan
    return result


def judged(name, case, change=lambda ran: ran, arrays=None):
    entry = ALGORITHMS[name]
    if arrays is None:
        arrays = make_matrix(case, entry.draws)
    ran = change(mirrored(entry, case, arrays))
    return check.judge(entry, case, arrays, ran, by_torch(entry, case, arrays), CPU)


def ragged_attention(
    seq_q=20, seq_k=20, mask="causal", dtype="float32", heads=4, kv_heads=2, **others
):
    """Return a case of two batches whose blocks leave a tail."""
    sizes = {"head_dim": 5, "block_m": 8, "block": 8, "n_splits": 2, **others}
    heads = {"batch": 2, "heads": heads, "kv_heads": kv_heads}
    return Case(seq_q=seq_q, seq_k=seq_k, mask=mask, dtype=dtype, **heads, **sizes)


def mirrored_heads(entry, case, arrays, tiles):
    """Return outputs and captured state that a tile kernel gives which does what the mirror does.

    Outputs are shaped as the kernel's. The state is [heads, rows, blocks, fields].
    """
    n_heads = 1 if entry.problem == "matmul" else case.batch * case.heads
    traces = [
        entry.trace(tile_check.head_arrays(entry, arrays, head), tiles, case.dtype)
        for head in range(n_heads)
    ]
    outputs = {}
    for name in (entry.output, *entry.extra_outputs):
        stacked = np.stack([trace.outputs[name] for trace in traces])
        if name in ("dk", "dv"):  # a key head's gradient is the sum over the heads that share it
            group = case.heads // case.kv_heads
            summed = stacked.reshape(-1, group, *stacked.shape[1:]).sum(axis=1)
            stacked = round_to(summed, case.dtype)
        batched = stacked[0] if entry.problem == "matmul" else stacked
        outputs[name] = batched
        if entry.problem != "matmul":
            outputs[name] = batched.reshape(case.batch, -1, *batched.shape[1:])
    if not entry.captured:
        return outputs, None
    by_head = [tile_states.mirror_state(entry, trace, tiles)[0] for trace in traces]
    fields = [[s[f][..., None] if f != "acc" else s[f] for f in entry.captured] for s in by_head]
    if entry.problem == "matmul":  # [rows, columns, blocks, 1]
        return outputs, np.moveaxis(by_head[0]["acc"], 1, 2)[None, ..., None]
    return outputs, np.stack([np.concatenate(one, axis=-1) for one in fields])


def float64_heads(entry, case, arrays, tiles):
    """Return the float64 outputs of all heads from NumPy, shaped as the kernel's."""
    if entry.problem == "matmul":
        return dict(entry.reference(arrays, tiles))
    heads = [
        entry.reference(tile_check.head_arrays(entry, arrays, head), tiles)
        for head in range(case.batch * case.heads)
    ]
    outputs = {}
    for name in (entry.output, *entry.extra_outputs):
        stacked = np.stack([head[name] for head in heads])
        if name in ("dk", "dv"):
            group = case.heads // case.kv_heads
            stacked = stacked.reshape(-1, group, *stacked.shape[1:]).sum(axis=1)
        outputs[name] = stacked.reshape(case.batch, -1, *stacked.shape[1:])
    return outputs


MAGNITUDES = {"score": 4.0, "dp": 10.0, "column": 8.0, "q": 3.0, "k": 3.0, "v": 3.0, "do": 3.0}


def judged_tiles(name, case, change=lambda ran: ran, change_state=lambda state: state):
    """Judge a mirror of a tile algorithm.

    float64 rounded to the dtype stands in for torch; for gradients, which torch rounds on the way
    as well, what the unspoilt mirror gives does.
    """
    entry = ALGORITHMS[name]
    tiles, arrays = tiles_of(entry, case), arrays_for(entry, case)
    outputs, state = mirrored_heads(entry, case, arrays, tiles)
    zeros = dict.fromkeys(outputs, 0)
    ran = change(tile_run.TileRan(outputs, None, "tiles", 4, zeros, zeros))
    reference = float64_heads(entry, case, arrays, tiles)
    by_torch = {n: round_to(a, case.dtype) for n, a in reference.items() if n != "lse"}
    by_torch |= {n: array for n, array in outputs.items() if n in ("dq", "dk", "dv")}
    evidence = tile_check.Evidence(
        CPU, tiles, ran, "SDPA flash", by_torch, {"SDPA flash": {}}, reference, MAGNITUDES
    )

    def capture(heads, first_row):
        return change_state(state[heads][:, first_row:].copy())

    return tile_check.judge(entry, case, arrays, evidence, capture)
