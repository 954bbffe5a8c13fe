"""``python -m benchmarks check``: hold the kernels against torch and float64 on this machine.

python -m benchmarks check                              every algorithm, one case
python -m benchmarks check --algorithm online_softmax --cols 1000 --block 64 --dtype bfloat16
python -m benchmarks check --algorithm flash_attention --heads 8 --kv-heads 2 --seq-q 1000
python -m benchmarks check --matrix --json check.json   sizes x dtypes x strides, masks, blocks
python -m benchmarks check --matrix --algorithm softmax   softmax(x), on every path it can take
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import sys
import threading
from collections.abc import Sequence

from benchmarks import matrix, report, softmax_matrix, tile_matrix
from benchmarks.jobs import CheckJob, QuickJob
from benchmarks.results import Device, Progress
from benchmarks.worker import JobFailed, Worker
from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.errors import InputError
from kernels.inputs import DTYPES, PRESETS, Case, choose_case
from kernels.tile_inputs import PRESETS as TILE_PRESETS
from kernels.tile_inputs import choose_tile_case

MAX_WORKERS = 16
MATRIX_LIMIT_S = 400.0  # a row of 2^20 in one block takes a minute and more to compile
# Option -> the field of a Case, for what algorithms on tiles read; each has its own default there.
TILE_OPTIONS = {
    "batch": "batch",
    "heads": "heads",
    "kv_heads": "kv_heads",
    "seq_q": "seq_q",
    "seq_k": "seq_k",
    "head_dim": "head_dim",
    "size_m": "size_m",
    "size_n": "size_n",
    "size_k": "size_k",
    "block": "block",
    "block_m": "block_m",
    "block_k": "block_k",
    "group_m": "group_m",
    "splits": "n_splits",
    "warps": "num_warps",
    "stages": "num_stages",
}
ROW_DEFAULTS = {"rows": "8", "cols": "100", "head_dim": "4", "block": "16", "warps": "4"}
SMALLEST_BLOCK = 16  # that the tensor cores take
Job = CheckJob | QuickJob | softmax_matrix.SoftmaxJob


def add_to(commands) -> None:
    """Add the command; values are checked by `choose_case` and its like, as the page's are."""
    check = commands.add_parser("check", help="compare kernels with torch, float64 and mirrors")
    check.add_argument("--algorithm", default="all", help=f"all, {', '.join(ALGORITHMS)}")
    check.add_argument("--seed", default="7")
    check.add_argument("--preset", default="normal", help=", ".join(PRESETS))
    add_sizes(check)
    check.add_argument("--matrix", action="store_true", help="cross sizes, dtypes and presets")
    check.add_argument("--workers", help=f"processes for --matrix, at most {MAX_WORKERS}")
    check.add_argument("--json", metavar="FILE", help="also write the numbers to FILE")


def add_sizes(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how large a case is, its dtype, blocks and warps."""
    parser.add_argument("--dtype", default="float32", help=", ".join(DTYPES))
    for name in ("rows", "cols"):
        parser.add_argument(f"--{name}", help=f"of a row algorithm; {ROW_DEFAULTS[name]}")
    for name in TILE_OPTIONS:
        parser.add_argument(f"--{name.replace('_', '-')}")
    parser.add_argument("--causal", action=argparse.BooleanOptionalAction)


def run(worker: Worker, device: Device, options: argparse.Namespace) -> int:
    """Run the checks that ``options`` ask for, print them, and return the exit code."""
    # Refused before minutes are spent.
    out = None
    if options.json:
        try:
            out = open(options.json, "w", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            print(f"{options.json} cannot be written: {error.strerror}.", file=sys.stderr)
            return 2
    jobs = _jobs(device, options)
    matrix_of = (_n_workers(options), MATRIX_LIMIT_S) if options.matrix else (1, None)
    done = run_all(worker, jobs, *matrix_of)
    outcomes = [(jobs[at].algorithm, jobs[at].case, done[at]) for at in sorted(done)]
    print("\n".join(report.tables(outcomes, options.matrix)))
    if out:
        with out:
            checks = [report.as_json(*outcome) for outcome in outcomes]
            record = {"device": report.device_json(device), "checks": checks}
            json.dump(record, out, indent=1, allow_nan=False)
    if len(done) < len(jobs):
        print(f"Stopped: {len(done)} of {len(jobs)} checks have run.", file=sys.stderr)
        return 130
    return 0 if all(report.is_right(outcome) for _, _, outcome in outcomes) else 1


def run_all(
    worker: Worker, jobs: Sequence[Job], n_workers: int, limit_s: float | None = None
) -> dict[int, report.Outcome]:
    """Run every job and return the outcomes by position; of fewer if interrupted.

    With several workers, each takes one algorithm, dtype, head_dim, mask and layout at a time: what
    Triton compiled for one case is there for the next. The longest lists go first.
    """
    done: dict[int, report.Outcome] = {}
    groups: dict[tuple, list[int]] = {}
    for at, job in enumerate(jobs):
        case = job.case
        key = (job.algorithm, case.dtype, case.head_dim, case.mask, case.layout)
        groups.setdefault(key, []).append(at)
    waiting: queue.SimpleQueue[list[int]] = queue.SimpleQueue()
    for group in sorted(groups.values(), key=len, reverse=True):
        waiting.put(group)

    def work(mine: Worker) -> None:
        """Run groups until there are none left."""
        with contextlib.suppress(queue.Empty):
            while True:
                for at in waiting.get_nowait():
                    done[at] = _outcome(mine, jobs[at], limit_s)

    others = [type(worker)() for _ in range(min(n_workers, len(groups)) - 1)]
    threads = [threading.Thread(target=work, args=(each,), daemon=True) for each in others]
    try:
        for thread in threads:
            thread.start()
        work(worker)
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        return dict(done)
    finally:
        for each in others:
            each.close()
    return done


def _n_workers(options: argparse.Namespace) -> int:
    """Return how many processes a matrix is shared out to."""
    if options.workers is None:
        return max(1, min(MAX_WORKERS, (os.cpu_count() or 1) * 3 // 4))
    if not options.workers.isdecimal() or not 1 <= int(options.workers) <= MAX_WORKERS:
        raise InputError(
            "out_of_range",
            "{name} must be from {low} to {high}, got {got}.",
            name="workers",
            low=1,
            high=MAX_WORKERS,
            got=options.workers,
        )
    return int(options.workers)


def _jobs(device: Device, options: argparse.Namespace) -> list[Job]:
    """Return the checks to run. Raise InputError for what cannot be."""
    names = _names(options)
    chosen = (*ALGORITHMS, softmax_matrix.NAME) if options.matrix else tuple(ALGORITHMS)
    if names[0] not in chosen:
        known = ", ".join(chosen)
        raise InputError(
            "one_of",
            "{name} must be one of {choices}, got {got}.",
            name="algorithm",
            choices=f"all, {known}",
            got=options.algorithm,
        )
    if options.matrix:
        on_gpu = device.kind == "gpu"
        chosen_paths = softmax_matrix.jobs(on_gpu) if softmax_matrix.NAME in names else ()
        every = (*matrix.jobs(on_gpu), *chosen_paths, *tile_matrix.jobs(on_gpu))
        return [job for job in every if job.algorithm in names]
    interpreted = device.kind == "interpreter"
    return [CheckJob(name, case_of(ALGORITHMS[name], options, interpreted)) for name in names]


def _names(options: argparse.Namespace) -> list[str]:
    """Return the algorithms: the one named, or all that take the preset; only rows take some."""
    if options.algorithm != "all":
        return [options.algorithm]
    if options.matrix:
        return [*ALGORITHMS, softmax_matrix.NAME]
    on_tiles = options.preset in TILE_PRESETS
    return [name for name, entry in ALGORITHMS.items() if entry.problem == "row" or on_tiles]


def case_of(entry: Algorithm, options: argparse.Namespace, interpreted: bool) -> Case:
    """Return the case that the options describe for one algorithm."""
    given = {name: value for name, value in vars(options).items() if value is not None}
    if entry.problem == "row":
        given = {**ROW_DEFAULTS, **given}
        names = ("preset", "rows", "cols", "block", "head_dim", "dtype", "warps", "seed")
        return choose_case(
            *(given[name] for name in names),
            with_values=entry.has_values,
            interpreted=interpreted,
            shares_rows=entry.shares_rows,
        )
    # An algorithm's own defaults are for watching: its blocks there are smaller than can be run.
    kept = {
        name: max(SMALLEST_BLOCK, entry.defaults.get(name, SMALLEST_BLOCK))
        for name in ("block_m", "block", "block_k")
    }
    kept |= {field: given[name] for name, field in TILE_OPTIONS.items() if name in given}
    kept |= {name: given[name] for name in ("preset", "dtype", "seed")}
    if "kv_heads" not in kept and "heads" in kept:
        kept["kv_heads"] = kept["heads"]
    if options.causal is not None:
        kept["mask"] = "causal" if options.causal else "none"
    return choose_tile_case(entry, kept, interpreted=interpreted)


def _outcome(worker: Worker, job: Job, limit_s: float | None) -> report.Outcome:
    """Run one check to its end, in the worker's own time limit if there is none given."""
    try:
        *_, result = worker.run(job, limit_s)
    except (JobFailed, InputError) as error:
        return error
    if isinstance(result, Progress):
        raise RuntimeError(f"a check ended with {type(result).__name__}")
    return result
