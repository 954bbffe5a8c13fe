"""``python -m benchmarks claims``: what three texts claim, and what runs on a GPU say of it.

python -m benchmarks claims                     all, by the recorded runs
python -m benchmarks claims C7 C20              some of them
python -m benchmarks claims C7 --run            measured on this GPU
python -m benchmarks claims --run --record      measured, and kept for the page

A claim that nothing is recorded for is shown with the commands that would. The sentences are on the
page; here are the verdicts and the numbers that they rest on. Exits with 0, with 1 if a run ended
early or there is no GPU to run on, 2 for a mistake in the arguments, 130 if it was stopped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from benchmarks import claims, measuring, recorded, sweep_tables
from benchmarks.claims_results import Claim, Run
from benchmarks.measuring import STOPPED
from benchmarks.results import Device
from benchmarks.worker import Worker
from kernels.inputs import one_of

HEAD = "claim.head."  # begins those heads of a table that the page translates


def add_to(commands) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser("claims", help="claims of three texts, put to the test")
    parser.add_argument("keys", nargs="*", metavar="KEY", help=", ".join(claims.CLAIMS))
    parser.add_argument("--run", action="store_true", help="measure their runs on this GPU")
    parser.add_argument("--record", action="store_true", help="keep what --run measures")
    parser.add_argument("--commit", help="the commit to record, where git cannot say it")


def needs_worker(options: argparse.Namespace) -> bool:
    """Whether anything is to be measured."""
    return options.run


def show(options: argparse.Namespace) -> int:
    """Print every claim as the recorded runs have it and return the exit code."""
    chosen = _chosen(options)
    if options.record:
        print("Only what is measured can be recorded: add --run.", file=sys.stderr)
        return 2
    runs, refused = recorded.read_all()
    print("\n\n".join("\n".join(told(claim, runs)) for claim in chosen))
    for error in refused:
        print(error, file=sys.stderr)
    return 0


def run(worker: Worker, device: Device, options: argparse.Namespace) -> int:
    """Measure the claims' runs, print what they say, and return the exit code."""
    chosen = _chosen(options)
    commit, code = recorded.may_record(options, device)
    if code:
        return code
    if device.kind != "gpu":
        print("This is measured on a GPU, and there is none here.", file=sys.stderr)
        return 1
    cases = list(dict.fromkeys(case for claim in chosen for case in claim.cases))
    runs: list[Run] = []
    for number, case in enumerate(cases, start=1):
        name = measuring.name_of(case)
        print(f"[{number}/{len(cases)}] {name}", file=sys.stderr, flush=True)
        found = measuring.measure(worker, device, case, commit)
        if found.fault:
            code = STOPPED if found.is_over else 1
            print(f"{name}: {found.fault}", file=sys.stderr)
        else:
            runs.append(found.run)
            if options.record:
                path, fault = recorded.try_write(found.run)
                print(fault or f"recorded in {path}", file=sys.stderr)
                code = 1 if fault else code
        if found.is_over:
            break
    print("\n\n".join("\n".join(told(claim, runs)) for claim in chosen))
    return code


def _chosen(options: argparse.Namespace) -> list[Claim]:
    """Return the claims that are asked for, all unless some are. Raise InputError for another."""
    keys = dict.fromkeys(options.keys or claims.CLAIMS)
    return [claims.CLAIMS[one_of("claim", key, tuple(claims.CLAIMS))] for key in keys]


def told(claim: Claim, runs: Sequence[Run]) -> Iterable[str]:
    """Yield a claim's lines: the verdict, the runs behind it, the numbers; or how to get them."""
    chosen = claims.runs_of(claim, runs)
    if chosen is None:
        yield f"{claim.key} (text {claim.source}): no runs that suffice. They come from:"
        yield from (f"  {measuring.command_of(case)}" for case in claim.cases)
        return
    finding = claims.found(claim, chosen)
    yield f"{claim.key} (text {claim.source}): {finding.verdict}"
    for one in chosen:
        yield f"  {one.device.name}, {one.date}: {measuring.name_of(one.case)}"
    yield "  " + ", ".join(f"{name} {figure}" for name, figure in finding.figures.items())
    if finding.rows:
        first, *heads = (head.removeprefix(HEAD) for head in finding.heads)
        names = [row[0] for row in finding.rows]
        cells = [row[1:] for row in finding.rows]
        yield from (f"  {line}" for line in sweep_tables.grid(first, heads, names, cells))
