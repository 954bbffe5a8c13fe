"""The Landscape tab: one operation at one size over every setting of our kernel, as a heat map.

Controls in, parts of the picture out: of one's own run, or a recorded one, or, where there is none,
what every setting needs, by formula. What a GPU measures while one looks is in `landscape_live`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from benchmarks.operations import OPERATIONS
from benchmarks.sweep import rows_for
from benchmarks.sweep_choice import choose_landscape
from benchmarks.sweep_results import LandscapeCase, SweepRun
from kernels.errors import InputError
from kernels.inputs import one_of
from viz.figures.landscape import CELL
from viz.figures.memory_words import recordings
from viz.figures.prose import fault
from viz.locales import text
from viz.tabs.measure import landscape_guess as guesses
from viz.tabs.measure import landscape_map as maps
from viz.tabs.measure import landscape_words as words
from viz.tabs.measure.landscape_cells import (
    VIEWS,
    Landscape,
    Look,
    axes_for,
    operations,
    size_of,
    tried,
)
from viz.tabs.measure.landscape_screen import FIELDS, HIDE, SHOW, UPDATE, control_updates
from viz.tabs.measure.measured import Recordings
from viz.tabs.measure.speed_lines import default_view
from viz.tabs.page import explain

MOST_RUNS = 4  # of a visitor's own
SIZE = 4096  # where an operation begins of which nothing is recorded
AT_CELL = re.compile(re.escape(CELL) + r"([0-9]{1,4})-([0-9]{1,4})")


@dataclass(frozen=True)
class Seen:
    """What a visitor has: their own landscapes, a guess, and the axes of the last picture."""

    runs: tuple[SweepRun, ...] = ()
    guess: object = None
    axes: tuple[str, str] = ("", "")


def seen_of(given: object) -> Seen:
    """Return what a visitor has, whatever a client sent in its place."""
    return given if isinstance(given, Seen) else Seen()


def named(given: list) -> dict[str, object]:
    """Return the controls' values by name."""
    return dict(zip(FIELDS, given, strict=True))


def suggested(operation: str, kept: Recordings) -> dict[str, object]:
    """Return where an operation begins: the newest recorded landscape of it, or a usual size."""
    run = next((one for one in landscapes(kept) if one.case.operation == operation), None)
    if run is None:
        return {"size": f"{SIZE}", "rows": ""}
    sizes = run.case.sizes
    found = {"size": f"{size_of(run.case)[1]}", "dtype": sizes.dtype, "rows": ""}
    about = OPERATIONS[operation]
    if "n_rows" in about.axes and sizes.n_rows != rows_for(operation, sizes):
        found["rows"] = f"{sizes.n_rows}"
    if about.algorithm.problem == "attention":
        found |= {name: getattr(sizes, name) for name in ("batch", "heads", "head_dim", "mask")}
    return found


def landscapes(kept: Recordings) -> list[SweepRun]:
    """Return the recorded landscapes, sweeps left out."""
    return [run for run in kept.runs if isinstance(run.case, LandscapeCase)]


def choose(values: Mapping[str, object]) -> LandscapeCase:
    """Return the case that the controls say. Raise InputError for a fault."""
    one_of("operation", values["operation"], operations())
    one_of("view", values["view"], VIEWS)
    rows = values["rows"]
    return choose_landscape(
        values["operation"],
        values["size"],
        values["dtype"],
        n_rows=None if isinstance(rows, str) and not rows.strip() else rows,
        batch=values["batch"],
        heads=values["heads"],
        head_dim=values["head_dim"],
        mask=values["mask"],
    )


def is_of(run: SweepRun, case: LandscapeCase) -> bool:
    """Whether a run is of such a landscape, whatever the seconds that it could take."""
    return (run.case.operation, run.case.sizes) == (case.operation, case.sizes)


def run_for(case: LandscapeCase, seen: Seen, kept: Recordings) -> SweepRun | None:
    """Return what is drawn: one's own run of the case, or else a recorded one."""
    runs = (*reversed(seen.runs), *landscapes(kept))
    return next((run for run in runs if is_of(run, case)), None)


class Scene(NamedTuple):
    """What the controls call for: a case, its landscape if there is one, and how to look at it."""

    case: LandscapeCase
    land: Landscape | None
    names: tuple[str, ...]
    look: Look
    seen: Seen


def scene_of(given: list, measured: object, kept: Recordings) -> Scene:
    """Return what the controls call for. Raise InputError for a fault."""
    values, seen = named(given), seen_of(measured)
    case = choose(values)
    run = run_for(case, seen, kept)
    land = Landscape.of(run) if run else None
    names = land.names if land else tried(case)
    look = look_at(values, names, seen)
    return Scene(case, land, names, look, replace(seen, axes=(look.up, look.flat)))


def switched(operation: object, measured: object, kept: Recordings, language: str) -> dict:
    """Return where the controls begin with another operation; for none a sentence."""
    try:
        name = one_of("operation", operation, operations())
    except InputError as error:
        return {"note": fault(explain(error, language))}
    changed = {**suggested(name, kept), "view": default_view(name), "up": "", "flat": ""}
    changed["chosen"] = ""
    updates = {field: {**UPDATE, "value": value} for field, value in changed.items()}
    return {"measured": replace(seen_of(measured), axes=("", "")), **updates}


def look_at(values: Mapping[str, object], names: tuple[str, ...], seen: Seen) -> Look:
    """Return how a landscape of these settings is looked at. Raise InputError for a fault."""
    up, flat = axes_for(names, values["up"], values["flat"], seen.axes)
    chosen = values["chosen"] if isinstance(values["chosen"], str) else ""
    return Look(values["view"], up, flat, chosen)


# Drawing.


def draw(land: Landscape, look: Look, seen: Seen, kept: Recordings, language: str) -> dict:
    """Return every part of a landscape's picture by name."""
    guess = guesses.settings_of(seen.guess, land.run.case)
    settings = [land.words(point.settings) for point in land.points]
    fastest = text(language, "landscape.chosen.none")
    picked = look.chosen if look.chosen in settings else ""
    options = {"choices": [(fastest, ""), *((one, one) for one in settings)], "value": picked}
    return {
        "headline": words.headline(land, land.run.case, language),
        "guessed": guesses.verdict(seen.guess, land, language),
        "map": maps.map_of(land, look, guess, language),
        "key": maps.key(land, look, guess, language),
        "table": words.table(land, language),
        "card": words.card(land, language),
        "chosen": {**SHOW, **options},
        "about": words.chosen(land, picked, language),
        "recorded": _recorded(land.run, kept, language),
        "actions": SHOW,
        "ask": HIDE,
    }


def draw_plan(case: LandscapeCase, kept: Recordings, language: str) -> dict:
    """Return every part where nothing was measured: what the settings need, by formula."""
    empty = dict.fromkeys(("guessed", "map", "key", "card", "about"), [])
    return {
        "headline": words.headline(None, case, language),
        **empty,
        "table": words.plan(case, language),
        "chosen": HIDE,
        "recorded": _recorded(None, kept, language),
        "actions": HIDE,
        "ask": HIDE,
    }


def draw_question(land: Landscape, look: Look, language: str) -> dict:
    """Return the form that asks for a guess, over a map without numbers."""
    empty = dict.fromkeys(("guessed", "key", "table", "card", "about", "recorded"), [])
    parts = {
        "headline": [words.eyebrow(land, land.run.case, language)],
        **empty,
        "map": maps.hidden_map(land, look, language),
        "chosen": HIDE,
        "actions": HIDE,
        "ask": SHOW,
        "question": guesses.question(language),
    }
    for side, name in (("guess_up", look.up), ("guess_flat", look.flat)):
        choices = [str(value) for value in land.values(name)]
        value = choices[len(choices) // 2]
        parts[side] = {**SHOW, "choices": choices, "value": value, "label": name} if name else HIDE
    return parts


def _recorded(run: SweepRun | None, kept: Recordings, language: str) -> list:
    """Return which other landscapes are recorded, and which files were refused."""
    refused = [explain(error, language) for error in kept.refused]
    nothing = "landscape.recorded.none"
    return recordings(landscapes(kept), run, refused, language, words.case_words, nothing)


def redraw(given: list, measured: object, kept: Recordings, language: str) -> dict:
    """Return what the controls call for; for a mistake one sentence, and the picture stays."""
    try:
        scene = scene_of(given, measured, kept)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    return show(scene, kept, language)


def show(scene: Scene, kept: Recordings, language: str) -> dict:
    """Return every part: the plan, the question before the map, or the map."""
    land, look, seen = scene.land, scene.look, scene.seen
    if land is None:
        parts = draw_plan(scene.case, kept, language)
    elif seen.guess is None and land.best is not None:
        parts = draw_question(land, look, language)
    else:
        parts = draw(land, look, seen, kept, language)
    controls = control_updates(scene.case, scene.names, look, sizes_of(scene.case, kept))
    return {"note": [], "measured": seen, **controls, **parts}


def sizes_of(case: LandscapeCase, kept: Recordings) -> list[str]:
    """Return the sizes to choose from: the usual ones of an operation, and those recorded."""
    recorded_sizes = [
        size_of(run.case)[1] for run in landscapes(kept) if run.case.operation == case.operation
    ]
    usual = (1024, 4096, 16_384) if OPERATIONS[case.operation].by_flops else (1024, 4096, 32_768)
    return [str(n) for n in sorted({*usual, *recorded_sizes})]


# Guessing and choosing.


def ask_again(
    given: list, measured: object, guess: object, kept: Recordings, language: str
) -> dict:
    """Return the picture with another guess: None asks for one, `guesses.SKIPPED` for none."""
    return redraw(given, replace(seen_of(measured), guess=guess), kept, language)


def guessed(
    given: list, measured: object, up: object, flat: object, kept: Recordings, language: str
) -> dict:
    """Return the map with a cell that was guessed; for a mistake one sentence."""
    try:
        scene = scene_of(given, measured, kept)
        if scene.land is None:
            return {}
        guess = guesses.choose_guess(scene.land, scene.look, up, flat)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    return show(scene._replace(seen=replace(scene.seen, guess=guess)), kept, language)


def picked(given: list, measured: object, at: object, kept: Recordings, language: str) -> dict:
    """Return what a click on a cell does: it is the guess that is asked for, or else chosen."""
    found = AT_CELL.fullmatch(at) if isinstance(at, str) else None
    try:
        scene = scene_of(given, measured, kept)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    land, look = scene.land, scene.look
    if found is None or land is None:
        return {}
    up, flat = maps.axes_of(land, look)
    row, column = int(found[1]), int(found[2])
    if row >= len(up.values) or column >= len(flat.values):
        return {}
    place = up.values[row], flat.values[column]
    if scene.seen.guess is None and land.best is not None:
        return guessed(given, measured, *place, kept, language)
    points = land.cells(look).get(place)
    if not points:
        return {}
    chosen = land.words(points[0].settings)
    # Whoever clicks the chosen cell again lets go of it.
    chosen = "" if chosen == look.chosen else chosen
    return show(scene._replace(look=look._replace(chosen=chosen)), kept, language)
