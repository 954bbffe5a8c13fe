"""Runs recorded on real GPUs: written by `python -m benchmarks`, read with distrust.

A file of ``benchmarks/recorded/`` is JSON: what ran it (GPU, driver, versions), when, at which
commit, by which command, and what was found. The page draws it as a measurement, so a file that is
damaged, edited into nonsense, or not ours is refused with a sentence, and nothing of it is drawn.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from benchmarks import recorded_launches, recorded_memory, recorded_sweeps
from benchmarks.launches_results import LaunchCase, LaunchRun
from benchmarks.memory_results import MemoryCase, MemoryRun
from benchmarks.recorded_fields import COMMIT, Damaged, date, device, matching, names, word
from benchmarks.results import Device
from benchmarks.sweep_results import LandscapeCase, SweepCase, SweepRun
from benchmarks.writable import why_no_folder
from kernels.errors import InputError, shorten

FOLDER = Path(__file__).parent / "recorded"
FORMAT = "blockwise-recorded-1"
MAX_FILE_BYTES = 1_000_000
FIELDS = {"format", "kind", "date", "commit", "command", "device", "case"}

Run = MemoryRun | LaunchRun | SweepRun


class Kind(NamedTuple):
    """A kind of recorded run: its records, the field of what was found, and how both are read."""

    record: type
    case_record: type
    field: str
    case: Callable
    found: Callable
    case_name: Callable
    packed: Callable = asdict


KINDS: Mapping[str, Kind] = {
    "memory": Kind(
        MemoryRun,
        MemoryCase,
        "points",
        recorded_memory.case,
        recorded_memory.points,
        recorded_memory.case_name,
    ),
    "launches": Kind(
        LaunchRun,
        LaunchCase,
        "runs",
        recorded_launches.case,
        recorded_launches.runs,
        recorded_launches.case_name,
    ),
    "sweep": Kind(
        SweepRun,
        SweepCase,
        "points",
        recorded_sweeps.sweep_case,
        recorded_sweeps.sweep_points,
        recorded_sweeps.sweep_name,
        recorded_sweeps.packed,
    ),
    "landscape": Kind(
        SweepRun,
        LandscapeCase,
        "points",
        recorded_sweeps.landscape_case,
        recorded_sweeps.landscape_points,
        recorded_sweeps.landscape_name,
        recorded_sweeps.packed,
    ),
}


def read_all(folder: Path = FOLDER) -> tuple[list[Run], list[InputError]]:
    """Return the runs of ``folder``, the newest first, and a sentence for each file refused."""
    runs, refused = [], []
    try:
        paths = sorted(folder.glob("*.json"))
    except OSError:  # a name that no folder can have
        paths = []
    for path in paths:
        try:
            if path.exists() and not path.is_file():  # a pipe would be waited for
                raise _unreadable(path)
            runs.append(read(path))
        except InputError as error:
            refused.append(error)
    return sorted(runs, key=lambda run: run.date, reverse=True), refused


def read(path: Path) -> Run:
    """Return the run that a file holds. Raise InputError for any that `write` cannot have made."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)  # no more, of a device that never ends either
        if len(data) > MAX_FILE_BYTES:
            raise ValueError
        # JSON knows no NaN and no infinity; Python would read them.
        document = json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except (OSError, ValueError, RecursionError):
        raise _unreadable(path) from None
    given = document.get("format") if isinstance(document, dict) else document
    if given != FORMAT or document.get("kind") not in tuple(KINDS):
        raise InputError(
            "recorded_foreign",
            "{file} is not a recorded run of this program, so it is left out.",
            file=_called(path),
        )
    try:
        return _run(document)
    except Damaged as fault:
        raise InputError(
            "recorded_damaged",
            "The recorded run {file} is damaged and left out: {field} cannot be {got}.",
            file=_called(path),
            field=printable(fault.where),
            got=printable(fault.got),
        ) from None


def _unreadable(path: Path) -> InputError:
    return InputError(
        "recorded_unreadable",
        "The recorded run {file} cannot be read, so it is left out.",
        file=_called(path),
    )


def _called(path: Path) -> str:
    """Return what a file is called; bytes that are no text as question marks."""
    return printable((path.name or f"{path}").encode("utf-8", "replace").decode(), 160)


def printable(value: object, limit: int = 60) -> str:
    """Return what a file says as short text that no terminal takes for a command."""
    return "".join(c if c.isprintable() else "?" for c in shorten(value, limit))


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _run(document: Mapping) -> Run:
    """Return what ``document`` holds. Raise Damaged at the first field that cannot be."""
    kind = KINDS[document["kind"]]
    names("", document, FIELDS | {kind.field})
    case = kind.case(document["case"])
    return kind.record(
        case,
        device(document["device"]),
        kind.found(document[kind.field], case),
        date(document["date"]),
        matching("commit", document["commit"], COMMIT),
        word("command", document["command"]),
    )


def kind_of(run: Run) -> str:
    """Return the kind of a run, a key of `KINDS`."""
    return next(name for name, kind in KINDS.items() if isinstance(run.case, kind.case_record))


def text_of(run: Run) -> str:
    """Return what a file of ``run`` holds. Raise ValueError or Damaged if it would not be read."""
    document = _document(run)
    # A line for each thing found: a sweep has hundreds of small ones.
    field = KINDS[document["kind"]].field
    if KINDS[document["kind"]].packed is asdict:
        text = json.dumps(document, indent=1, allow_nan=False)
    else:
        lines = ",\n  ".join(json.dumps(one, allow_nan=False) for one in document[field])
        rest = json.dumps({**document, field: []}, indent=1, allow_nan=False)
        text = rest.replace(f'"{field}": []', f'"{field}": [\n  {lines}\n ]')
    if len(text) >= MAX_FILE_BYTES:
        raise ValueError(f"the run is of {len(text)} bytes, more than are read")
    back = _run(json.loads(text))
    # Not the runs themselves: a time that there is not is NaN, and equals nothing.
    if (back.case, back.device) != (run.case, run.device) or _document(back) != document:
        raise ValueError("the run does not read back as it was")
    return text + "\n"


def _document(run: Run) -> dict[str, object]:
    """Return a run as JSON has it."""
    name = kind_of(run)
    kind = KINDS[name]
    ran_on = {
        "name": run.device.name,
        "capability": run.device.capability,
        "versions": dict(run.device.versions),
    }
    return {
        "format": FORMAT,
        "kind": name,
        "date": run.date,
        "commit": run.commit,
        "command": run.command,
        "device": ran_on,
        "case": asdict(run.case),
        kind.field: [kind.packed(one) for one in getattr(run, kind.field)],
    }


def write(run: Run, folder: Path = FOLDER) -> Path:
    """Write ``run`` to a file named after its GPU, day and case, and return the file.

    A run of the same GPU, day and case is replaced; one of another case, whose name is the same, is
    not: its like is numbered. What cannot be read back is not written.
    """
    text, name = text_of(run), kind_of(run)
    named = f"{name} {run.device.name} {run.date} {KINDS[name].case_name(run.case)}"
    stem = re.sub(r"[^a-z0-9]+", "-", named.lower())
    folder.mkdir(exist_ok=True)
    path = next(path for path in _named(folder, stem) if not _is_of_another(path, run))
    fresh = path.with_suffix(".part")  # a full disk leaves the old run as it was
    try:
        fresh.write_text(text, "utf-8")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return path


def _named(folder: Path, stem: str) -> Iterator[Path]:
    """Yield the files that may have a name, "a.json" and then "a-2.json", "a-3.json"."""
    yield folder / f"{stem}.json"
    yield from (folder / f"{stem}-{number}.json" for number in itertools.count(2))


def _is_of_another(path: Path, run: Run) -> bool:
    """Whether a file holds a run of another case."""
    try:
        return path.exists() and read(path).case != run.case
    except InputError:
        return False  # nobody can read it


def try_write(run: Run, *folder: Path) -> tuple[Path | None, str]:
    """Write ``run``; return its file and "", or None and why it cannot be kept, in a sentence."""
    try:
        return write(run, *folder), ""
    except OSError as error:
        where = error.filename or "The run"  # a full disk does not say
        return None, f"{where} cannot be written: {error.strerror}."
    except Damaged as fault:
        return None, f"The run cannot be kept: {fault.where} is {printable(fault.got)}."
    except ValueError as error:
        return None, f"The run cannot be kept: {error}."


def keep(run: Run) -> int:
    """Write ``run`` for the page, print where, or why not, and return the exit code."""
    path, fault = try_write(run)
    print(fault or f"recorded in {path}", file=sys.stderr if fault else sys.stdout)
    return int(bool(fault))


def may_record(options: argparse.Namespace, device: Device) -> tuple[str, int]:
    """Return the commit to record under ``--record``, and an exit code that is 0 if it may be.

    Why it may not is printed. Without ``--record`` there is no commit, and nothing to refuse.
    """
    if not options.record:
        return "", 0
    commit = known_commit(options)
    if not commit:
        return "", 2
    if device.kind != "gpu":
        print("Only a run on a GPU can be recorded, and there is none here.", file=sys.stderr)
        return "", 1
    refusal = why_no_folder(FOLDER)
    if refusal:
        print(refusal, file=sys.stderr)
        return "", 2
    return commit, 0


def known_commit(options: argparse.Namespace) -> str:
    """Return the commit that ``--commit`` or git says; "" where neither does, and say so."""
    commit = options.commit or this_commit()
    if COMMIT.fullmatch(commit):
        return commit
    print("Which commit is this? Give it as --commit, 7 to 40 hex digits.", file=sys.stderr)
    return ""


def today() -> str:
    """Return the day, as it is recorded: "2026-11-29", of UTC."""
    return datetime.datetime.now(datetime.timezone.utc).date().isoformat()


def this_commit() -> str:
    """Return the commit that is checked out, with "-changed" if files differ; "" if unknown."""
    try:
        commit = _git("rev-parse", "HEAD")
        return f"{commit}-changed" if _git("status", "--porcelain") else commit
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*arguments: str) -> str:
    """Return what git says about this folder."""
    about = {"cwd": Path(__file__).parents[1], "timeout": 20}
    done = subprocess.run(["git", *arguments], **about, capture_output=True, text=True, check=True)
    return done.stdout.strip()
