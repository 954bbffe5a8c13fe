"""``python -m benchmarks check``: hold the kernels against torch and float64 on this machine.

    python -m benchmarks check                              every algorithm, one case
    python -m benchmarks check --algorithm online_softmax --cols 1000 --block 64 --dtype bfloat16
    python -m benchmarks check --matrix --json check.json   lengths x dtypes x presets x blocks

Exits with 1 if a check failed, with 2 for a mistake in the arguments.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import NoReturn

from benchmarks import matrix, report
from benchmarks.jobs import CheckJob
from benchmarks.results import CheckResult, Device
from benchmarks.worker import JobFailed, Worker
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import DTYPES, PRESETS, choose_case


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence."""

    def error(self, message: str) -> NoReturn:
        print(f"{message[:1].upper()}{message[1:].rstrip('.')}.", file=sys.stderr)
        raise SystemExit(2)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    worker = Worker()
    try:
        device = worker.device()
        print(report.device_line(device))
        if device.kind == "none":
            return 1
        return _check(worker, device, options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except JobFailed as error:
        print(f"The worker did not start ({error}).", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        worker.close()


def _parser() -> argparse.ArgumentParser:
    """Return the parser; values are checked by `choose_case`, as the page's are."""
    parser = _Parser(prog="python -m benchmarks")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="compare kernels with torch, float64 and mirrors")
    check.add_argument("--algorithm", default="all", help=f"all, {', '.join(ALGORITHMS)}")
    check.add_argument("--rows", default="8")
    check.add_argument("--cols", default="100")
    check.add_argument("--head-dim", default="4")
    check.add_argument("--dtype", default="float32", help=", ".join(DTYPES))
    check.add_argument("--block", default="16", help="a power of two")
    check.add_argument("--warps", default="4")
    check.add_argument("--seed", default="7")
    check.add_argument("--preset", default="normal", help=", ".join(PRESETS))
    check.add_argument("--matrix", action="store_true", help="cross sizes, dtypes and presets")
    check.add_argument("--json", metavar="FILE", help="also write the numbers to FILE")
    return parser


def _check(worker: Worker, device: Device, options: argparse.Namespace) -> int:
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
    outcomes = []
    for job in jobs:
        outcomes.append((job.algorithm, job.case, _outcome(worker, job)))
    print("\n".join((report.summary if options.matrix else report.rows)(outcomes)))
    if out:
        with out:
            checks = [report.as_json(*outcome) for outcome in outcomes]
            record = {"device": report.device_json(device), "checks": checks}
            json.dump(record, out, indent=1, allow_nan=False)
    return 0 if all(report.is_right(outcome) for _, _, outcome in outcomes) else 1


def _jobs(device: Device, options: argparse.Namespace) -> list[CheckJob]:
    """Return the checks to run. Raise InputError for what cannot be."""
    names = list(ALGORITHMS) if options.algorithm == "all" else [options.algorithm]
    if names[0] not in ALGORITHMS:
        known = ", ".join(ALGORITHMS)
        raise InputError(
            "one_of",
            "{name} must be one of {choices}, got {got}.",
            name="algorithm",
            choices=f"all, {known}",
            got=options.algorithm,
        )
    if options.matrix:
        return [job for job in matrix.jobs(device.kind == "gpu") if job.algorithm in names]
    return [
        CheckJob(
            name,
            choose_case(
                options.preset,
                options.rows,
                options.cols,
                options.block,
                options.head_dim,
                options.dtype,
                options.warps,
                options.seed,
                with_values=ALGORITHMS[name].has_values,
                interpreted=device.kind == "interpreter",
            ),
        )
        for name in names
    ]


def _outcome(worker: Worker, job: CheckJob) -> report.Outcome:
    """Run one check to its end."""
    try:
        *_, result = worker.run(job)
    except (JobFailed, InputError) as error:
        return error
    if not isinstance(result, CheckResult):
        raise RuntimeError(f"a check ended with {type(result).__name__}")
    return result


if __name__ == "__main__":
    sys.exit(main())
