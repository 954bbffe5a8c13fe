"""One softmax for every shape: any dim and rank, any path, its gradient, and what it refuses.

The kernels run on the GPU if there is one and in Triton's interpreter if not.
"""

from __future__ import annotations

import threading

import pytest
import torch

from tests.test_kernels import DEVICE, ON_GPU, TORCH  # isort: split

from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.fused_chain.autograd import softmax_plus_product
from kernels.softmax.autograd import (
    gradient_with_path,
    softmax,
    softmax_gradient,
    softmax_with_path,
)
from kernels.softmax.paths import BACKWARD_PATHS, FORWARD, PATHS, plan, plan_backward
from kernels.split_softmax.kernel import launch as split

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy on NaN and inf

HALF_ULP = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
H200 = (9, 0)


def random(*shape, dtype="float32", seed=0, scale=3.0):
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(shape, generator=generator) * scale).to(TORCH[dtype]).to(DEVICE)


def exact(x, dim=-1):
    return torch.softmax(x.double(), dim)


def near(got, wanted, dtype="float32"):
    """Within two roundings of the largest value, and float32's arithmetic."""
    allowed = wanted.abs().max().item() * (2 * HALF_ULP[dtype] + 1e-6) if wanted.numel() else 0.0
    return torch.equal(got.isnan(), wanted.isnan()) and (
        not got.numel() or (got.double() - wanted).nan_to_num().abs().max().item() <= allowed
    )


def along(x, path):
    """softmax(x) along a path: the one that was told is the one that ran."""
    taken = softmax_with_path(x, -1, path)
    assert taken.path == path
    return taken.y


# Any dim, any rank.


@pytest.mark.parametrize(
    "shape, dim",
    [
        ((7,), 0),
        ((7,), -1),
        ((), 0),
        ((3, 5), 0),
        ((4, 3, 5), 1),
        ((4, 3, 5), -3),
        ((2, 3, 1, 5), 1),
        ((2, 2, 2, 2, 3), 2),
        ((0, 4), 1),
        ((4, 0), 1),
        ((4, 0), 0),
        ((3, 0, 2), 2),
    ],
)
def test_any_dim_of_any_rank(shape, dim):
    x = random(*shape)
    assert near(softmax(x, dim), exact(x, dim))
    assert softmax(x, dim).shape == x.shape


def test_a_view_gives_what_its_copy_gives_and_says_if_it_was_copied():
    base = random(4, 3, 5, 2)
    for view, dim in (
        (base.transpose(0, 2), -1),
        (base[::2, :, 1:], 2),
        (base[:, :, :, :1].expand(4, 3, 5, 7), 3),
        (base.permute(3, 1, 0, 2), 1),
    ):
        taken = softmax_with_path(view, dim)
        assert torch.equal(taken.y, softmax(view.contiguous(), dim))
    assert not softmax_with_path(base, -1).is_copied
    assert not softmax_with_path(random(6, 8).T, -1).is_copied  # one stride each way: as it lies
    assert softmax_with_path(random(4, 3, 5), 1).is_copied  # rows at no one distance


# Paths.


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("dtype", TORCH)
def test_a_path_that_is_told_is_taken_and_right(path, dtype):
    for n_cols in (1, 37, 100):
        x = random(3, n_cols, dtype=dtype)
        assert near(along(x, path), exact(x), dtype)


@pytest.mark.parametrize(
    ("n_cols", "block"),
    # Half of the next power of two; at least 128, at most 1,024, and 16,384 in long rows.
    [(1, 128), (256, 128), (781, 512), (4096, 1024), (5001, 4096), (8192, 4096), (98_304, 16_384)],
)
def test_a_path_of_blocks_that_is_told_gets_several(n_cols, block):
    for told in (
        plan(4096, n_cols, 4, H200, "online"),
        plan_backward(9, n_cols, 4, H200, "blocks"),
    ):
        assert told.settings["block"] == block and (block < n_cols or n_cols <= 128)


@pytest.mark.parametrize(("n_cols", "block"), [(50_256, 16_384), (50_257, 8192), (50_264, 8192)])
def test_rows_that_are_no_multiple_of_16_take_other_blocks(n_cols, block):
    assert plan(4096, n_cols, 2, H200).settings["block"] == block


def test_the_path_that_the_table_plans_is_the_path_that_ran():
    for n_rows, n_cols in ((3, 1), (3, 100), (3, 700), (130, 5), (2, 1500)):
        x = random(n_rows, n_cols)
        capability = torch.cuda.get_device_capability() if ON_GPU else None
        taken = softmax_with_path(x)
        assert taken.path == plan(n_rows, n_cols, 4, capability).path
        assert near(taken.y, exact(x))


@given(n_cols=st.integers(1, 200), n_rows=st.integers(1, 3), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_the_result_does_not_depend_on_the_path(n_cols, n_rows, seed):
    x = random(n_rows, n_cols, seed=seed)
    results = [along(x, path) for path in PATHS]
    for other in results[1:]:
        assert (other - results[0]).abs().max().item() <= 1e-6
    assert (results[0].sum(-1) - 1).abs().max().item() <= 1e-6


@given(n_cols=st.integers(1, 100), shift=st.floats(-50, 50, width=32), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_a_constant_added_to_a_row_changes_nothing_beyond_its_rounding(n_cols, shift, seed):
    x = random(2, n_cols, seed=seed)
    moved = softmax(x + shift)
    # x + shift is rounded at its own size, and exp takes that as a relative error.
    allowed = 1e-6 + 2.0**-23 * (abs(shift) + x.abs().max().item())
    assert (moved - softmax(x)).abs().max().item() <= allowed


@pytest.mark.parametrize("path", PATHS)
def test_special_rows_are_torchs_on_every_path(path):
    inf, nan = float("inf"), float("nan")
    rows = [[-inf] * 40, [1.0] * 39 + [inf], [nan] + [0.0] * 39, [-inf] * 39 + [2.0]]
    rows += [[inf] * 20 + [-inf] * 20, [0.0, -88.0, -100.0, -104.0] + [-inf] * 36]
    x = torch.tensor(rows, device=DEVICE)
    got, wanted = along(x, path), torch.softmax(x, -1)
    assert torch.equal(got.isnan(), wanted.isnan())
    assert (got - wanted).nan_to_num().abs().max().item() <= 1e-6


def test_a_million_small_terms_beside_a_large_one_are_not_lost():
    n = 1_000_000 if ON_GPU else 20_000
    x = torch.full((1, n), -18.0, device=DEVICE)
    x[0, 0] = 0
    for path in ("online", "split"):
        # One term after the other would give 1.0, and be off by 0.015.
        assert abs(along(x, path)[0, 0].item() - exact(x)[0, 0].item()) <= 5e-6


# The table.


def test_every_line_says_what_it_chose_over_what():
    for (itemsize, is_few), lines in FORWARD.items():
        assert [line.up_to for line in lines] == sorted({line.up_to for line in lines})
        assert lines[-1].up_to >= 2**63
        for line in lines:
            assert line.path in line.measured
            n_rows = 1 if is_few else 10_000
            chosen = plan(n_rows, line.at, itemsize, H200)
            # Where the fastest was not chosen, it was by less than measurements differ.
            assert line.measured[line.path] * 1.04 + 1 >= max(line.measured.values())
            assert f"{line.at:,}" in plan(n_rows, line.up_to, itemsize, H200).reason
            assert "NVIDIA H200, 2026-11-30." in chosen.reason


def test_another_gpu_and_none_are_said_to_be_guesses():
    assert plan(100, 100, 2, (8, 0)).reason.endswith("(sm_80: not measured).")
    assert plan(100, 100, 2, None).reason.endswith("(no GPU is here).")


def test_rows_fill_a_tile_and_a_row_that_starts_anywhere_takes_other_blocks():
    assert plan(1000, 64, 2, H200).settings["rows"] == 16
    assert plan(1000, 1, 2, H200).settings["rows"] == 1024
    aligned, odd = (plan(1000, n, 4, H200) for n in (50_256, 50_257))
    assert (aligned.path, odd.path) == ("split", "split")
    assert aligned.settings["block"] == 8192
    assert odd.settings["block"] == 4096


def test_rows_longer_than_any_part_of_the_table_are_online():
    assert plan(1, 2**40, 4, H200).path == "online"
    assert plan_backward(1, 2**40, 4, H200).path == "blocks"


# Gradients.


@pytest.mark.parametrize("dtype", TORCH)
@pytest.mark.parametrize("path", BACKWARD_PATHS)
def test_the_gradient_is_float64s_on_every_path(path, dtype):
    x, dy = random(4, 60, dtype=dtype), random(4, 60, dtype=dtype, seed=1)
    y = torch.softmax(x, -1)
    wide, grad = y.double(), dy.double()
    wanted = wide * (grad - (wide * grad).sum(-1, keepdim=True))
    dx, ran = gradient_with_path(y, dy, path)
    assert ran == path
    assert near(dx, wanted, dtype)


@pytest.mark.parametrize("path", BACKWARD_PATHS)
def test_a_backward_path_that_is_told_is_taken_at_every_length(path):
    for n_cols in (1, 100, 1500, 5000):
        y = torch.softmax(random(1, n_cols), -1)
        assert gradient_with_path(y, random(1, n_cols, seed=1), path)[1] == path


def test_the_gradient_by_hand():
    x = torch.tensor([[1.0, 2.0, 3.0]], device=DEVICE, requires_grad=True)
    (dx,) = torch.autograd.grad(softmax(x), x, torch.tensor([[1.0, 0.0, 0.0]], device=DEVICE))
    wanted = torch.tensor([[0.0819251, -0.0220330, -0.0598920]], device=DEVICE)
    torch.testing.assert_close(dx, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape, dim", [((3, 40), -1), ((3, 4, 5), 1), ((9,), 0), ((0, 3), -1)])
def test_the_gradient_of_a_sum_is_that_of_ones_and_sums_to_nothing(shape, dim):
    x = random(*shape).requires_grad_()
    weights = random(*shape, seed=3)
    (by_sum,) = torch.autograd.grad(softmax(x, dim).sum(), x)  # the incoming gradient is expanded
    assert by_sum.abs().sum().item() <= 1e-6 * x.numel()
    (by_weights,) = torch.autograd.grad((softmax(x, dim) * weights).sum(), x)
    (by_torch,) = torch.autograd.grad((torch.softmax(x, dim) * weights).sum(), x)
    torch.testing.assert_close(by_weights, by_torch, rtol=1e-5, atol=1e-6)
    if x.numel():
        assert by_weights.sum(dim).abs().max().item() <= 1e-6


def test_only_y_is_saved():
    x = random(3, 8).requires_grad_()
    saved = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: saved.append(t) or t, lambda t: t):
        y = softmax(x)
    assert len(saved) == 1
    assert torch.equal(saved[0], y.detach())


@pytest.mark.parametrize("strides", ["transposed", "sliced", "step"])
def test_incoming_gradients_of_any_strides(strides):
    x = random(6, 5).requires_grad_()
    dy = {
        "transposed": random(5, 6, seed=1).T,
        "sliced": random(6, 9, seed=1)[:, 2:7],
        "step": random(6, 10, seed=1)[:, ::2],
    }[strides]
    (dx,) = torch.autograd.grad(softmax(x), x, dy)
    (contiguous,) = torch.autograd.grad(softmax(x), x, dy.contiguous())
    # Strides decide how a row is dealt out to threads, and so the order of its sum.
    torch.testing.assert_close(dx, contiguous, rtol=0, atol=1e-6 if ON_GPU else 0)


def test_a_second_derivative_is_refused_in_a_sentence():
    x = random(2, 3).requires_grad_()
    with pytest.raises(ValueError, match="cannot be differentiated again"):
        torch.autograd.grad(softmax(x)[0, 0], x, create_graph=True)


# The fused chain.


@pytest.mark.parametrize("dtype", TORCH)
def test_the_fused_chain_and_both_gradients(dtype):
    x, y, dz = (random(4, 50, dtype=dtype, seed=seed) for seed in range(3))
    x.requires_grad_()
    y.requires_grad_()
    z = softmax_plus_product(x, y)
    got = (z.detach(), *torch.autograd.grad(z, (x, y), dz))
    wide = [t.detach().double().requires_grad_() for t in (x, y)]
    chain = torch.softmax(wide[0], -1) + wide[0] * wide[1]
    wanted = (chain.detach(), *torch.autograd.grad(chain, wide, dz.double()))
    for ours, theirs in zip(got, wanted, strict=True):
        assert near(ours, theirs, dtype)


# Split: programs that wait for each other.


def test_what_a_program_gave_up_waiting_for_it_computes_to_the_same_bits():
    x = random(40 if ON_GPU else 3, 4000 if ON_GPU else 100, dtype="float16")
    settings_of = {"block": 256 if ON_GPU else 32, "num_warps": 2}
    patient = split(x, **settings_of).outputs["y"]
    for options in ({"polls": 1}, {"scattered": True}, {"polls": 1, "scattered": True}):
        assert torch.equal(split(x, **settings_of, **options).outputs["y"], patient)
    assert near(patient, exact(x), "float16")


@pytest.mark.skipif(not ON_GPU, reason="the interpreter runs one program after another")
def test_a_thousand_runs_under_load_in_the_worst_order_end_and_agree():
    # More rows than a GPU runs programs at once, dealt so that every first part starts first.
    x = random(8192, 8192, dtype="bfloat16")
    first = split(x, block=1024, num_warps=4).outputs["y"]
    load = random(4096, 4096, dtype="bfloat16")
    done = threading.Event()

    def keep_busy():
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            while not done.is_set():
                torch.mm(load, load)
                stream.synchronize()

    busy = threading.Thread(target=keep_busy)
    busy.start()
    try:
        for run in range(1000):
            y = split(x, block=1024, num_warps=4, scattered=run % 2 == 1, polls=100).outputs["y"]
            if run % 50 == 0:
                assert torch.equal(y, first)
        torch.cuda.synchronize()
        assert torch.equal(y, first)
    finally:
        done.set()
        busy.join()


@pytest.mark.skipif(not ON_GPU, reason="needs more memory and time than the interpreter has")
def test_rows_far_apart_and_more_elements_than_32_bits_count():
    free, _ = torch.cuda.mem_get_info()
    if free < 30e9:
        pytest.skip("less than 30 GB of GPU memory is free")
    far = torch.empty(2**31 + 2**20, dtype=torch.float16, device=DEVICE)
    x = far.as_strided((3, 1000), (2**30, 1))  # a row stride of 2^30
    x.copy_(random(3, 1000, dtype="float16"))
    for path in PATHS:
        assert near(along(x, path), exact(x), "float16")
    del x, far
    many = torch.zeros(2**20 + 3, 2048 + 8, dtype=torch.float16, device=DEVICE)  # 2^31 and more
    many[-1, -1] = 8
    wanted = exact(many[-1:])
    for path in PATHS:
        assert near(along(many, path)[-1:], wanted, "float16"), path
    del many
    long = torch.zeros(1, 2**31 + 1000, dtype=torch.float16, device=DEVICE)
    long[0, -1] = 20  # e^20 = 4.85e8 beside 2.147e9 ones
    y = softmax(long)
    assert abs(y[0, -1].item() - 485165195.4 / (485165195.4 + 2**31 + 999)) < 2e-4
    (dx,) = (softmax_gradient(y, long),)
    assert dx.isfinite().all()


@pytest.mark.parametrize("n_rows", [65_536, 70_001] if ON_GPU else [130])
def test_more_rows_than_a_grids_second_dimension(n_rows):
    x = random(n_rows, 5)
    for path in PATHS if ON_GPU else ("rows",):
        assert near(along(x, path)[-1:], exact(x[-1:]))


# What is refused.


@pytest.mark.parametrize(
    "call, error, sentence",
    [
        (lambda: softmax([1.0]), TypeError, "x must be a torch tensor, got list."),
        (lambda: softmax(random(3).double()), TypeError, "x must be float16, bfloat16 or float32"),
        (lambda: softmax(torch.arange(3, device=DEVICE)), TypeError, "got int64"),
        (lambda: softmax(random(3, 4), 2), ValueError, "dim must be from -2 to 1, got 2."),
        (lambda: softmax(random(3, 4), 1.0), TypeError, "dim must be an integer, got float."),
        (lambda: softmax(random(3, 4), True), TypeError, "dim must be an integer, got bool."),
        (
            lambda: softmax(random(3, 4), path="fast"),
            ValueError,
            "path must be one of rows, single, online, split, got 'fast'.",
        ),
        (lambda: split(random(2, 3000), block=2), ValueError, "at most 1024 programs, got 1500"),
        (lambda: split(random(2, 30), block=3), ValueError, "power of two"),
        (lambda: split(random(2, 30), block=8, load_cache=".xx"), ValueError, "load_cache must be"),
        (
            lambda: softmax_gradient(random(2, 3), random(2, 4)),
            ValueError,
            "dy must have y's shape",
        ),
    ],
)
def test_a_mistake_is_one_sentence(call, error, sentence):
    with pytest.raises(error, match=sentence.replace(".", r"\.").replace("(", r"\(")):
        call()


def test_longer_rows_than_a_program_holds_are_refused_by_the_paths_that_hold_one():
    x = torch.zeros(1, 1, device=DEVICE).expand(1, 2**20 + 1)
    for path in ("rows", "single"):
        with pytest.raises(ValueError, match="at most 1048576|up to 1048576"):
            softmax(x, path=path)
