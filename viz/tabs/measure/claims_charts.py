"""The chart of a claim's runs: each kind of run has a figure already."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks import launches, memory
from benchmarks.claims_results import Run
from benchmarks.launches_results import LaunchRun
from benchmarks.memory_results import MemoryRun
from benchmarks.operations import OPERATIONS
from benchmarks.sweep_results import LandscapeCase, SweepCase, SweepRun
from viz.figures.launches import timeline_figure
from viz.figures.memory import memory_figure
from viz.tabs.measure import landscape_map
from viz.tabs.measure.landscape_cells import Landscape, Look, axes_for
from viz.tabs.measure.landscape_words import case_words
from viz.tabs.measure.measured import plot_update
from viz.tabs.measure.speed import figure_of
from viz.tabs.measure.speed_lines import Shown, default_view

# The settings that a claim is about, where those are not a map's usual ones: upright, lying.
AXES = {"C14": ("num_warps", "num_stages")}


def drawn(key: str, runs: Iterable[Run], language: str) -> dict:
    """Return the updates of both places for charts, "plot" and "map": closed without such runs."""
    runs = list(runs)
    axes = AXES.get(key, ("", ""))
    maps = [_map(run, axes, language) for run in runs if isinstance(run.case, LandscapeCase)]
    return {
        "plot": plot_update(_figure(plotted(runs), runs, language)),
        "map": [node for nodes in maps for node in nodes],
    }


def plotted(runs: Iterable[Run]) -> Run | None:
    """Return the first run that is drawn as a figure: landscapes are maps."""
    return next((run for run in runs if not isinstance(run.case, LandscapeCase)), None)


def _figure(first: Run | None, runs: list[Run], language: str):
    """Return the figure of a run, with the sweeps that fit over it; None if nothing has a time."""
    if isinstance(first, MemoryRun):
        return memory_figure(memory.lines(first.case, first), first.case.lengths, language)
    if isinstance(first, LaunchRun):
        told = launches.lines(first.case, launches.DIRECTIONS[0], first)
        return timeline_figure(told, language)
    return None if first is None else figure_of(overlaid(runs), shown_of(first), language)


def _map(run: SweepRun, axes: tuple[str, str], language: str) -> list:
    """Return a landscape as a map and what it shows: to be looked at, not to be worked with."""
    land = Landscape.of(run)
    look = Look(default_view(run.case.operation), *axes_for(land.names, *axes, axes))
    cells = [_still(node) for node in landscape_map.map_of(land, look, None, language)]
    title = ["p", {"class": "bw-how"}, ["b", {}, case_words(run.case, language)]]
    return [title, *cells, *landscape_map.key(land, look, None, language)]


def _still(node):
    """Return a map's nodes without what makes its cells buttons in the tab of landscapes."""
    if isinstance(node, str):
        return node
    kept = {name: value for name, value in node[1].items() if name in ("class", "scope", "colspan")}
    return [node[0], kept, *map(_still, node[2:])]


def overlaid(runs: Iterable[Run]) -> list[SweepRun]:
    """Return the sweeps of one operation over one size that are drawn together, the first on top.

    Sweeps of the same sizes that differ in values alone are one.
    """
    joined: dict[tuple, SweepRun] = {}
    sweeps = [run for run in runs if isinstance(run.case, SweepCase)]
    for run in sweeps:
        case, first = run.case, sweeps[0].case
        if (case.operation, case.axis) != (first.operation, first.axis):
            continue
        kind = case.sizes, case.fixed_rows, case.is_hot
        joined[kind] = _joined(joined[kind], run) if kind in joined else run
    return list(joined.values())[::-1]


def _joined(one: SweepRun, other: SweepRun) -> SweepRun:
    """Return both sweeps' points as one sweep's."""
    values = tuple(sorted({*one.case.values, *other.case.values}))
    named = {*one.case.providers, *other.case.providers}
    order = OPERATIONS[one.case.operation].providers
    providers = tuple(name for name in order if name in named)
    case = replace(one.case, values=values, providers=providers)
    return replace(one, case=case, points=(*one.points, *other.points))


def shown_of(run: SweepRun) -> Shown:
    """Return a sweep's own view, all its operation's providers and all values."""
    operation = run.case.operation
    return Shown(default_view(operation), "", OPERATIONS[operation].providers)
