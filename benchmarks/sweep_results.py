"""What a sweep is and what it finds: frozen records, for the worker, page and recorded files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.results import Device
from kernels.inputs import Case

# Below this, what the host does to launch is much of what a clock on the wall sees.
SHORT_US = 20.0


@dataclass(frozen=True)
class SweepCase:
    """One sweep: an operation measured over values of one size, for several providers.

    operation   a key of `benchmarks.operations.OPERATIONS`
    axis        the size that varies, a field of `kernels.inputs.Case`
    values      what it takes, in order
    sizes       the case at every point, but for ``axis``
    providers   keys of the operation's providers, the copy that is the ceiling not among them
    fixed_rows  whether ``sizes.n_rows`` was told; else rows are chosen for each point so that the
                traffic is large
    is_hot      whether the caches are left as the call before left them: the mistake, to show it
    budget_s    when the sweep ends, finished or not
    """

    operation: str
    axis: str
    values: tuple[int, ...]
    sizes: Case
    providers: tuple[str, ...]
    fixed_rows: bool = False
    is_hot: bool = False
    budget_s: float = 300.0


@dataclass(frozen=True)
class LandscapeCase:
    """One size of an operation, measured over every setting of our own kernel.

    sizes       all sizes; settings among them are not read
    budget_s    when it ends, finished or not
    """

    operation: str
    sizes: Case
    budget_s: float = 300.0


@dataclass(frozen=True)
class SweepPoint:
    """One provider at one value.

    provider    its key, "copy" for a copy of the same bytes in the same round
    value       of the axis
    n_rows      of this point, where the operation has rows; else 0
    median_ms, p20_ms, p80_ms   of ``n`` calls, between events on the GPU around each; NaN where
                there is a ``reason``
    n           calls that count; ``n_outliers`` more took over twice the median, and count too
    graph_us    the median of the call replayed from a captured graph, so without the host's share;
                None where that was not asked (the call is long) or could not be captured
    wall_us     the median of what a caller waits for the call, launch and answer included; of short
                calls only
    first_s     the first call: compiling, tuning, choosing. Never part of a time; 0 for settings
                of a landscape, which are compiled together
    n_bytes, flops  of the operation: each input read once and each output written once
    error, allowed  the largest error against float64, and the largest that is timed at all
    path        the path that ran, where there are several
    settings    blocks, warps, stages, where they are a choice
    registers, spills, shared_bytes, warps  of a thread, a thread, a program and a program, of a
                kernel of ours
    clock_mhz, temperature_c    of the GPU after the last call, None where they cannot be read
    slowed      what held its clock down then, a key of ``measure.slowed.``; "" for nothing known
    reason      why there is no time: a key of ``measure.why.``, and ``message`` its details
    """

    provider: str
    value: int
    n_rows: int = 0
    median_ms: float = float("nan")
    p20_ms: float = float("nan")
    p80_ms: float = float("nan")
    n: int = 0
    n_outliers: int = 0
    graph_us: float | None = None
    wall_us: float | None = None
    first_s: float = 0.0
    n_bytes: int = 0
    flops: int = 0
    error: float = 0.0
    allowed: float = 0.0
    path: str = ""
    settings: Mapping[str, int] = field(default_factory=dict)
    registers: int | None = None
    spills: int | None = None
    shared_bytes: int | None = None
    warps: int | None = None
    clock_mhz: int | None = None
    temperature_c: int | None = None
    slowed: str = ""
    reason: str = ""
    message: str = ""

    @property
    def gb_per_s(self) -> float:
        """Bytes of the operation, in 1e9, a second; NaN where there is no time."""
        return self.n_bytes / self.median_ms / 1e6

    @property
    def tflop_per_s(self) -> float:
        """Operations, in 1e12, a second; NaN where there is no time."""
        return self.flops / self.median_ms / 1e9


@dataclass(frozen=True)
class SweepRun:
    """A whole sweep or landscape on one GPU; day, commit and command of a recorded one."""

    case: SweepCase | LandscapeCase
    device: Device
    points: tuple[SweepPoint, ...]
    date: str = ""
    commit: str = ""
    command: str = ""
