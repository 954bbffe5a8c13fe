"""``python -m benchmarks list`` and ``compare``: the runs that are recorded, and two side by side.

python -m benchmarks list                       kind, GPU, day, commit and case of each
python -m benchmarks compare A.json B.json      how much faster B is than A, value by value

Both read files of ``benchmarks/recorded`` or of ``sweep --json``; neither runs anything.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks import recorded, sweep_tables
from benchmarks.ceiling import COPY
from benchmarks.operations import NAMES
from benchmarks.sweep_results import SweepCase, SweepRun

ROW = "{:<10} {:<24} {:<11} {:<16} {}"


def add_to(commands) -> None:
    """Add both commands to the parser's."""
    commands.add_parser("list", help="the runs that are recorded")
    parser = commands.add_parser("compare", help="two sweeps: how much faster the second is")
    parser.add_argument("before", metavar="A.json")
    parser.add_argument("after", metavar="B.json")


def run(options: argparse.Namespace) -> int:
    """Run the command of the options and return the exit code."""
    if options.command == "list":
        return _list()
    # InputError, one sentence, for a file that is not a recorded run.
    both = [recorded.read(Path(name)) for name in (options.before, options.after)]
    refusal = _refusal(*both)
    if refusal:
        print(refusal, file=sys.stderr)
        return 2
    print("\n".join(ratios(*both)))
    return 0


def _list() -> int:
    """Print a line a run; 1 if a file is refused."""
    runs, refused = recorded.read_all()
    if not runs:
        print("Nothing is recorded.")
    else:
        print(ROW.format("kind", "GPU", "day", "commit", "case"))
    for one in runs:
        kind = recorded.kind_of(one)
        name = recorded.KINDS[kind].case_name(one.case)
        print(ROW.format(kind, one.device.name, one.date, one.commit[:16], name))
    for error in refused:
        print(error, file=sys.stderr)
    return int(bool(refused))


def _refusal(before: recorded.Run, after: recorded.Run) -> str:
    """Return why two runs cannot be compared, or ""."""
    if not all(isinstance(one.case, SweepCase) for one in (before, after)):
        kinds = " and ".join(recorded.kind_of(one) for one in (before, after))
        return f"Only two sweeps can be compared, and these are of kind {kinds}."
    for name in ("operation", "axis"):
        first, second = (getattr(one.case, name) for one in (before, after))
        if first != second:
            return f"Only sweeps of one {name} can be compared, and these are of {first}, {second}."
    if not _both(before, after):
        return "The two sweeps have no value and provider in common that was timed in both."
    return ""


def _both(before: SweepRun, after: SweepRun) -> dict[tuple[str, int], float]:
    """Return how many times as fast ``after`` is, for what was timed in both."""
    rates = [
        {(p.provider, p.value): sweep_tables.rate(p, one.case) for p in one.points if not p.reason}
        for one in (before, after)
    ]
    return {key: rates[1][key] / rates[0][key] for key in rates[0] if key in rates[1]}


def ratios(before: SweepRun, after: SweepRun) -> Iterable[str]:
    """Yield who ran both, a line a value, and in what else the two differ."""
    found = _both(before, after)
    case = before.case
    yield f"{case.operation}: {sweep_tables.unit(case)} of B by those of A; above 1, B is faster"
    for name, one in (("A", before), ("B", after)):
        about = f"{one.device.name}, {one.date}, commit {one.commit}"
        yield f"{name}: {about}: {sweep_tables.sizes_text(one.case)}"
    if sweep_tables.sizes_text(case) != sweep_tables.sizes_text(after.case):
        yield "A and B are not of the same sizes or type: their ratio says little."
    providers = [name for name in (COPY, *NAMES) if any(key[0] == name for key in found)]
    providers = list(dict.fromkeys(providers))
    values = sorted({value for _, value in found})
    cells = [
        [f"{found[p, value]:.3f}" if (p, value) in found else "-" for p in providers]
        for value in values
    ]
    corner = sweep_tables.AXES.get(case.axis, case.axis)
    yield from sweep_tables.grid(corner, [NAMES[name] for name in providers], values, cells)
