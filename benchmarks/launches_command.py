"""``python -m benchmarks launches``: softmax(x) + x * y, its launches, bytes and times.

python -m benchmarks launches                   three sizes, measured on a GPU, by formula elsewhere
python -m benchmarks launches --rows 64 --cols 256 --dtype float16
python -m benchmarks launches --record          measured, and kept in benchmarks/recorded/
python -m benchmarks launches --record --commit 1a2b3c4  where there is no git to ask
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from benchmarks import launches, recorded
from benchmarks.jobs import LaunchJob
from benchmarks.launches_results import (
    LaunchCase,
    LaunchLine,
    LaunchRun,
    ProviderRun,
    count_words,
    gb_per_s,
    times_eager,
)
from benchmarks.results import Device
from benchmarks.worker import JobFailed, Worker
from kernels.inputs import DTYPES

TIME_LIMIT_S = 240.0  # of one size; an H200 takes some 15 s, most of them to compile
ROW = "{:<22}{:>9}{:>10} {:>23} {:>23}{:>8}{:>9}{:>9}"
HEADS = ("", "launches", "MB", "GPU at work, us", "first to last, us", "GB/s", "x eager", "first s")


def add_to(commands) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser("launches", help="softmax(x) + x * y: launches, bytes and times")
    parser.add_argument("--rows", help="with --cols, one size instead of three")
    parser.add_argument("--cols")
    parser.add_argument("--dtype", default="bfloat16", help=", ".join(DTYPES))
    parser.add_argument("--record", action="store_true", help="keep the runs, for the page")
    parser.add_argument("--commit", help="the commit to record, where git cannot say it")


def run(worker: Worker, device: Device, options: argparse.Namespace) -> int:
    """Measure, or say what the formula gives, and return the exit code."""
    sizes = launches.SIZES
    if options.rows is not None or options.cols is not None:
        sizes = ((options.rows, options.cols),)
    cases = [launches.choose_launches(*size, options.dtype) for size in sizes]
    commit, code = recorded.may_record(options, device)  # asked before a minute is spent
    if code:
        return code
    worst = 0
    for case in cases:
        runs, code = measure(worker, case) if device.kind == "gpu" else ((), 0)
        worst = max(worst, code)
        print("\n".join(table(case, LaunchRun(case, device, runs))))
        if options.record and not code:
            kept = LaunchRun(case, device, runs, recorded.today(), commit, command_of(case))
            worst = max(worst, recorded.keep(kept))
    return worst


def command_of(case: LaunchCase) -> str:
    """Return the command that gives this run again."""
    size = f"--rows {case.n_rows} --cols {case.n_cols} --dtype {case.dtype}"
    return f"python -m benchmarks launches --record {size}"


def measure(worker: Worker, case: LaunchCase) -> tuple[tuple[ProviderRun, ...], int]:
    """Return the runs, those before a failure too, and the exit code."""
    runs: list[ProviderRun] = []
    try:
        for item in worker.run(LaunchJob(case), TIME_LIMIT_S):
            if isinstance(item, ProviderRun):
                runs.append(item)
    except JobFailed as error:
        print(f"The run ended early ({error}).", file=sys.stderr)
        return tuple(runs), 1
    # A kernel that is wrong, or could not run, is a finding; that ours is, is a failure too.
    ours = {provider.name for provider in launches.PROVIDERS if provider.role == "fused"}
    return tuple(runs), int(any(one.reason for one in runs if one.provider in ours))


def table(case: LaunchCase, run: LaunchRun) -> Iterable[str]:
    """Yield, for each direction, a line a provider, and what was launched."""
    yield f"softmax(x) + x * y, {case.n_rows} x {case.n_cols}, {case.dtype}"
    for direction in launches.DIRECTIONS:
        told = launches.lines(case, direction, run)
        yield ROW.format(direction, *HEADS[1:])
        yield from (ROW.format(line.exact, *_cells(line, told)) for line in told)
        yield from _spans(told)
    yield "MB (1e6) by formula; GB/s of the least bytes; times are median (p20-p80), L2 cold"


def _cells(line: LaunchLine, told: tuple[LaunchLine, ...]) -> tuple[str, ...]:
    """Return a provider's cells."""
    formula = f"{len(line.kernels)}*", f"{'>=' if line.least else ''}{line.n_bytes / 1e6:.2f}"
    ran = line.measured
    if ran is None:
        return (*formula, line.run.reason if line.run else "-", *["-"] * 4)
    ratio = times_eager(line, told)
    return (
        count_words(ran.launches),
        formula[1],
        *(_spread(times) for times in (ran.device_us, ran.wall_us)),
        f"{gb_per_s(line, told):.0f}",
        f"{ratio:.2f}" if ratio else "-",
        f"{ran.first_s:.3f}",
    )


def _spread(times: tuple[float, ...]) -> str:
    low, median, high = times
    return f"{median:.2f} ({low:.2f}-{high:.2f})"


def _spans(told: tuple[LaunchLine, ...]) -> Iterable[str]:
    """Yield every launch of the median call, or why there is none."""
    for line in told:
        if line.run is not None and line.run.reason:
            yield f"  {line.exact}: {line.run.message}"
        for span in line.measured.spans if line.measured else ():
            name = span.name if len(span.name) < 90 else span.name[:89] + "…"
            yield f"  {line.exact}: {span.start_us:8.2f} +{span.duration_us:7.2f} us  {name}"
