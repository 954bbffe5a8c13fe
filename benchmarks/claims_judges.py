"""Judges of claims on the fused chain and on attention: runs in, a verdict and its numbers out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from benchmarks import launches
from benchmarks.claims_points import (
    NotEnough,
    cell,
    digits,
    needed,
    percent,
    timed,
    verdict,
)
from benchmarks.claims_results import Finding
from benchmarks.launches_results import LaunchLine, LaunchRun, count_words, times_eager
from benchmarks.memory_results import MemoryRun
from benchmarks.operations import NAMES
from benchmarks.sweep_results import SweepRun

NAIVE = "sdpa_math"  # torch's own attention in separate steps


def intermediates(runs: tuple[LaunchRun]) -> Finding:
    """Judge C1: one kernel launches less, moves less and takes less time than torch's chain.

    Holds if it does all three forward, and all three backward.
    """
    (run,) = runs
    both = {way: launches.lines(run.case, way, run) for way in launches.DIRECTIONS}
    eager, ours = (
        {way: _of(told, name) for way, told in both.items()} for name in ("eager", "fused")
    )
    moved = {way: eager[way].n_bytes / ours[way].n_bytes for way in both}
    saved = {way: times_eager(ours[way], told) for way, told in both.items()}
    holds = [
        eager[way].measured.launches[0] > ours[way].measured.launches[1]
        and moved[way] > 1
        and saved[way] > 1
        for way in both
    ]
    figures = {
        "launches": count_words(eager["forward"].measured.launches),
        "ours": count_words(ours["forward"].measured.launches),
        "moved": digits(moved["forward"]),
        "saved": digits(saved["forward"]),
        "back_launches": count_words(eager["backward"].measured.launches),
        "back_moved": digits(moved["backward"]),
        "back_saved": digits(saved["backward"]),
    }
    heads = ("claim.head.who", "claim.head.launches", "MB", "µs")
    back = tuple(f"claim.head.back_{name}" for name in ("launches", "mb", "us"))
    told = [line for line in both["forward"] if line.role != "ceiling"]
    rows = tuple(
        (line.exact, *_launched(line), *_launched(_line(both["backward"], line.provider)))
        for line in told
    )
    return Finding(verdict(holds), figures, (*heads, *back), rows)


def _line(told: tuple[LaunchLine, ...], provider: str) -> LaunchLine:
    return next(line for line in told if line.provider == provider)


def _of(told: tuple[LaunchLine, ...], provider: str) -> LaunchLine:
    """Return a provider's line. Raise NotEnough if nothing was measured."""
    line = _line(told, provider)
    if line.measured is None:
        raise NotEnough
    return line


def _launched(line: LaunchLine) -> tuple[str, str, str]:
    """Return a line's launches, MB and µs."""
    ran = line.measured
    return (
        cell(ran, lambda one: count_words(one.launches)),
        ("≥ " if line.least else "") + digits(line.n_bytes / 1e6),
        cell(ran, lambda one: digits(one.device_us[1])),
    )


# Lengths.


class Gain(NamedTuple):
    """How many times less time one provider takes than another at one length."""

    length: int
    batch: int
    slow_ms: float
    fast_ms: float

    @property
    def times(self) -> float:
        """The ratio of both times as it is told, so that a verdict and its number agree."""
        return float(digits(self.slow_ms / self.fast_ms))


def _gains(runs: tuple[SweepRun, ...], slow: str, fast: str = "ours") -> list[Gain]:
    """Return the gains wherever both were timed, the shortest length first."""
    found = []
    for run in runs:
        at = timed(run)
        found += [
            Gain(value, run.case.sizes.batch, at[slow, value].median_ms, at[fast, value].median_ms)
            for value in run.case.values
            if (slow, value) in at and (fast, value) in at
        ]
    return sorted(found)


def _gain_table(gains: list[Gain], slow: str, fast: str = "ours") -> dict:
    """Return heads and rows."""
    heads = ("T", "claim.head.batch", f"{NAMES[slow]}, ms", f"{NAMES[fast]}, ms", "×")
    rows = tuple(
        (f"{one.length}", f"{one.batch}", *map(digits, (one.slow_ms, one.fast_ms, one.times)))
        for one in gains
    )
    return {"heads": heads, "rows": rows}


def _ends(gains: list[Gain], most: float) -> dict[str, str]:
    """Return the smallest and the largest gain, where they are, and how many pass the claim's."""
    low, high = (pick(gains, key=lambda one: one.times) for pick in (min, max))
    return {
        "low": digits(low.times),
        "at_low": f"{low.length}",
        "high": digits(high.times),
        "at_high": f"{high.length}",
        "over": f"{sum(one.times > most for one in gains)}",
        "n": f"{len(gains)}",
    }


def faster_than_naive(runs: tuple[SweepRun, ...]) -> Finding:
    """Judge C7: at least 2 times faster than torch's separate steps, and more at the longest.

    Both parts hold, one, or none; or it is more than the 4 times that were claimed at all lengths.
    """
    gains, least, most = needed(_gains(runs, NAIVE)), 2, 4
    first, last = gains[0], needed(gains[1:])[-1]
    holds = [all(one.times >= least for one in gains), last.times > first.times]
    figures = _ends(gains, most) | {
        "least": f"{least}",
        "most": f"{most}",
        "first": digits(first.times),
        "last": digits(last.times),
        "shortest": f"{first.length}",
        "longest": f"{last.length}",
    }
    return Finding(_or_more(holds, gains, most), figures, **_gain_table(gains, NAIVE))


def _or_more(holds: list[bool], gains: list[Gain], most: float) -> str:
    """Return the verdict, "more" where all is true and every gain is over what was claimed."""
    found = verdict(holds)
    is_more = found == "true" and all(one.times > most for one in gains)
    return "more" if is_more else found


def faster_beyond_2048(runs: tuple[SweepRun, ...]) -> Finding:
    """Judge C8: at least 3 times faster beyond 2048, everywhere, at some, at none; or over 5."""
    beyond, least, most = 2048, 3, 5
    gains = needed([one for one in _gains(runs, NAIVE) if one.length > beyond])
    holds = [one.times >= least for one in gains]
    figures = _ends(gains, most) | {"least": f"{least}", "most": f"{most}", "beyond": f"{beyond}"}
    return Finding(_or_more(holds, gains, most), figures, **_gain_table(gains, NAIVE))


def fused_against_stages(runs: tuple[SweepRun, ...]) -> Finding:
    """Judge C11: fused is 15 % faster than three stages everywhere, at some, none; or over 20."""
    gains, least, most = needed(_gains(runs, "three")), 0.15, 0.20
    holds = [one.times >= 1 + least for one in gains]
    figures = _ends(gains, 1 + most) | {"least": percent(least), "most": percent(most)}
    for name, one in (("low", min), ("high", max)):
        figures[name] = percent(one(gain.times for gain in gains) - 1)
    return Finding(_or_more(holds, gains, 1 + most), figures, **_gain_table(gains, "three"))


# The article's table of length 4096, on an A100 with shapes that it does not state.

CLAIMED = {"gb": (12.7, 5.3, 3.8), "ms": (185.0, 92.0, 67.0)}
MEASURED_AS = {"flash_attention": "ours", "three_stage": "three"}  # memory's names, a sweep's
LENGTH = 4096


def table_of_4096(runs: tuple[MemoryRun, SweepRun]) -> Finding:
    """Judge C10: torch's separate steps and its best fused kernel against ours, memory and time.

    Four ratios to ours: each holds if it is at least what the article's numbers give.
    """
    memory_run, sweep_run = runs
    gb = {
        MEASURED_AS.get(point.provider, point.provider): point.peak_bytes / 1e9
        for point in memory_run.points
        if point.length == LENGTH and point.peak_bytes is not None
    }
    ms = {
        provider: point.median_ms
        for (provider, value), point in timed(sweep_run).items()
        if value == LENGTH and provider in NAMES and provider != "copy"
    }
    figures, holds = {}, []
    for name, measured in (("gb", gb), ("ms", ms)):
        eager, best, ours = (_known(measured, who) for who in (NAIVE, "sdpa_flash", "ours"))
        *claimed, least = CLAIMED[name]
        for who, one, said in zip(("eager", "flash"), (eager, best), claimed, strict=True):
            figures[f"{who}_{name}"] = digits(one / ours)
            figures[f"{who}_{name}_claimed"] = digits(said / least)
            holds.append(one / ours >= said / least)
    sizes = sweep_run.case.sizes
    figures |= {"n": f"{sum(holds)}", "of": f"{len(holds)}", "dtype": sizes.dtype}
    figures |= {name: f"{getattr(sizes, name)}" for name in ("batch", "heads", "head_dim")}
    heads = ("claim.head.who", "GB", "GB ×", "ms", "ms ×")
    rows = tuple(
        (NAMES[who], *_against(gb, who), *_against(ms, who))
        for who in sweep_run.case.providers
        if who in gb or who in ms
    )
    return Finding(verdict(holds), figures, heads, rows)


def _known(measured: Mapping[str, float], who: str) -> float:
    """Return a number that must be there."""
    if who not in measured:
        raise NotEnough
    return measured[who]


def _against(measured: Mapping[str, float], who: str) -> tuple[str, str]:
    """Return a number and how many times ours it is."""
    one = measured.get(who)
    return cell(one, digits), cell(one, lambda number: digits(number / measured["ours"]))
