"""Measure any case that can be recorded, whatever its kind, for the commands that do several.

A run counts as whole if nothing of it is missing: a sweep that its own budget cut short, or whose
worker died, would stand on the page for all that it did not reach.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from benchmarks import launches, launches_command, memory, memory_command, recorded, sweep_command
from benchmarks.claims_results import Case, Run
from benchmarks.launches_results import LaunchCase
from benchmarks.memory_results import MemoryCase
from benchmarks.operations import NAMES, OPERATIONS, is_ours
from benchmarks.results import Device
from benchmarks.sweep_results import LandscapeCase, SweepCase
from benchmarks.sweep_tables import because
from benchmarks.worker import Worker
from kernels.problems import shape_of

STOPPED = 130


class Way(NamedTuple):
    """How a kind of case is measured, (worker, case) -> (what is found, exit code), and asked for.

    suffix  what the command lacks to record
    """

    measure: Callable
    command: Callable[[Case], str]
    suffix: str = ""


_SWEEP = Way(partial(sweep_command.measure, is_quiet=True), sweep_command.command_of, " --record")
WAYS: dict[type, Way] = {
    MemoryCase: Way(memory_command.measure, memory_command.command_of),
    LaunchCase: Way(launches_command.measure, launches_command.command_of),
    SweepCase: _SWEEP,
    LandscapeCase: _SWEEP,
}


class Measured(NamedTuple):
    """What came of a case.

    run     None if nothing was found
    fault   why it may not be recorded, in a sentence, or ""
    is_over whether someone stopped it, and so all that would follow
    """

    run: Run | None
    fault: str = ""
    is_over: bool = False


def command_of(case: Case) -> str:
    """Return the command that measures and records a case."""
    way = WAYS[type(case)]
    return way.command(case) + way.suffix


def name_of(case: Case) -> str:
    """Return the kind of a case, and what tells it from others of its kind."""
    name, kind = next((n, k) for n, k in recorded.KINDS.items() if isinstance(case, k.case_record))
    return f"{name} {kind.case_name(case)}"


def measure(worker: Worker, device: Device, case: Case, commit: str = "") -> Measured:
    """Measure a case on the worker's GPU. Never raises for what goes wrong there."""
    way, kind = WAYS[type(case)], name_of(case).split()[0]
    try:
        found, code = way.measure(worker, case)
    except KeyboardInterrupt:
        return Measured(None, "It was stopped.", True)
    run = None
    if found:
        about = recorded.today(), commit, way.command(case)
        run = recorded.KINDS[kind].record(case, device, tuple(found), *about)
    if code == STOPPED:
        return Measured(run, "It was stopped.", True)
    return Measured(run, fault_of(case, tuple(found), code))


def fault_of(case: Case, found: tuple, code: int) -> str:
    """Return why what was found may not be recorded, in a sentence, or "".

    A setting of a landscape that fails is part of what there is to find; one that is wrong is not.
    """
    if code:
        return "It failed."
    if not isinstance(case, SweepCase | LandscapeCase):
        return ""
    is_sweep = isinstance(case, SweepCase)
    faults = sweep_command.FAULTS if is_sweep else ("wrong",)
    for point in found:
        if point.reason in faults and is_ours(point.provider):
            return f"{NAMES[point.provider]} at {point.value}: {because(point)}."
    return "" if is_whole(case, found) else "It was cut short by its budget."


def is_whole(case: Case, points: tuple) -> bool:
    """Whether there is a point of everything: each provider at each value, or each setting."""
    if isinstance(case, MemoryCase):
        there = {(point.provider, point.length) for point in points}
        return all((who.name, n) in there for who in memory.PROVIDERS for n in case.lengths)
    if isinstance(case, LaunchCase):
        there = {(one.provider, one.direction) for one in points}
        return all(
            (p.name, way) in there for p in launches.PROVIDERS for way in launches.DIRECTIONS
        )
    if isinstance(case, SweepCase):
        there = {(point.provider, point.value) for point in points}
        return all((who, value) in there for who in case.providers for value in case.values)
    entry = OPERATIONS[case.operation].algorithm
    wanted = len(entry.configs(shape_of(entry, case.sizes)))
    return sum(point.provider == "ours" for point in points) == wanted
