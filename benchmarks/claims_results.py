"""What a claim is and what runs say of it: frozen records, for judges, the shell and the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.launches_results import LaunchCase, LaunchRun
from benchmarks.memory_results import MemoryCase, MemoryRun
from benchmarks.sweep_results import LandscapeCase, SweepCase, SweepRun

Case = MemoryCase | LaunchCase | SweepCase | LandscapeCase
Run = MemoryRun | LaunchRun | SweepRun
VERDICTS = ("true", "more", "partly", "false")  # more: it holds, by more than was claimed


@dataclass(frozen=True)
class Finding:
    """What the runs of a claim say of it.

    verdict  of `VERDICTS`
    figures  the numbers of the sentence ``claim.<key>.<verdict>``, by the sentence's placeholders
    heads    of a small table of what is behind it: locale keys ``claim.head.…``, or exact names
    rows     its cells
    """

    verdict: str
    figures: Mapping[str, str]
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Claim:
    """One claim, the runs that test it, and the judge that reads them.

    key      "C7"
    source   which of the three texts says it: "A", "B" or "A, C"
    cases    ready-made runs, in the order in which the judge takes them
    """

    key: str
    source: str
    cases: tuple[Case, ...]
    judge: Callable[[tuple[Run, ...]], Finding]
