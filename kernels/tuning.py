"""Find the fastest settings of a kernel by trying them, once for each kind of call.

A configuration is what a launch takes (blocks, warps, stages), with what it needs of a
multiprocessor. Those that cannot fit are left out before anything is compiled: a compiler takes
seconds to find that out. What remains is measured by a function that is given, and the fastest is
kept under a key: the algorithm, the class of its sizes, the dtype, the flags and the GPU.

Measuring is one at a time, also from several threads: two kernels timed at once are both wrong.
Nothing here imports torch, and the seconds spent are kept apart from any kernel's time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

THREADS_A_WARP = 32
# A thread has at most 255 registers, and addresses, masks and sums take some.
MAX_VALUES_A_THREAD = 192


@dataclass(frozen=True)
class Limits:
    """What one program may use on a GPU: bytes of shared memory, registers, threads."""

    shared_bytes: int
    registers: int = 65_536
    threads: int = 1024


@dataclass(frozen=True)
class Config:
    """Settings of a launch and what they need.

    settings      options by name: ``block``, ``num_warps``, ``num_stages`` …
    shared_bytes  tiles kept in shared memory
    values        32-bit numbers that a program keeps in registers at once
    """

    settings: Mapping[str, int]
    shared_bytes: int = 0
    values: int = 0

    def refusal(self, limits: Limits) -> str:
        """Return why these settings cannot run within ``limits``, in one sentence, or ""."""
        threads = self.settings.get("num_warps", 4) * THREADS_A_WARP
        if threads > limits.threads:
            return f"{threads} threads, and a program has at most {limits.threads}."
        if self.shared_bytes > limits.shared_bytes:
            return (
                f"{self.shared_bytes:,} bytes of shared memory, and a program has at most "
                f"{limits.shared_bytes:,}."
            )
        of_a_thread = min(MAX_VALUES_A_THREAD, limits.registers // threads)
        if self.values > of_a_thread * threads:
            return (
                f"{self.values // threads:,} values a thread, and {of_a_thread} fit its registers."
            )
        return ""


class Tried(NamedTuple):
    """One configuration: its time in ms, or None and the reason that it has none."""

    settings: Mapping[str, int]
    time_ms: float | None
    reason: str = ""


@dataclass(frozen=True)
class Tuning:
    """The outcome for one key.

    settings  the fastest
    tried     every configuration, fastest first, then those without a time
    seconds   spent on compiling and measuring: never part of a kernel's time
    """

    settings: Mapping[str, int]
    tried: tuple[Tried, ...]
    seconds: float

    @property
    def time_ms(self) -> float:
        """The fastest time, in ms."""
        return self.tried[0].time_ms


def sift(configs: Iterable[Config], limits: Limits) -> tuple[list[Config], list[Tried]]:
    """Return the configurations that can run, and the others with their reasons."""
    kept, refused = [], []
    for config in configs:
        reason = config.refusal(limits)
        if reason:
            refused.append(Tried(config.settings, None, reason))
        else:
            kept.append(config)
    return kept, refused


class Tuner:
    """Remembers the fastest settings of every key: a memory, and the lock that guards it."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Tuning] = {}
        self._lock = threading.Lock()

    def known(self, key: Hashable) -> Tuning | None:
        """Return what was found for ``key``, or None."""
        return self._known.get(key)

    def tune(
        self,
        key: Hashable,
        configs: Sequence[Config],
        limits: Limits,
        measure: Callable[[Mapping[str, int]], float],
        prepare: Callable[[list[Mapping[str, int]]], None] | None = None,
    ) -> Tuning:
        """Return the fastest of ``configs`` for ``key``, measuring only the first time.

        ``measure`` returns ms for some settings, and raises if they cannot run: that ends that
        configuration, with its message as the reason, and not the search. ``prepare`` is given all
        settings that fit before any is measured, to compile them at once. Raises ValueError if
        none can run. Other threads wait meanwhile, and then find the answer.
        """
        with self._lock:
            if key not in self._known:
                self._known[key] = _search(configs, limits, measure, prepare)
            return self._known[key]


def _search(configs: Sequence[Config], limits: Limits, measure, prepare) -> Tuning:
    """Measure every configuration that fits, and return the outcome."""
    began = time.monotonic()
    kept, refused = sift(configs, limits)
    if prepare:
        prepare([config.settings for config in kept])
    tried = []
    for config in kept:
        try:
            tried.append(Tried(config.settings, measure(config.settings)))
        except Exception as error:  # a compiler's, a launch's: whatever it is, it is its reason
            refused.append(Tried(config.settings, None, str(error).splitlines()[0][:200]))
    if not tried:
        reasons = "; ".join(sorted({each.reason.rstrip(".") for each in refused})) or "none given"
        raise ValueError(f"no configuration can run here: {reasons}.")
    tried.sort(key=lambda each: each.time_ms)
    return Tuning(tried[0].settings, (*tried, *refused), time.monotonic() - began)
