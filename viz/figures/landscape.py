"""A landscape as a heat map: a table of cells, each with its number printed on one neutral ramp.

It is a tree of nodes, not a chart: a cell can then be pointed at, clicked and reached by keys, and
its ground follows the reader's theme.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

RAMP = (5, 51)  # per cent of ink, from the least number to the largest; the page thins it in dark
CELL = "landscape-cell-"  # what the id of a cell begins with; its row and column follow


class Tile(NamedTuple):
    """One cell.

    label   what is printed in it, and ``note`` a line under that
    value   its number; NaN has no place on the ramp
    marks   among "spilled", "unfit", "failed", "waiting", "hidden", "best", "chosen", "guess"
    name    what it is called, and ``told`` what a pointer reads, a line each
    """

    label: str
    value: float = math.nan
    note: str = ""
    marks: tuple[str, ...] = ()
    name: str = ""
    told: tuple[str, ...] = ()


class Axis(NamedTuple):
    """A setting and the values that it takes, the least first; no name and one value for none."""

    name: str
    values: tuple[int, ...]


def heat_map(tiles: Mapping[tuple[int, int], Tile], up: Axis, flat: Axis, title: str) -> list:
    """Return the map; ``tiles`` are by (upright value, lying value), the largest row on top."""
    grounds = inks({place: tile.value for place, tile in tiles.items() if not _is_bare(tile)})
    first = _entrance(tiles)
    rows = []
    for row, height in reversed(list(enumerate(up.values))):
        cells: list = [["th", {"scope": "row"}, str(height) if up.name else ""]]
        for column, width in enumerate(flat.values):
            tile = tiles.get((height, width))
            if tile is None:
                cells.append(["td", {}])
                continue
            place = height, width
            at = {"id": f"{CELL}{row}-{column}", "tabindex": "0" if place == first else "-1"}
            cells.append(["td", {}, _cell(tile, grounds.get(place), at)])
        rows.append(["tr", {}, *cells])
    ticks = [["th", {"scope": "col"}, str(width)] for width in flat.values]
    foot = ["tr", {}, ["th", {"scope": "col", "class": "bw-heat-name"}, up.name], *ticks]
    span = {"colspan": str(len(flat.values)), "class": "bw-heat-name"}
    under = ["tr", {}, ["td", {}], ["td", span, flat.name]]
    body = ["tbody", {}, *rows, foot, under]
    return [["table", {"class": "bw-heat-map", "aria-label": title}, body]]


def inks(values: Mapping[tuple[int, int], float]) -> dict[tuple[int, int], int]:
    """Return the ink of every cell with a number, in whole per cent within `RAMP`."""
    known = {place: value for place, value in values.items() if math.isfinite(value)}
    if not known:
        return {}
    low, high = min(known.values()), max(known.values())
    least, most = RAMP
    if high == low:
        return dict.fromkeys(known, least)
    return {
        place: round(least + (most - least) * (value - low) / (high - low))
        for place, value in known.items()
    }


def _is_bare(tile: Tile) -> bool:
    """Whether a cell has no ground of ink: its hatching and its words need the page's."""
    return bool({"spilled", "unfit", "failed", "waiting", "hidden"} & set(tile.marks))


def _entrance(tiles: Mapping[tuple[int, int], Tile]) -> tuple[int, int] | None:
    """Return the cell that the Tab key enters: the chosen one, or the fastest, or the first."""
    for mark in ("chosen", "best"):
        for place, tile in tiles.items():
            if mark in tile.marks:
                return place
    return max(tiles, default=None)


def _cell(tile: Tile, ink: int | None, at: Mapping[str, str]) -> list:
    """Return one cell as a button."""
    kinds = ["bw-heat", *(f"bw-heat-{mark}" for mark in tile.marks)]
    kinds += [f"bw-ink-{ink}"] if ink is not None else []
    said = ". ".join((tile.name, *tile.told[:1])) if tile.told else tile.name
    pressed = str("chosen" in tile.marks).lower()
    about = {"class": " ".join(kinds), "role": "button", "aria-label": said, **at}
    parts: list = [["b", {}, tile.label]]
    parts += [["span", {"class": "bw-heat-note"}, tile.note]] if tile.note else []
    if "guess" in tile.marks:
        parts.append(["span", {"class": "bw-heat-ring"}])
    lines = [["span", {}, line] for line in tile.told]
    told = ["span", {"class": "bw-told"}, ["b", {}, tile.name], *lines]
    return ["div", {**about, "aria-pressed": pressed}, *parts, told]


def ramp_css() -> str:
    """Return the rules that give each step of the ramp its ink."""
    least, most = RAMP
    return "".join(f".bw-ink-{step}{{--ink-share:{step}}}" for step in range(least, most + 1))
