"""``python -m benchmarks tune``: which settings run a kernel fastest on this GPU.

python -m benchmarks tune --algorithm online_softmax --cols 65536 --dtype bfloat16
python -m benchmarks tune --algorithm matmul --size-m 4096 --size-n 4096 --size-k 4096
python -m benchmarks tune --algorithm flash_attention --heads 16 --seq-q 4096 --seq-k 4096 --causal
"""

from __future__ import annotations

import argparse
import sys

from benchmarks import check_command
from benchmarks.jobs import TuneJob
from benchmarks.results import Device
from benchmarks.tune import TuneResult
from benchmarks.worker import JobFailed, Worker
from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.inputs import DTYPES, ITEMSIZE, Case, one_of, whole_number

TIME_LIMIT_S = 540.0
ENOUGH_BYTES = 2**28  # of one tensor: more than the L2 cache holds
MOST_BYTES = 2**32
MAX_COLS = 2**20
TUNABLE = tuple(name for name, entry in ALGORITHMS.items() if entry.configs)


def add_to(commands) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser("tune", help="find a kernel's fastest settings on this GPU")
    parser.add_argument("--algorithm", required=True, help=", ".join(TUNABLE))
    parser.add_argument("--seed", default="7")
    parser.add_argument("--preset", default="normal", help=argparse.SUPPRESS)
    check_command.add_sizes(parser)


def run(worker: Worker, device: Device, options: argparse.Namespace) -> int:
    """Tune, print every configuration with its time or its reason, and return the exit code."""
    entry = ALGORITHMS[one_of("algorithm", options.algorithm, TUNABLE)]
    case = row_case(options) if entry.problem == "row" else tile_case(entry, options)
    if device.kind != "gpu":
        print("Settings are tuned on a GPU, and there is none here.", file=sys.stderr)
        return 1
    try:
        *_, result = worker.run(TuneJob(entry.name, case), TIME_LIMIT_S)
    except JobFailed as error:
        print(f"The run ended early ({error}).", file=sys.stderr)
        return 1
    print("\n".join(table(result)))
    return 0


def row_case(options: argparse.Namespace) -> Case:
    """Return the rows to tune on: as many as fill memory well beyond the cache, if not told."""
    dtype = one_of("dtype", options.dtype, DTYPES)
    n_cols = whole_number("cols", options.cols or "4096", 1, MAX_COLS)
    row_bytes = n_cols * ITEMSIZE[dtype]
    most = max(1, MOST_BYTES // row_bytes)
    n_rows = whole_number("rows", options.rows or max(1, ENOUGH_BYTES // row_bytes), 1, most)
    return Case(n_rows=n_rows, n_cols=n_cols, head_dim=1, dtype=dtype)


def tile_case(entry: Algorithm, options: argparse.Namespace) -> Case:
    """Return the tiles to tune on. Raise InputError for what cannot be run."""
    return check_command.case_of(entry, options, interpreted=False)


def table(result: TuneResult) -> list[str]:
    """Return a line a configuration, fastest first, then those that have no time."""
    tuning = result.tuning
    timed = [tried for tried in tuning.tried if tried.time_ms is not None]
    by_flops = ALGORITHMS[result.algorithm].problem != "row"
    unit = "TFLOP/s" if by_flops else "GB/s"
    lines = [f"{'settings':<58}{'ms':>9}{unit:>10}"]
    for tried in timed:
        rate = result.flops / 1e9 if by_flops else result.n_bytes / 1e6
        digits = 1 if by_flops else 0
        lines.append(
            f"{words(tried.settings):<58}{tried.time_ms:>9.4f}{rate / tried.time_ms:>10.{digits}f}"
        )
    for tried in tuning.tried[len(timed) :]:
        lines.append(f"{words(tried.settings):<58}{tried.reason}")
    spent = "known from before" if result.is_known else f"{tuning.seconds:.1f} s to try them"
    return [*lines, f"{len(timed)} of {len(tuning.tried)} ran; {spent}, not part of any time"]


def words(settings) -> str:
    """Return settings as they are written in a call."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())
