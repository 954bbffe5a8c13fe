"""From what a user chose to a Trace: one place that knows which kind of inputs an entry takes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kernels import inputs, tile_inputs
from kernels.algorithm import Algorithm, Shape
from kernels.attention import AttentionShape
from kernels.inputs import ITEMSIZE, Case, Choice
from kernels.product import MatmulShape
from kernels.tiles import Tiles
from kernels.trace import Trace

Schedule = int | Tiles


def presets_for(entry: Algorithm) -> tuple[str, ...]:
    """Return the presets that ``entry`` can be given; pasted numbers are one row."""
    row = (*inputs.PRESETS, inputs.OWN_NUMBERS)
    return row if entry.problem == "row" else tile_inputs.PRESETS


def read_by(entry: Algorithm) -> tuple[str, ...]:
    """Return the fields of a Choice that ``entry`` reads."""
    own = ("numbers",) if entry.problem == "row" else ()
    return ("preset", *entry.fields, "dtype", "seed", *own)


def check_for(entry: Algorithm, name: str, value: object) -> object:
    """Return one field of a Choice, checked alone. Raise InputError if it cannot be used."""
    if entry.problem != "row":
        return tile_inputs.check_watched(name, value)
    if name == "numbers":
        return inputs.read_numbers(value)
    if name == "preset":
        return inputs.one_of("preset", value, presets_for(entry))
    return getattr(inputs.choose(**{name: value}), name)


def choose_for(entry: Algorithm, given: Mapping[str, object]) -> Choice:
    """Check the fields of ``given`` that ``entry`` reads and return what is to be watched.

    Fields it does not read are ignored. Raise InputError at the first fault.
    """
    if entry.problem != "row":
        return tile_inputs.choose_tiles(entry, given)
    given = {**entry.defaults, **given}
    return inputs.choose(**{name: given[name] for name in read_by(entry) if name in given})


def arrays_for(entry: Algorithm, choice: Choice | Case) -> dict[str, np.ndarray]:
    """Return the arrays that ``entry`` is given for a checked choice or case."""
    if entry.problem == "attention":
        return tile_inputs.attention_arrays(choice)
    if entry.problem == "matmul":
        return tile_inputs.matmul_arrays(choice)
    if isinstance(choice, Case):
        return inputs.make_matrix(choice, entry.draws)
    return inputs.make_arrays(choice, entry.draws)


def row_of(entry: Algorithm, arrays: Mapping[str, np.ndarray], row: int) -> dict[str, np.ndarray]:
    """Return what ``entry.trace`` takes of one row, from the arrays of a Case of rows."""
    return {name: a[row] if name in entry.rows else a for name, a in arrays.items()}


def schedule_for(entry: Algorithm, choice: Choice | Case) -> Schedule:
    """Return what ``entry.trace`` takes as its schedule."""
    return choice.block if entry.problem == "row" else tile_inputs.tiles_of(entry, choice)


def trace_for(entry: Algorithm, choice: Choice) -> Trace:
    """Run the mirror of ``entry`` on a checked choice."""
    return entry.trace(arrays_for(entry, choice), schedule_for(entry, choice), choice.dtype)


def shape_of(entry: Algorithm, case: Case):
    """Return a case's sizes as the entry's costs and configurations take them."""
    item = ITEMSIZE[case.dtype]
    if entry.problem == "row":
        return Shape(case.n_rows, case.n_cols, case.head_dim, item, case.block)
    tiles = Tiles(case.block_m, case.block, case.block_k, is_causal=case.mask == "causal")
    if entry.problem == "matmul":
        return MatmulShape(case.size_m, case.size_n, case.size_k, item, tiles)
    lengths = case.seq_q, case.seq_k, case.head_dim
    return AttentionShape(case.batch, case.heads, case.kv_heads, *lengths, item, tiles)


def reference_for(entry: Algorithm, trace: Trace) -> Mapping[str, np.ndarray]:
    """Return the float64 outputs for a trace's own inputs, each without a row axis of its own."""
    if entry.problem != "row":
        return entry.reference(trace.arrays, Tiles.of(trace.sizes))
    arrays = {name: np.atleast_2d(array) for name, array in trace.arrays.items()}
    return {name: np.asarray(array)[0] for name, array in entry.reference(arrays).items()}
