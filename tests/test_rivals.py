"""What errors of attention are against: the float64 reference, torch by name, and the floors."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import attention_reference, rivals, tolerances
from kernels import ALGORITHMS
from kernels.problems import arrays_for
from kernels.tile_inputs import tiles_of
from kernels.tiles import Tiles
from tests.mirrored import float64_heads, ragged_attention

torch = pytest.importorskip("torch")

FLASH, BACKWARD, STAGES = (
    ALGORITHMS[name] for name in ("flash_attention", "flash_backward", "three_stage")
)
INF = np.inf
LENGTHS = [(5, 5), (2, 5), (5, 2), (1, 7), (7, 1)]


def tensors_of(entry, case):
    arrays = arrays_for(entry, case)
    return {name: torch.from_numpy(a) for name, a in arrays.items() if name in entry.inputs}


# The reference.


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("seq_q", "seq_k"), LENGTHS)
def test_the_reference_is_numpys_for_all_heads_and_in_parts(monkeypatch, seq_q, seq_k, is_causal):
    case = ragged_attention(seq_q, seq_k, "causal" if is_causal else "none")
    arrays, tiles = arrays_for(BACKWARD, case), Tiles(8, 8, is_causal=is_causal)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    scale = tiles.scale_for(case.head_dim)
    found, magnitudes = attention_reference.attention(tensors, is_causal, scale)
    by_numpy = float64_heads(BACKWARD, case, arrays, tiles) | float64_heads(
        FLASH, case, arrays, tiles
    )
    assert set(found) == set(by_numpy) == {"o", "lse", "dq", "dk", "dv"}
    for name, tensor in found.items():
        assert tensor.dtype == torch.float64
        np.testing.assert_allclose(tensor.numpy(), by_numpy[name], rtol=1e-12, atol=1e-13)
    assert magnitudes["v"] == np.abs(arrays["v"]).max()
    # The same, two queries of a head at a time, or seven.
    monkeypatch.setattr(attention_reference, "MAX_SCORES", 14)
    in_parts, again = attention_reference.attention(tensors, is_causal, scale)
    assert again == pytest.approx(magnitudes)
    for name, tensor in found.items():
        torch.testing.assert_close(in_parts[name], tensor, rtol=1e-12, atol=1e-13)


def test_the_reference_in_closed_form():
    q, v = torch.zeros(1, 1, 2, 8), torch.eye(8)[None, None]
    out, magnitudes = attention_reference.attention({"q": q, "k": v, "v": v, "do": q + 1}, True, 1)
    np.testing.assert_allclose(out["lse"], np.log([[[7, 8]]]), rtol=1e-14)
    assert out["o"][0, 0, 0].tolist() == pytest.approx([1 / 7] * 7 + [0])
    assert magnitudes["column"] == pytest.approx(1 / 7 + 1 / 8)
    # An o that sums to 1 for every row does not change with q.
    assert not out["dq"].abs().max() > 1e-15
    # More queries than keys: the first see nothing.
    q = torch.zeros(1, 1, 5, 2)
    k = torch.eye(2)[None, None]
    out, _ = attention_reference.attention({"q": q, "k": k, "v": k, "do": q + 1}, True, 1)
    assert out["lse"][0, 0].tolist() == pytest.approx([-INF, -INF, -INF, 0, np.log(2)])
    assert out["o"][0, 0].tolist() == [[0, 0], [0, 0], [0, 0], [1, 0], [0.5, 0.5]]
    assert not out["dq"][0, 0, :3].any() and out["dv"][0, 0].tolist() == [[1.5] * 2, [0.5] * 2]


# Rivals.


@pytest.mark.parametrize("kv_heads", [4, 2])
@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize(("seq_q", "seq_k"), LENGTHS)
@pytest.mark.parametrize("entry", [FLASH, BACKWARD, STAGES], ids=lambda entry: entry.name)
def test_every_rival_computes_the_same_function(entry, seq_q, seq_k, mask, kv_heads):
    case = ragged_attention(seq_q, seq_k, mask, kv_heads=kv_heads)
    tensors, tiles = tensors_of(entry, case), tiles_of(entry, case)
    name, found = rivals.run(entry, tensors, tiles)
    assert name in found and {"SDPA math", "SDPA flash"} <= set(found)
    assert name == ("torch.matmul, softmax, matmul" if entry is STAGES else "SDPA flash")
    inputs = {n: tensors[n] for n in ("q", "k", "v", "do") if n in tensors}
    expected, _ = attention_reference.attention(
        inputs, tiles.is_causal, tiles.scale_for(case.head_dim)
    )
    for outputs in found.values():
        if isinstance(outputs, str):
            assert outputs.endswith(".") and "\n" not in outputs
            continue
        assert set(outputs) == {entry.output, *entry.extra_outputs} - {"lse"}
        for output, tensor in outputs.items():
            torch.testing.assert_close(tensor.double(), expected[output], atol=2e-6, rtol=0)


def test_only_the_rival_that_sets_the_tolerance_runs_if_no_more_is_asked():
    case = ragged_attention()
    name, found = rivals.run(FLASH, tensors_of(FLASH, case), tiles_of(FLASH, case), every=False)
    assert list(found) == [name]


def test_key_heads_are_repeated_where_torch_would_fall_back_to_math(monkeypatch):
    def choose(q, k, v, *, enable_gqa=False, **_):
        return 0 if enable_gqa else 1

    monkeypatch.setattr(torch, "_fused_sdp_choice", choose)
    case = ragged_attention()
    name, found = rivals.run(BACKWARD, tensors_of(BACKWARD, case), tiles_of(BACKWARD, case))
    assert name == "SDPA flash, k and v repeated"
    assert found[name]["dk"].shape == (2, 2, 20, 5)


def test_math_is_not_asked_to_hold_more_scores_than_fit(monkeypatch):
    monkeypatch.setattr(rivals, "MAX_MATH_SCORES", 2 * 4 * 20 * 20 - 1)
    case = ragged_attention()
    name, found = rivals.run(FLASH, tensors_of(FLASH, case), tiles_of(FLASH, case))
    assert name == "SDPA flash"
    assert found["SDPA math"] == "It was not asked to hold 3200 scores at once."


def test_a_torch_that_cannot_say_is_asked_in_order(monkeypatch):
    monkeypatch.delattr(torch, "_fused_sdp_choice")
    case = ragged_attention()
    assert rivals.run(FLASH, tensors_of(FLASH, case), tiles_of(FLASH, case))[0] == "SDPA flash"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            [
                "Memory efficient kernel not used because: (Triggered internally at /a/b.cpp:1.)",
                "Expected query to be Half, but got Float. (Triggered internally at /a/b.cpp:9.)",
            ],
            "Expected query to be Half, but got Float.",
        ),
        ([], "No available kernel."),
    ],
)
def test_a_refusal_is_the_sentence_that_says_why(said, expected):
    assert rivals.reason(said, "No available kernel. Aborting execution.") == expected


def test_float32_products_are_not_tf32_and_the_switches_come_back():
    torch.set_float32_matmul_precision("medium")
    try:
        with rivals.exact_products():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    a, b = torch.ones(2, 3), torch.ones(3, 2)
    assert rivals.run(ALGORITHMS["matmul"], {"a": a, "b": b}, Tiles())[0] == "torch.matmul, ieee"


# Tolerances.


def test_twice_the_rivals_error_passes_or_the_floor():
    sizes = {"score": 0.0, "v": 2.0}
    args = ("o", "float32", 1.0, sizes, 1.0, 0)
    assert tolerances.tolerance(*args, 1e-3) == 2e-3
    assert tolerances.tolerance(*args, 0.0) == 2e-6
    half = ("o", "bfloat16", 0.0, {"score": 0.0, "v": 0.0}, 1.0, 0)
    assert tolerances.tolerance(*half, 1e-4) == pytest.approx(1.5e-3)


def test_floors_grow_with_what_rounds():
    sizes = {"score": 10.0, "v": 1.0, "dp": 2.0, "k": 3.0, "q": 5.0, "do": 7.0, "column": 11.0}
    relative = 1e-6 + 2.0**-23 * (2 * 10 + 3)
    floor = {
        name: tolerances.floor(name, "float32", 8.0, sizes, 0.5, 9)
        for name in ("o", "dq", "dk", "dv", "lse", "c")
    }
    assert floor["o"] == pytest.approx(relative)
    assert floor["dq"] == pytest.approx(relative * 2 * 3 * 0.5)
    assert floor["dk"] == pytest.approx(relative * 2 * 5 * 0.5 * 11)
    assert floor["dv"] == pytest.approx(relative * 7 * 11)
    assert floor["lse"] == pytest.approx((relative + 9e-6) * 8)
    assert floor["c"] == pytest.approx(8e-6)
    half = tolerances.floor("c", "float16", 8.0, sizes, 0.5, 9)
    assert half == pytest.approx(8e-6 + 2.0**-8)  # half of 2^-7, the spacing at 8
