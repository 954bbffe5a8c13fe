"""Sweeps that were never measured, for tests of what checks, keeps and shows them."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.operations import OPERATIONS
from benchmarks.sweep import point_case
from benchmarks.sweep_choice import WIDE, choose_sweep
from benchmarks.sweep_results import SweepCase, SweepPoint, SweepRun
from tests.fake_check import GPU


def timed(case: SweepCase, provider: str, value: int, us: float, **changes) -> SweepPoint:
    """Return a point of the right bytes and operations that took ``us``; changes are fields."""
    sizes = point_case(case, value)
    n_bytes, flops = OPERATIONS[case.operation].costs(sizes)
    is_copy, ms = provider == "copy", us / 1e3
    point = SweepPoint(
        provider,
        value,
        sizes.n_rows if "n_rows" in OPERATIONS[case.operation].axes else 0,
        median_ms=ms,
        p20_ms=ms * 0.98,
        p80_ms=ms * 1.03,
        n=60,
        n_bytes=n_bytes,
        flops=0 if is_copy else flops,
        first_s=0.0 if is_copy else 1.5,
        error=0.0 if is_copy else 0.001,
        allowed=0.0 if is_copy else 0.01,
        clock_mhz=1980,
    )
    return replace(point, **changes)


def missing(case: SweepCase, provider: str, value: int, reason: str, message="") -> SweepPoint:
    """Return a point without a time."""
    whole = timed(case, provider, value, 1.0)
    kept = {"n_rows": whole.n_rows, "n_bytes": whole.n_bytes, "flops": whole.flops}
    return SweepPoint(provider, value, **kept, reason=reason, message=message)


CASE = choose_sweep("add", "256,1024", n_rows=1000, limits=WIDE)
# 3 x 1000 x 256 x 2 bytes are 1.536 MB: 1 us would be 1536 GB/s.
POINTS = (
    timed(CASE, "ours", 256, 2.0, path="blocks", settings={"block": 1024, "num_warps": 4},
          registers=32, spills=0, shared_bytes=0, warps=4, graph_us=1.25, wall_us=40.5,
          temperature_c=41),
    timed(CASE, "torch", 256, 3.0, n_outliers=2),
    timed(CASE, "copy", 256, 1.0),
    missing(CASE, "torch", 1024, "refused", "it does not want to"),
    timed(CASE, "ours", 1024, 4.0, clock_mhz=1800, slowed="power"),
    timed(CASE, "copy", 1024, 3.9, clock_mhz=1800),
)  # fmt: skip
RUN = SweepRun(CASE, GPU, POINTS, "2026-01-02", "0123456", "python -m benchmarks sweep …")
