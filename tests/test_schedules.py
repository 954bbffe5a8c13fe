"""The tiles that kernels take unless told: what was measured where it fits, and less elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.schedules import (
    OVERHEAD_BYTES,
    attention_schedule,
    attention_shared_bytes,
    decode_schedule,
    matmul_schedule,
)
from kernels.tiles import padded

H200, A100, ADA, TURING = 232_448, 166_912, 101_376, 65_536  # bytes a program may use


@pytest.mark.parametrize("which", ["forward", "backward"])
@pytest.mark.parametrize("itemsize", [2, 4])
@given(
    head_dim=st.integers(1, 256),
    seq=st.integers(1, 10_000),
    limit=st.sampled_from([H200, A100, ADA]),
)
def test_attention_fits_the_shared_memory_that_there_is(which, itemsize, head_dim, seq, limit):
    tiles, options = attention_schedule(which, seq, seq, head_dim, itemsize, limit)
    needed = attention_shared_bytes(
        which, tiles.block_m, tiles.block_n, options["num_stages"], padded(head_dim), itemsize
    )
    assert needed < limit and options["num_stages"] >= 1
    assert min(tiles.block_m, tiles.block_n) >= 16


RECORDED = Path(__file__).parent.parent / "benchmarks" / "recorded"


@pytest.mark.parametrize("which", ["forward", "backward"])
def test_recorded_kernels_took_no_more_shared_memory_than_is_counted(which):
    name = "attention-backward" if which == "backward" else "attention"
    held = 0
    for file in RECORDED.glob(f"*-{name}-[0-9s]*.json"):
        run = json.loads(file.read_text("utf-8"))
        for point in run["points"]:
            if point["provider"] != "ours" or "shared_bytes" not in point:
                continue
            blocks = (point["settings"][key] for key in ("block_m", "block", "num_stages"))
            width = padded(run["case"]["sizes"]["head_dim"])
            counted = attention_shared_bytes(which, *blocks, width, 2)
            assert point["shared_bytes"] <= counted + OVERHEAD_BYTES, (file.name, point["settings"])
            held += 1
    assert held > 90


@pytest.mark.parametrize(
    ("limit", "block_m", "block_n", "stages"),
    [
        (None, 128, 64, 2), (H200, 128, 64, 2),
        (A100, 128, 64, 1),  # (128 + 2 x 64) rows of 512 bytes: 131,072
        (ADA, 64, 64, 1),  # (64 + 2 x 64) rows: 98,304
        (TURING, 32, 32, 1),  # (32 + 2 x 32) rows: 49,152; (64 + 2 x 32) would be all there is
    ],
)  # fmt: skip
def test_stages_go_first_and_then_the_longer_block(limit, block_m, block_n, stages):
    tiles, options = attention_schedule("forward", 4096, 4096, 256, 2, limit)
    found = tiles.block_m, tiles.block_n, options["num_stages"]
    assert found == (block_m, block_n, stages)


@pytest.mark.parametrize(
    ("head_dim", "itemsize", "limit", "stages"),
    [
        (128, 2, H200, 3), (128, 2, None, 3),
        (128, 2, ADA, 2),  # (16 + 2 x 64 x 3) rows of 256 bytes: 102,400
        (256, 2, ADA, 1), (64, 4, ADA, 2),
    ],
)  # fmt: skip
def test_decoding_takes_fewer_stages_where_they_do_not_fit(head_dim, itemsize, limit, stages):
    block_n, options = decode_schedule(head_dim, itemsize, limit)
    assert (block_n, options["num_stages"]) == (64, stages)


@given(
    head_dim=st.integers(1, 256),
    itemsize=st.sampled_from([2, 4]),
    limit=st.sampled_from([H200, A100, ADA]),
)
def test_decoding_fits_the_shared_memory_that_there_is(head_dim, itemsize, limit):
    block_n, options = decode_schedule(head_dim, itemsize, limit)
    stages, width = options["num_stages"], padded(head_dim)
    # 16 queries stay, blocks of k and of v stream: 64 of 256 float32 would not fit ADA at all.
    assert (16 + 2 * block_n * stages) * width * itemsize < limit and block_n >= 16


@pytest.mark.parametrize(
    ("size", "block_m", "block_n"),
    [(8192, 128, 256), (2048, 128, 256), (1024, 64, 128), (512, 64, 64), (64, 64, 64)],
)
def test_a_product_takes_large_tiles_where_they_are_enough_for_an_h200(size, block_m, block_n):
    tiles, _ = matmul_schedule(size, size, 2, 132)
    assert (tiles.block_m, tiles.block_n, tiles.group_m) == (block_m, block_n, 8)


def test_a_smaller_gpu_is_busy_with_fewer_tiles():
    assert matmul_schedule(1024, 1024, 2, 40)[0].block_n == 256
    assert matmul_schedule(1024, 1024, 4, 40)[0].block_n == 64
