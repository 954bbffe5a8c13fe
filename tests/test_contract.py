"""Every entry of ALGORITHMS keeps its contract: costs, phases, names, outputs, and its files.

What the kernel's source must say is in test_kernel_sources.py.
"""

from __future__ import annotations

import itertools
import re
import string

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.algorithm import Algorithm, Shape
from kernels.attention import AttentionShape
from kernels.errors import InputError
from kernels.inputs import (
    DTYPES,
    ITEMSIZE,
    MAX_BLOCK,
    MAX_COLS,
    MAX_HEAD_DIM,
    PRESETS,
    round_to,
)
from kernels.problems import choose_for, reference_for, trace_for
from kernels.product import MatmulShape
from kernels.tiles import Tiles
from kernels.trace import Trace
from tests.rows import ROWS

GRIDS = {name: entry for name, entry in ALGORITHMS.items() if name not in ROWS}
ROW_PANELS = {"scores", "weights", "outputs", "weighted_values", "operands", "products"}
GRID_PANELS = {"tiles", "rows", "matrices", "merge"}
# Half the spacing of each dtype at 1: the largest relative error of one rounding.
HALF_ULP = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
# Short blocks at every edge.
SMALL = {"n_cols": 37, "block": 4, "head_dim": 4, "seq_q": 13, "seq_k": 18, "block_m": 4}
SMALL |= {"mask": "causal", "size_m": 9, "size_n": 13, "size_k": 10, "block_k": 4, "n_splits": 3}

each = pytest.mark.parametrize("entry", ALGORITHMS.values(), ids=lambda entry: entry.name)
each_row = pytest.mark.parametrize("entry", ROWS.values(), ids=lambda entry: entry.name)
each_grid = pytest.mark.parametrize("entry", GRIDS.values(), ids=lambda entry: entry.name)


def trace_of(entry: Algorithm, **given) -> Trace:
    return trace_for(entry, choose_for(entry, {**SMALL, **given}))


def shape_of(entry: Algorithm, trace: Trace):
    return entry.shape(trace.sizes, ITEMSIZE[trace.dtype])


# Costs.


@each_row
@given(
    n_cols=st.integers(1, MAX_COLS),
    log_block=st.integers(0, MAX_BLOCK.bit_length() - 1),
    head_dim=st.integers(1, MAX_HEAD_DIM),
    dtype=st.sampled_from(DTYPES),
)
def test_bytes_of_the_steps_sum_to_the_formula(entry, n_cols, log_block, head_dim, dtype):
    trace = trace_of(entry, n_cols=n_cols, block=2**log_block, head_dim=head_dim, dtype=dtype)
    assert trace.traffic() == entry.hbm_bytes(shape_of(entry, trace))


LENGTH, LOG_BLOCK = st.integers(1, 30), st.integers(2, 5)
SIZES = ("seq_q", "seq_k", "size_m", "size_n", "size_k", "head_dim")


@each_grid
@settings(max_examples=30)
@given(
    lengths=st.tuples(*[LENGTH] * 5, st.integers(1, 9)),
    log_blocks=st.tuples(LOG_BLOCK, LOG_BLOCK, LOG_BLOCK),
    group_m=st.integers(1, 9),
    n_splits=st.integers(1, 9),
    mask=st.sampled_from(("none", "causal")),
    dtype=st.sampled_from(DTYPES),
)
def test_bytes_of_the_tiles_sum_to_the_formula(entry, lengths, log_blocks, **given):
    sizes = dict(zip(SIZES, lengths, strict=True))
    blocks = (2**log for log in log_blocks)
    sizes |= zip(("block_m", "block", "block_k"), blocks, strict=True)
    try:
        trace = trace_of(entry, **sizes, **given)
    except InputError:  # too many tiles to watch
        assume(False)
    assert trace.traffic() == entry.hbm_bytes(shape_of(entry, trace))


@each_row
@pytest.mark.parametrize("n_cols, block", [(1, 1), (37, 8), (512, 512), (100, 1)])
def test_every_pass_reads_every_score_once(entry, n_cols, block):
    trace = trace_of(entry, n_cols=n_cols, block=block, dtype="float16")
    # Programs that share a row keep their scores on chip: what they read again is each other's.
    n_reads = 1 if entry.name == "split_softmax" else entry.n_passes
    for name in entry.rows:
        loads = [step for step in trace.steps if name in step.reads]
        assert sorted({step.pass_index for step in loads}) == list(range(n_reads))
        for number in range(n_reads):
            read = [c for s in loads if s.pass_index == number for c in range(s.start, s.stop)]
            assert read == list(range(n_cols))
        assert sum(step.reads[name] for step in loads) == n_reads * n_cols * 2
    if not entry.has_values:
        stores = [step for step in trace.steps if entry.output in step.writes]
        assert [c for s in stores for c in range(s.start, s.stop)] == list(range(n_cols))


def shapes(entry: Algorithm, itemsize: int, batch: int = 1) -> list:
    """Return shapes of this entry's kind, with every edge that a cost formula has."""
    tiles = Tiles(16, 32, 8, group_m=3, n_splits=5)
    causal = Tiles(32, 16, n_splits=3, is_causal=True)
    if entry.problem == "row":
        sizes = itertools.product((1, 37, 4096), (1, 64), (1, 32))
        return [Shape(batch, n, width, itemsize, block) for n, width, block in sizes]
    if entry.problem == "matmul":
        sizes = [(1, 1, 1), (37, 100, 64), (512, 16, 33)]
        return [MatmulShape(m, n, k, itemsize, tiles) for m, n, k in sizes]
    sizes = [(1, 1, 1, 1, 1), (4, 2, 37, 100, 64), (6, 1, 100, 37, 16), (8, 8, 1, 513, 128)]
    return [AttentionShape(batch, *s, itemsize, t) for s in sizes for t in (tiles, causal)]


@each
def test_costs_scale_with_the_batch_and_the_itemsize(entry):
    for one, many in zip(shapes(entry, 4), shapes(entry, 4, batch=6), strict=True):
        times = 1 if entry.problem == "matmul" else 6
        for cost in (entry.hbm_bytes, entry.naive_bytes):
            assert {name: times * n for name, n in cost(one).items()} == cost(many)
            assert all(n >= 0 and isinstance(n, int) for n in cost(many).values())
        assert entry.flops(many) == times * entry.flops(one) > 0
    for wide, half in zip(shapes(entry, 4), shapes(entry, 2), strict=True):
        assert entry.min_bytes(half) < entry.min_bytes(wide)
        assert entry.flops(half) == entry.flops(wide)


@each
def test_a_schedule_moves_no_less_than_the_least(entry):
    for shape in itertools.chain(shapes(entry, 2), shapes(entry, 4)):
        moved = entry.hbm_bytes(shape)
        if getattr(getattr(shape, "tiles", None), "is_causal", False):
            continue  # keys that no query sees are never loaded, and count as loaded in the least
        assert entry.min_bytes(shape) <= sum(moved.values())
    public = {*entry.inputs, entry.output, *entry.extra_outputs}
    assert public <= set(moved)
    # What else is moved is written by one kernel and read by a later one.
    assert entry.n_passes > 1 or public == set(moved)


# Outputs. Those of grids are held to float64 in test_tile_mirrors.py.


def overflows(entry: Algorithm, x: np.ndarray, dtype: str) -> bool:
    """Return whether this algorithm subtracts no maximum and so cannot represent exp(x)."""
    if "l" not in entry.on_chip or "m" in entry.on_chip:
        return False
    with np.errstate(over="ignore", under="ignore"):
        total = round_to(np.exp(x), "float16" if dtype == "float16" else "float32").sum()
    return not np.isfinite(total) or (total == 0 and np.isfinite(x).any())


def assert_output(entry: Algorithm, trace: Trace) -> None:
    """Hold the outputs to float64: one rounding to the dtype, and 1e-6 for the float32 work."""
    if overflows(entry, trace.arrays[entry.rows[0]], trace.dtype):
        assert not np.isfinite(trace.outputs[entry.output]).all() or not trace.outputs["y"].any()
        return
    wanted = reference_for(entry, trace)
    assert set(wanted) == set(trace.outputs) == {entry.output, *entry.extra_outputs}
    half_ulp = HALF_ULP[trace.dtype]
    slack = 1e-6
    if entry.name == "naive_softmax" and trace.dtype == "float16":
        slack = 2 * half_ulp  # the exponentials themselves are rounded to float16
    if len(entry.rows) > 1:  # a product or a sum of inputs is rounded in float32 first
        half_ulp += 2 * HALF_ULP["float32"]
    for name, got in trace.outputs.items():
        assert got.dtype == np.float32
        reference = np.asarray(wanted[name])
        got64 = got.reshape(reference.shape).astype(np.float64)
        np.testing.assert_array_equal(np.isfinite(got64), np.isfinite(reference))
        finite = np.isfinite(reference)
        np.testing.assert_array_equal(got64[~finite], reference[~finite])
        bound = half_ulp * np.abs(reference[finite]) + slack + 2.0**-25
        if name != entry.output:  # an LSE is float32 and carries each rounding of the running sum
            n_blocks = -(-trace.sizes["n_cols"] // trace.sizes["block"])
            bound = 2.0**-24 * np.abs(reference[finite]) + 1e-6 + n_blocks * 2.0**-25
        assert (np.abs(got64[finite] - reference[finite]) <= bound).all()


@each_row
@pytest.mark.parametrize("preset", PRESETS)
def test_float32_outputs_agree_with_float64(entry, preset):
    for n_cols in (1, 2, 37, 64, 100, 512):
        for block in (2**i for i in range(1 if entry.whole_row else 10)):
            assert_output(entry, trace_of(entry, preset=preset, n_cols=n_cols, block=block))


@each_row
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_outputs_agree_with_float64(entry, preset, dtype):
    for n_cols, block in [(1, 1), (2, 1), (37, 4), (100, 32), (512, 64)]:
        sizes = {"n_cols": n_cols, "block": block}
        assert_output(entry, trace_of(entry, preset=preset, dtype=dtype, **sizes))


@each
def test_outputs_are_what_the_dtype_can_hold(entry):
    for dtype in DTYPES:
        trace = trace_of(entry, dtype=dtype)
        for name, output in trace.outputs.items():
            if name != "lse":  # always float32
                np.testing.assert_array_equal(output, round_to(output, dtype))


# The formula, the state and the panels name what the trace has.


def all_variables(trace: Trace) -> set[str]:
    return set().union(*(step.values for step in trace.steps))


@each
def test_stanzas_name_phases_and_variables_of_the_trace(entry):
    trace = trace_of(entry)
    variables = all_variables(trace)
    emitted = {}  # in the order in which the phases first run
    for step in trace.steps:
        emitted.setdefault((step.phase, step.pass_index), set()).update(step.values)
    for stanza in entry.stanzas:
        assigned = emitted[stanza.phase, stanza.pass_index]
        for line in stanza.lines:
            assert line.target in assigned
            named = {field for _, field, _, _ in string.Formatter().parse(line.expression) if field}
            assert named <= variables
    order = [list(emitted).index((stanza.phase, stanza.pass_index)) for stanza in entry.stanzas]
    assert order == sorted(set(order))


@each
def test_every_step_that_assigns_is_in_the_formula(entry):
    trace = trace_of(entry)
    explained = {(stanza.phase, stanza.pass_index) for stanza in entry.stanzas}
    assert {(s.phase, s.pass_index) for s in trace.steps if s.values} <= explained


@each
def test_state_and_panels_are_of_the_trace(entry):
    variables = all_variables(trace_of(entry))
    assert set(entry.on_chip) <= variables
    assert set(entry.captured) <= variables
    # What has no capture still says what it keeps; a part's state is the part's own.
    kept = {name.removesuffix("_part") for name in entry.captured}
    assert set(entry.on_chip) <= kept or not entry.captured
    assert set(entry.panels) <= (ROW_PANELS if entry.problem == "row" else GRID_PANELS)
    assert len(set(entry.panels)) == len(entry.panels)
    assert ("weighted_values" in entry.panels) == entry.has_values
    if entry.problem == "row":
        assert ("operands" in entry.panels) == (len(entry.rows) > 1)
        assert ("products" in entry.panels) == ("t" in variables)
        assert entry.draws[entry.rows[0]] == "scores" or "scores" not in entry.panels
    assert ("matrices" in entry.panels) == bool(entry.matrices)


@each_row
def test_captured_state_is_known_after_every_block(entry):
    trace = trace_of(entry, n_cols=32)
    n_blocks = 1 if entry.whole_row else 8
    for field in entry.captured:
        blocks = {step.block for step in trace.steps if field in step.values}
        assert blocks >= set(range(n_blocks))


@each_row
def test_steps_are_in_order_and_know_their_columns(entry):
    trace = trace_of(entry, preset="masked_tail", block=8)
    block = trace.sizes["block"]
    places = []
    for step in trace.steps:
        assert 0 <= step.pass_index < entry.n_passes
        assert step.program in (None, step.block) and step.tile is None
        places.append((step.pass_index, np.inf if step.block is None else step.block))
        if step.block is None:
            assert (step.start, step.stop) == (0, 37)
        else:
            assert (step.start, step.stop) == (
                step.block * block,
                min(37, (step.block + 1) * block),
            )
    assert places == sorted(places)
    # Either one program does the row, or every block has a program of its own.
    assert len({step.program is None for step in trace.steps}) == 1


@each_row
def test_every_input_is_drawn_as_the_entry_says(entry):
    assert tuple(entry.draws) == entry.inputs
    given = {"preset": "masked_tail", "n_cols": 37, "seed": 3}
    arrays, moved = (trace_of(entry, **{**given, "seed": seed}).arrays for seed in (3, 4))
    for name, what in entry.draws.items():
        assert (what == "values") == (name not in entry.rows)
        assert arrays[name].shape == ((37,) if name in entry.rows else (37, 4))
        assert not np.array_equal(arrays[name], moved[name])
        tail = arrays[name][-12:]
        if what == "softmax":
            assert not tail.any() and arrays[name].sum() == pytest.approx(1, abs=1e-6)
        else:
            assert np.isneginf(tail).all() if what == "scores" else np.isfinite(tail).all()


@each
def test_the_name_is_the_folder_and_the_traces(entry):
    assert ALGORITHMS[entry.name] is entry
    assert (entry.folder / "__init__.py").exists() and (entry.folder / "mirror.py").exists()
    trace = trace_of(entry, dtype="float16")
    assert trace.algorithm == entry.name and trace.dtype == "float16"
    assert set(trace.arrays) == set(entry.inputs)
    assert list(trace.outputs) == [entry.output, *entry.extra_outputs]
    assert set(trace.outputs) == set(reference_for(entry, trace))


# The lesson.


@each
@pytest.mark.parametrize("language", ["en", "zh"])
def test_lesson_is_written(entry, language):
    path = entry.folder / f"lesson.{language}.md"
    if language == "zh" and entry.problem == "row" and not path.exists():
        assert entry.lesson("zh") == entry.lesson("en")
        return
    text = path.read_text("utf-8")
    assert entry.lesson(language) == text
    assert re.findall(r"^# ", text, re.MULTILINE) == ["# "] and text.startswith("# ")
    words = len(text.split())
    if language == "zh":
        words = len(re.findall(r"[\u4e00-\u9fff]", text)) / 1.6  # about so many in a word
    assert 120 <= words <= 400
    assert entry.lesson("xx") == entry.lesson("en")  # as where a language has no lesson
