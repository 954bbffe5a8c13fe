"""Judges of claims on tiles, warps and stages: landscapes in, a verdict and its numbers out."""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.claims_points import (
    NOTHING,
    NotEnough,
    digits,
    is_faster,
    needed,
    percent,
    settings_timed,
    timed,
    verdict,
)
from benchmarks.claims_results import Finding
from benchmarks.occupancy import occupancy
from benchmarks.operations import NAMES
from benchmarks.sweep_results import SweepPoint, SweepRun

CLAIMED_TILE = (64, 64, 32)
CLAIMED_SHARE = 0.78
MOST_ROWS = 5


def tiles_of_64(runs: tuple[SweepRun, SweepRun]) -> Finding:
    """Judge C12: tiles of 64 × 64 × 32 are the fastest, and reach 78 % of torch's product.

    Utilisation is told of torch's product, since no peak is known here that was not measured.
    """
    landscape, sweep = runs
    by_tile: dict[tuple[int, ...], SweepPoint] = {}
    for point in settings_timed(landscape):  # the fastest first
        by_tile.setdefault(_tile(point), point)
    theirs = timed(sweep).get(("torch", landscape.case.sizes.size_m))
    if CLAIMED_TILE not in by_tile or theirs is None:
        raise NotEnough
    claimed, best = by_tile[CLAIMED_TILE], next(iter(by_tile.values()))
    share = theirs.median_ms / claimed.median_ms
    figures = {
        "tile": _by(CLAIMED_TILE),
        "least": percent(CLAIMED_SHARE),
        "share": percent(share),
        "of_best": percent(best.median_ms / claimed.median_ms),
        "best": _by(_tile(best)),
        "best_share": percent(theirs.median_ms / best.median_ms),
        "place": f"{1 + list(by_tile).index(CLAIMED_TILE)}",
        "n": f"{len(by_tile)}",
    }
    shown = [*by_tile.values()][:MOST_ROWS]
    shown += [] if claimed in shown else [claimed]
    heads = ("claim.head.tile", "num_warps", "num_stages", "TFLOP/s", "claim.head.of_torch")
    rows = [
        (
            _by(_tile(point)),
            *(f"{point.settings[name]}" for name in ("num_warps", "num_stages")),
            digits(point.tflop_per_s),
            f"{percent(theirs.median_ms / point.median_ms)} %",
        )
        for point in shown
    ]
    rows.append((NAMES["torch"], NOTHING, NOTHING, digits(theirs.tflop_per_s), "100 %"))
    return Finding(
        verdict([_tile(best) == CLAIMED_TILE, share >= CLAIMED_SHARE]), figures, heads, tuple(rows)
    )


def _tile(point: SweepPoint) -> tuple[int, ...]:
    return tuple(point.settings[name] for name in ("block_m", "block", "block_k"))


def _by(sizes: Iterable[int]) -> str:
    return " × ".join(map(str, sizes))


# Attention: a landscape a head_dim.


def _blocks(point: SweepPoint) -> tuple[int, int]:
    return point.settings["block_m"], point.settings["block"]


def _share(run: SweepRun, point: SweepPoint) -> float | None:
    """Return how much of a multiprocessor's warps a setting keeps at work, None if not known."""
    held = occupancy(
        run.device.capability, point.settings["num_warps"], point.registers, point.shared_bytes
    )
    return None if held is None else held.share


def blocks_of_128(runs: tuple[SweepRun, ...]) -> Finding:
    """Judge C13: the fastest setting has blocks of 128 or more, both of them, at every head_dim.

    Partly if one block of some fastest setting is so large, false if none is.
    """
    large, small = 128, (64, 64)
    figures, rows, holds = {"large": f"{large}", "small": _by(small)}, [], []
    for number, run in enumerate(runs, start=1):
        points = settings_timed(run)
        best = points[0]
        holds += [size >= large for size in _blocks(best)]
        of_small = next((point for point in points if _blocks(point) == small), None)
        ratio = digits(of_small.median_ms / best.median_ms) if of_small else NOTHING
        figures |= {
            f"dim_{number}": f"{run.case.sizes.head_dim}",
            f"best_{number}": _by(_blocks(best)),
            f"over_{number}": ratio,
        }
        # Squares, those too that do not fit, and the best of all.
        tried = {_blocks(point) for point in run.points if point.settings}
        squares = {blocks for blocks in tried if blocks[0] == blocks[1]}
        for blocks in sorted({*squares, _blocks(best)}):
            point = next((one for one in points if _blocks(one) == blocks), None)
            rows.append(_block_row(run, blocks, point))
    heads = ("head_dim", "BLOCK_M × BLOCK_N", "num_warps", "num_stages", "ms",
             "claim.head.shared", "claim.head.occupancy")  # fmt: skip
    return Finding(verdict(holds), figures, heads, tuple(rows))


def _block_row(run: SweepRun, blocks: tuple[int, int], point: SweepPoint | None) -> tuple:
    """Return the fastest setting of these blocks, or that none of them runs."""
    said = f"{run.case.sizes.head_dim}", _by(blocks)
    if point is None:
        return (*said, *[NOTHING] * 5)
    shared, share = point.shared_bytes, _share(run, point)
    return (
        *said,
        *(f"{point.settings[name]}" for name in ("num_warps", "num_stages")),
        digits(point.median_ms),
        NOTHING if shared is None else digits(shared / 1024),
        NOTHING if share is None else f"{percent(share)} %",
    )


def warps_and_stages(runs: tuple[SweepRun, ...]) -> Finding:
    """Judge C14, two parts, over landscapes of several head_dim together.

    4 warps raise occupancy if, of all settings that differ in nothing else, more gain by it than
    lose; 3 stages hide latency if the fastest with 3 is faster than the fastest with 1 and with 2
    by more than their spread, at every head_dim. At some of them is a part that holds in part.
    """
    shares: list[tuple[float, float]] = []
    rows, hides, fastest = [], [], []
    for run in runs:
        points = settings_timed(run)
        for four, eight in _pairs(points, "num_warps", 4, 8):
            both = _share(run, four), _share(run, eight)
            shares += [] if None in both else [both]
        best = {
            (name, n): next((p for p in points if p.settings[name] == n), None)
            for name, counts in (("num_warps", (4, 8)), ("num_stages", (1, 2, 3)))
            for n in counts
        }
        rows += [_setting_row(run, name, n, point) for (name, n), point in best.items()]
        three = best["num_stages", 3]
        others = [best["num_stages", n] for n in (1, 2)]
        if three is None or None in others:
            raise NotEnough
        hides.append(all(is_faster(three, other) for other in others))
        fastest.append(points[0].settings)
    higher = sum(four > eight for four, eight in needed(shares))
    lower = sum(four < eight for four, eight in shares)
    figures = {
        "higher": f"{higher}",
        "lower": f"{lower}",
        "pairs": f"{len(shares)}",
        "warps": _each(one["num_warps"] for one in fastest),
        "stages": _each(one["num_stages"] for one in fastest),
        "head_dims": _each(run.case.sizes.head_dim for run in runs),
    }
    heads = ("head_dim", "claim.head.setting", "BLOCK_M × BLOCK_N", "ms", "claim.head.occupancy")
    figures["hidden"] = f"{sum(hides)}"
    figures["of"] = f"{len(hides)}"
    return Finding(verdict([higher > lower, *hides]), figures, heads, tuple(rows))


def _pairs(points: list[SweepPoint], name: str, one: int, other: int):
    """Yield points that differ in one setting alone."""

    def rest(point: SweepPoint) -> tuple:
        return tuple(item for item in sorted(point.settings.items()) if item[0] != name)

    others = {rest(point): point for point in points if point.settings[name] == other}
    for point in points:
        if point.settings[name] == one and rest(point) in others:
            yield point, others[rest(point)]


def _setting_row(run: SweepRun, name: str, n: int, point: SweepPoint | None) -> tuple:
    """Return the fastest of all with one setting."""
    said = f"{run.case.sizes.head_dim}", f"{name} {n}"
    if point is None:
        return (*said, *[NOTHING] * 3)
    share = _share(run, point)
    return (
        *said,
        _by(_blocks(point)),
        digits(point.median_ms),
        NOTHING if share is None else f"{percent(share)} %",
    )


def _each(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))
