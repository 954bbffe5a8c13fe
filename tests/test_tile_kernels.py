"""Attention and matrix products in Triton: on the GPU if there is one, interpreted if not.

Expected values are closed forms, or float64 by torch's own operations and autograd.
"""

from __future__ import annotations

import importlib
import math
import sys

import numpy as np
import pytest
import torch

# Decides how Triton runs: before kernels.
from tests.test_kernels import DEVICE, ON_GPU, TORCH, capture_verdicts

# isort: split
from kernels import ALGORITHMS
from kernels.flash_attention import kernel as flash
from kernels.flash_backward import kernel as backward
from kernels.flash_backward.autograd import attention
from kernels.inputs import DTYPES, Choice
from kernels.matmul import kernel as matmul
from kernels.problems import arrays_for, schedule_for
from kernels.split_kv import kernel as split_kv
from kernels.three_stage import kernel as three_stage
from kernels.tiles import Tiles

INF = float("inf")
FORWARDS = {"flash": flash, "split": split_kv, "three": three_stage}
# Absolute, for inputs of about 1: float32 work, and one rounding of outputs up to 4 to each dtype.
CLOSE = {"float32": 5e-6, "float16": 4e-3, "bfloat16": 3e-2}

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed + sum(shape))
    return torch.randn(*shape, generator=generator).to(dtype).to(DEVICE)


def inputs(batch, heads, kv_heads, seq_q, seq_k, head_dim, dtype=torch.float32):
    q = random(batch, heads, seq_q, head_dim, dtype=dtype, seed=1)
    k = random(batch, kv_heads, seq_k, head_dim, dtype=dtype, seed=2)
    v = random(batch, kv_heads, seq_k, head_dim, dtype=dtype, seed=3)
    return q, k, v


def forward(which, q, k, v, out=None, **tiles):
    tiles = Tiles(**{"block_m": 16, "block_n": 16, "n_splits": 2, **tiles})
    return FORWARDS[which].launch({"q": q, "k": k, "v": v}, tiles, out=out).outputs


def gradients(q, k, v, do, out=None, dlse=None, **tiles):
    made = forward("flash", q, k, v, **tiles)
    tensors = {"q": q, "k": k, "v": v, "do": do, "o": made["o"], "lse": made["lse"]}
    tiles = Tiles(**{"block_m": 16, "block_n": 16, **tiles})
    return backward.launch(tensors, tiles, out=out, dlse=dlse).outputs


def float64(q, k, v, causal=False, scale=None):
    """o and lse in float64, differentiable; every query must see a key."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        seq_q, seq_k = scores.shape[-2:]
        seen = torch.ones(seq_q, seq_k, dtype=torch.bool, device=q.device).tril(seq_k - seq_q)
        scores = scores.masked_fill(~seen, -INF)
    return torch.softmax(scores, -1) @ v, torch.logsumexp(scores, -1)


def float64_gradients(q, k, v, do, causal=False):
    leaves = [x.detach().double().requires_grad_() for x in (q, k, v)]
    return torch.autograd.grad(float64(*leaves, causal)[0], leaves, do.double())


def assert_close(got, want, dtype="float32", factor=1.0):
    assert torch.isfinite(got).all()
    assert (got.double() - want.double()).abs().max() <= factor * CLOSE[dtype]


# Closed forms.


@pytest.mark.parametrize("which", FORWARDS)
def test_zero_queries_give_the_mean_of_the_visible_values(which):
    _, k, v = inputs(1, 1, 1, 7, 20, 24)
    made = forward(which, torch.zeros(1, 1, 7, 24, device=DEVICE), k, v, is_causal=True)
    for i in range(7):
        count = i + 14  # 20 keys, 7 queries, aligned bottom-right
        assert_close(made["o"][0, 0, i], v[0, 0, :count].mean(0))
        if "lse" in made:
            assert made["lse"][0, 0, i].item() == pytest.approx(math.log(count), abs=1e-6)


@pytest.mark.parametrize("which", FORWARDS)
def test_the_identity_as_values_shows_the_weights(which):
    q, k, _ = inputs(1, 1, 1, 5, 19, 19)
    o = forward(which, q, k, torch.eye(19, device=DEVICE)[None, None])["o"]
    assert_close(o, torch.softmax(q.double() @ k.double().mT / math.sqrt(19), -1))


@pytest.mark.parametrize("which", FORWARDS)
@pytest.mark.parametrize("seq_q, seq_k, seen", [(2, 5, [4, 5]), (5, 2, [0, 0, 0, 1, 2])])
def test_causal_masks_align_bottom_right(which, seq_q, seq_k, seen):
    q, k, _ = inputs(1, 1, 1, seq_q, seq_k, seq_k)
    made = forward(which, q, k, torch.eye(seq_k, device=DEVICE)[None, None], is_causal=True)
    assert (made["o"][0, 0] != 0).sum(-1).tolist() == seen
    if "lse" in made:
        assert (made["lse"][0, 0] == -INF).tolist() == [n == 0 for n in seen]


@pytest.mark.parametrize("dtype", DTYPES)
def test_one_key_passes_the_gradient_to_its_value_alone(dtype):
    q, k, v = inputs(1, 1, 1, 3, 1, 16, TORCH[dtype])
    do = random(1, 1, 3, 16, dtype=TORCH[dtype], seed=4)
    made = gradients(q, k, v, do)
    # p = 1 exactly, and o = v, so dp - delta is the rounding of one sum of 16 products.
    assert max(made["dq"].abs().max(), made["dk"].abs().max()) < 1e-5
    assert_close(made["dv"][0, 0, 0], do[0, 0].double().sum(0), dtype)


def test_the_gradient_of_a_softmax_of_three_scores():
    # One query of length 1, scores 1, 2, 3; the only upstream gradient goes to the first weight.
    q, k = torch.ones(1, 1, 1, 3, device=DEVICE), torch.zeros(1, 1, 3, 3, device=DEVICE)
    k[0, 0, :, 0] = torch.tensor([1.0, 2.0, 3.0])
    v = torch.eye(3, device=DEVICE)[None, None]
    do = torch.tensor([1.0, 0.0, 0.0], device=DEVICE)[None, None, None]
    dk = gradients(q, k, v, do, scale=1.0)["dk"][0, 0, :, 0]
    want = torch.tensor([0.0819251, -0.0220330, -0.0598920])
    torch.testing.assert_close(dk.cpu(), want, atol=1e-6, rtol=0)


@pytest.mark.parametrize("which", FORWARDS)
@pytest.mark.parametrize("scale, want", [(-1.0, 4.53989e-5), (0.0, math.log(4))])
def test_zero_and_negative_scales_are_scales(which, scale, want):
    k = torch.tensor([0.0, 10.0, 100.0, 1000.0], device=DEVICE)[None, None, :, None]
    made = forward(
        which,
        torch.ones(1, 1, 1, 1, device=DEVICE),
        k,
        torch.eye(1, device=DEVICE).expand(1, 1, 4, 1),
        scale=scale,
    )
    assert made["o"].item() == pytest.approx(1, abs=1e-6)
    if "lse" in made:
        assert made["lse"].item() == pytest.approx(want, abs=1e-6)


# Ranges.


@pytest.mark.parametrize("which", ["flash", "split"])
def test_scores_may_pass_the_range_of_float16(which):
    q = torch.full((1, 1, 1, 128), 256.0, device=DEVICE, dtype=torch.float16)
    v = torch.tensor([1.0, 3.0], device=DEVICE, dtype=torch.float16)[:, None].expand(2, 128)
    made = forward(which, q, q.expand(1, 1, 2, 128), v[None, None])
    assert (made["o"] == 2).all()
    score = 128 * 256**2 / math.sqrt(128)
    assert made["lse"].item() == pytest.approx(score + math.log(2), rel=1e-6)


@pytest.mark.parametrize("which", FORWARDS)
def test_values_near_the_end_of_float16_do_not_overflow(which):
    n_keys = 4096 if ON_GPU else 100
    k = torch.zeros(1, 1, n_keys, 16, device=DEVICE, dtype=torch.float16)
    o = forward(which, k[:, :, :1], k, torch.full_like(k, 60_000.0), block_n=64)["o"]
    # p is rounded to float16 in three stages, 1/100 to 1 in 2^11.
    assert torch.allclose(o.float(), torch.tensor(60_000.0, device=DEVICE), rtol=2**-10)


def test_weights_of_ones_sum_to_one_in_bfloat16():
    q, k, _ = (5 * x for x in inputs(1, 1, 1, 32, 256, 64))
    q, k = q.bfloat16(), k.bfloat16()
    o = forward("flash", q, k, torch.ones_like(k), block_n=64)["o"].float()
    assert (o - 1).abs().max() <= 2**-7 and (o - 1).mean().abs() < 1e-3


def test_huge_equal_scores_share_their_weight():
    q = torch.full((1, 1, 1, 16), 100.0, device=DEVICE)
    k = torch.full((1, 1, 2, 16), 250.0, device=DEVICE)  # both scores 1e5
    v, do = random(1, 1, 2, 16), torch.ones(1, 1, 1, 16, device=DEVICE)
    assert_close(forward("flash", q, k, v)["o"], v.mean(2, keepdim=True), factor=10)
    dv = gradients(q, k, v, do)["dv"]
    assert (dv - 0.5).abs().max() < 0.01  # lse near 1e5 has steps of 2^-7


@pytest.mark.parametrize("which", ["flash", "split"])
@pytest.mark.parametrize("bad", [float("nan"), INF])
def test_a_bad_number_spoils_its_own_query_only(which, bad):
    q, k, v = inputs(1, 1, 1, 20, 40, 16)
    q[0, 0, 3, 2] = bad
    o = forward(which, q, k, v)["o"][0, 0]
    others = [i for i in range(20) if i != 3]
    assert torch.isnan(o[3]).all()
    assert_close(o[others], float64(q, k, v)[0][0, 0, others])


# Against float64.

SHAPES = [
    (1, 2, 1, 33, 65, 40),
    (2, 4, 2, 15, 15, 16),
    (1, 1, 1, 1, 100, 64),
    (1, 3, 3, 17, 1, 80),
]


@pytest.mark.parametrize("which", FORWARDS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_forward_is_float64s(which, dtype, shape):
    q, k, v = inputs(*shape, TORCH[dtype])
    causal = shape[3] <= shape[4]
    made = forward(which, q, k, v, block_n=32, is_causal=causal)
    o, lse = float64(q, k, v, causal)
    assert made["o"].dtype == q.dtype
    assert_close(made["o"], o, dtype)
    if "lse" in made:
        assert made["lse"].dtype == torch.float32
        assert_close(made["lse"], lse)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES[:3], ids=str)
def test_gradients_are_float64s(dtype, causal, shape):
    q, k, v = inputs(*shape, TORCH[dtype])
    do = random(*q.shape, dtype=TORCH[dtype], seed=4)
    made = gradients(q, k, v, do, block_n=32, is_causal=causal)
    for name, want in zip(("dq", "dk", "dv"), float64_gradients(q, k, v, do, causal)):
        assert_close(made[name], want, dtype, factor=3)


def test_the_gradient_may_come_through_the_lse():
    q, k, v = (x.requires_grad_() for x in inputs(1, 2, 1, 20, 20, 16))
    o, lse = attention(q, k, v, causal=True)
    (o.sum() + (lse * lse).sum()).backward()
    leaves = [x.detach().double().requires_grad_() for x in (q, k, v)]
    want_o, want_lse = float64(*leaves, True)
    (want_o.sum() + (want_lse * want_lse).sum()).backward()
    for got, want in zip((q, k, v), leaves):
        assert_close(got.grad, want.grad, factor=5)


def test_the_lse_alone_has_a_gradient():
    q, k, v = (x.requires_grad_() for x in inputs(1, 1, 1, 4, 9, 16))
    attention(q, k, v)[1].sum().backward()
    p = torch.softmax(q.double() @ k.double().mT / 4, -1)
    assert_close(q.grad, p @ k.double() / 4)
    assert not v.grad.any()


def test_a_second_derivative_is_refused():
    q, k, v = (x.requires_grad_() for x in inputs(1, 1, 1, 4, 4, 16))
    o, _ = attention(q, k, v)
    with pytest.raises(ValueError, match="create_graph"):
        torch.autograd.grad(o.sum(), q, create_graph=True)


# The kernel's own state, after every tile, against the mirror's.


def mirrored(entry, trace, field, rows):
    """The variable ``field`` of each query after each key block; NaN where there was no tile."""
    state = {}
    for step in trace.steps:
        name = "m" if field == "m" and "m_new" in step.values else field
        if step.tile and step.pass_index == 0 and name in step.values:
            for offset, value in enumerate(np.asarray(step.values[name])):
                state[step.tile[0] * trace.sizes["block_m"] + offset, step.block] = value
    return {place: value for place, value in state.items() if place[0] < rows}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("name", ["flash_attention", "split_kv"])
def test_the_captured_state_is_the_mirrors(name, mask, dtype):
    entry = ALGORITHMS[name]
    sizes = {"seq_q": 40, "seq_k": 50, "block_m": 16, "block": 16, "n_splits": 2, "mask": mask}
    choice = Choice(preset="rising", head_dim=16, dtype=dtype, **sizes)
    arrays, tiles = arrays_for(entry, choice), schedule_for(entry, choice)
    tensors = {
        name: torch.tensor(arrays[name])[None, None].to(TORCH[dtype]).to(DEVICE)
        for name in entry.inputs
    }
    module = importlib.import_module(entry.kernel_module)
    state = module.launch(tensors, tiles, capture=True).state[0, 0].double().cpu().numpy()
    trace = entry.trace(arrays, tiles, dtype)
    column = 0
    for field in entry.captured:
        want = mirrored(entry, trace, field, 40)
        width = 16 if field == "acc" else 1
        visited = np.zeros(state.shape[:2], bool)
        for place, value in want.items():
            got = state[place][column : column + width]
            # A weight may round the other way to the dtype, by one step at 1, times |v| < 4.
            slack = {"float32": 1e-5, "float16": 4e-3, "bfloat16": 3e-2}[dtype]
            atol = slack if field == "acc" else 1e-5
            np.testing.assert_allclose(got, np.atleast_1d(value), atol=atol, rtol=1e-5)
            visited[place] = True
        # Tiles that the mirror skips the kernel skips too.
        assert np.array_equal(~np.isnan(state[..., column]), visited)
        column += width


def test_a_products_captured_state_is_the_mirrors():
    entry = ALGORITHMS["matmul"]
    choice = Choice(size_m=20, size_n=33, size_k=50, block_m=16, block=16, block_k=16, group_m=2)
    arrays, tiles = arrays_for(entry, choice), schedule_for(entry, choice)
    tensors = {name: torch.tensor(arrays[name]).to(DEVICE) for name in entry.inputs}
    state = matmul.launch(tensors, tiles, capture=True).state.cpu().numpy()
    assert state.shape == (20, 33, 4, 1)
    for step in entry.trace(arrays, tiles, "float32").steps:
        if step.phase == "accumulate":
            (row, col), want = step.tile, step.values["acc"]
            got = state[row * 16 : row * 16 + 16, col * 16 : col * 16 + 16, step.block, 0]
            np.testing.assert_allclose(got, want, atol=1e-4)


# Splits.


@pytest.mark.parametrize("causal", [False, True])
def test_any_number_of_splits_gives_the_same(causal):
    q, k, v = inputs(1, 4, 2, 3, 70, 24)
    whole = forward("flash", q, k, v, is_causal=causal)
    for n_splits in (1, 2, 3, 7, 16):  # 70 keys are 5 blocks: some splits have none
        parts = forward("split", q, k, v, is_causal=causal, n_splits=n_splits)
        assert_close(parts["o"], whole["o"])
        assert_close(parts["lse"], whole["lse"])


def test_merging_depends_neither_on_the_order_nor_on_empty_parts():
    o_part, lse_part = random(1, 2, 3, 5, 24), random(1, 2, 3, 5, seed=9) * 3
    o_part[..., 1, :], lse_part[..., 1] = float("nan"), -INF  # an empty part's buffer is anything
    o, lse = split_kv.merge(o_part, lse_part, torch.float32)
    order = torch.tensor([4, 1, 0, 3, 2])
    moved = split_kv.merge(
        o_part[..., order, :].contiguous(), lse_part[..., order].contiguous(), torch.float32
    )
    assert_close(moved[0], o)
    assert_close(moved[1], lse)
    kept = [0, 2, 3, 4]
    weight = torch.softmax(lse_part[..., kept].double(), -1)
    assert_close(o, (weight[..., None] * o_part[..., kept, :].double()).sum(-2))


def test_a_merge_weighs_by_the_sums_of_both_parts():
    lse_part = torch.tensor([[[[math.log(2), math.log(8)]]]], device=DEVICE)
    o_part = torch.tensor([1.0, 0.0], device=DEVICE)[None, None, None, :, None]
    o, lse = split_kv.merge(o_part.contiguous(), lse_part, torch.float32)
    assert o.item() == pytest.approx(0.2) and lse.item() == pytest.approx(math.log(10))


def test_only_empty_parts_merge_to_nothing():
    o_part = torch.full((1, 1, 1, 3, 16), float("nan"), device=DEVICE)
    o, lse = split_kv.merge(o_part, torch.full((1, 1, 1, 3), -INF, device=DEVICE), torch.float32)
    assert not o.any() and lse.item() == -INF


# Memory: everything is written, nothing around it, whatever the layout.


def guarded(shape, dtype=torch.float32, guard=64):
    """A tensor of NaN inside a larger one of NaN, and the larger one's bits around it."""
    integer = {4: torch.int32, 2: torch.int16}[dtype.itemsize]
    arena = torch.full((math.prod(shape) + 2 * guard,), float("nan"), dtype=dtype, device=DEVICE)
    inside = arena[guard : guard + math.prod(shape)].view(shape)
    edges = lambda: torch.cat([arena[:guard], arena[-guard:]]).view(integer).clone()  # noqa: E731
    return inside, edges


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("which", FORWARDS)
def test_outputs_are_overwritten_and_their_surroundings_stay(which, dtype):
    q, k, v = inputs(1, 2, 1, 21, 37, 40, TORCH[dtype])
    o, o_edges = guarded(q.shape, q.dtype)
    lse, lse_edges = guarded(q.shape[:3])
    before = o_edges(), lse_edges()
    out = {"o": o, "lse": lse} if which != "three" else {"o": o}
    made = forward(which, q, k, v, out=out, is_causal=True)
    assert made["o"].data_ptr() == o.data_ptr()
    assert_close(o, float64(q, k, v, True)[0], dtype)
    assert torch.equal(o_edges(), before[0]) and torch.equal(lse_edges(), before[1])


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_are_overwritten_and_their_surroundings_stay(causal):
    q, k, v = inputs(1, 2, 1, 21, 37, 40)
    do = random(*q.shape, seed=4)
    made = {name: guarded(x.shape) for name, x in (("dq", q), ("dk", k), ("dv", v))}
    before = {name: edges() for name, (_, edges) in made.items()}
    gradients(
        q, k, v, do, out={name: inside for name, (inside, _) in made.items()}, is_causal=causal
    )
    for (name, (inside, edges)), want in zip(
        made.items(), float64_gradients(q, k, v, do, causal), strict=True
    ):
        assert_close(inside, want, factor=3)
        assert torch.equal(edges(), before[name])


def test_inputs_inside_nan_do_not_let_it_in():
    tensors = []
    for x in inputs(1, 1, 1, 21, 37, 40):
        inside, _ = guarded((*x.shape[:2], x.shape[2], 48))
        inside = inside[..., :40]
        tensors.append(inside.copy_(x))
    assert_close(forward("flash", *tensors)["o"], float64(*tensors)[0])
    do = random(1, 1, 21, 40, seed=4)
    for got, want in zip(gradients(*tensors, do).values(), float64_gradients(*tensors, do)):
        assert_close(got, want, factor=3)


def layouts(x, kind):
    """The values of x [batch, heads, length, head_dim] in another layout."""
    if kind == "transposed":  # [batch, length, heads, head_dim] in memory
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if kind == "columns":  # head_dim is not the dense dimension
        return x.mT.contiguous().mT
    if kind == "every_other":
        wide = torch.full((*x.shape[:3], 2 * x.shape[3]), float("nan"), device=DEVICE)
        wide = wide.to(x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    buffer = torch.full((x.numel() + 1,), float("nan"), device=DEVICE, dtype=x.dtype)
    return buffer[1:].view(x.shape).copy_(x)  # not 16-byte aligned


@pytest.mark.parametrize("kind", ["transposed", "columns", "every_other", "offset"])
def test_every_layout_gives_what_a_contiguous_copy_gives(kind):
    q, k, v = inputs(1, 2, 2, 18, 20, 16, torch.float16)
    do = random(*q.shape, dtype=torch.float16, seed=4)
    moved = [layouts(x, kind) for x in (q, k, v)]
    for which in FORWARDS:
        assert torch.equal(forward(which, *moved)["o"], forward(which, q, k, v)["o"])
    want = gradients(q, k, v, do)
    got = gradients(*moved, layouts(do, kind))
    for name in want:
        assert torch.equal(got[name], want[name]), name


def test_packed_and_expanded_inputs_are_read_in_place():
    qkv = random(2, 17, 3, 2, 16)
    q, k, v = (x.transpose(1, 2) for x in qkv.unbind(2))
    one_k, one_v = (x[:, :1].expand(2, 2, 17, 16) for x in (k, v))
    assert_close(forward("flash", q, k, v)["o"], float64(q, k, v)[0])
    assert_close(forward("flash", q, one_k, one_v)["o"], float64(q, one_k, one_v)[0])


def test_an_expanded_gradient_is_a_gradient():
    plain = [x.requires_grad_() for x in inputs(1, 1, 1, 9, 9, 16)]
    attention(*plain)[0].sum().backward()
    got = [x.grad.clone() for x in plain]
    for x in plain:
        x.grad = None
    o, _ = attention(*plain)
    o.backward(torch.ones_like(o))
    for a, b in zip(got, plain):
        assert_close(a, b.grad)  # an expanded one is read another way, and added in another order


# Empty.


@pytest.mark.parametrize("which", FORWARDS)
def test_nothing_to_attend_to_gives_nothing(which):
    made = forward(which, *inputs(1, 2, 1, 3, 0, 16))
    assert made["o"].shape == (1, 2, 3, 16) and not made["o"].any()
    if "lse" in made:
        assert (made["lse"] == -INF).all()
    for shape in ((0, 2, 2, 3, 3, 16), (1, 0, 0, 3, 3, 16), (1, 2, 2, 0, 3, 16)):
        assert forward(which, *inputs(*shape))["o"].shape == (shape[0], shape[1], shape[3], 16)


def test_nothing_to_attend_to_has_no_gradient():
    q, k, v = inputs(1, 2, 1, 3, 0, 16)
    made = gradients(q, k, v, torch.ones_like(q))
    assert not made["dq"].any() and made["dk"].shape == made["dv"].shape == k.shape
    q, k, v = inputs(1, 1, 1, 5, 2, 16)
    made = gradients(q, k, v, torch.ones_like(q), is_causal=True)
    assert not made["dq"][0, 0, :3].any() and made["dv"].any()
    q, k, v = inputs(1, 1, 1, 0, 4, 16)
    made = gradients(q, k, v, torch.ones_like(q))
    assert not made["dk"].any() and not made["dv"].any()


# Refusals: one sentence, before anything runs.


def changed(**changes):
    tensors = dict(zip("qkv", inputs(1, 4, 2, 8, 8, 16)))
    return {**tensors, **changes}


@pytest.mark.parametrize(
    "tensors, error, sentence",
    [
        (lambda: changed(q=torch.zeros(1, 4, 8, 17)), ValueError, "one head_dim, got 17 and 16"),
        (lambda: changed(q=torch.zeros(1, 3, 8, 16)), ValueError, "3 query heads and 2 key heads"),
        (lambda: changed(q=torch.zeros(2, 4, 8, 16)), ValueError, "batch size, got 2 and 1"),
        (lambda: changed(q=torch.zeros(4, 8, 16)), ValueError, "q must have 4 dimensions, got 3"),
        (lambda: changed(v=torch.zeros(1, 2, 9, 16)), ValueError, "k and v must have one shape"),
        (lambda: changed(k=torch.zeros(1, 2, 8, 16).half()), TypeError, "float16 and float32"),
        (lambda: changed(q=torch.zeros(1, 4, 8, 16).double()), TypeError, "got float64"),
        (lambda: changed(v=torch.zeros(1, 2, 8, 16).int()), TypeError, "got int32"),
        (lambda: dict.fromkeys("qkv", torch.zeros(1, 1, 2, 257)), ValueError, "1 to 256, got 257"),
    ],
)
@pytest.mark.parametrize("which", FORWARDS)
def test_what_cannot_be_computed_is_refused_in_a_sentence(which, tensors, error, sentence):
    given = {name: tensor.to(DEVICE) for name, tensor in tensors().items()}
    with pytest.raises(error, match=sentence) as raised:
        FORWARDS[which].launch(given, Tiles())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "tiles, sentence",
    [
        (Tiles(block_m=8), "BLOCK_M must be at least 16, got 8"),
        (Tiles(block_n=48), "BLOCK_N must be a power of two from 1 to 256, got 48"),
    ],
)
@pytest.mark.parametrize("which", FORWARDS)
def test_blocks_that_the_tensor_cores_do_not_take_are_refused(which, tiles, sentence):
    with pytest.raises(ValueError, match=sentence):
        FORWARDS[which].launch(changed(), tiles)


def test_a_gradient_that_nobody_would_compute_is_refused():
    with pytest.raises(ValueError, match="flash_backward"):
        flash.launch(
            changed(q=torch.zeros(1, 4, 8, 16, device=DEVICE, requires_grad=True)), Tiles()
        )


# Repeatable.


def test_runs_are_bitwise_the_same():
    q, k, v = inputs(2, 4, 2, *((1000, 1000, 64) if ON_GPU else (20, 40, 16)), torch.float16)
    do = random(*q.shape, dtype=torch.float16, seed=4)

    def all_outputs():
        made = [forward(which, q, k, v, block_n=32)["o"] for which in FORWARDS]
        return made + list(gradients(q, k, v, do, block_n=32).values())

    first = all_outputs()
    for _ in range(30 if ON_GPU else 2):
        for a, b in zip(first, all_outputs()):
            assert torch.equal(a, b)


# Matrix products.


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", [(1, 1, 1), (37, 50, 33), (16, 64, 100)], ids=str)
def test_products_are_float64s(dtype, sizes):
    m, n, k = sizes
    a, b = random(m, k, dtype=TORCH[dtype], seed=1), random(k, n, dtype=TORCH[dtype], seed=2)
    c = matmul.launch({"a": a, "b": b}, Tiles(16, 32, 32, group_m=2)).outputs["c"]
    assert c.dtype == a.dtype
    assert_close(c / math.sqrt(k), a.double() @ b.double() / math.sqrt(k), dtype)


@pytest.mark.parametrize("group_m", [1, 4, 8])
def test_every_tile_of_c_is_written_once_in_any_order(group_m):
    a, b = random(9 * 16, 20), random(20, 40)
    c, edges = guarded((9 * 16, 40))
    before = edges()
    matmul.launch({"a": a, "b": b}, Tiles(16, 16, 16, group_m=group_m), out={"c": c})
    assert_close(c, a.double() @ b.double(), factor=5)
    assert torch.equal(edges(), before)


def test_products_of_strided_matrices_inside_nan():
    a_all, b_all = (torch.full((60, 60), float("nan"), device=DEVICE) for _ in range(2))
    a, b = a_all[3:40, 1:34].T, b_all[:37, 2:50:2]
    a.copy_(random(33, 37))
    b.copy_(random(37, 24, seed=5))
    c = matmul.launch({"a": a, "b": b}, Tiles(16, 16, 16)).outputs["c"]
    assert_close(c, a.double() @ b.double(), factor=5)


def test_a_product_over_nothing_is_zero():
    empty = torch.zeros(5, 0, device=DEVICE)
    c = torch.full((5, 5), float("nan"), device=DEVICE)
    matmul.launch({"a": empty, "b": empty.T}, Tiles(), out={"c": c})
    assert not c.any()


def test_float32_products_are_float32_unless_tf32_is_asked_for():
    a, b = random(64, 512, seed=1), random(512, 64, seed=2)
    want, largest = a.double() @ b.double(), (a.double() @ b.double()).abs().max()

    def error(precision):
        made = matmul.launch({"a": a, "b": b}, Tiles(64, 64, 32), precision=precision)
        return ((made.outputs["c"] - want).abs().max() / largest).item()

    assert error("ieee") < 1e-6
    if ON_GPU:
        assert 1e-5 < error("tf32") < 1e-3
    with pytest.raises(ValueError, match="precision must be one of ieee, tf32"):
        error("fast")


def test_shapes_that_do_not_meet_are_refused():
    with pytest.raises(ValueError, match="got 4 and 5"):
        matmul.launch({"a": random(3, 4), "b": random(5, 6)}, Tiles())


CAPTURING = ("flash_attention", "split_kv", "matmul")


@pytest.mark.skipif(sys.platform != "linux", reason="Triton exists for Linux only")
@pytest.mark.parametrize("sm", ["80", "90"])
@pytest.mark.parametrize("name", CAPTURING)
def test_capture_costs_nothing_when_it_is_off(name, sm):
    assert capture_verdicts("fp16", CAPTURING)[sm, name] == "same"


# Only a GPU can.


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU: 65,540 heads take the interpreter minutes")
def test_more_heads_than_a_grid_dimension_of_65535():
    q, k, v = inputs(1, 65_540, 65_540, 16, 16, 16, torch.float16)
    o = forward("flash", q, k, v)["o"][:, -1:]
    assert_close(o, float64(q[:, -1:], k[:, -1:], v[:, -1:])[0], "float16")


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU: rows 2^31 elements apart take 9 GB")
def test_strides_past_2_to_the_31():
    storage = torch.zeros(2**31 + 2**12, dtype=torch.float16, device=DEVICE)
    q, k, v = inputs(1, 1, 1, 2, 2, 16, torch.float16)
    far = storage.as_strided((1, 1, 2, 16), (0, 0, 2**31, 1))
    far.copy_(k)
    assert torch.equal(forward("flash", q, far, far)["o"], forward("flash", q, k, k)["o"])


@pytest.mark.gpu
@pytest.mark.skipif(not ON_GPU, reason="needs a GPU: NaN of memory that was never written")
def test_gradients_do_not_depend_on_what_memory_held():
    q, k, v = inputs(1, 2, 2, 100, 100, 64, torch.float16)
    do = random(*q.shape, dtype=torch.float16)
    first = gradients(q, k, v, do)
    filler = [torch.full((2**22,), 1e4, device=DEVICE, dtype=torch.float16) for _ in range(8)]
    del filler
    for name, again in gradients(q, k, v, do).items():
        assert torch.equal(first[name], again)
