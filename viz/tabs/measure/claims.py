"""The Claims tab: what three teaching texts claim, and what runs on a GPU say of each claim.

A claim has ready-made runs and a judge that reads them. Recorded runs are judged anywhere; on a GPU
one button measures a claim's runs here, one after another, and Stop keeps those that are whole.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace

import gradio as gr

from benchmarks import measuring, recorded
from benchmarks.claims import CLAIMS
from benchmarks.claims_results import Case, Run
from benchmarks.jobs import LaunchJob, MemoryJob, SweepJob
from benchmarks.launches_results import LaunchCase
from benchmarks.memory_results import MemoryCase
from benchmarks.results import Progress
from benchmarks.sweep_choice import LIMITS
from benchmarks.sweep_results import LandscapeCase, SweepCase
from benchmarks.worker import JobFailed
from kernels.errors import InputError
from kernels.inputs import at_most, one_of
from viz.figures.prose import fault
from viz.locales import text
from viz.tabs.measure import claims_charts as charts
from viz.tabs.measure import claims_words as words
from viz.tabs.measure import launches, memory, speed_live
from viz.tabs.measure.claims_words import ROW, tell
from viz.tabs.measure.measured import (
    MeasuredTab,
    Recordings,
    Update,
    build_controls,
    said,
    wire,
)
from viz.tabs.note import Note
from viz.tabs.page import QUIET, dropdown, explain, why_ended

RECORDS = {kind.case_record: kind.record for kind in recorded.KINDS.values()}
JOBS = {
    MemoryCase: MemoryJob,
    LaunchCase: LaunchJob,
    SweepCase: SweepJob,
    LandscapeCase: SweepJob,
}

# A measurement fills the same places: a row is chosen while none is under way.
_CHOOSE = """
function choose(row) {
  if (!row || document.querySelector('#claims-stop')) return;
  trigger('select', { claim: row.id.slice(%d) });
  const top = document.querySelector('#claims-head').getBoundingClientRect().top;
  if (top < 0) document.querySelector('#claims-controls').scrollIntoView();
}
root.addEventListener('click', (event) => choose(event.target.closest('tr[id]')));
root.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' && event.key !== ' ') return;
  event.preventDefault();
  choose(event.target.closest('tr[id]'));
});
""" % len(ROW)


class ClaimList(Note):
    """A note whose rows can be chosen; fires ``select`` with the key of a row's claim."""

    script = _CHOOSE


def build(page, kept: Recordings) -> MeasuredTab:
    """Build the tab; called inside ``with gr.Tab(...)``."""
    first = next(iter(CLAIMS))
    controls = build_controls(
        page,
        "claims",
        {
            "claim": lambda: page.label(
                dropdown(choices("en"), first), choices, label="claims.choose"
            )
        },
    )
    note = Note(live=True, elem_id="claims-note")
    tab = MeasuredTab("claims", *controls, note, _build_parts(), gr.State([]))
    wire(
        page,
        tab,
        lambda values, measured, language: redraw(values, measured, kept, language),
        lambda values, measured, language: measure_claim(
            page.worker, values, measured, kept, language
        ),
        "measure_claim",
    )
    _wire_list(page, tab, kept)
    _wire_stop(page, tab, kept)
    return tab


def _build_parts() -> dict[str, gr.components.Component]:
    """Build the list of claims and what is told of one, all empty."""
    with gr.Row(elem_id="claims-page"):
        with gr.Column(min_width=0, elem_id="claims-left"):
            parts = {"list": ClaimList(elem_id="claims-list")}
        with gr.Column(min_width=0, elem_id="claims-right"):
            parts["head"] = Note(elem_id="claims-head")
            parts["map"] = Note(elem_id="claims-map")
            parts["plot"] = gr.Plot(show_label=False, visible=False, elem_id="claims-plot")
            parts["table"] = Note(elem_id="claims-table")
    return parts


def _wire_list(page, tab: MeasuredTab, kept: Recordings) -> None:
    """Connect the rows of the list: a click shows that claim, and the control follows."""
    field = tab.fields["claim"]

    def pick_claim(event: gr.EventData, measured, language):
        try:
            key = event.claim
        except (AttributeError, TypeError):  # a client can send anything as an event
            key = None
        shown = redraw([key], measured, kept, language)
        follows = {} if "list" not in shown else {field: gr.update(value=key)}
        return {**tab.named(shown), **follows}

    drawn = [tab.note, *tab.parts.values(), field]
    tab.parts["list"].select(pick_claim, [tab.measured, page.language], drawn, **QUIET)


def _wire_stop(page, tab: MeasuredTab, kept: Recordings) -> None:
    """Have Stop clear away what was drawn of a run that is not whole."""

    def draw_whole(key, measured, language):
        shown = redraw([key], measured, kept, language)
        return tab.named({name: it for name, it in shown.items() if name != "note"})

    about = {
        "inputs": [tab.fields["claim"], tab.measured, page.language],
        "outputs": list(tab.parts.values()),
        "queue": False,
        **QUIET,
    }
    # Twice, as `wire` says it twice.
    tab.stop.click(draw_whole, **about).then(draw_whole, **about)


def choices(language: str) -> list[tuple[str, str]]:
    """Return every claim as a dropdown's (text, value)."""
    return [(f"{key}  {words.says(key, language)}", key) for key in CLAIMS]


def choose(values: list) -> str:
    """Return the key of the claim that the control says. Raise InputError for another."""
    return one_of("claim", values[0], tuple(CLAIMS))


def own_runs(measured: object) -> list[Run]:
    """Return what a visitor measured, whatever a client sent in its place."""
    given = measured if isinstance(measured, list | tuple) else []
    return [run for run in given if isinstance(run, Run)]


def draw(key: str, own: list[Run], kept: Recordings, language: str) -> dict:
    """Return every part of the picture by name: one's own runs before recorded ones."""
    told = {name: tell(claim, own, kept.runs) for name, claim in CLAIMS.items()}
    chosen = told[key]
    by_recorded = tell(CLAIMS[key], (), kept.runs) if chosen.is_own else chosen
    refused = [explain(error, language) for error in kept.refused]
    return {
        "list": words.claim_list(told.values(), key, refused, language),
        "head": words.claim_head(chosen, by_recorded, len(done_of(key, own)), language),
        **charts.drawn(key, chosen.runs, language),
        "table": words.claim_table(chosen, language),
    }


def redraw(values: list, measured: object, kept: Recordings, language: str) -> dict:
    """Return what the control calls for; for a mistake one sentence, and the picture stays."""
    try:
        key = choose(values)
    except InputError as error:
        return {"note": fault(explain(error, language))}
    return {"note": [], **draw(key, own_runs(measured), kept, language)}


# Measuring.


def done_of(key: str, own: Iterable[Run]) -> list[Case]:
    """Return the cases of a claim that were measured here."""
    measured = [run.case for run in own]
    return [case for case in CLAIMS[key].cases if case in measured]


def within_limits(case: Case) -> Case:
    """Return a case that takes no more seconds than a visitor may ask for.

    Raise InputError if it has more values than that: without some it would not be the claim's.
    """
    if not isinstance(case, SweepCase | LandscapeCase):
        return case
    if isinstance(case, SweepCase):
        at_most("values of a sweep", len(case.values), LIMITS.n_values)
    return replace(case, budget_s=min(case.budget_s, float(LIMITS.budget_s)))


def measure_claim(
    worker, values: list, measured: object, kept: Recordings, language: str
) -> Iterator[Update]:
    """Measure the runs of a claim that are not whole yet, or all again; what is whole stays."""
    own, key = own_runs(measured), ""
    note = said(text(language, "progress.starting"), True)
    try:
        key = choose(values)
        yield Update({"note": note}, True)
        done = done_of(key, own)
        todo = [case for case in CLAIMS[key].cases if case not in done]
        if not todo:
            todo = list(CLAIMS[key].cases)
            own = [run for run in own if run.case not in todo]
        for case in todo:
            within_limits(case)  # a mistake is told before anything runs
        for number, case in enumerate(todo, start=1):
            run, note = yield from _measured(worker, key, case, (number, len(todo)), language)
            if run is None:
                break
            own = [*own, run]
            yield Update({"note": note, **draw(key, own, kept, language)}, True, own)
    except (InputError, JobFailed) as error:
        note = why_ended(error, language)
    whole = draw(key, own, kept, language) if key else {}
    yield Update({**whole, "note": note}, False, own if key else None)


def _measured(
    worker, key: str, case: Case, place: tuple[int, int], language: str
) -> Generator[Update, None, tuple[Run | None, list]]:
    """Yield what is said and drawn while a case is measured; return its run if whole, and a note.

    place   the number of the case, and of how many
    """
    found, is_over, drawn_at = [], False, -speed_live.REDRAW_S
    limited, record = within_limits(case), RECORDS[type(case)]
    budget_s = getattr(limited, "budget_s", None)
    clock, note = speed_live.Clock(budget_s or 0.0), []
    limit_s = budget_s and budget_s + speed_live.ROOM_S
    for item in worker.run(JOBS[type(case)](limited), limit_s):
        shown = {}
        if isinstance(item, Progress):
            is_over = is_over or item.stage == "sweep_over"
            note = _progress(item, limited, clock.left(item), place, language)
        else:
            found.append(item)
            if time.monotonic() - drawn_at >= speed_live.REDRAW_S:
                so_far = record(case, worker.device(0.0), tuple(found))
                shown = charts.drawn(key, (so_far,), language)
                shown["table"] = words.live(so_far, language)
                drawn_at = time.monotonic()
        yield Update({"note": note, **shown}, True)
    if is_over:
        return None, note
    if not measuring.is_whole(case, tuple(found)):
        return None, said(text(language, "claims.cut" if found else "measured.nothing"))
    # Whole, so within its own seconds too: it is a run of the ready-made case.
    return record(case, worker.device(0.0), tuple(found)), []


def _progress(
    item: Progress, case: Case, left: dict, place: tuple[int, int], language: str
) -> list:
    """Return the sentence of a stage, and which of the claim's runs it is about."""
    if item.stage == "sweep_over":
        return said(text(language, "claims.over", **item.details))
    if isinstance(case, MemoryCase):
        (stage,) = memory.progress(item, language)
    elif isinstance(case, LaunchCase):
        (stage,) = launches.progress(item, language)
    else:
        (stage,) = speed_live.progress(item, left, language)
    where = text(language, "claims.progress", n=place[0], of=place[1])
    return [[*stage[:2], where, *stage[2:]]]
