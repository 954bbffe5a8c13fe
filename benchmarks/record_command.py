"""``python -m benchmarks record``: measure everything that the page shows, and keep it.

python -m benchmarks record --list              the plan, and what of it is recorded on which GPU
python -m benchmarks record                     all of it that this GPU has not been measured for
python -m benchmarks record --only C20          what the claim C20 needs; any pattern of a name
python -m benchmarks record --again --only '^sweep softmax'     measured anew
python -m benchmarks record --budget 570 --folder out --pack out/runs.zip

One run after another, the most important first. Each is written when it is done, so Ctrl+C, or a
run that fails, loses nothing of the others. Exits with 0 if all that was begun is recorded, with 1
if not or there is no GPU, 2 for a mistake in the arguments, 130 if it was stopped.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks import measuring, recorded
from benchmarks.measuring import STOPPED
from benchmarks.record_plan import PLAN, Entry
from benchmarks.results import Device
from benchmarks.worker import Worker
from benchmarks.writable import why_no_file, why_no_folder
from kernels.inputs import whole_number


def add_to(commands) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser("record", help="measure and keep everything that the page shows")
    parser.add_argument("--list", action="store_true", help="print the plan, and measure nothing")
    parser.add_argument("--only", metavar="PATTERN", help="of names as in --list, case ignored")
    parser.add_argument("--again", action="store_true", help="also what is recorded already")
    parser.add_argument("--budget", metavar="S", help="begin nothing that would end later")
    parser.add_argument(
        "--folder", metavar="DIR", help="write there instead of where the page reads"
    )
    parser.add_argument("--pack", metavar="FILE.zip", help="also put every new file in there")
    parser.add_argument("--commit", help="the commit to record, where git cannot say it")


def needs_worker(options: argparse.Namespace) -> bool:
    """Whether anything is to be measured."""
    return not options.list


def show(options: argparse.Namespace) -> int:
    """Print the plan and return the exit code."""
    entries = _chosen(options)
    if entries is None:
        return 2
    runs = _recorded(_folder(options))
    for entry in entries:
        seen = dict.fromkeys(f"{r.device.name} {r.date}" for r in runs if r.case == entry.case)
        print(f"{entry.name}, about {entry.seconds:.0f} s: {', '.join(seen) or 'not recorded'}")
    total = sum(entry.seconds for entry in entries)
    print(f"{len(entries)} runs, about {_minutes(total)}")
    return 0


def run(worker: Worker, device: Device, options: argparse.Namespace) -> int:
    """Measure what is to be recorded, and return the exit code."""
    began = time.monotonic()
    entries, folder = _chosen(options), _folder(options)
    limit_s = None
    if options.budget is not None:
        limit_s = whole_number("budget", options.budget, 1, 86_400)
    if entries is None or not _can_write(folder, options.pack):
        return 2
    commit = recorded.known_commit(options)
    if not commit:
        return 2
    if device.kind != "gpu":
        print("This is measured on a GPU, and there is none here.", file=sys.stderr)
        return 1
    if not options.again:
        there = {run.case for run in _recorded(folder) if run.device.name == device.name}
        entries = [entry for entry in entries if entry.case not in there]
    recorder = _Recorder(worker, device, commit, folder, options.pack)
    return recorder.record(entries, began, limit_s)


class _Recorder:
    """Measures entries one after another and writes each; keeps how long they took."""

    def __init__(self, worker: Worker, device: Device, commit: str, folder, pack) -> None:
        self._worker, self._device, self._commit = worker, device, commit
        self._folder, self._pack = folder, pack
        self._names: set[str] = set()  # in the pack
        self._took = self._thought = 0.0

    def record(self, entries: list[Entry], began: float, limit_s: float | None) -> int:
        """Measure and write what fits the seconds, and return the exit code."""
        left, n_written, code = list(entries), 0, 0
        late: list[Entry] = []
        for number, entry in enumerate(entries, start=1):
            end_s = time.monotonic() - began + entry.seconds * max(1.0, self._pace())
            left.remove(entry)
            if limit_s is not None and end_s > limit_s:
                late.append(entry)
                continue
            seconds = self._pace() * sum(one.seconds for one in (entry, *left))
            about = f"about {_minutes(seconds)} left"
            print(f"[{number}/{len(entries)}] {entry.name}, {about}", flush=True)
            found = self._measure(entry)
            fault = found.fault or self._write(found.run)
            n_written += not fault
            if fault:
                code = STOPPED if found.is_over else 1
                print(f"Not recorded: {fault}", file=sys.stderr, flush=True)
            if found.is_over:
                break
        print(f"{n_written} of {len(entries)} runs recorded.")
        if late:
            print(f"{len(late)} did not fit the budget; the same command goes on with them.")
        return code

    def _pace(self) -> float:
        """Return how long runs take here, as a share of what the plan says."""
        return self._took / self._thought if self._thought else 1.0

    def _measure(self, entry: Entry) -> measuring.Measured:
        began = time.monotonic()
        found = measuring.measure(self._worker, self._device, entry.case, self._commit)
        if not found.fault:
            self._took += time.monotonic() - began
            self._thought += entry.seconds
        return found

    def _write(self, run: recorded.Run) -> str:
        """Write a run, into the pack too, and return why it cannot be, or ""."""
        try:
            path, fault = recorded.try_write(run, *([self._folder] if self._folder else []))
            if fault:
                return fault
            if self._pack:
                # After each, or a machine that is taken away takes them along.
                with zipfile.ZipFile(self._pack, "a" if self._names else "w") as pack:
                    pack.write(path, path.name)
                self._names.add(path.name)
        except OSError as error:
            return f"{error.filename or self._pack} cannot be written: {error.strerror}."
        return ""


def _chosen(options: argparse.Namespace) -> list[Entry] | None:
    """Return the entries whose names the pattern is found in; None, and say why, if none are."""
    try:
        pattern = re.compile(options.only or "", re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        print(f"{recorded.printable(options.only)} is no pattern: {error}.", file=sys.stderr)
        return None
    entries = [entry for entry in PLAN if pattern.search(entry.name)]
    if not entries:
        print(f"Nothing of the plan is called {options.only}; --list shows it.", file=sys.stderr)
        return None
    return entries


def _folder(options: argparse.Namespace) -> Path | None:
    return Path(options.folder) if options.folder else None


def _can_write(folder: Path | None, pack: str | None) -> bool:
    """Whether files can be written to both, and say why if not: asked before minutes are spent."""
    if pack and not pack.endswith(".zip"):
        print(f"{pack} must end in .zip.", file=sys.stderr)
        return False
    refusal = why_no_folder(folder or recorded.FOLDER)
    if pack and not refusal:
        refusal = why_no_folder(Path(pack).absolute().parent) or why_no_file(Path(pack))
    if refusal:
        print(refusal, file=sys.stderr)
    return not refusal


def _recorded(folder: Path | None) -> Iterable[recorded.Run]:
    """Return the runs that the page reads, and those of the folder."""
    runs = recorded.read_all()[0]
    return runs + (recorded.read_all(folder)[0] if folder else [])


def _minutes(seconds: float) -> str:
    """Return a time to plan by."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"
