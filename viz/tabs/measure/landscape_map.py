"""What is printed in a landscape's cells, what a pointer reads of them, and what the marks mean."""

from __future__ import annotations

import math
from dataclasses import replace

from benchmarks.sweep_results import SweepPoint
from viz.figures.landscape import Axis, Tile, heat_map
from viz.figures.prose import name_of, rich
from viz.locales import text
from viz.tabs.measure.landscape_cells import Landscape, Look, Settings, slower
from viz.tabs.measure.speed_lines import has_time
from viz.tabs.measure.speed_told import digits, facts, limits, spilled

# Marks that the key explains, in this order.
MARKS = ("best", "chosen", "guess", "spilled", "unfit", "failed", "waiting")


def map_of(land: Landscape, look: Look, guess: Settings | None, language: str) -> list:
    """Return the map, the fastest outlined and a guess ringed."""
    tiles = tiles_of(land, look, guess, language)
    title = text(language, "landscape.map", up=look.up or look.flat, flat=look.flat)
    return heat_map(tiles, *axes_of(land, look), title)


def hidden_map(land: Landscape, look: Look, language: str) -> list:
    """Return the map as it is while a guess is asked for: every cell, and nothing in it."""
    pairs = {name: name for name in (look.up, look.flat) if name}
    tiles = {}
    for up, flat in land.cells(look):
        name = land.words({pairs[n]: v for n, v in ((look.up, up), (look.flat, flat)) if n})
        tiles[up, flat] = Tile("?", marks=("hidden",), name=name)
    return heat_map(tiles, *axes_of(land, look), text(language, "landscape.map.hidden"))


def axes_of(land: Landscape, look: Look) -> tuple[Axis, Axis]:
    """Return the upright and the lying axis."""
    up = Axis(look.up, land.values(look.up) if look.up else (0,))
    return up, Axis(look.flat, land.values(look.flat))


def tiles_of(
    land: Landscape, look: Look, guess: Settings | None, language: str
) -> dict[tuple[int, int], Tile]:
    """Return the cells by their place."""
    waiting = {land.place(settings, look) for settings in land.todo}
    chosen, best = land.named(look.chosen), land.best
    marked = {
        "best": best and land.place(best.settings, look),
        "chosen": chosen and land.place(chosen.settings, look),
        "guess": guess and land.place(guess, look),
    }
    tiles = {}
    for place, points in land.cells(look).items():
        tile = _tile(land, points, look, place in waiting, language)
        marks = tuple(mark for mark, at in marked.items() if at == place)
        tiles[place] = tile._replace(marks=(*tile.marks, *marks))
    return tiles


def axis_names(look: Look) -> set[str]:
    """Return the settings of both axes."""
    return {look.up, look.flat} - {""}


def _tile(
    land: Landscape, points: list[SweepPoint], look: Look, is_waiting: bool, language: str
) -> Tile:
    """Return one cell: of its fastest point, or why it has none."""
    if not points or (is_waiting and not has_time(points[0])):
        return Tile("·", marks=("waiting",), told=(text(language, "landscape.waiting"),))
    point = points[0]
    name = land.words(point.settings)
    if not has_time(point):
        unfit = all(one.reason == "unfit" for one in points)
        told = why_not(point, language)
        mark, label = ("unfit", "–") if unfit else ("failed", "✕")
        return Tile(label, marks=(mark,), name=name, told=told)
    number = land.number(point, look.view)
    told = (*known(land, point, language), *_against(land, points, language))
    if point.spills:
        label, note = printed(number, look.view), spilled(point)
        return Tile(label, number, note, ("spilled",), name, told)
    return Tile(printed(number, look.view), number, name=name, told=told)


def known(land: Landscape, point: SweepPoint, language: str) -> list[str]:
    """Return everything that is known of a point with a time but its settings, a line each."""
    bare = replace(point, settings={})
    return [*facts(bare, language), *occupancy_words(land, point, language)]


def why_not(point: SweepPoint, language: str) -> tuple[str, ...]:
    """Return why a point has no time: what is the matter, and the details."""
    key = f"landscape.why.{point.reason}"
    lines = name_of(language, key, point.reason), point.message
    return tuple(line for line in lines if line)


def occupancy_words(land: Landscape, point: SweepPoint, language: str) -> list[str]:
    """Return how many programs of a point fit a multiprocessor, and what there is no more of."""
    held = land.occupancy(point)
    if held is None:
        return []
    share, n, why = f"{100 * held.share:.0f}", held.programs, limits(held, language)
    return [text(language, "landscape.occupancy", share=share, n=n, why=why)]


def _against(land: Landscape, points: list[SweepPoint], language: str) -> list[str]:
    """Return how a cell's point stands to the fastest of all, and to the others in its cell."""
    point, lines = points[0], []
    if point is not land.best:
        off = slower(point, land.best)
        lines.append(text(language, "landscape.slower", off=off))
    if len(points) > 1:
        timed = [one for one in points if has_time(one)]
        off = slower(timed[-1], point)
        details = {"n": len(timed), "of": len(points), "off": off}
        lines.append(text(language, "landscape.cell.best", **details))
    return lines


def printed(number: float, view: str) -> str:
    """Return a number as it stands in a cell, never wider than five characters."""
    if math.isnan(number):
        return "–"
    if view == "ms":
        return f"{number:.3g}"
    if view == "shared":  # kB
        return digits(number / 1000) if number else "0"
    if view == "occupancy":
        return f"{number:.0f}%"
    return f"{number:.0f}" if view == "registers" else digits(number)


def key(land: Landscape, look: Look, guess: Settings | None, language: str) -> list:
    """Return what the cells show, what else varies within them, and what each mark means."""
    names = {"GB/s": "gb", "TFLOP/s": "tflop"}
    said = text(language, f"landscape.how.{names.get(look.view, look.view)}")
    others = [name for name in land.names if name not in axis_names(look)]
    if others:
        code = ", ".join(f"`{name}`" for name in others)
        said += " " + text(language, "landscape.how.others", names=code)
    tiles, (up, flat) = tiles_of(land, look, guess, language), axes_of(land, look)
    if len(tiles) < len(up.values) * len(flat.values):
        said += " " + text(language, "landscape.how.empty")
    found = {mark for tile in tiles.values() for mark in tile.marks}
    marks = [
        [
            "span",
            {},
            ["span", {"class": f"bw-heat-mini bw-heat-{mark}", "aria-hidden": "true"}],
            text(language, f"landscape.mark.{mark}"),
        ]
        for mark in MARKS
        if mark in found
    ]
    return [["p", {"class": "bw-how"}, *rich(said)], ["p", {"class": "bw-heat-key"}, *marks]]
