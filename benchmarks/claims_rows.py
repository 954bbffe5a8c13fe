"""Judges of claims on softmax: over columns, over cache modifiers, and over how it is timed."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.ceiling import COPY
from benchmarks.claims_points import NOTHING, cell, digits, is_faster, needed, timed, verdict
from benchmarks.claims_results import Finding
from benchmarks.operations import NAMES
from benchmarks.sweep_results import SweepPoint, SweepRun

At = dict[tuple[str, int], SweepPoint]


def _merged(runs: tuple[SweepRun, ...]) -> tuple[At, tuple[int, ...]]:
    """Return the timed points of several sweeps of one operation, and their values in order."""
    at: At = {}
    for run in runs:
        at |= timed(run)
    return at, tuple(sorted({value for run in runs for value in run.case.values}))


# Where the article's curves end, cross, and lead, in columns.
SHORT, FALLS, PASSES, LEADS = 12_672, 6000, 30_000, 60_000


def over_columns(runs: tuple[SweepRun, ...]) -> Finding:
    """Judge C20, four parts, each over the lengths where both sides were timed.

    A single block beats torch up to 12,672 columns; blocks are behind torch from 6,000 to 30,000;
    ahead of torch from 30,000 on; ahead of torch, torch.compile and the single block from 60,000.
    """
    at, values = _merged(runs)
    everything = ("torch", "compile", "single")
    parts = {
        "single": (lambda n: n <= SHORT, lambda n: _ahead(at, n, "single", ("torch",))),
        "behind": (lambda n: FALLS < n < PASSES, lambda n: _ahead(at, n, "torch", ("online",))),
        "passes": (lambda n: n >= PASSES, lambda n: _ahead(at, n, "online", ("torch",))),
        "first": (lambda n: n >= LEADS, lambda n: _ahead(at, n, "online", everything)),
    }
    figures, holds = {}, []
    for name, (is_meant, ahead) in parts.items():
        told = needed([one for one in map(ahead, filter(is_meant, values)) if one is not None])
        figures[name], figures[f"{name}_of"] = f"{sum(told)}", f"{len(told)}"
        holds.append(all(told))
    settled = [at["online", n] for n in values if n > FALLS and ("online", n) in at]
    rates = [point.gb_per_s for point in settled]
    figures |= {"low": digits(min(rates)), "high": digits(max(rates))}
    figures["block"] = f"{max(point.settings.get('block', 0) for point in settled)}"
    figures |= {"n": f"{sum(holds)}", "of": f"{len(holds)}"}
    limits = {"short": SHORT, "falls": FALLS, "beyond": PASSES, "leads": LEADS}
    figures |= {name: f"{columns}" for name, columns in limits.items()}
    providers = runs[-1].case.providers
    rows = tuple(
        (f"{n}", *(cell(at.get((who, n)), lambda one: digits(one.gb_per_s)) for who in providers))
        for n in values
    )
    return Finding(verdict(holds), figures, ("N", *(f"{NAMES[p]}, GB/s" for p in providers)), rows)


def _ahead(at: At, n: int, who: str, others: tuple[str, ...]) -> bool | None:
    """Whether one is faster than each of the others that was timed; None if there is no telling."""
    there = [at[other, n] for other in others if (other, n) in at]
    if (who, n) not in at or not there:
        return None
    return all(at[who, n].median_ms < other.median_ms for other in there)


PLAIN = "ours"  # the provider without a cache modifier


def cache_modifiers(runs: tuple[SweepRun]) -> Finding:
    """Judge C19: a modifier helps where it is faster than plain by more than their spread.

    True if some helps at every length, partly if some helps somewhere, false if none does.
    """
    (run,) = runs
    at = timed(run)
    pairs = [
        (at[who, n], at[PLAIN, n])
        for n in run.case.values
        for who in run.case.providers
        if who != PLAIN and (who, n) in at and (PLAIN, n) in at
    ]
    needed(pairs)
    helped = {one.value for one, plain in pairs if is_faster(one, plain)}
    best, plain = max(pairs, key=lambda pair: pair[1].median_ms / pair[0].median_ms)
    figures = {
        "n": f"{len(pairs)}",
        "faster": f"{sum(is_faster(one, plain) for one, plain in pairs)}",
        "slower": f"{sum(is_faster(plain, one) for one, plain in pairs)}",
        "best": NAMES[best.provider],
        "at": f"{best.value}",
        "gain": f"{100 * (plain.median_ms / best.median_ms - 1):.1f}",
    }
    told = verdict(n in helped for n in {one.value for one, _ in pairs})
    providers = run.case.providers
    rows = tuple((f"{n}", *(_compared(at, who, n) for who in providers)) for n in run.case.values)
    heads = (f"{NAMES[who]}, {'µs' if who == PLAIN else '%'}" for who in providers)
    return Finding(told, figures, ("N", *heads), rows)


def _compared(at: At, who: str, n: int) -> str:
    """Return the plain kernel's time with its spread, or by how much another is faster."""
    point, plain = at.get((who, n)), at.get((PLAIN, n))
    if point is None or plain is None:
        return NOTHING
    if who != PLAIN:
        return f"{100 * (plain.median_ms / point.median_ms - 1):+.1f}".replace("-", "−")
    low, median, high = (f"{ms * 1e3:.1f}" for ms in (point.p20_ms, point.median_ms, point.p80_ms))
    return f"{median} ({low}–{high})"


def warm_and_many(runs: tuple[SweepRun, SweepRun]) -> Finding:
    """Judge C22: full caches, and a first call, both give other numbers than a kernel has.

    A cache lies where hot is faster than cold by more than their spread; a first call lies where it
    takes more than twice the median. Over a copy in cold caches at the same length is told of calls
    that are not so when cold.
    """
    cold, hot = map(timed, runs)
    keys = needed([key for key in cold if key in hot and key[0] != COPY])
    warmer = {key: cold[key].median_ms / hot[key].median_ms for key in keys}
    longer = {key: cold[key].first_s * 1e3 / cold[key].median_ms for key in keys}
    needed([key for key in cold if key[0] == COPY])
    copies = {key: cold[COPY, key[1]] for key in keys if (COPY, key[1]) in cold}
    over = [
        key
        for key, copy in copies.items()
        if cold[key].gb_per_s <= copy.gb_per_s < hot[key].gb_per_s
    ]
    figures = {
        **_range("hot", warmer),
        **_range("first", longer),
        "over": f"{len(over)}",
        "n": f"{len(keys)}",
    }
    holds = [*(is_faster(hot[key], cold[key]) for key in keys), *(n > 2 for n in longer.values())]
    heads = ("N", "claim.head.who", "claim.head.cold", "claim.head.hot", "×", "claim.head.first",
             "claim.head.median")  # fmt: skip
    rows = tuple(
        (
            f"{n}",
            NAMES[who],
            *map(digits, (cold[who, n].gb_per_s, hot[who, n].gb_per_s, warmer[who, n])),
            *map(digits, (cold[who, n].first_s * 1e3, cold[who, n].median_ms)),
        )
        for who, n in sorted(keys, key=lambda key: (key[1], key[0]))
    )
    return Finding(verdict(holds), figures, heads, rows)


def _range(name: str, ratios: Mapping[object, float]) -> dict[str, str]:
    """Return the smallest and the largest of some ratios."""
    ends = min(ratios.values()), max(ratios.values())
    return {f"{name}_low": digits(ends[0]), f"{name}_high": digits(ends[1])}
