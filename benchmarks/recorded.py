"""Runs recorded on real GPUs: written by `python -m benchmarks`, read with distrust.

A file of ``benchmarks/recorded/`` is JSON: what ran it (GPU, driver, versions), when, at which
commit, by which command, and the points. The page draws it as a measurement, so a file that is
damaged, edited into nonsense, or not ours is refused with a sentence, and nothing of it is drawn.
"""

from __future__ import annotations

import datetime
import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from benchmarks import memory
from benchmarks.memory_results import MemoryCase, MemoryPoint, MemoryRun
from benchmarks.results import Device
from kernels.errors import InputError, shorten

FOLDER = Path(__file__).parent / "recorded"
FORMAT = "blockwise-recorded-1"
MAX_FILE_BYTES = 1_000_000
MAX_WORD = 300
MAX_BYTES = 2**50  # of one point: no GPU has a petabyte
FIELDS = {"format", "kind", "date", "commit", "command", "device", "case", "points"}
COMMIT = re.compile(r"[0-9a-f]{7,40}(-changed)?")


class _Damaged(Exception):
    """A field that cannot be what it says: where, and what stands there."""

    def __init__(self, where: str, got: object) -> None:
        super().__init__(where)
        self.where, self.got = where, got


def read_all(folder: Path = FOLDER) -> tuple[list[MemoryRun], list[InputError]]:
    """Return the runs of ``folder``, the newest first, and a sentence for each file refused."""
    runs, refused = [], []
    for path in sorted(folder.glob("*.json")):
        try:
            runs.append(read(path))
        except InputError as error:
            refused.append(error)
    return sorted(runs, key=lambda run: run.date, reverse=True), refused


def read(path: Path) -> MemoryRun:
    """Return the run that a file holds. Raise InputError for any that `write` cannot have made."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ValueError
        # JSON knows no NaN and no infinity; Python would read them.
        document = json.loads(path.read_text("utf-8"), parse_constant=_refuse)
    except (OSError, ValueError, RecursionError):
        raise InputError(
            "recorded_unreadable",
            "The recorded run {file} cannot be read, so it is left out.",
            file=path.name,
        ) from None
    given = document.get("format") if isinstance(document, dict) else document
    if given != FORMAT or document.get("kind") != "memory":
        raise InputError(
            "recorded_foreign",
            "{file} is not a recorded run of this program, so it is left out.",
            file=path.name,
        )
    try:
        return _run(document)
    except _Damaged as fault:
        raise InputError(
            "recorded_damaged",
            "The recorded run {file} is damaged and left out: {field} cannot be {got}.",
            file=path.name,
            field=fault.where,
            got=shorten(fault.got),
        ) from None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _run(document: Mapping) -> MemoryRun:
    """Return what ``document`` holds. Raise _Damaged at the first field that cannot be."""
    _names("the file", document, FIELDS)
    case = _case(document["case"])
    return MemoryRun(
        case,
        _device(document["device"]),
        _points(document["points"], case),
        _date(document["date"]),
        _matching("commit", document["commit"], COMMIT),
        _word("command", document["command"]),
    )


def _case(given: object) -> MemoryCase:
    """Return the case; its limits are those of the page's own controls."""
    _names("case", given, {"batch", "heads", "head_dim", "dtype", "mask", "lengths"})
    try:
        case = memory.choose_memory(
            *(given[name] for name in ("heads", "head_dim", "dtype", "mask"))
        )
    except InputError as error:
        raise _Damaged(f"case.{error.details['name']}", error.details["got"]) from None
    for name, wanted in (("batch", 1), ("lengths", list(memory.LENGTHS))):
        if given[name] != wanted or isinstance(given[name], bool):
            raise _Damaged(f"case.{name}", given[name])
    return case


def _device(given: object) -> Device:
    """Return the GPU: a recorded run has one."""
    where = "device"
    _names(where, given, {"name", "capability", "versions"})
    capability, versions = given["capability"], given["versions"]
    whole = isinstance(capability, list) and all(type(part) is int for part in capability)
    if not whole or len(capability) != 2 or not 8 <= capability[0] < 100:
        raise _Damaged(f"{where}.capability", capability)
    if not isinstance(versions, dict) or not {"torch", "triton"} <= set(versions):
        raise _Damaged(f"{where}.versions", versions)
    kept = {_word("versions", name): _word(f"versions.{name}", versions[name]) for name in versions}
    name = _word(f"{where}.name", given["name"])
    return Device("gpu", name, tuple(capability), versions=kept)


def _points(given: object, case: MemoryCase) -> tuple[MemoryPoint, ...]:
    """Return the points: each provider once at each length, none with less than its inputs."""
    if not isinstance(given, list) or not given:
        raise _Damaged("points", given)
    known, seen, points = {provider.name for provider in memory.PROVIDERS}, set(), []
    for k, one in enumerate(given):
        where = f"points[{k}]"
        _names(where, one, {"provider", "length", "peak_bytes", "reason"})
        provider, length, n_bytes, reason = _parts(one)
        if not isinstance(provider, str) or provider not in known:
            raise _Damaged(f"{where}.provider", provider)
        if type(length) is not int or length not in case.lengths or (provider, length) in seen:
            raise _Damaged(f"{where}.length", length)
        seen.add((provider, length))
        if n_bytes is None:
            if not isinstance(reason, str) or reason not in memory.REASONS:
                raise _Damaged(f"{where}.reason", reason)
        elif type(n_bytes) is not int or not _is_possible(n_bytes, case, length) or reason != "":
            raise _Damaged(f"{where}.peak_bytes", n_bytes)
        points.append(MemoryPoint(provider, length, n_bytes, reason))
    return tuple(points)


def _parts(one: Mapping) -> tuple:
    """Return a point's fields in order."""
    return one["provider"], one["length"], one["peak_bytes"], one["reason"]


def _is_possible(n_bytes: int, case: MemoryCase, length: int) -> bool:
    """Whether attention can have taken so much: its inputs, and something for its output."""
    return memory.inputs_bytes(case, length) < n_bytes < MAX_BYTES


def _names(where: str, given: object, wanted: set[str]) -> None:
    """Raise _Damaged unless ``given`` is an object with exactly the fields ``wanted``."""
    if not isinstance(given, dict):
        raise _Damaged(where, given)
    if set(given) != wanted:
        odd = sorted(set(given) ^ wanted)[0]
        raise _Damaged(odd if where == "the file" else f"{where}.{odd}", given.get(odd))


def _word(where: str, given: object) -> str:
    """Return a short printable text."""
    if not isinstance(given, str) or not 0 < len(given) <= MAX_WORD or not given.isprintable():
        raise _Damaged(where, given)
    return given


def _matching(where: str, given: object, pattern: re.Pattern) -> str:
    """Return a text that is of a pattern."""
    if not pattern.fullmatch(_word(where, given)):
        raise _Damaged(where, given)
    return given


def _date(given: object) -> str:
    """Return a day, "2026-11-29"."""
    try:
        day = datetime.date.fromisoformat(_word("date", given))
    except ValueError:
        raise _Damaged("date", given) from None
    if day.isoformat() != given:
        raise _Damaged("date", given)
    return given


def write(run: MemoryRun, folder: Path = FOLDER) -> Path:
    """Write ``run`` to a file named after its GPU, day and case, and return the file.

    A run of the same GPU, day and case is replaced. What cannot be read back is not written.
    """
    device = {
        "name": run.device.name,
        "capability": run.device.capability,
        "versions": dict(run.device.versions),
    }
    document = {
        "format": FORMAT,
        "kind": "memory",
        "date": run.date,
        "commit": run.commit,
        "command": run.command,
        "device": device,
        "case": asdict(run.case),
        "points": [asdict(point) for point in run.points],
    }
    text = json.dumps(document, indent=1, allow_nan=False)
    if _run(json.loads(text)) != run:
        raise ValueError("the run does not read back as it was")
    case = run.case
    named = f"memory {run.device.name} {run.date} h{case.heads} d{case.head_dim} {case.dtype}"
    path = folder / (re.sub(r"[^a-z0-9]+", "-", f"{named} {case.mask}".lower()) + ".json")
    folder.mkdir(exist_ok=True)
    path.write_text(text + "\n", "utf-8")
    return path


def this_commit() -> str:
    """Return the commit that is checked out, with "-changed" if files differ; "" if unknown."""
    try:
        commit = _git("rev-parse", "HEAD")
        return f"{commit}-changed" if _git("status", "--porcelain") else commit
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*arguments: str) -> str:
    """Return what git says about this folder."""
    command = ["git", *arguments]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip()
