"""Runs of the claims' cases that were never measured, for tests of what judges and shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchmarks import __main__ as main
from benchmarks import launches, memory, recorded
from benchmarks.claims_results import Case, Run
from benchmarks.launches_results import KernelSpan, LaunchCase, LaunchRun, ProviderRun
from benchmarks.memory_results import MemoryCase, MemoryPoint, MemoryRun
from benchmarks.operations import OPERATIONS
from benchmarks.results import Device
from benchmarks.sweep_results import LandscapeCase, SweepCase, SweepPoint, SweepRun
from kernels.problems import shape_of
from tests.fake_check import GPU
from tests.sweeps import missing, timed
from tests.workers import FakeWorker

ABOUT = ("2026-01-02", "0123456", "python -m benchmarks …")


def sweep_run(case: SweepCase, us: Callable, device: Device = GPU, **changes) -> SweepRun:
    """Return a sweep; ``us`` takes (provider, value) and returns microseconds or a reason."""
    points = []
    for value in case.values:
        for provider in (*case.providers, "copy"):
            took = us(provider, value)
            if not isinstance(took, str):
                extra = {} if provider == "copy" else changes
                points.append(timed(case, provider, value, took, **extra))
            elif provider != "copy":
                points.append(missing(case, provider, value, took))
    return SweepRun(case, device, tuple(points), *ABOUT)


def landscape_run(case: LandscapeCase, ms: Callable, device: Device = GPU, **facts) -> SweepRun:
    """Return a landscape; ``ms`` takes settings and returns milliseconds or a reason.

    ``facts`` are fields of every point that has a time; functions of settings, or values.
    """
    entry = OPERATIONS[case.operation].algorithm
    n_bytes, flops = OPERATIONS[case.operation].costs(case.sizes)
    n_rows = case.sizes.n_rows if entry.problem == "row" else 0
    blank = SweepPoint("copy", 0, n_rows, n_bytes=n_bytes)
    points = [replace(blank, median_ms=1.0, p20_ms=1.0, p80_ms=1.0, n=60)]
    for config in entry.configs(shape_of(entry, case.sizes)):
        took = ms(config.settings)
        one = replace(blank, provider="ours", flops=flops, settings=dict(config.settings))
        if isinstance(took, str):
            points.append(replace(one, reason=took))
            continue
        told = {name: f(config.settings) if callable(f) else f for name, f in facts.items()}
        times = {"median_ms": took, "p20_ms": took * 0.99, "p80_ms": took * 1.01, "n": 60}
        one = replace(one, value=len(points), error=0.001, allowed=0.01, **times, **told)
        points.append(one)
    return SweepRun(case, device, tuple(points), *ABOUT)


def memory_run(case: MemoryCase, mb: Callable, device: Device = GPU) -> MemoryRun:
    """Return peaks; ``mb`` takes (provider, length) and returns MB or a reason."""
    points = []
    for length in case.lengths:
        for provider in memory.PROVIDERS:
            found = mb(provider.name, length)
            if isinstance(found, str):
                points.append(MemoryPoint(provider.name, length, None, found))
            else:
                points.append(MemoryPoint(provider.name, length, round(found * 1e6)))
    return MemoryRun(case, device, tuple(points), *ABOUT)


def launch_run(case: LaunchCase, us: Callable, device: Device = GPU) -> LaunchRun:
    """Return launches as by formula; ``us`` takes (provider, direction): µs or a reason."""
    runs = []
    for direction in launches.DIRECTIONS:
        for provider in launches.PROVIDERS:
            took, n = us(provider.name, direction), len(provider.kernels[direction])
            if isinstance(took, str):
                runs.append(ProviderRun(provider.name, direction, reason=took))
                continue
            each = took / n
            spans = tuple(KernelSpan(f"k{k}", "kernel", k * each, each) for k in range(n))
            times = (took, took, took)
            runs.append(ProviderRun(provider.name, direction, spans, (n, n), times, times, 51))
    return LaunchRun(case, device, tuple(runs), *ABOUT)


def any_run(case: Case, device: Device = GPU) -> Run:
    """Return a run of a case in which everything took about as long."""
    if isinstance(case, MemoryCase):
        return memory_run(case, lambda _, length: 20.0 * length, device)
    if isinstance(case, LaunchCase):
        return launch_run(case, lambda *_: 50.0, device)
    if isinstance(case, SweepCase):
        return sweep_run(case, lambda *_: 1e5, device)
    facts = {"registers": 64, "spills": 0, "shared_bytes": 1024, "warps": 4}
    return landscape_run(case, lambda _: 100.0, device, **facts)


# Shells.


class Answering(FakeWorker):
    """A worker that answers each case with the points of a run, or raises what is in its place."""

    def __init__(self, runs: dict[Case, object], device: Device = GPU) -> None:
        super().__init__(device=device)
        self.runs = runs

    def run(self, job, time_limit_s=None):
        self.jobs.append(job)
        run = self.runs[job.case]
        if isinstance(run, BaseException):
            raise run
        yield from getattr(run, "points", getattr(run, "runs", ()))

    def close(self) -> None:
        """Nothing runs."""


def answering(runs: dict[Case, object]) -> Callable[[Device], Answering]:
    """Return what makes a worker for a device."""
    return lambda device: Answering(runs, device)


def shell_of(monkeypatch, tmp_path, capsys) -> Callable:
    """Return a function that runs a command: (exit code, stdout, stderr, worker).

    What it records goes to ``tmp_path``.
    """
    monkeypatch.setattr(recorded.write, "__defaults__", (tmp_path,))
    monkeypatch.setattr(recorded.read_all, "__defaults__", (tmp_path,))

    def run(arguments, worker=None, device=GPU):
        made = (worker or answering({}))(device)
        monkeypatch.setattr(main, "Worker", lambda: made)
        try:
            code = main.main([str(one) for one in arguments])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return code, said.out, said.err, made

    return run
