"""From a landscape's points to its cells: which settings vary, and what a cell of two of them is.

A cell is the fastest of all points that have its two settings, whatever the others are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from benchmarks.occupancy import Occupancy, occupancy
from benchmarks.operations import OPERATIONS, fields_of
from benchmarks.recorded_sweeps import SETTINGS
from benchmarks.sweep_choice import SIZES
from benchmarks.sweep_results import LandscapeCase, SweepPoint, SweepRun
from kernels.inputs import one_of
from kernels.problems import shape_of
from kernels.tuning import THREADS_A_WARP, Config
from viz.figures.measure import CEILING
from viz.tabs.measure.speed_lines import has_time
from viz.tabs.measure.speed_told import settings_words

VIEWS = ("GB/s", "TFLOP/s", "ms", "registers", "shared", "occupancy")
# What stands upright where nothing else is asked for, and what lies: the first that vary.
UPRIGHT = ("block_m", "block", "rows", "n_splits")
LYING = {"block_m": ("block",), "block": ("num_warps",)}

Settings = Mapping[str, int]


class Look(NamedTuple):
    """How a landscape is looked at: a view, the upright and the lying setting, a chosen point."""

    view: str
    up: str
    flat: str
    chosen: str = ""


def operations() -> tuple[str, ...]:
    """Return the operations whose kernel has settings to choose from."""
    return tuple(name for name, about in OPERATIONS.items() if about.algorithm.configs is not None)


def size_of(case: LandscapeCase) -> tuple[str, int]:
    """Return how the size of a landscape is called, and what it is."""
    axis = OPERATIONS[case.operation].axes[0]
    return SIZES[axis][0], getattr(case.sizes, fields_of(axis)[0])


def configs_of(case: LandscapeCase) -> list[Config]:
    """Return every setting that is tried at these sizes, with what it needs."""
    entry = OPERATIONS[case.operation].algorithm
    return entry.configs(shape_of(entry, case.sizes))


def values_a_thread(config: Config) -> int:
    """Return how many 32-bit numbers a thread keeps at once."""
    return config.values // (config.settings.get("num_warps", 4) * THREADS_A_WARP)


def varying(all_settings: Iterable[Settings]) -> tuple[str, ...]:
    """Return the settings that differ, in their own order; the first one if none does."""
    values: dict[str, set[int]] = {}
    for settings in all_settings:
        for name, value in settings.items():
            values.setdefault(name, set()).add(value)
    return tuple(name for name in values if len(values[name]) > 1) or tuple(values)[:1]


def tried(case: LandscapeCase) -> tuple[str, ...]:
    """Return the settings that vary where every one is tried."""
    return varying(config.settings for config in configs_of(case))


def axes_for(
    names: tuple[str, ...], up: object, flat: object, before: tuple[str, str]
) -> tuple[str, str]:
    """Return the upright and the lying setting; upright "" where only one setting varies.

    What is asked for is kept where it varies. Who asks for one setting twice swaps the two:
    ``before`` are those of the last picture. Raise InputError for what is no setting at all.
    """
    for label, name in (("upright", up), ("across", flat)):
        if name not in ("", None):
            one_of(label, name, SETTINGS)
    if len(names) < 2:
        return "", "".join(names)
    up, flat = (name if name in names else "" for name in (up, flat))
    if up and up == flat:
        if up == before[1]:
            flat = before[0] if before[0] in names else ""
        else:
            up = before[1] if before[1] in names else ""
    usual = usual_axes(names)
    up = up or next(name for name in usual if name != flat)
    return up, flat or next(name for name in usual if name != up)


def usual_axes(names: tuple[str, ...]) -> tuple[str, str]:
    """Return the upright and the lying setting where nobody asked for any, of two or more."""
    up = next((name for name in UPRIGHT if name in names), names[0])
    wanted = (*LYING.get(up, ()), *names)
    return up, next(name for name in wanted if name in names and name != up)


@dataclass(frozen=True)
class Landscape:
    """A run as cells.

    names   the settings that vary
    todo    settings that are still to be measured
    """

    run: SweepRun
    names: tuple[str, ...]
    todo: tuple[Settings, ...]

    @classmethod
    def of(cls, run: SweepRun) -> Landscape:
        """Return a run's landscape; one's own has places for what is not measured yet."""
        done = [point.settings for point in run.points if point.provider != CEILING]
        todo = []
        if not run.date:
            todo = [c.settings for c in configs_of(run.case) if dict(c.settings) not in done]
        return cls(run, varying([*done, *todo]), tuple(todo))

    @cached_property
    def points(self) -> tuple[SweepPoint, ...]:
        """Every setting's point, the copy left out."""
        return tuple(point for point in self.run.points if point.provider != CEILING)

    @cached_property
    def timed(self) -> list[SweepPoint]:
        """The points that have a time, the fastest first."""
        return sorted(filter(has_time, self.points), key=lambda point: point.median_ms)

    @property
    def best(self) -> SweepPoint | None:
        """The fastest point."""
        return self.timed[0] if self.timed else None

    @property
    def copy(self) -> SweepPoint | None:
        """The copy of the operation's bytes."""
        return next((p for p in self.run.points if p.provider == CEILING and has_time(p)), None)

    def values(self, name: str) -> tuple[int, ...]:
        """Return what a setting takes, the least first; 0 alone stands for no setting."""
        found = {s[name] for s in (*(p.settings for p in self.points), *self.todo) if name in s}
        return tuple(sorted(found)) or (0,)

    def place(self, settings: Settings, look: Look) -> tuple[int, int]:
        """Return the cell of some settings."""
        return settings.get(look.up, 0), settings.get(look.flat, 0)

    def cells(self, look: Look) -> dict[tuple[int, int], list[SweepPoint]]:
        """Return the points of every cell, the fastest first; a cell to come has none."""
        found: dict[tuple[int, int], list[SweepPoint]] = {}
        without = [point for point in self.points if not has_time(point)]
        for point in (*self.timed, *without):
            found.setdefault(self.place(point.settings, look), []).append(point)
        for settings in self.todo:
            found.setdefault(self.place(settings, look), [])
        return found

    def words(self, settings: Settings) -> str:
        """Return settings by name, those that vary: "block 1024, num_warps 8"."""
        return settings_words({name: settings[name] for name in self.names if name in settings})

    def named(self, words: object) -> SweepPoint | None:
        """Return the point whose settings read so."""
        return next((p for p in self.points if self.words(p.settings) == words), None)

    def occupancy(self, point: SweepPoint) -> Occupancy | None:
        """Return how many programs of a point one multiprocessor holds."""
        warps = point.warps or point.settings.get("num_warps")
        capability = self.run.device.capability
        return occupancy(capability, warps, point.registers, point.shared_bytes)

    def number(self, point: SweepPoint, view: str) -> float:
        """Return what a view shows of a point; NaN where it is not known."""
        held = self.occupancy(point)
        known = {
            "GB/s": point.gb_per_s,
            "TFLOP/s": point.tflop_per_s if point.flops else None,
            "ms": point.median_ms,
            "registers": point.registers,
            "shared": point.shared_bytes,
            "occupancy": 100 * held.share if held else None,
        }[view]
        return math.nan if known is None else float(known)

    def neighbours(self, point: SweepPoint, name: str) -> list[tuple[int, SweepPoint]]:
        """Return the points one step of a setting below and above, all others the same."""
        values, here = self.values(name), point.settings.get(name)
        beside = [
            value
            for value, *others in zip(values, (None, *values), (*values[1:], None))
            if here in others
        ]
        found = []
        for value in beside:
            wanted = {**point.settings, name: value}
            found += [(value, other) for other in self.points if dict(other.settings) == wanted]
        return found


def slower(point: SweepPoint, best: SweepPoint) -> str:
    """Return by how many per cent a point is slower than another: "7.4", "18"."""
    percent = 100 * (point.median_ms / best.median_ms - 1)
    return f"{percent:.1f}" if percent < 9.95 else f"{percent:.0f}"
