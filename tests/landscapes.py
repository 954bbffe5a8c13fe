"""Landscapes that were never measured, for tests of what keeps and shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from benchmarks.operations import OPERATIONS
from benchmarks.sweep_choice import choose_landscape
from benchmarks.sweep_results import LandscapeCase, SweepPoint, SweepRun
from kernels.problems import shape_of
from kernels.tuning import Limits, sift
from tests.fake_check import GPU

H200 = Limits(shared_bytes=232_448)


def pretended(
    case: LandscapeCase, us_of: Callable[[Mapping[str, int]], dict], copy_us: float
) -> SweepRun:
    """Return a recorded run in which every setting that fits took what ``us_of`` says.

    ``us_of`` returns fields of a point, with "us" for its time, or with a "reason".
    """
    entry = OPERATIONS[case.operation].algorithm
    n_bytes, flops = OPERATIONS[case.operation].costs(case.sizes)
    n_rows = case.sizes.n_rows if "n_rows" in OPERATIONS[case.operation].axes else 0
    blank = SweepPoint("ours", 0, n_rows, n_bytes=n_bytes, flops=flops)
    kept, refused = sift(entry.configs(shape_of(entry, case.sizes)), H200)
    points = [
        replace(blank, settings=dict(each.settings), reason="unfit", message=each.reason)
        for each in refused
    ]
    points.append(took(replace(blank, provider="copy", flops=0), copy_us))
    for number, config in enumerate(kept):
        fields = us_of(config.settings)
        point = replace(blank, value=number, settings=dict(config.settings))
        us = fields.pop("us", None)
        if us is not None:
            point = took(replace(point, error=0.001, allowed=0.01), us)
        points.append(replace(point, **fields))
    return SweepRun(case, GPU, tuple(points), "2026-01-02", "0123456", "python -m benchmarks sweep")


def took(point: SweepPoint, us: float) -> SweepPoint:
    """Return a point with a time."""
    ms = us / 1e3
    times = {"median_ms": ms, "p20_ms": 0.98 * ms, "p80_ms": 1.03 * ms, "n": 60}
    return replace(point, **times, clock_mhz=1980)


def softmax_us(settings: Mapping[str, int]) -> dict:
    """Return the time of a setting of softmax: the least at 4096, with 8 warps."""
    block, warps = settings["block"], settings["num_warps"]
    steps = abs(block.bit_length() - 13) + 2 * abs(warps.bit_length() - 4)
    a_thread = block // (32 * warps)
    return {
        "us": 1000.0 * 1.1**steps,
        "registers": min(255, 32 + a_thread),
        "spills": 12 if a_thread == 64 else 0,
        "shared_bytes": 16 * warps,
        "warps": warps,
    }


def attention_us(settings: Mapping[str, int]) -> dict:
    """Return the time of a setting of attention; one is wrong."""
    block_m, block, warps, stages = settings.values()
    if (block_m, block, warps, stages) == (64, 32, 4, 1):
        return {"reason": "wrong", "message": "0.5 > 0.01", "error": 0.5, "allowed": 0.01}
    steps = abs(block_m.bit_length() - 8) + abs(block.bit_length() - 7) + (warps == 4)
    spills = 40 if block_m == 128 and warps == 4 and block == 128 else 0
    return {
        "us": 2000.0 * 1.2 ** (steps + abs(stages - 2) / 2 + spills / 40),
        "registers": 128 if warps == 8 else 255,
        "spills": spills,
        "shared_bytes": 32_768 * stages,
        "warps": warps,
    }


# 2 x 2 bytes x 4096 rows x 32768 columns are 0.537 GB: in 1 ms 537 GB/s.
SOFTMAX = pretended(choose_landscape("softmax", 32_768, n_rows=4096), softmax_us, 900.0)
ATTENTION = pretended(
    choose_landscape("attention", 4096, head_dim=128, batch=4), attention_us, 100.0
)
