"""What the Claims tab says, as trees of nodes for `Note`: the list, and what is told of one claim.

What a text says and what was measured stand apart. A verdict is a word with a mark, never a colour.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from benchmarks.claims import found, runs_of
from benchmarks.claims_results import Claim, Finding, Run
from benchmarks.launches_results import LaunchRun
from benchmarks.measuring import command_of
from benchmarks.memory_results import MemoryRun
from viz.figures.launches_words import timeline_key
from viz.figures.memory_words import memory_key, recordings, run_words, table_of, versions
from viz.figures.prose import listed, name_of, rich, say
from viz.locales import text
from viz.tabs.measure import claims_charts as charts
from viz.tabs.measure import speed_words

MARKS = {"true": "✓", "more": "↑", "partly": "◐", "false": "✕", "none": "–"}
_SENTENCE = re.compile(r"(?<=。)(?=.)|(?<=\.) ")  # where one ends and another begins
ROW = "claim-"  # begins the id of a claim's row


class Told(NamedTuple):
    """A claim, the runs that it is judged by, and what they say; no runs and None without."""

    claim: Claim
    runs: tuple[Run, ...]
    finding: Finding | None

    @property
    def verdict(self) -> str:
        """A key of `MARKS`."""
        return self.finding.verdict if self.finding else "none"

    @property
    def is_own(self) -> bool:
        """Whether this page's visitor measured the runs."""
        return bool(self.runs) and not self.runs[0].date


def tell(claim: Claim, own: Sequence[Run], kept: Iterable[Run]) -> Told:
    """Return what a visitor's own runs say, the newest last, or else what the recorded ones do."""
    for runs in (reversed(own), kept):
        chosen = runs_of(claim, runs)
        if chosen:
            return Told(claim, chosen, found(claim, chosen))
    return Told(claim, (), None)


def says(key: str, language: str) -> str:
    """Return a claim in its text's words."""
    return text(language, f"claim.{key}.says")


def verdict_words(verdict: str, language: str) -> str:
    """Return "✓ holds"."""
    return f"{MARKS[verdict]} {text(language, f'claims.verdict.{verdict}')}"


def source_words(claim: Claim, language: str) -> str:
    """Return which texts say it: "a lecture on kernels"."""
    letters = claim.source.split(", ")
    return listed(language, [text(language, f"claims.source.{letter}") for letter in letters])


# The list.


def claim_list(told: Iterable[Told], chosen: str, refused: Iterable[str], language: str) -> list:
    """Return every claim with its verdict, how many there are of each, and files refused."""
    told = list(told)
    counts = Counter(one.verdict for one in told)
    said = [
        ["span", {}, f"{verdict_words(verdict, language)} ", ["b", {}, str(counts[verdict])]]
        for verdict in MARKS
    ]
    keys = ("claim", "says", "verdict", "source")
    heads = [["th", {"scope": "col"}, text(language, f"claims.column.{key}")] for key in keys]
    body = [_row(one, one.claim.key == chosen, language) for one in told]
    parts = [["thead", {}, ["tr", {}, *heads]], ["tbody", {}, *body]]
    return [
        ["p", {"class": "bw-caption"}, *say(language, "claims.headline", n=len(told))],
        ["p", {"class": "bw-verdicts"}, *said],
        ["table", {"class": "bw-table bw-claim-list"}, *parts],
        ["p", {"class": "bw-how"}, text(language, "claims.sources", **_sources(language))],
        *recordings((), (), refused, language),
    ]


def _sources(language: str) -> dict[str, str]:
    """Return what each text is, by its letter."""
    return {letter: text(language, f"claims.source.{letter}") for letter in "ABC"}


def _row(told: Told, is_chosen: bool, language: str) -> list:
    """Return a claim's row; a click or Enter chooses it."""
    verdict = [verdict_words(told.verdict, language)]
    if told.is_own:
        verdict.append(["span", {"class": "bw-how"}, text(language, "claims.here")])
    key = told.claim.key
    about = {"id": f"{ROW}{key}", "tabindex": "0"}
    if is_chosen:
        about |= {"class": "bw-chosen", "aria-current": "true"}
    return [
        "tr", about,
        ["th", {"scope": "row"}, key],
        ["td", {"class": "bw-says"}, *rich(says(key, language))],
        ["td", {"class": "bw-verdict"}, *verdict],
        ["td", {}, told.claim.source],
    ]  # fmt: skip


# One claim.


def claim_head(told: Told, by_recorded: Told, n_done: int, language: str) -> list:
    """Return what the text says, and apart from it what was measured and what that means.

    by_recorded     the claim by recorded runs alone
    n_done          how many of its runs were measured here
    """
    key, n_cases = told.claim.key, len(told.claim.cases)
    source = ["span", {"class": "bw-how"}, f"{key} · {source_words(told.claim, language)}"]
    said = [
        ["h3", {"class": "bw-head"}, text(language, "claims.says"), " ", source],
        ["p", {"class": "bw-claim"}, *rich(says(key, language))],
        ["h3", {"class": "bw-head"}, text(language, "claims.found")],
    ]
    if told.finding is None:
        nothing = say(language, "claims.none", command=all_of(key))
        said.append(["p", {"class": "bw-words"}, *nothing])
    else:
        said += _finding(told, language)
    notes = []
    if told.is_own and by_recorded.finding is not None:
        where, other = _where(by_recorded, language), verdict_words(by_recorded.verdict, language)
        notes.append(say(language, "claims.recorded", where=where, verdict=other))
    if n_done and not told.is_own:
        unjudged = "claims.lacking" if n_done == n_cases else "claims.begun"
        notes.append(say(language, unjudged, n=n_done, of=n_cases))
    return [*said, *(["p", {"class": "bw-how"}, *note] for note in notes)]


def _finding(told: Told, language: str) -> list:
    """Return where the runs come from, and what they say: its first sentence stands out."""
    key = told.claim.key
    found_out = text(language, f"claim.{key}.{told.verdict}", **told.finding.figures)
    headline, *rest = _SENTENCE.split(found_out, maxsplit=1)
    word = text(language, "claims.verdict.said", verdict=verdict_words(told.verdict, language))
    verdict = ["b", {"class": "bw-verdict"}, word]
    eyebrow = ["p", {"class": "bw-eyebrow bw-run"}, ["b", {}, _where(told, language)]]
    about = versions(told.runs[0])
    return [
        [*eyebrow, f" · {about}"] if about else eyebrow,
        ["p", {"class": "bw-caption"}, verdict, *rich(headline)],
        *(["p", {"class": "bw-words"}, *rich(sentences)] for sentences in rest),
    ]


def _where(told: Told, language: str) -> str:
    """Return where a claim's runs come from: "Recorded on NVIDIA H200, 2026-12-01"."""
    places = dict.fromkeys(run_words(run, language) for run in told.runs)
    return text(language, "run.state.comma").join(places)


def claim_table(told: Told, language: str) -> list:
    """Return what the chart draws, the numbers behind the verdict, and the commands."""
    said = []
    if told.runs:
        said += _chart_key(told.runs, language)
    if told.finding is not None and told.finding.rows:
        heads = [name_of(language, head, head) for head in told.finding.heads]
        rows = [(row[0], row[1:], False) for row in told.finding.rows]
        said.append(table_of(text(language, "claims.table"), heads[1:], rows, heads[0]))
    commands = [["li", {}, ["code", {}, command_of(case)]] for case in told.claim.cases]
    # Without runs the head has said how to record them all.
    key = "claims.repeat" if told.runs else "claims.each"
    head = ["p", {"class": "bw-how"}, *say(language, key, command=all_of(told.claim.key))]
    return [*said, head, ["ul", {"class": "bw-commands"}, *commands]]


def live(run: Run, language: str) -> list:
    """Return what stands under the chart of a run that is not whole yet."""
    return [
        ["p", {"class": "bw-how"}, text(language, "claims.live", where=run_words(run, language))]
    ]


def all_of(key: str) -> str:
    """Return the command that measures and records all runs of a claim."""
    return f"python -m benchmarks claims {key} --run --record"


def _chart_key(runs: Sequence[Run], language: str) -> list:
    """Return what the chart draws, and which number belongs to which sweep."""
    first = charts.plotted(runs)
    if isinstance(first, MemoryRun):
        return memory_key(first, language)
    if isinstance(first, LaunchRun):
        return timeline_key(language)
    if first is None:
        return []  # maps have their own
    sweeps = charts.overlaid(runs)
    over = speed_words.overlays(sweeps, language)
    if len({run.case.is_hot for run in sweeps}) > 1:
        return over  # which says whose caches are hot
    return [*over, *speed_words.key(first, charts.shown_of(first), language)]
