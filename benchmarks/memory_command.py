"""``python -m benchmarks memory``: attention's peak memory over its length, here or by formula.

python -m benchmarks memory                      measured on a GPU, by formula elsewhere
python -m benchmarks memory --record             measured, and kept in benchmarks/recorded/
python -m benchmarks memory --record --commit 1a2b3c4   where there is no git to ask
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from benchmarks import memory, recorded
from benchmarks.jobs import MemoryJob
from benchmarks.memory_results import MemoryCase, MemoryLine, MemoryPoint, MemoryRun
from benchmarks.results import Device
from benchmarks.worker import JobFailed, Worker
from kernels.inputs import DTYPES
from kernels.tile_inputs import MASKS

TIME_LIMIT_S = 900.0
ROW = "{:>7}" + " {:>20}" * 6


def add_to(commands) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser("memory", help="peak memory of attention over its length")
    parser.add_argument("--heads", default="16")
    parser.add_argument("--head-dim", default="128")
    parser.add_argument("--dtype", default="bfloat16", help=", ".join(DTYPES))
    parser.add_argument("--mask", default="none", help=", ".join(MASKS))
    parser.add_argument("--record", action="store_true", help="keep the run, for the page")
    parser.add_argument("--commit", help="the commit to record, where git cannot say it")


def run(worker: Worker, device: Device, options: argparse.Namespace) -> int:
    """Measure, or say what the formula gives, and return the exit code."""
    case = memory.choose_memory(options.heads, options.head_dim, options.dtype, options.mask)
    commit, code = recorded.may_record(options, device)  # asked before minutes are spent
    if code:
        return code
    points = []
    if device.kind == "gpu":
        points, code = measure(worker, case)
    print("\n".join(table(memory.lines(case, MemoryRun(case, device, tuple(points))), case)))
    if options.record and not code:
        about = recorded.today(), commit, command_of(case)
        kept = MemoryRun(case, device, tuple(points), *about)
        code = recorded.keep(kept)
    return code


def command_of(case: MemoryCase) -> str:
    """Return the command that gives this run again."""
    sizes = f"--heads {case.heads} --head-dim {case.head_dim}"
    kind = f"--dtype {case.dtype} --mask {case.mask}"
    return f"python -m benchmarks memory --record {sizes} {kind}"


def measure(worker: Worker, case: MemoryCase) -> tuple[list[MemoryPoint], int]:
    """Return the points, those before a failure too, and the exit code."""
    points: list[MemoryPoint] = []
    try:
        for item in worker.run(MemoryJob(case), TIME_LIMIT_S):
            if isinstance(item, MemoryPoint):
                points.append(item)
    except JobFailed as error:
        print(f"The run ended early ({error}).", file=sys.stderr)
        return points, 1
    return points, 0


def table(lines: Iterable[MemoryLine], case: MemoryCase) -> list[str]:
    """Return a line a length: MB of every provider, by formula where there is one and measured."""
    heads, columns = ["T"], [[str(length) for length in case.lengths]]
    for line in lines:
        if line.predicted:
            heads.append(f"{line.provider}*")
            columns.append([_mb(n_bytes) for n_bytes in line.predicted])
        heads.append(line.provider)
        columns.append([_said(point) for point in line.measured])
    about = f"batch {case.batch}, heads {case.heads}, head_dim {case.head_dim}, {case.dtype}"
    return [
        f"peak memory in MB (1e6), inputs included: {about}, mask {case.mask}; * by formula",
        ROW.format(*heads),
        *(ROW.format(*cells) for cells in zip(*columns, strict=True)),
    ]


def _said(point: MemoryPoint | None) -> str:
    """Return a measured point's cell."""
    if point is None:
        return "-"
    return point.reason if point.peak_bytes is None else _mb(point.peak_bytes)


def _mb(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.2f}"
