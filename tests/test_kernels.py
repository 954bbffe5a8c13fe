"""The Triton kernels, on the GPU if there is one and in Triton's interpreter if not."""

from __future__ import annotations

import functools
import importlib
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

ON_GPU = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported, by the kernels

# Triton is interpreted or compiled as it was when first imported. So that happens here, while
# tests are collected, and not in whichever test comes first.
pytest.importorskip("triton", reason="Triton exists for Linux only")

from benchmarks import row_run
from kernels.inputs import DTYPES, PRESETS, choose, make_arrays
from tests.rows import ROWS

DEVICE = "cuda" if ON_GPU else "cpu"
# An interpreted block takes milliseconds, so rows of hundreds of one-column blocks take minutes.
EVERY_BLOCK = ON_GPU or os.environ.get("BLOCKWISE_EVERY_BLOCK") == "1"
SOFTMAXES = [name for name, entry in ROWS.items() if entry.output == "y"]
SAFE = [name for name in SOFTMAXES if "m" in ROWS[name].on_chip]
TWO_ROWS = [name for name, entry in ROWS.items() if len(entry.rows) == 2]
TORCH = {name: getattr(torch, name) for name in DTYPES}

# How far the kernel's float32 sums may be from the mirror's, in ULPs. In the interpreter both are
# NumPy, and only the order of a padded block's sum differs. A GPU's exp is within 2 ULPs of
# NumPy's near 0, and its tree adds in another order. Each rescale by such an alpha may add one more
# ULP to everything before it: on an H200, 512 blocks that all raise the maximum came to 46.
MAX_ULPS = 16 if ON_GPU else 8

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy on NaN and inf


MODULES = {name: importlib.import_module(entry.kernel_module) for name, entry in ROWS.items()}


def launch(name, *tensors, **settings):
    return MODULES[name].launch(*tensors, **{"block": 4, **settings})


def tensors(arrays, dtype, entry):
    """One row's arrays as the kernel takes them."""
    made = {name: torch.tensor(array).to(TORCH[dtype]).to(DEVICE) for name, array in arrays.items()}
    return [made[name][None] if name in entry.rows else made[name] for name in entry.inputs]


def random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator) * 3).to(dtype).to(DEVICE)


def inputs_of(name, n_rows, n_cols, dtype=torch.float32, head_dim=4):
    """Random inputs of an algorithm, each drawn on its own; a softmax where it takes one."""
    entry = ROWS[name]
    made = []
    for seed, tensor in enumerate(entry.inputs):
        what = entry.draws[tensor]
        shape = (n_cols, head_dim) if what == "values" else (n_rows, n_cols)
        drawn = random(*shape, dtype=dtype, seed=seed)
        made.append(torch.softmax(drawn, -1) if what == "softmax" else drawn)
    return made


def by_torch(name, *tensors):
    """What torch gives for the same inputs."""
    return row_run.TORCH[ROWS[name].torch_expression](torch, *tensors)


def ulps(a, b, at):
    """Distance in float32 ULPs at the magnitude ``at``; NaN and infinities must be the same."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    special = ~np.isfinite(b)
    assert np.array_equal(a[special], b[special], equal_nan=True)
    assert np.isfinite(a[~special]).all()
    if special.all():
        return 0.0
    return float(np.abs(a - b)[~special].max() / np.spacing(np.float32(max(at, 1e-30))))


def mirrored_state(trace, field):
    """The variable ``field`` after each block, from the mirror's steps."""
    after = {step.block: step.values[field] for step in trace.steps if field in step.values}
    return np.array([after[block] for block in sorted(after)])


def n_rescales(trace):
    return sum(0 < step.values.get("alpha", 1) < 1 for step in trace.steps)


def assert_state_agrees(entry, trace, state):
    """Maxima are the mirror's exactly; sums within MAX_ULPS, and one ULP more for each rescale.

    delta can cancel to nearly 0: its ULPs are those of its largest term.
    """
    allowed = MAX_ULPS + n_rescales(trace)
    for column, field in enumerate(entry.captured):
        want = mirrored_state(trace, field)
        got = state[:, column:] if field == "acc" else state[:, column]
        of_scale = [want, *(step.values["t"] for step in trace.steps if "t" in step.values)]
        finite = np.concatenate([np.abs(each[np.isfinite(each)]).ravel() for each in of_scale])
        if field in ("m", "m_part"):
            assert np.array_equal(got, want)
        elif field != "alpha":  # alpha of a fallen maximum is tiny, and its last bits mean nothing
            largest = float(finite.max()) if finite.size else 1.0
            assert ulps(got, want, largest) <= allowed, field


def blocks_of(entry, n_cols):
    """The block sizes to try: every one, or in the interpreter a small, a middling and a whole."""
    if entry.whole_row:
        return [1]
    every = [2**k for k in range(10)]
    if EVERY_BLOCK:
        return every
    return sorted({next(b for b in every if b * parts >= n_cols) for parts in (6, 3, 1)})


@pytest.mark.parametrize("n_cols", [1, 2, 37, 64, 100, 512])
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", ROWS)
def test_kernel_state_and_output_agree_with_the_mirror(name, preset, n_cols):
    entry = ROWS[name]
    for block in blocks_of(entry, n_cols):
        arrays = make_arrays(choose(preset, n_cols, block, 4), entry.draws)
        trace = entry.trace(arrays, block, "float32")
        result = launch(name, *tensors(arrays, "float32", entry), block=block, capture=True)
        if entry.captured:
            assert_state_agrees(entry, trace, result.state[0].cpu().numpy())
        else:
            assert result.state is None
        got = result.outputs[entry.output][0].cpu().numpy()
        want = trace.outputs[entry.output]
        scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0.0)))
        assert ulps(got, want, scale) <= MAX_ULPS + n_rescales(trace)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", [1, 37, 100])
@pytest.mark.parametrize("name", SAFE)
def test_softmax_is_as_close_to_float64_as_torch(name, n_cols, dtype):
    x = random(3, n_cols, dtype=TORCH[dtype])
    exact = torch.softmax(x.double(), -1)
    got = launch(name, x, block=32).outputs["y"]
    assert got.dtype == x.dtype
    torch_error = (torch.softmax(x, -1).double() - exact).abs().max().item()
    floor = {"float32": 1e-6, "float16": 2**-11, "bfloat16": 2**-8}[dtype]
    assert (got.double() - exact).abs().max().item() <= max(2 * torch_error, floor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [1, 3, 16, 40])
def test_attention_row_is_close_to_float64(head_dim, dtype):
    x, v = random(5, 100, dtype=TORCH[dtype]), random(100, head_dim, dtype=TORCH[dtype], seed=1)
    exact = torch.softmax(x.double(), -1) @ v.double()
    result = launch("attention_row", x, v, block=32)
    error = (result.outputs["o"].double() - exact).abs().max().item()
    floor = {"float32": 1e-5, "float16": 2**-9, "bfloat16": 2**-6}[dtype]
    assert error <= max(2 * (torch.softmax(x, -1) @ v - exact).abs().max().item(), floor)
    lse = torch.logsumexp(x.double(), -1)
    assert (result.outputs["lse"].double() - lse).abs().max().item() < 1e-5


def test_one_key_gives_its_value_and_equal_scores_give_the_mean():
    v = random(8, 3)
    one = launch("attention_row", random(2, 1), v[:1])
    assert torch.equal(one.outputs["o"], v[:1].expand(2, 3))
    equal = launch("attention_row", torch.zeros(1, 8, device=DEVICE), v)
    torch.testing.assert_close(equal.outputs["o"][0], v.mean(0))
    assert abs(equal.outputs["lse"].item() - math.log(8)) < 1e-6  # natural log: not 3.0


def test_identity_values_show_the_weights():
    x = random(3, 16)
    o = launch("attention_row", x, torch.eye(16, device=DEVICE)).outputs["o"]
    torch.testing.assert_close(o, torch.softmax(x, -1))


INF, NAN = math.inf, math.nan
SPECIAL_ROWS = [
    [INF, 1.0, 2.0, 3.0],
    [INF, INF, 0.0, 0.0],
    [1.0, INF, 1.0, 2.0],
    [1.0, 2.0, INF, NAN],
    [NAN, 1.0, 2.0, 3.0],
    [1.0, 2.0, 3.0, NAN],
    [NAN, NAN, NAN, NAN],
    [-INF, -INF, -INF, -INF],
    [-INF, -INF, 1.0, 2.0],
    [1.0, 2.0, -INF, -INF],
    [200.0, 0.0, 0.0, -200.0],
    [0.0, -88.0, -100.0, -104.0],
]


def with_blocks(names, blocks):
    """Pairs of a name and a block: one block where that is not a choice."""
    return [(name, block) for name in names for block in blocks[: 1 if ROWS[name].whole_row else 9]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "block"), with_blocks(SAFE, [1, 2, 4, 8] if EVERY_BLOCK else [2, 8])
)
def test_special_values_are_as_in_torch(name, block, dtype):
    x = torch.tensor(SPECIAL_ROWS, dtype=TORCH[dtype], device=DEVICE)
    got = launch(name, x, block=block).outputs["y"].float()
    want = torch.softmax(x.float(), -1)
    torch.testing.assert_close(got, want, equal_nan=True, atol=4e-3, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", [1, 37, 100])
@pytest.mark.parametrize("name", TWO_ROWS)
def test_two_inputs_give_what_float64_gives_as_closely_as_torch(name, n_cols, dtype):
    pair = inputs_of(name, 3, n_cols, TORCH[dtype])
    exact = by_torch(name, *(tensor.double() for tensor in pair))
    got = launch(name, *pair, block=32).outputs[ROWS[name].output]
    assert got.dtype == pair[0].dtype
    torch_error = (by_torch(name, *pair).double() - exact).abs().max().item()
    # A last rounding, of the largest output; in float32 a few more, of terms that may cancel.
    half_ulp = {"float32": 1e-6, "float16": 2**-11, "bfloat16": 2**-8}[dtype]
    floor = half_ulp * max(1.0, exact.abs().max().item())
    assert (got.double() - exact).abs().max().item() <= max(2 * torch_error, floor)


@pytest.mark.parametrize(("name", "block"), with_blocks(TWO_ROWS, [2, 8]))
def test_special_values_of_either_input_are_as_in_torch(name, block):
    rows = torch.tensor(SPECIAL_ROWS, device=DEVICE)
    first = torch.softmax(rows, -1) if "softmax" in ROWS[name].draws.values() else rows
    plain = random(*rows.shape)
    for pair in ((first, plain), (torch.softmax(plain, -1), rows), (first, rows.flip(1))):
        got = launch(name, *pair, block=block).outputs[ROWS[name].output]
        want = by_torch(name, *pair)
        torch.testing.assert_close(got, want, equal_nan=True, atol=1e-5, rtol=1e-6)


def test_the_gradient_is_zero_where_the_incoming_one_is_the_same_everywhere():
    """softmax does not change when a number is added to every score."""
    y = torch.softmax(random(4, 50), -1)
    for name in ("single_backward", "block_backward"):
        dx = launch(name, y, torch.full_like(y, 3.0), block=16).outputs["dx"]
        assert dx.abs().max().item() < 1e-6


def test_a_row_of_attention_scores_that_is_masked_weighs_no_column_of_a_chain():
    x, y = torch.tensor([[0.0, -INF, 0.0, -INF]], device=DEVICE), torch.ones(1, 4, device=DEVICE)
    z = launch("fused_chain", x, y).outputs["z"]
    assert z.tolist() == [[0.5, -INF, 0.5, -INF]]


@pytest.mark.parametrize("block", [1, 2, 4, 8])
def test_attention_row_gives_zero_for_a_masked_row_and_torchs_lse(block):
    x = torch.tensor(SPECIAL_ROWS, device=DEVICE)
    v = random(4, 3)
    result = launch("attention_row", x, v, block=block)
    want = torch.softmax(x, -1) @ v
    want[7] = 0  # the row that is -inf everywhere: torch gives NaN
    torch.testing.assert_close(result.outputs["o"], want, equal_nan=True, atol=1e-5, rtol=0)
    torch.testing.assert_close(result.outputs["lse"], torch.logsumexp(x, -1), equal_nan=True)


def test_naive_softmax_overflows_where_its_dtype_does():
    for dtype, last_good, first_bad in [("float16", 11.0, 11.125), ("float32", 88.5, 89.0)]:
        x = torch.tensor([[0.0, last_good], [0.0, first_bad]], dtype=TORCH[dtype], device=DEVICE)
        y = launch("naive_softmax", x).outputs["y"].float().cpu()
        assert torch.isfinite(y[0]).all()
        assert y[1, 0] == 0 and torch.isnan(y[1, 1])


def views(dtype):
    """Layouts of one 6 x 20 matrix, by name: each must give what its contiguous copy gives."""
    base = random(40, 60, dtype=dtype)
    flat = random(200, dtype=dtype)
    return {
        "transposed": base[:20, :6].T,
        "sliced columns": base[:6, 5:25],
        "every second column": base[:6, :40:2],
        "every third row": base[:18:3, :20],
        "expanded rows": base[:1, :20].expand(6, 20),
        "expanded columns": base[:6, :1].expand(6, 20),
        "offset by one element": flat[1:121].view(6, 20),
    }


@pytest.mark.parametrize("layout", views(torch.float32))
@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("name", ROWS)
def test_any_layout_gives_what_its_contiguous_copy_gives(name, dtype, layout):
    """Of two rows each has a layout of its own."""
    entry, made = ROWS[name], views(TORCH[dtype])
    others = [each for each in made if each != layout]
    given = [made[layout]]
    if entry.has_values:
        given.append(made[layout].T)
    elif len(entry.inputs) > 1:
        given.append(made[others[list(made).index(layout) % len(others)]])
    plain = launch(name, *(tensor.contiguous() for tensor in given), block=16)
    strided = launch(name, *given, block=16)
    # On a GPU strides decide how a row is dealt out to threads, and so the order of its sums.
    atol = 2e-6 if ON_GPU and dtype == "float32" else 0
    for output, got in strided.outputs.items():
        torch.testing.assert_close(got, plain.outputs[output], rtol=0, atol=atol, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROWS)
def test_output_is_overwritten_and_nothing_around_it(name, dtype):
    entry = ROWS[name]
    width = 5 if entry.has_values else 37
    arena = torch.full((5, width + 4), NAN, dtype=TORCH[dtype], device=DEVICE)
    inside = arena[1:4, 2 : 2 + width]
    result = launch(name, *inputs_of(name, 3, 37, TORCH[dtype], 5), out=inside, block=16)
    assert result.outputs[entry.output] is inside
    assert not torch.isnan(inside).any()
    inside.fill_(NAN)
    assert torch.isnan(arena).all()


@pytest.mark.parametrize("name", ROWS)
def test_empty_inputs_give_empty_outputs(name):
    entry = ROWS[name]
    for rows, cols in [(0, 8), (4, 0), (0, 0)]:
        outputs = launch(name, *inputs_of(name, rows, cols, head_dim=3)).outputs
        assert outputs[entry.output].shape == (rows, 3 if entry.has_values else cols)
        if entry.has_values:
            assert (outputs["o"] == 0).all() and (outputs["lse"] == -INF).all()
    if entry.has_values:
        outputs = launch(name, torch.zeros(2, 4, device=DEVICE), torch.zeros(4, 0, device=DEVICE))
        assert outputs.outputs["lse"].tolist() == pytest.approx([math.log(4)] * 2)


@pytest.mark.parametrize("name", ROWS)
def test_capture_changes_no_output_and_runs_repeat_bit_for_bit(name):
    entry = ROWS[name]
    given = inputs_of(name, 3, 50)
    first = launch(name, *given, block=32)
    assert first.state is None
    for _ in range(30 if ON_GPU else 3):
        again = launch(name, *given, block=32, capture=True)
        assert torch.equal(again.outputs[entry.output], first.outputs[entry.output])


def test_each_kernel_says_its_path():
    ran = {name: launch(name, *inputs_of(name, 2, 10)) for name in ROWS}
    assert {name: run.path for name, run in ran.items()} == {
        "attention_row": "online",
        "online_softmax": "online",
        "safe_softmax": "safe",
        "single_softmax": "single",
        "naive_softmax": "naive",
        "rows_softmax": "rows",
        "split_softmax": "split",
        "single_backward": "single",
        "block_backward": "blocks",
        "vector_add": "blocks",
        "fused_chain": "single",
    }
    # Blocks of 4 of rows of 10: a program each where they run side by side.
    side_by_side = {"split_softmax": 6, "vector_add": 6, "rows_softmax": 1}
    programs = {name: run.n_programs for name, run in ran.items()}
    assert programs == {**dict.fromkeys(ROWS, 2), **side_by_side}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize(
    ("x", "settings", "error", "sentence"),
    [
        (torch.zeros(2, 4, dtype=torch.float64), {}, TypeError, "float64"),
        (torch.zeros(2, 4, dtype=torch.int64), {}, TypeError, "int64"),
        (torch.zeros(4), {}, ValueError, r"2 dimensions, got 1: \[4\]"),
        (torch.zeros(2, 3, 4), {}, ValueError, "2 dimensions, got 3"),
        (np.zeros((2, 4)), {}, TypeError, "torch tensor, got ndarray"),
        (torch.zeros(2, 4), {"num_warps": 3}, ValueError, "num_warps must be a power of two"),
        (torch.zeros(2, 4), {"num_warps": 64}, ValueError, "from 1 to 32, got 64"),
        (torch.zeros(2, 4), {"out": torch.zeros(2, 9)}, ValueError, "out must have shape"),
        (torch.zeros(2, 4), {"out": torch.zeros(2, 4).half()}, TypeError, "one dtype"),
        (torch.zeros(2, 4, requires_grad=True), {}, ValueError, "no backward"),
    ],
)
def test_mistakes_are_refused_in_a_sentence(name, x, settings, error, sentence):
    move = {k: t.to(DEVICE) if torch.is_tensor(t) else t for k, t in settings.items()}
    x = x.to(DEVICE) if torch.is_tensor(x) else x
    others = inputs_of(name, 2, 4)[1:]
    if torch.is_tensor(x) and x.is_floating_point():
        others = [tensor.to(x.dtype) for tensor in others]
    with pytest.raises(error, match=sentence):
        launch(name, x, *others, **move)


@pytest.mark.parametrize("name", TWO_ROWS)
def test_mistakes_in_the_second_input_are_refused_by_its_name(name):
    first, second = inputs_of(name, 2, 4)
    one, other = ROWS[name].inputs
    refused = [
        (second[:, :3], ValueError, rf"{other} must have {one}'s shape \[2, 4\], got \[2, 3\]"),
        (second[:1], ValueError, rf"{other} must have {one}'s shape"),
        (second.half(), TypeError, f"{other} and {one} must have one dtype, got float16"),
        (second.double(), TypeError, f"{other} must be float16, bfloat16 or float32, got float64"),
        (second[0], ValueError, f"{other} must have 2 dimensions, got 1"),
        (second.clone().requires_grad_(), ValueError, f"{other} requires a gradient"),
        (None, TypeError, f"{other} must be a torch tensor, got NoneType"),
    ]
    for wrong, error, sentence in refused:
        with pytest.raises(error, match=sentence):
            launch(name, first, wrong)
    for shared in (first, second):
        with pytest.raises(ValueError, match="share memory"):
            launch(name, first, second, out=shared)


@pytest.mark.parametrize("name", [name for name, entry in ROWS.items() if "x" not in entry.draws])
def test_a_first_input_that_wants_a_gradient_is_refused(name):
    first, second = inputs_of(name, 2, 4)
    with pytest.raises(ValueError, match=f"{ROWS[name].inputs[0]} requires a gradient"):
        launch(name, first.requires_grad_(), second)


@pytest.mark.parametrize("block", [0, -128, 3, 1000, True, 4.0, None])
@pytest.mark.parametrize("name", [name for name, entry in ROWS.items() if not entry.whole_row])
def test_blocks_that_are_no_power_of_two_are_refused(name, block):
    with pytest.raises((ValueError, TypeError), match="block must be"):
        launch(name, *inputs_of(name, 2, 4), block=block)


def test_shared_memory_and_mismatched_values_are_refused():
    x = torch.zeros(4, 4, device=DEVICE)
    with pytest.raises(ValueError, match="share memory"):
        launch("online_softmax", x, out=x)
    with pytest.raises(ValueError, match="expanded"):
        launch("online_softmax", x, out=torch.zeros(1, 4, device=DEVICE).expand(4, 4))
    with pytest.raises(ValueError, match="4 columns, got 5"):
        launch("attention_row", x, torch.zeros(5, 2, device=DEVICE))
    with pytest.raises(TypeError, match="v and x must have one dtype, got float16 and float32"):
        launch("attention_row", x, torch.zeros(4, 2, device=DEVICE).half())
    with pytest.raises(ValueError, match="up to 1048576 columns, got 1048577"):
        launch("single_softmax", torch.zeros(1, 2**20 + 1, device=DEVICE))


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU: 70,000 interpreted programs take minutes")
@pytest.mark.parametrize("name", ROWS)
def test_more_rows_than_a_grid_dimension_of_65535(name):
    given = inputs_of(name, 70_000, 4)
    got = launch(name, *given).outputs[ROWS[name].output]
    torch.testing.assert_close(got, by_torch(name, *given), atol=1e-5, rtol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU: a tensor of 4 GB, and rows 2^31 apart")
@pytest.mark.parametrize("name", SAFE + TWO_ROWS)
def test_offsets_past_2_to_the_31(name):
    storage = torch.zeros(2**31 + 2**12, dtype=torch.float16, device=DEVICE)
    far = []
    for at, near in enumerate(inputs_of(name, 2, 100, torch.float16)):
        far.append(storage.as_strided((2, 100), (2**31, 1), at * 1024))
        far[-1].copy_(near)
    want = by_torch(name, *(tensor.contiguous() for tensor in far))
    got = launch(name, *far, block=64).outputs[ROWS[name].output]
    torch.testing.assert_close(got, want, atol=2e-3, rtol=2e-3)


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU: the interpreter takes CPU tensors")
@pytest.mark.parametrize("name", SOFTMAXES)
def test_a_cpu_tensor_is_refused_by_name_on_a_gpu(name):
    with pytest.raises(ValueError, match="x is on cpu"):
        launch(name, torch.zeros(2, 4))


CAPTURING = tuple(name for name, entry in ROWS.items() if entry.captured)


@functools.cache
def capture_verdicts(dtype: str, names: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """Return (GPU, algorithm) -> what ``tests.compile_for`` says, from one process for all."""
    command = [sys.executable, "-m", "tests.compile_for", dtype, "80,90", *names]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    return {(sm, name): said for sm, name, said in lines}


@pytest.mark.skipif(sys.platform != "linux", reason="Triton exists for Linux only")
@pytest.mark.parametrize("sm", ["80", "90"])
@pytest.mark.parametrize("name", CAPTURING)
def test_capture_costs_nothing_when_it_is_off(name, sm):
    assert capture_verdicts("fp32", CAPTURING)[sm, name] == "same"
