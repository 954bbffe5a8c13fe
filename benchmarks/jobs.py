"""What a worker can be asked to do: frozen, picklable jobs whose ``run()`` yields what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import check, launches_timing, layouts, memory, row_run, sweep, tile_job, tune
from benchmarks.device import probe
from benchmarks.launches_results import LaunchCase, ProviderRun
from benchmarks.memory_results import MemoryCase, MemoryPoint
from benchmarks.results import CheckResult, Device, Progress, QuickResult, TileCheckResult
from benchmarks.sweep_results import LandscapeCase, SweepCase, SweepPoint
from kernels import ALGORITHMS
from kernels.inputs import Case, make_matrix


@dataclass(frozen=True)
class CheckJob:
    """Run an algorithm's kernel on a case and compare it with torch, float64 and its mirror.

    keep    return the evidence too, maps and rows, of an algorithm on rows; a matrix does not
    """

    algorithm: str
    case: Case
    keep: bool = True

    def run(self) -> Iterator[Progress | CheckResult | TileCheckResult]:
        """Yield Progress "inputs", "kernel", "compare", then the result of the entry's kind."""
        entry, device = ALGORITHMS[self.algorithm], probe()
        if entry.problem != "row":
            yield from tile_job.check(entry, self.case, device)
            return
        yield Progress("inputs")
        drawn = make_matrix(self.case, entry.draws)
        arrays = layouts.as_laid_out(entry.rows, drawn, self.case.layout)
        yield Progress("kernel")
        ran = row_run.run_kernel(entry, self.case, arrays, device)
        by_torch = row_run.run_torch(entry, self.case, arrays, device)
        yield Progress("compare")
        result = check.judge(entry, self.case, arrays, ran, by_torch, device)
        yield result if self.keep else check.without_evidence(result)


@dataclass(frozen=True)
class QuickJob:
    """Check an algorithm on tiles without evidence: one of the hundreds of cases of a matrix.

    own_schedule    take the kernel's own tiles and warps instead of the case's
    """

    algorithm: str
    case: Case
    own_schedule: bool = True

    def run(self) -> Iterator[Progress | QuickResult]:
        """Yield Progress "kernel", then one QuickResult."""
        yield Progress("kernel")
        yield tile_job.quick(ALGORITHMS[self.algorithm], self.case, probe(), self.own_schedule)


@dataclass(frozen=True)
class MemoryJob:
    """Measure the peak memory of attention over its length, on a GPU."""

    case: MemoryCase

    def run(self) -> Iterator[Progress | MemoryPoint]:
        """Yield Progress "memory", then the point, for every length and provider."""
        yield from memory.measure(self.case, probe().kind)


@dataclass(frozen=True)
class LaunchJob:
    """Count and time the launches of softmax(x) + x * y, on a GPU."""

    case: LaunchCase

    def run(self) -> Iterator[Progress | ProviderRun]:
        """Yield Progress, then every provider's run, forward and then backward."""
        yield from launches_timing.measure(self.case, probe().kind)


@dataclass(frozen=True)
class TuneJob:
    """Find the settings that run an algorithm's kernel fastest, on a GPU."""

    algorithm: str
    case: Case

    def run(self) -> Iterator[Progress | tune.TuneResult]:
        """Yield Progress "tuning", then the TuneResult."""
        yield from tune.tune(ALGORITHMS[self.algorithm], self.case, probe())


@dataclass(frozen=True)
class SweepJob:
    """Measure an operation over a size, on a GPU, or one size over every setting of our kernel."""

    case: SweepCase | LandscapeCase

    def run(self) -> Iterator[Progress | SweepPoint]:
        """Yield Progress, and every point as it is found."""
        is_sweep = isinstance(self.case, SweepCase)
        yield from (sweep.sweep if is_sweep else sweep.landscape)(self.case)


@dataclass(frozen=True)
class DeviceJob:
    """Say what runs the kernels."""

    def run(self) -> Iterator[Device]:
        """Yield the Device."""
        yield probe()
