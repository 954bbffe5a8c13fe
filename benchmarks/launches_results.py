"""What is found out about kernel launches: frozen records of plain numbers, times in us."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from benchmarks.results import Device


@dataclass(frozen=True)
class LaunchCase:
    """What softmax(x) + x * y is computed of: x and y are [n_rows, n_cols]."""

    n_rows: int
    n_cols: int
    dtype: str


@dataclass(frozen=True)
class KernelSpan:
    """One launch on the GPU, as torch's profiler saw it.

    name      the profiler's own
    kind      "kernel", "memset" or "memcpy"
    start_us  after the start of the call's first launch
    """

    name: str
    kind: str
    start_us: float
    duration_us: float


@dataclass(frozen=True)
class ProviderRun:
    """One provider in one direction, measured over ``n_calls`` calls, each with a cold L2.

    provider    of `benchmarks.launches.PROVIDERS`, by name
    direction   "forward" or "backward"
    spans       the launches of the call whose device time is the median one
    launches    the fewest and the most launches of a call
    device_us   of a call, the durations of its launches added up: p20, median, p80
    wall_us     of a call, from its first launch's start to its last one's end: likewise
    first_s     seconds of the first call; what had to be compiled is in it
    worst       the largest error, as a share of what is allowed; 0 where there is no output
    reason      why there are no numbers, a locale key under ``launches.why.``: "failed",
                "out_of_memory", "wrong" (the output failed its check), "unseen"
    message     then what was raised, in its own words, or ""
    """

    provider: str
    direction: str
    spans: tuple[KernelSpan, ...] = ()
    launches: tuple[int, ...] = ()
    device_us: tuple[float, ...] = ()
    wall_us: tuple[float, ...] = ()
    n_calls: int = 0
    first_s: float = 0.0
    worst: float = 0.0
    reason: str = ""
    message: str = ""


@dataclass(frozen=True)
class LaunchRun:
    """What was measured of one case, and where it comes from.

    date        "2026-11-30"; date, commit and command are "" for a run of this page
    commit      of this program, with "-changed" where files differed from it
    """

    case: LaunchCase
    device: Device
    runs: tuple[ProviderRun, ...]
    date: str = ""
    commit: str = ""
    command: str = ""


@dataclass(frozen=True)
class Kernel:
    """What one kernel moves: tensors as large as x, each read or written once."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class LaunchLine:
    """One provider in one direction: what the formula says of it, and what was measured.

    role      "fused", "rival", or "ceiling" for a copy, which only says how fast memory is
    kernels   by formula
    least     whether the formula is the least that it can move: what it launches is its own choice
    n_bytes   everything it moves, by formula
    run       None where nothing was measured
    """

    provider: str
    role: str
    exact: str
    kernels: tuple[Kernel, ...]
    least: bool
    n_bytes: int
    run: ProviderRun | None

    @property
    def measured(self) -> ProviderRun | None:
        """The run, if it has numbers."""
        return self.run if self.run is not None and not self.run.reason else None


def passes(kernels: tuple[Kernel, ...]) -> dict[str, int]:
    """Return how often each tensor crosses the memory bus, read or written."""
    return dict(Counter(name for kernel in kernels for name in (*kernel.reads, *kernel.writes)))


def of_role(told: tuple[LaunchLine, ...], role: str) -> LaunchLine:
    """Return the first line that has ``role``: of "rival", torch's own chain."""
    return next(line for line in told if line.role == role)


def gb_per_s(line: LaunchLine, told: tuple[LaunchLine, ...]) -> float:
    """Return the least bytes over the time that the GPU was at work; ``line`` has numbers."""
    return of_role(told, "fused").n_bytes / line.measured.device_us[1] / 1e3


def times_eager(
    line: LaunchLine, told: tuple[LaunchLine, ...], field: str = "device_us"
) -> float | None:
    """Return how many times less time ``line`` takes than torch's chain; None if one has none."""
    eager = of_role(told, "rival").measured
    if eager is None or line.measured is None or line.role == "ceiling":
        return None
    return getattr(eager, field)[1] / getattr(line.measured, field)[1]


def count_words(counts: tuple[int, ...]) -> str:
    """Return "3", or "3–4" where calls differ."""
    fewest, most = counts
    return str(most) if fewest == most else f"{fewest}–{most}"
