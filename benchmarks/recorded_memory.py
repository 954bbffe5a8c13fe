"""What a recorded run of attention's memory must be: its case and its points."""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks import memory
from benchmarks.memory_results import MemoryCase, MemoryPoint
from benchmarks.recorded_fields import Damaged, names
from kernels.errors import InputError

MAX_BYTES = 2**50  # of one point: no GPU has a petabyte


def case(given: object) -> MemoryCase:
    """Return the case; its limits are those of the page's own controls."""
    names("case", given, {"batch", "heads", "head_dim", "dtype", "mask", "lengths"})
    try:
        chosen = memory.choose_memory(
            *(given[name] for name in ("heads", "head_dim", "dtype", "mask"))
        )
    except InputError as error:
        raise Damaged(f"case.{error.details['name']}", error.details["got"]) from None
    for name, wanted in (("batch", 1), ("lengths", list(memory.LENGTHS))):
        if given[name] != wanted or isinstance(given[name], bool):
            raise Damaged(f"case.{name}", given[name])
    return chosen


def case_name(run_case: MemoryCase) -> str:
    """Return what tells a file of this case from others."""
    return f"h{run_case.heads} d{run_case.head_dim} {run_case.dtype} {run_case.mask}"


def points(given: object, run_case: MemoryCase) -> tuple[MemoryPoint, ...]:
    """Return the points: each provider once at each length, none with less than its inputs."""
    if not isinstance(given, list) or not given:
        raise Damaged("points", given)
    known, seen, found = {provider.name for provider in memory.PROVIDERS}, set(), []
    for k, one in enumerate(given):
        where = f"points[{k}]"
        names(where, one, {"provider", "length", "peak_bytes", "reason"})
        provider, length, n_bytes, reason = _parts(one)
        if not isinstance(provider, str) or provider not in known:
            raise Damaged(f"{where}.provider", provider)
        if type(length) is not int or length not in run_case.lengths or (provider, length) in seen:
            raise Damaged(f"{where}.length", length)
        seen.add((provider, length))
        if n_bytes is None:
            if not isinstance(reason, str) or reason not in memory.REASONS:
                raise Damaged(f"{where}.reason", reason)
        elif reason != "" or not _is_possible(n_bytes, run_case, length):
            raise Damaged(f"{where}.peak_bytes", n_bytes)
        found.append(MemoryPoint(provider, length, n_bytes, reason))
    return tuple(found)


def _parts(one: Mapping) -> tuple:
    """Return a point's fields in order."""
    return one["provider"], one["length"], one["peak_bytes"], one["reason"]


def _is_possible(n_bytes: object, run_case: MemoryCase, length: int) -> bool:
    """Whether attention can have taken so much: its inputs, and something for its output."""
    least = memory.inputs_bytes(run_case, length)
    return type(n_bytes) is int and least < n_bytes < MAX_BYTES
