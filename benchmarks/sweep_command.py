"""``python -m benchmarks sweep``: an operation over one size, provider beside provider, on a GPU.

python -m benchmarks sweep --operation softmax --values 256..65536x2
python -m benchmarks sweep --operation softmax --values 1000..4000+500,50257 --providers ours,torch
python -m benchmarks sweep --operation attention --values 512..16384x2 --head-dim 128 --causal
python -m benchmarks sweep --operation matmul --values 4096 --landscape    every setting of ours
python -m benchmarks sweep --operation add --values 4096..65536x2 --record      kept for the page
python -m benchmarks sweep --operation add --values 4096..65536x2 --html add.html    its figures

Exits with 0 if all is well, 1 if the run ended early or a kernel of ours failed or there is no GPU,
2 for a mistake in the arguments, 130 if it was stopped; what is there by then is printed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import figure_file, recorded, sweep_choice, sweep_tables
from benchmarks.jobs import SweepJob
from benchmarks.operations import OPERATIONS, ROW_AXES, fields_of, is_ours
from benchmarks.recorded_fields import MAX_WORD, Damaged
from benchmarks.results import Device, Progress
from benchmarks.sweep_results import LandscapeCase, SweepCase, SweepPoint, SweepRun
from benchmarks.worker import JobFailed, Worker
from benchmarks.writable import why_no_file, why_no_folder
from kernels.inputs import DTYPES

# What a sweep may take beyond its budget: it ends between values, and one may have to compile.
GRACE_S = 300.0
FAULTS = ("failed", "wrong")
# An option, and the name that `choose_sweep` has for it.
OPTIONS = {
    "axis": "axis", "rows": "n_rows", "cols": "n_cols", "seq": "seq", "heads": "heads",
    "head_dim": "head_dim", "batch": "batch", "splits": "n_splits", "budget": "budget_s",
}  # fmt: skip
OF_LANDSCAPE = ("rows", "heads", "head_dim", "batch", "budget")


def add_to(commands) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser("sweep", help="measure an operation over a size, on a GPU")
    parser.add_argument("--operation", required=True, help=", ".join(OPERATIONS))
    parser.add_argument(
        "--values", required=True, help="256,1024,50257 or 256..65536x2 or 1000..4000+500"
    )
    parser.add_argument("--dtype", default="bfloat16", help=", ".join(DTYPES))
    parser.add_argument("--providers", help="some of the operation's, with commas; else all")
    parser.add_argument("--axis", help="the size that varies; else N, T or the keys")
    parser.add_argument("--rows", help="else as many as make the traffic large")
    parser.add_argument("--cols", help="4096, where rows vary")
    parser.add_argument("--seq", help="4096, where another size of attention varies")
    for name, unset in (("heads", 16), ("head-dim", 64), ("batch", 1), ("splits", 16)):
        parser.add_argument(f"--{name}", help=f"{unset} unless told")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--hot", action="store_true", help="leave the caches full: a mistake")
    parser.add_argument("--budget", metavar="S", help="seconds, 300 unless told")
    parser.add_argument(
        "--landscape", action="store_true", help="one value, every setting of our kernel"
    )
    parser.add_argument("--record", action="store_true", help="keep the run, for the page")
    parser.add_argument("--commit", help="the commit to record, where git cannot say it")
    parser.add_argument("--json", metavar="FILE", help="write the run, as --record does")
    parser.add_argument("--csv", metavar="FILE", help="write a line a point")
    parser.add_argument(
        "--html", metavar="FILE", help="write chart, roofline and table as a page of its own"
    )


def run(worker: Worker, device: Device, options: argparse.Namespace) -> int:
    """Measure, print the table, keep what is asked for, and return the exit code."""
    case = case_of(options)
    commit = ""
    # Refused before minutes are spent.
    if options.record or options.json:
        commit = recorded.known_commit(options)
        if not commit:
            return 2
    lacking = figure_file.why_not(case) if options.html else ""
    if lacking:
        return _refused(lacking, 2)
    lacking = _why_not_kept(options)
    if lacking:
        return _refused(lacking, 2)
    if device.kind != "gpu":
        return _refused("This is measured on a GPU, and there is none here.", 1)
    points, code = measure(worker, case)
    if not points:
        return code or 1
    measured = SweepRun(case, device, points, recorded.today(), commit, command_of(case))
    print("\n".join(sweep_tables.table(measured)))
    if not code and any(point.reason in FAULTS and is_ours(point.provider) for point in points):
        code = 1
    return _keep(measured, options, code)


def _why_not_kept(options: argparse.Namespace) -> str:
    """Return why a file that is asked for could not be written, in a sentence, or ""."""
    files = [Path(file) for file in (options.json, options.csv, options.html) if file]
    if len({file.absolute() for file in files}) < len(files):
        return "--json, --csv and --html need a file each."
    refused = [why_no_file(file) for file in files]
    refused += [why_no_folder(recorded.FOLDER)] if options.record else []
    return next(filter(None, refused), "")


def _refused(sentence: str, code: int) -> int:
    """Say why nothing is done, and return the exit code."""
    print(sentence, file=sys.stderr)
    return code


def case_of(options: argparse.Namespace) -> SweepCase | LandscapeCase:
    """Return the case that the options tell. Raise InputError, one sentence, at a mistake."""
    about = {"mask": "causal" if options.causal else "none", "limits": sweep_choice.WIDE}
    read = OF_LANDSCAPE if options.landscape else tuple(OPTIONS)
    given = {name: getattr(options, name) for name in read}
    about |= {OPTIONS[name]: value for name, value in given.items() if value is not None}
    if options.landscape:
        return sweep_choice.choose_landscape(
            options.operation, options.values, options.dtype, **about
        )
    return sweep_choice.choose_sweep(
        options.operation,
        options.values,
        options.dtype,
        options.providers,
        is_hot=options.hot,
        **about,
    )


def command_of(case: SweepCase | LandscapeCase) -> str:
    """Return the command that gives this run again, cut where a file would not hold it."""
    about, sizes = OPERATIONS[case.operation], case.sizes
    is_sweep = isinstance(case, SweepCase)
    axis = case.axis if is_sweep else about.axes[0]
    one = getattr(sizes, fields_of(axis)[0])
    values = sweep_choice.text_of(case.values if is_sweep else (one,))
    told = {"operation": case.operation, "values": values, "dtype": sizes.dtype}
    if axis != about.axes[0]:
        told["axis"] = axis
    others: dict[str, str] = {}
    if about.axes == ROW_AXES:
        others = {"rows": "n_rows", "cols": "n_cols"}
        if is_sweep and not case.fixed_rows:
            del others["rows"]
    elif about.axes != ("size",):
        others = {"heads": "heads", "head-dim": "head_dim", "batch": "batch"}
        others |= {"splits": "n_splits"} if case.operation == "decode" else {}
        others |= {} if axis == "seq" else {"seq": "seq_k"}
    told |= {option: getattr(sizes, name) for option, name in others.items() if name != axis}
    if is_sweep and case.providers != about.providers:
        told["providers"] = ",".join(case.providers)
    if case.budget_s != 300:
        told["budget"] = f"{case.budget_s:.0f}"
    flags = {
        "causal": sizes.mask == "causal",
        "hot": is_sweep and case.is_hot,
        "landscape": not is_sweep,
    }
    words = [f"--{name} {value}" for name, value in told.items()]
    words += [f"--{name}" for name, is_set in flags.items() if is_set]
    text = " ".join(["python -m benchmarks sweep", *words])
    return text if len(text) <= MAX_WORD else text[: MAX_WORD - 1] + "…"


def measure(
    worker: Worker, case: SweepCase | LandscapeCase, *, is_quiet: bool = False
) -> tuple[tuple[SweepPoint, ...], int]:
    """Return the points, those before a failure or a stop too, and the exit code.

    Each point is said as it comes, unless ``is_quiet``.
    """
    points: list[SweepPoint] = []
    at = ""
    try:
        for item in worker.run(SweepJob(case), case.budget_s + GRACE_S):
            if isinstance(item, SweepPoint):
                points.append(item)
                if is_quiet:
                    continue
                print(f"{at}{sweep_tables.said(item, case)}", file=sys.stderr, flush=True)
            elif isinstance(item, Progress) and "n" in item.details:
                n, of = item.details["n"], item.details["of"]
                at = f"[{n}/{of}] "
                if item.stage == "sweep_over":
                    print(f"The time is over after {n} of {of}.", file=sys.stderr)
                if item.stage == "compiling":
                    about = f"Compiling settings {n} to {item.details['end']} of {of} ..."
                    print(about, file=sys.stderr, flush=True)
    except JobFailed as error:
        print(f"The run ended early ({error}).", file=sys.stderr)
        return tuple(points), 1
    except KeyboardInterrupt:
        print("Stopped; this is what was measured.", file=sys.stderr)
        return tuple(points), 130
    return tuple(points), 0


def _keep(measured: SweepRun, options: argparse.Namespace, code: int) -> int:
    """Write the files that are asked for and return the exit code."""
    try:
        if options.csv:
            Path(options.csv).write_text(sweep_tables.csv_text(measured.points), "utf-8")
        if options.json:
            Path(options.json).write_text(recorded.text_of(measured), "utf-8")
        if options.html:
            figure_file.write_html(measured, Path(options.html))
        if options.record and code:
            print("Not recorded, since not all went well.", file=sys.stderr)
        elif options.record:
            print(f"recorded in {recorded.write(measured)}")
    except OSError as error:
        where = error.filename or "A file"  # a full disk does not say
        return _refused(f"{where} cannot be written: {error.strerror}.", 2)
    except Damaged as fault:
        got = recorded.printable(fault.got)
        return _refused(f"The run cannot be kept: {fault.where} is {got}.", code or 1)
    except ValueError as error:
        return _refused(f"The run cannot be kept: {error}.", code or 1)
    return code
