"""What is computed of a sweep's points beside its rates: bytes by formula, and what to distrust."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.doubts import doubts_of
from benchmarks.moved_bytes import moved_bytes
from benchmarks.sweep_choice import choose_sweep
from tests.sweeps import missing, timed


def moved(operation: str, value: int, provider: str = "ours", **about) -> int | None:
    case = choose_sweep(operation, f"{value}", **about.pop("sizes", {}))
    return moved_bytes(case, timed(case, provider, value, 100.0, **about))


@pytest.mark.parametrize(
    ("path", "settings", "n_bytes"),
    [
        ("single", {"num_warps": 8}, 2 * 64 * 4096 * 2),
        ("rows", {"rows": 2, "num_warps": 1}, 2 * 64 * 4096 * 2),
        ("online", {"block": 1024}, 3 * 64 * 4096 * 2),  # x is read twice
        # 4 programs a row write m and l, two numbers of 4 bytes, and read those of all 4.
        ("split", {"block": 1024}, 2 * 64 * 4096 * 2 + 64 * 8 * (4 + 16)),
    ],
)
def test_a_softmax_moves_what_its_path_does(path, settings, n_bytes):
    sizes = {"n_rows": 64}
    about = {"path": path, "settings": settings, "sizes": sizes}
    assert moved("softmax", 4096, **about) == n_bytes
    assert moved("softmax", 4096, path, **about) == n_bytes
    assert moved("softmax", 4096, "torch", sizes=sizes) is None


def test_tiles_read_their_inputs_again():
    # 16 heads of 1024 queries in blocks of 128: K and V of 64 KiB a head are read 8 times.
    blocks = {"block_m": 128, "block": 64, "num_warps": 4}
    once, lse = 16 * 1024 * 64 * 2, 16 * 1024 * 4
    assert moved("attention", 1024, settings=blocks) == 2 * once + 2 * 8 * once + lse
    assert moved("attention", 1024) is None  # its blocks are not told
    assert moved("attention", 1024, "sdpa_flash", settings=blocks) is None


CASE = choose_sweep("add", "256,1024", n_rows=1000)


def test_a_clock_that_fell_is_told_at_the_first_point_that_has_it():
    points = [
        timed(CASE, "ours", 256, 2.0, clock_mhz=2000),
        timed(CASE, "ours", 1024, 2.0, clock_mhz=1890),
        timed(CASE, "torch", 1024, 2.0, clock_mhz=1890),
    ]
    drop = doubts_of(points).drop
    assert (drop.most, drop.least, drop.at) == (2000, 1890, points[1])
    assert drop.share == pytest.approx(0.055)
    assert doubts_of([points[0], replace(points[1], clock_mhz=1900)]).drop is None  # 5%
    assert doubts_of([replace(point, clock_mhz=None) for point in points]).drop is None


def test_slow_calls_and_held_clocks_are_told_of_timed_points_only():
    slow = timed(CASE, "ours", 256, 2.0, n_outliers=1, slowed="power")
    hot = timed(CASE, "torch", 256, 2.0, slowed="power")
    gone = replace(missing(CASE, "ours", 1024, "failed"), n_outliers=3, slowed="heat")
    found = doubts_of([slow, hot, gone])
    assert found.slow == (slow,) and found.held == {"power": (slow, hot)}


def test_what_is_faster_than_the_copy_by_more_than_both_spread_is_told():
    # A point spreads over 5% of its median: so does the copy, and 10% of 100 us are 10.
    copy = timed(CASE, "copy", 256, 100.0)
    within, over = (timed(CASE, who, 256, us) for who, us in (("ours", 91.0), ("torch", 80.0)))
    elsewhere = timed(CASE, "torch", 1024, 50.0)  # there is no copy of its size
    assert doubts_of([within, over, copy, elsewhere]).over == ((over, pytest.approx(0.25)),)
    # A landscape has one copy, and its settings are numbered.
    one = replace(copy, value=0)
    assert [p.value for p, _ in doubts_of([one, replace(over, value=0), elsewhere]).over] == [
        1024,
        0,
    ]
