"""Which path our kernel took at which sizes, and where its line surprises."""

from __future__ import annotations

import math
from itertools import groupby

from benchmarks.operations import OPERATIONS
from benchmarks.sweep_results import SweepPoint, SweepRun
from kernels.tiles import STEP
from viz.figures.measure import STUDIED
from viz.figures.path_strip import Stretch
from viz.figures.remark import Remark
from viz.locales import text
from viz.tabs.measure.speed_lines import Shown, has_time, seen, share, table_of, values_of
from viz.tabs.measure.speed_told import axis_name, spilled

FALL = 0.15  # of the copy's speed: a line that falls further is worth a word
WIDE = 16  # bytes that a thread reads at once, if rows start at multiples of `STEP` elements


def stretches_of(run: SweepRun, shown: Shown, language: str) -> tuple[Stretch, ...]:
    """Return the stretches of sizes that took one path; none where our kernel has only one."""
    if STUDIED not in shown.providers or not has_paths(run):
        return ()
    points, values = table_of(run), values_of(run, shown)
    paths = [points[STUDIED, v].path if (STUDIED, v) in points else "" for v in values]
    found, at = [], 0
    for path, group in groupby(paths):
        n = len(list(group))
        first, last = values[at], values[at + n - 1]
        before = values[at - 1] if at else None
        at += n
        after = values[at] if at < len(values) else None
        if path:
            span = f"{first}" if n == 1 else f"{first}–{last}"
            told = text(language, "measure.path.told", path=path, axis=axis_name(run.case), at=span)
            found.append(Stretch(path, first, last, before, after, told))
    return tuple(found)


def has_paths(run: SweepRun) -> bool:
    """Whether our kernel chooses its path: then each path is a provider of the operation too."""
    names = OPERATIONS[run.case.operation].providers
    return any(point.provider == STUDIED and point.path in names for point in run.points)


def surprise(run: SweepRun, shown: Shown, language: str) -> Remark | None:
    """Return what to say of where our line falls most against its neighbours; mostly nothing.

    The cause is read from the sizes and the points, never guessed: rows that do not start at
    multiples of 16 elements, registers that spill from there on, or a path that changes. A fall
    without such a cause has no remark.
    """
    if STUDIED not in shown.providers:
        return None
    points = table_of(run)
    own = [v for v in values_of(run, shown) if has_time(points.get((STUDIED, v)))]
    shares = [share(points[STUDIED, value], points) for value in own]
    falls = []
    for k, value in enumerate(own):
        words = _odd(run, own, k, language)
        beside = [shares[n] for n in (k - 1, k + 1) if 0 <= n < len(own)]
        if not words and k:
            beside = beside[:1]
            here, before = points[STUDIED, value], points[STUDIED, own[k - 1]]
            stays = all(points[STUDIED, later].spills for later in own[k:])
            words = _change(here, before, stays, axis_name(run.case), language)
        fall = min(beside, default=math.nan) - shares[k]
        if words and fall > FALL:
            falls.append((fall, value, words))
    if not falls:
        return None
    _, value, words = max(falls)
    height = seen(run, STUDIED, value, shown)
    if math.isnan(height):
        return None
    return Remark(value, height, words.replace("\n", "<br>"))


def _change(here: SweepPoint, before: SweepPoint, spills_on: bool, axis: str, language: str) -> str:
    """Return the sentence of what is other than at the size before, and makes a line fall."""
    if spills_on and before.spills == 0:
        told = spilled(here)
        return text(language, "measure.remark.spills", axis=axis, value=here.value, bytes=told)
    if here.path and here.path != before.path:
        path = here.path
        return text(language, "measure.remark.path", axis=axis, value=here.value, path=path)
    return ""


def _odd(run: SweepRun, own: list[int], k: int, language: str) -> str:
    """Return the sentence of rows that lose their alignment, where their neighbours have it."""
    if run.case.axis != "n_cols" or "n_cols" not in OPERATIONS[run.case.operation].axes:
        return ""
    beside = [own[n] for n in (k - 1, k + 1) if 0 <= n < len(own)]
    if not own[k] % STEP or not beside or any(v % STEP for v in beside):
        return ""
    key = "measure.remark.odd" if own[k] % 2 else "measure.remark.unaligned"
    return text(language, key, axis=axis_name(run.case), value=own[k], bytes=WIDE)
