"""What a worker can be asked to do: frozen, picklable jobs whose ``run()`` yields what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import check, memory, tile_job
from benchmarks.device import probe
from benchmarks.memory_results import MemoryCase, MemoryPoint
from benchmarks.results import CheckResult, Device, Progress, QuickResult, TileCheckResult
from kernels import ALGORITHMS
from kernels.inputs import Case, make_matrix


@dataclass(frozen=True)
class CheckJob:
    """Run an algorithm's kernel on a case and compare it with torch, float64 and its mirror."""

    algorithm: str
    case: Case

    def run(self) -> Iterator[Progress | CheckResult | TileCheckResult]:
        """Yield Progress "inputs", "kernel", "compare", then the result of the entry's kind."""
        entry, device = ALGORITHMS[self.algorithm], probe()
        if entry.problem != "row":
            yield from tile_job.check(entry, self.case, device)
            return
        yield Progress("inputs")
        arrays = make_matrix(self.case, entry.has_values)
        yield Progress("kernel")
        ran = check.run_kernel(entry, self.case, arrays, device)
        by_torch = check.run_torch(entry, self.case, arrays, device)
        yield Progress("compare")
        yield check.judge(entry, self.case, arrays, ran, by_torch, device)


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
class DeviceJob:
    """Say what runs the kernels."""

    def run(self) -> Iterator[Device]:
        """Yield the Device."""
        yield probe()
