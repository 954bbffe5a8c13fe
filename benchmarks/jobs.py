"""What a worker can be asked to do: frozen, picklable jobs whose ``run()`` yields what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import check
from benchmarks.device import probe
from benchmarks.results import CheckResult, Device, Progress
from kernels import ALGORITHMS
from kernels.inputs import Case, make_matrix


@dataclass(frozen=True)
class CheckJob:
    """Run an algorithm's kernel on a case and compare it with torch, float64 and its mirror."""

    algorithm: str
    case: Case

    def run(self) -> Iterator[Progress | CheckResult]:
        """Yield Progress "inputs", "kernel", "compare", then one CheckResult."""
        entry, device = ALGORITHMS[self.algorithm], probe()
        yield Progress("inputs")
        arrays = make_matrix(self.case, entry.has_values)
        yield Progress("kernel")
        ran = check.run_kernel(entry, self.case, arrays, device)
        by_torch = check.run_torch(entry, self.case, arrays, device)
        yield Progress("compare")
        yield check.judge(entry, self.case, arrays, ran, by_torch, device)


@dataclass(frozen=True)
class DeviceJob:
    """Say what runs the kernels."""

    def run(self) -> Iterator[Device]:
        """Yield the Device."""
        yield probe()
