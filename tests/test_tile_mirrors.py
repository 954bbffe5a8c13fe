"""The mirrors on tiles against closed forms and float64: attention, its gradient, and products."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels import ALGORITHMS
from kernels.attention import mask_of
from kernels.inputs import DTYPES, round_to
from kernels.problems import arrays_for, choose_for, schedule_for
from kernels.split_kv.mirror import merge
from kernels.tile_inputs import PRESETS
from kernels.tiles import Tiles
from kernels.trace import Trace

FORWARD = [e for e in ALGORITHMS.values() if e.problem == "attention" and e.output == "o"]
FLASH, BACKWARD, SPLIT, STAGES, MATMUL = (
    ALGORITHMS[name]
    for name in ("flash_attention", "flash_backward", "split_kv", "three_stage", "matmul")
)
GRIDS = [*FORWARD, BACKWARD, MATMUL]
INF, NAN = np.inf, np.nan
HALF_ULP = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}

each_forward = pytest.mark.parametrize("entry", FORWARD, ids=lambda entry: entry.name)
each_grid = pytest.mark.parametrize("entry", GRIDS, ids=lambda entry: entry.name)
few = settings(max_examples=25)
FOURS = Tiles(4, 4)
LENGTH, BLOCK = st.integers(1, 20), st.sampled_from([4, 8, 16])
CAUSAL = st.booleans()


def attend(entry, q, k, v, tiles=FOURS, do=None, dtype="float32") -> Trace:
    q, k, v = (np.asarray(one, np.float32) for one in (q, k, v))
    arrays = {"q": q, "k": k, "v": v, "do": np.zeros_like(q) if do is None else do}
    return entry.trace(arrays, tiles, dtype)


def normal(*shape, seed=0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# In closed form.


@each_forward
@few
@given(seq_q=LENGTH, seq_k=LENGTH, block_m=BLOCK, block_n=BLOCK, is_causal=CAUSAL)
def test_equal_scores_give_the_mean_of_what_is_seen(
    entry, seq_q, seq_k, block_m, block_n, is_causal
):
    v = normal(seq_k, 3)
    tiles = Tiles(block_m, block_n, n_splits=3, is_causal=is_causal)
    outputs = attend(entry, np.zeros((seq_q, 3)), normal(seq_k, 3, seed=1), v, tiles).outputs
    seen = mask_of(seq_q, seq_k, is_causal)
    for row, keys in enumerate(seen):
        mean = v[keys].mean(axis=0) if keys.any() else np.zeros(3)
        np.testing.assert_allclose(outputs["o"][row], mean, atol=1e-6)
        if "lse" in outputs and keys.any():
            assert outputs["lse"][row] == pytest.approx(np.log(keys.sum()), abs=1e-6)
        elif "lse" in outputs:
            assert outputs["lse"][row] == -INF


@each_forward
def test_values_that_are_the_identity_show_the_weights(entry):
    q = np.eye(4)
    k = np.log([[1, 2, 3, 4], [1, 1, 1, 1], [4, 3, 2, 1], [1, 1, 1, 7]]).T
    o = attend(entry, q, k, np.eye(4), Tiles(4, 4, scale=1)).outputs["o"]
    wanted = np.array([[1, 2, 3, 4], [2.5] * 4, [4, 3, 2, 1], [1, 1, 1, 7]]) / 10
    np.testing.assert_allclose(o, wanted, atol=1e-6)


@each_forward
@pytest.mark.parametrize("seq_q, seq_k, counts", [(2, 5, [4, 5]), (5, 2, [0, 0, 0, 1, 2])])
def test_a_causal_mask_ends_at_the_last_key(entry, seq_q, seq_k, counts):
    q, v = np.zeros((seq_q, 3)), np.ones((seq_k, 3))
    v[:, 0] = np.arange(seq_k)
    tiles = Tiles(4, 4, n_splits=2, is_causal=True)
    o = attend(entry, q, normal(seq_k, 3), v, tiles).outputs["o"]
    # The mean of 0, 1 … n - 1 is (n - 1) / 2.
    np.testing.assert_allclose(o[:, 0], [max(n - 1, 0) / 2 for n in counts], atol=1e-6)
    np.testing.assert_array_equal(o[:, 1] != 0, np.array(counts) > 0)


def test_one_key_has_all_the_weight_and_so_no_gradient():
    q, k, v, do = (normal(n, 4, seed=n) for n in (6, 1, 1, 6))
    found = attend(BACKWARD, q, k, v, do=do).outputs
    np.testing.assert_allclose(found["dv"], do.sum(axis=0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(found["dq"], 0, atol=1e-6)
    np.testing.assert_allclose(found["dk"], 0, atol=1e-6)


def test_queries_that_see_nothing_give_and_get_no_gradient():
    q, do = normal(5, 4), normal(5, 4, seed=1)
    k, v = normal(2, 4, seed=2), normal(2, 4, seed=3)
    tiles = Tiles(4, 4, is_causal=True)
    found = attend(BACKWARD, q, k, v, tiles, do)
    assert found.arrays["lse"][:3].tolist() == [-INF] * 3 and not found.arrays["o"][:3].any()
    assert not found.outputs["dq"][:3].any() and found.outputs["dq"][4].any()
    alone = attend(BACKWARD, q[3:], k, v, tiles, do[3:]).outputs
    seen = {**found.outputs, "dq": found.outputs["dq"][3:]}
    for name, wanted in alone.items():
        np.testing.assert_allclose(seen[name], wanted, atol=1e-6)


@few
@given(size_m=LENGTH, size_n=LENGTH, size_k=LENGTH, block=BLOCK, group_m=st.integers(1, 9))
def test_products_with_ones_and_the_identity(size_m, size_n, size_k, block, group_m):
    tiles = Tiles(4, block, 8, group_m=group_m)
    ones = {"a": np.ones((size_m, size_k), np.float32), "b": np.ones((size_k, size_n), np.float32)}
    np.testing.assert_array_equal(MATMUL.trace(ones, tiles, "float16").outputs["c"], size_k)
    same = {"a": np.eye(size_k, dtype=np.float32), "b": normal(size_k, size_n)}
    np.testing.assert_array_equal(MATMUL.trace(same, tiles, "float32").outputs["c"], same["b"])


# Against float64.


def bounds(entry, trace: Trace, tiles: Tiles, dtype: str) -> dict[str, np.ndarray]:
    """Return how far each element of the outputs may be from float64.

    The sum of its terms' magnitudes, times what a term can be wrong by: two roundings to the dtype
    and the error of its score, which is absolute and so relative in the exponential.
    """
    half = HALF_ULP[dtype]
    if entry is MATMUL:
        a, b = (np.abs(trace.arrays[name]).astype(np.float64) for name in ("a", "b"))
        exact = np.abs(entry.reference(trace.arrays, tiles)["c"])
        return {"c": half * exact + len(b) * 2.0**-24 * (a @ b)}
    q, k, v = (trace.arrays[name].astype(np.float64) for name in ("q", "k", "v"))
    scale = tiles.scale_for(q.shape[1])
    seen = mask_of(len(q), len(k), tiles.is_causal)
    s = np.where(seen, scale * (q @ k.T), -INF)
    top = np.maximum(s.max(axis=1, keepdims=True), -1e30)
    p = np.exp(s - top)
    p = p / np.maximum(p.sum(axis=1, keepdims=True), 1e-300)
    largest = (scale * (np.abs(q) @ np.abs(k).T)).max()
    wrong = (q.shape[1] + 4) * 2.0**-24 * largest
    if entry is STAGES:  # scores are stored in the inputs' type
        wrong += half * largest
    relative = 3 * half + min(2 * np.expm1(2 * wrong), 2.0) + len(k) * 2.0**-24
    found = {"o": relative * (p @ np.abs(v)), "lse": np.full(len(q), wrong + 1e-6)}
    if entry is BACKWARD:
        do = np.abs(trace.arrays["do"]).astype(np.float64)
        ds = p * (do @ np.abs(v).T + (do * (p @ np.abs(v))).sum(axis=1, keepdims=True))
        found = {"dq": scale * ds @ np.abs(k), "dk": scale * ds.T @ np.abs(q), "dv": p.T @ do}
        found = {name: 2 * relative * bound for name, bound in found.items()}
    return {name: bound + 1e-7 for name, bound in found.items()}


@each_grid
@pytest.mark.parametrize("preset", PRESETS)
def test_outputs_agree_with_float64(entry, preset):
    sizes = {"seq_q": 21, "seq_k": 26, "head_dim": 5, "size_m": 21, "size_n": 26, "size_k": 17}
    turned = {**sizes, "seq_q": 26, "seq_k": 21}
    for dtype, mask, lengths in itertools.product(DTYPES, ("none", "causal"), (sizes, turned)):
        given = {"preset": preset, "dtype": dtype, "mask": mask, "n_splits": 3, **lengths}
        choice = choose_for(entry, {**given, "block_m": 8, "block": 4})
        tiles = schedule_for(entry, choice)
        trace = entry.trace(arrays_for(entry, choice), tiles, dtype)
        wanted = entry.reference(trace.arrays, tiles)
        allowed = bounds(entry, trace, tiles, dtype)
        for name, got in trace.outputs.items():
            finite = np.isfinite(wanted[name])
            np.testing.assert_array_equal(got[~finite], wanted[name][~finite])
            error = np.abs(got[finite].astype(np.float64) - wanted[name][finite])
            assert (error <= allowed[name][finite]).all(), (name, given, error.max())


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("seq_q, seq_k", [(3, 5), (5, 3)])
def test_gradients_are_what_finite_differences_give(seq_q, seq_k, is_causal):
    """The float64 reference, nudged: so the closed form that mirrors are held to is right."""
    tiles = Tiles(4, 4, is_causal=is_causal)
    lengths = {"q": seq_q, "k": seq_k, "v": seq_k, "do": seq_q}
    arrays = {n: normal(rows, 3, seed=i).astype(np.float64) for i, (n, rows) in
              enumerate(lengths.items())}  # fmt: skip

    def loss(**changed) -> float:
        return (FLASH.reference({**arrays, **changed}, tiles)["o"] * arrays["do"]).sum()

    gradients = BACKWARD.reference(arrays, tiles)
    step = 1e-5
    for name in ("q", "k", "v"):
        slope = np.zeros_like(arrays[name])
        for at in np.ndindex(slope.shape):
            nudge = np.zeros_like(slope)
            nudge[at] = step
            up, down = (loss(**{name: arrays[name] + s * nudge}) for s in (1, -1))
            slope[at] = (up - down) / (2 * step)
        np.testing.assert_allclose(gradients[f"d{name}"], slope, atol=1e-8)


@few
@given(seq_k=LENGTH, block_n=BLOCK, is_causal=CAUSAL, seq_q=LENGTH)
def test_the_state_divided_is_the_attention_over_the_keys_seen_so_far(
    seq_q, seq_k, block_n, is_causal
):
    q, k, v = normal(seq_q, 3), normal(seq_k, 3, seed=1) * 3, normal(seq_k, 3, seed=2)
    trace = attend(FLASH, q, k, v, Tiles(8, block_n, is_causal=is_causal))
    for step in trace.steps:
        if step.phase != "accumulate":
            continue
        top = step.tile[0] * 8
        s = q[top : top + 8].astype(np.float64) @ k[: step.stop].T / np.sqrt(3)
        seen = mask_of(seq_q, seq_k, is_causal)[top : top + 8, : step.stop]
        p = np.where(seen, np.exp(s), 0)
        l, rows = step.values["l"], seen.any(axis=1)
        assert (l[~rows] == 0).all()
        np.testing.assert_allclose(
            (step.values["acc"][rows] / l[rows, None]),
            (p @ v[: step.stop])[rows] / p.sum(axis=1)[rows, None],
            atol=2e-6,
        )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_are_rounded_as_the_tensor_cores_take_them(dtype):
    # One key scores 0 and one ln 3 below it: p is 1 and 1/3, which no short dtype holds.
    scores = np.float32(np.log(1 / 3))
    third = np.exp(scores)
    q, k, v = [[1.0]], np.array([[0.0], [scores]]), np.array([[0.0], [1.0]])
    trace = attend(FLASH, q, k, v, Tiles(4, 4, scale=1), dtype=dtype)
    (step,) = [step for step in trace.steps if step.phase == "accumulate"]
    assert step.values["acc"][0, 0] == round_to(third, dtype) != third
    assert step.values["l"][0] == 1 + third  # the sum is float32


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradients_are_summed_from_rounded_tiles(dtype):
    q, k, v, do = (round_to(normal(4, 3, seed=n), dtype) for n in range(4))
    trace = attend(BACKWARD, q, k, v, do=do, dtype=dtype)
    state = {(step.pass_index, name): value for step in trace.steps if step.block is not None
             for name, value in step.values.items()}  # fmt: skip
    p, ds = (round_to(state[1, name], dtype) for name in ("p", "ds"))
    np.testing.assert_array_equal(state[1, "dv"], p.T @ do)
    np.testing.assert_array_equal(state[1, "dk"], ds.T @ q)
    np.testing.assert_array_equal(state[2, "dq"], round_to(state[2, "ds"], dtype) @ k)
    scale = np.float32(1 / np.sqrt(3))
    np.testing.assert_array_equal(trace.outputs["dk"], round_to(state[1, "dk"] * scale, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_three_stages_store_scores_and_weights_in_the_inputs_dtype(dtype):
    q, k = (round_to(normal(4, 3, seed=n), dtype) for n in range(2))
    trace = attend(STAGES, q, k, np.eye(4, 3), dtype=dtype)
    state = trace.state_at(len(trace.steps))
    s = round_to(q @ k.T * np.float32(1 / np.sqrt(3)), dtype)
    p = np.exp(s - s.max(axis=1, keepdims=True))
    p = round_to(p / p.sum(axis=1, keepdims=True), dtype)
    for name, wanted in (("s", s), ("p", p), ("o", p[:, :3])):
        np.testing.assert_array_equal(state[name], wanted)


# Split, and merged.


@few
@given(seq_q=st.integers(1, 9), seq_k=st.integers(1, 40), is_causal=CAUSAL)
def test_any_number_of_splits_gives_the_same(seq_q, seq_k, is_causal):
    q, k, v = normal(seq_q, 3) * 3, normal(seq_k, 3, seed=1), normal(seq_k, 3, seed=2)
    plain = attend(FLASH, q, k, v, Tiles(4, 4, is_causal=is_causal)).outputs
    for n_splits in (1, 2, 3, 7, 16):
        tiles = Tiles(4, 4, n_splits=n_splits, is_causal=is_causal)
        split = attend(SPLIT, q, k, v, tiles).outputs
        for name, wanted in plain.items():
            if n_splits == 1:
                np.testing.assert_array_equal(split[name], wanted)
            else:
                np.testing.assert_allclose(split[name], wanted, atol=1e-6)


def merged(o_part, lse_part):
    with np.errstate(all="ignore"):
        return [values for phase, _, values in merge(o_part, lse_part)][-1]


@few
@given(data=st.data(), n_parts=st.integers(1, 7))
def test_parts_are_merged_in_any_order_and_in_any_groups(data, n_parts):
    order = data.draw(st.permutations(range(n_parts)))
    cut = data.draw(st.integers(0, n_parts))
    o_part, lse_part = normal(n_parts, 2, 3), normal(n_parts, 2, seed=n_parts) * 20
    lse_part[0, 0] = -INF
    once = merged(o_part, lse_part)
    moved = merged(o_part[order], lse_part[order])
    groups = [(o_part[s], lse_part[s]) for s in (slice(cut), slice(cut, None))]
    halves = [merged(*group) for group in groups if len(group[0])]
    twice = merged(*(np.stack([half[name] for half in halves]) for name in ("o", "lse")))
    for name in ("o", "lse"):
        np.testing.assert_allclose(moved[name], once[name], atol=2e-6)
        np.testing.assert_allclose(twice[name], once[name], atol=4e-6)


def test_a_part_without_keys_weighs_nothing_whatever_its_buffer_holds():
    o_part, lse_part = normal(3, 2, 4), normal(3, 2, seed=1)
    wanted = merged(o_part[1:], lse_part[1:])
    o_part[0], lse_part[0] = NAN, -INF
    found = merged(o_part, lse_part)
    for name in ("o", "lse"):
        np.testing.assert_array_equal(found[name], wanted[name])
    nothing = merged(o_part[:1], lse_part[:1])
    assert not nothing["o"].any() and (nothing["lse"] == -INF).all()
