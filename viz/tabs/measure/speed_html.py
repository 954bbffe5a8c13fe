"""A sweep as one HTML file that needs no network: what the Speed tab shows, and its command."""

from __future__ import annotations

from benchmarks.operations import OPERATIONS, is_ours
from benchmarks.sweep_results import SweepRun
from viz.figures.document import document
from viz.locales import text
from viz.tabs.measure import speed_words as words
from viz.tabs.measure.speed import figure_of, roofline
from viz.tabs.measure.speed_card import card
from viz.tabs.measure.speed_lines import Shown, default_view
from viz.tabs.measure.speed_table import table

LANGUAGE = "en"  # a shell's


def to_html(run: SweepRun) -> str:
    """Return a run's page: eyebrow, caption, command, chart, table, card and roofline."""
    about = OPERATIONS[run.case.operation]
    rival = next((name for name in about.providers if not is_ours(name)), "ours")
    shown = Shown(default_view(run.case.operation), rival, run.case.providers)
    chart, roof = figure_of([run], shown, LANGUAGE), roofline(run, shown, (), LANGUAGE)
    parts = [
        [*words.headline(run, run.case, shown, LANGUAGE), *_command(run)],
        chart,
        [*words.key(run, shown, LANGUAGE), *words.doubts(run, LANGUAGE)],
        table(run, run.case, shown, LANGUAGE),
        card(run, shown, LANGUAGE),
        words.roofline_head(LANGUAGE) if roof else None,
        roof,
    ]
    title = f"Blockwise: {words.operation_name(run.case.operation, LANGUAGE)}, {run.device.name}"
    return document(title, [part for part in parts if part is not None], LANGUAGE)


def _command(run: SweepRun) -> list:
    """Return the command that gives the run again."""
    if not run.command:
        return []
    head = ["b", {}, text(LANGUAGE, "measure.command")]
    return [["p", {"class": "bw-how"}, head, " ", ["code", {}, run.command]]]
