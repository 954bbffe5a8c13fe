"""Every entry of ALGORITHMS keeps its contract: costs, phases, names, outputs, and its files."""

from __future__ import annotations

import ast
import itertools
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.algorithm import Algorithm, Shape
from kernels.inputs import (
    DTYPES,
    ITEMSIZE,
    MAX_BLOCK,
    MAX_COLS,
    MAX_HEAD_DIM,
    PRESETS,
    choose,
    make_arrays,
    round_to,
)
from kernels.trace import Trace

ENTRIES = list(ALGORITHMS.values())
PHASES = ("load", "block_max", "new_max", "rescale", "accumulate", "normalize", "store")
PANELS = {"scores", "weights", "outputs", "weighted_values"}
# Half the spacing of each dtype at 1: the largest relative error of one rounding.
HALF_ULP = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}

pytestmark = pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)


def trace_of(entry: Algorithm, *args, **kwargs) -> Trace:
    choice = choose(*args, **kwargs)
    return entry.trace(make_arrays(choice, entry.has_values), choice.block, choice.dtype)


def shape_of(trace: Trace) -> Shape:
    sizes = trace.sizes
    return Shape(1, sizes["n_cols"], sizes.get("head_dim", 1), ITEMSIZE[trace.dtype])


# Costs.


@given(
    n_cols=st.integers(1, MAX_COLS),
    log_block=st.integers(0, MAX_BLOCK.bit_length() - 1),
    head_dim=st.integers(1, MAX_HEAD_DIM),
    dtype=st.sampled_from(DTYPES),
)
def test_bytes_of_the_steps_sum_to_the_formula(entry, n_cols, log_block, head_dim, dtype):
    trace = trace_of(entry, "normal", n_cols, 2**log_block, head_dim, dtype)
    assert trace.traffic() == entry.hbm_bytes(shape_of(trace))


@pytest.mark.parametrize("n_cols, block", [(1, 1), (37, 8), (512, 512), (100, 1)])
def test_every_pass_reads_every_score_once(entry, n_cols, block):
    trace = trace_of(entry, n_cols=n_cols, block=block, dtype="float16")
    loads = [step for step in trace.steps if "x" in step.reads]
    assert sorted({step.pass_index for step in loads}) == list(range(entry.n_passes))
    for number in range(entry.n_passes):
        read = [c for s in loads if s.pass_index == number for c in range(s.start, s.stop)]
        assert read == list(range(n_cols))
    assert sum(step.reads["x"] for step in loads) == entry.n_passes * n_cols * 2


def test_costs_scale_with_rows_and_itemsize(entry):
    one, many = Shape(1, 300, 8, 4), Shape(64, 300, 8, 4)
    for cost in (entry.hbm_bytes, entry.naive_bytes):
        assert {name: 64 * n for name, n in cost(one).items()} == cost(many)
        assert all(n > 0 and isinstance(n, int) for n in cost(many).values())
    assert entry.flops(many) == 64 * entry.flops(one) > 0
    half = Shape(64, 300, 8, 2)
    assert entry.min_bytes(half) < entry.min_bytes(many)


def test_a_schedule_moves_no_less_than_the_least(entry):
    for n_cols, width, size in itertools.product((1, 37, 4096), (1, 64), (2, 4)):
        shape = Shape(1, n_cols, width, size)
        moved = sum(entry.hbm_bytes(shape).values())
        assert entry.min_bytes(shape) <= moved
    assert set(entry.inputs) | {entry.output, *entry.extra_outputs} == set(entry.hbm_bytes(shape))


# Outputs.


def overflows(entry: Algorithm, x: np.ndarray, dtype: str) -> bool:
    """Return whether this algorithm subtracts no maximum and so cannot represent exp(x)."""
    if "m" in entry.on_chip:
        return False
    with np.errstate(over="ignore", under="ignore"):
        total = round_to(np.exp(x), "float16" if dtype == "float16" else "float32").sum()
    return not np.isfinite(total) or (total == 0 and np.isfinite(x).any())


def assert_output(entry: Algorithm, trace: Trace) -> None:
    """Hold the outputs to float64: one rounding to the dtype, and 1e-6 for the float32 work."""
    x = trace.arrays["x"]
    if overflows(entry, x, trace.dtype):
        assert not np.isfinite(trace.outputs[entry.output]).all() or not trace.outputs["y"].any()
        return
    arrays = {name: np.atleast_2d(array) for name, array in trace.arrays.items()}
    wanted = entry.reference(arrays)
    assert set(wanted) == set(trace.outputs) == {entry.output, *entry.extra_outputs}
    half_ulp = HALF_ULP[trace.dtype]
    slack = 1e-6
    if "m" not in entry.on_chip and trace.dtype == "float16":
        slack = 2 * half_ulp  # the exponentials themselves are rounded to float16
    for name, got in trace.outputs.items():
        assert got.dtype == np.float32
        reference = np.asarray(wanted[name][0])
        got64 = got.reshape(reference.shape).astype(np.float64)
        np.testing.assert_array_equal(np.isfinite(got64), np.isfinite(reference))
        finite = np.isfinite(reference)
        np.testing.assert_array_equal(got64[~finite], reference[~finite])
        bound = half_ulp * np.abs(reference[finite]) + slack + 2.0**-25
        if name != entry.output:  # an LSE is float32 and carries each rounding of the running sum
            n_blocks = -(-trace.sizes["n_cols"] // trace.sizes["block"])
            bound = 2.0**-24 * np.abs(reference[finite]) + 1e-6 + n_blocks * 2.0**-25
        assert (np.abs(got64[finite] - reference[finite]) <= bound).all()


@pytest.mark.parametrize("preset", PRESETS)
def test_float32_outputs_agree_with_float64(entry, preset):
    for n_cols in (1, 2, 37, 64, 100, 512):
        for block in (2**i for i in range(10)):
            assert_output(entry, trace_of(entry, preset, n_cols, block, 4))


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_outputs_agree_with_float64(entry, preset, dtype):
    for n_cols, block in [(1, 1), (2, 1), (37, 4), (100, 32), (512, 64)]:
        assert_output(entry, trace_of(entry, preset, n_cols, block, 4, dtype))


def test_outputs_are_what_the_dtype_can_hold(entry):
    for dtype in DTYPES:
        trace = trace_of(entry, "normal", 37, 8, 3, dtype)
        output = trace.outputs[entry.output]
        np.testing.assert_array_equal(output, round_to(output, dtype))


# The formula, the state and the panels name what the trace has.


def all_variables(trace: Trace) -> set[str]:
    return set().union(*(step.values for step in trace.steps))


def test_stanzas_name_phases_and_variables_of_the_trace(entry):
    trace = trace_of(entry, "normal", 32, 4, 4)
    variables = all_variables(trace)
    emitted = {}
    for step in trace.steps:
        emitted.setdefault((step.phase, step.pass_index), set()).update(step.values)
    for stanza in entry.stanzas:
        assigned = emitted[stanza.phase, stanza.pass_index]
        for line in stanza.lines:
            assert line.target in assigned
            named = {field for _, field, _, _ in string.Formatter().parse(line.expression) if field}
            assert named <= variables
    order = [(stanza.pass_index, PHASES.index(stanza.phase)) for stanza in entry.stanzas]
    assert order == sorted(set(order))


def test_every_step_that_assigns_is_in_the_formula(entry):
    trace = trace_of(entry, "normal", 32, 4, 4)
    explained = {(stanza.phase, stanza.pass_index) for stanza in entry.stanzas}
    assert {(s.phase, s.pass_index) for s in trace.steps if s.values} <= explained


def test_state_and_panels_are_of_the_trace(entry):
    variables = all_variables(trace_of(entry, "normal", 32, 4, 4))
    assert set(entry.on_chip) <= variables
    assert set(entry.captured) <= variables
    assert set(entry.on_chip) <= set(entry.captured)
    assert set(entry.panels) <= PANELS and len(set(entry.panels)) == len(entry.panels)
    assert ("weighted_values" in entry.panels) == entry.has_values


def test_captured_state_is_known_after_every_block(entry):
    trace = trace_of(entry, "normal", 32, 4, 4)
    n_blocks = 1 if entry.whole_row else 8
    for field in entry.captured:
        blocks = {step.block for step in trace.steps if field in step.values}
        assert blocks >= set(range(n_blocks))


def test_steps_are_in_order_and_know_their_columns(entry):
    trace = trace_of(entry, "masked_tail", 37, 8, 4)
    block = trace.sizes["block"]
    places = []
    for step in trace.steps:
        assert step.phase in PHASES and 0 <= step.pass_index < entry.n_passes
        places.append((step.pass_index, np.inf if step.block is None else step.block))
        if step.block is None:
            assert (step.start, step.stop) == (0, 37)
        else:
            assert (step.start, step.stop) == (
                step.block * block,
                min(37, (step.block + 1) * block),
            )
    assert places == sorted(places)


def test_the_name_is_the_folder_and_the_traces(entry):
    assert ALGORITHMS[entry.name] is entry
    assert (entry.folder / "__init__.py").exists() and (entry.folder / "mirror.py").exists()
    trace = trace_of(entry, "normal", 8, 4, 2, "float16")
    assert trace.algorithm == entry.name and trace.dtype == "float16"
    assert set(trace.arrays) == set(entry.inputs)


# The kernel is the mirror, written again.


def phases_in_order(pairs) -> dict[int, list[str]]:
    """Return, by pass, each phase once, in the order of its first appearance."""
    order: dict[int, list[str]] = {}
    for pass_index, phase in pairs:
        seen = order.setdefault(pass_index, [])
        if phase not in seen:
            seen.append(phase)
    return order


def jitted(entry: Algorithm) -> dict[str, ast.FunctionDef]:
    tree = ast.parse((entry.folder / "kernel.py").read_text("utf-8"))
    return {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(ast.unparse(d).startswith("triton.jit") for d in node.decorator_list)
    }


def executed_markers(entry: Algorithm) -> list[tuple[int, str]]:
    """Return (pass, phase) of the kernel's marked lines, in the order in which they run."""
    functions = jitted(entry)
    marked = {line.number: line for line in entry.source if line.phase}
    (kernel,) = (node for name, node in functions.items() if name.endswith("_kernel"))

    def markers(function: ast.FunctionDef):
        called = {
            node.lineno: functions[node.func.id]
            for node in ast.walk(function)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in functions
        }
        for number in range(function.lineno, function.end_lineno + 1):
            if number in called:
                yield from markers(called[number])
            if number in marked:
                yield marked[number].pass_index, marked[number].phase

    return list(markers(kernel))


def test_kernel_marks_the_mirrors_phases_in_the_mirrors_order(entry):
    trace = trace_of(entry, "normal", 32, 4, 4)
    mirror = phases_in_order((step.pass_index, step.phase) for step in trace.steps)
    assert phases_in_order(executed_markers(entry)) == mirror


def test_every_marked_line_runs(entry):
    marked = sorted((line.pass_index, line.phase) for line in entry.source if line.phase)
    assert sorted(executed_markers(entry)) == marked


def test_shown_source_is_the_file(entry):
    lines = (entry.folder / "kernel.py").read_text("utf-8").splitlines()
    for line in entry.source:
        assert lines[line.number - 1].startswith(line.code.split("  # [")[0].rstrip())
        assert "#:" not in line.code
    assert entry.source[0].code.startswith("@triton.jit")


def test_update_is_the_same_function_in_kernel_and_mirror(entry):
    tree = ast.parse((entry.folder / "mirror.py").read_text("utf-8"))
    mirror = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}.get("update")
    kernel = jitted(entry).get("update")
    assert (mirror is None) == (kernel is None)
    if kernel is None:
        assert "rescale" not in {stanza.phase for stanza in entry.stanzas}
        return
    arguments = [[arg.arg for arg in node.args.args] for node in (mirror, kernel)]
    assert arguments[0] == arguments[1]
    returned = [
        [ast.unparse(item) for item in node.body[-1].value.elts] for node in (mirror, kernel)
    ]
    # The kernel may return more, for the capture.
    assert returned[0] == returned[1][: len(returned[0])]


def test_kernel_has_capture_and_one_entry_point(entry):
    functions = jitted(entry)
    (kernel,) = (node for name, node in functions.items() if name.endswith("_kernel"))
    assert kernel.name == f"{entry.name}_kernel"
    constants = [a.arg for a in kernel.args.args if ast.unparse(a.annotation or a) != a.arg]
    assert "CAPTURE" in constants and all(name.isupper() for name in constants)
    (launch,) = (
        node
        for node in ast.parse((entry.folder / "kernel.py").read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "launch"
    )
    # One call fits all: an algorithm without values takes v=None.
    assert [a.arg for a in launch.args.args] == ["x", "v"]
    assert len(launch.args.defaults) == 2 - len(entry.inputs)


# The lesson.


def test_lesson_is_written(entry):
    text = (entry.folder / "lesson.en.md").read_text("utf-8")
    assert text.startswith("# ")
    assert 120 <= len(text.split()) <= 400
    assert entry.lesson("en") == text
    assert entry.lesson("xx") == text  # a language without a lesson falls back to English
