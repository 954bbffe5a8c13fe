"""Attention's memory by formula and measured, its traffic counted, and what the tab says."""

from __future__ import annotations

import importlib
import json
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

ON_GPU = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
if not ON_GPU:
    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported, by the kernels

from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks import memory, traffic
from benchmarks.memory_results import MemoryCase, MemoryPoint, MemoryRun
from benchmarks.messages import JobFailed
from benchmarks.results import Progress
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.schedules import attention_schedule
from kernels.tiles import Tiles
from tests.fake_check import CPU, GPU
from tests.test_figures import words
from tests.workers import FakeWorker
from viz.figures import memory as charts
from viz.figures import memory_words
from viz.figures.base import payload
from viz.figures.sizes import size
from viz.locales import LANGUAGES
from viz.tabs.measure import measured
from viz.tabs.measure import memory as tab

FUSED, STAGES, MATH, FLASH = memory.PROVIDERS
CASE = memory.choose_memory()
SMALL = MemoryCase(2, 16, "float32", "none", (64,))
NOTHING = tab.Recordings((), ())


def points(case=CASE, **missing: str) -> tuple[MemoryPoint, ...]:
    """Return points as the formula has them; ``missing`` are reasons at the longest length."""
    made = []
    for length in case.lengths:
        for provider in memory.PROVIDERS:
            n_bytes = memory.estimated_bytes(provider, case, length)
            reason = missing.get(provider.name, "") if length == case.lengths[-1] else ""
            made.append(MemoryPoint(provider.name, length, None if reason else n_bytes, reason))
    return tuple(made)


# The formula, and the kernels it is about.


def test_the_formula_by_hand():
    elements, scores = 16 * 4096 * 128, 16 * 4096 * 4096
    assert memory.predicted_bytes(STAGES, CASE, 4096) == 3 * elements * 2 + 2 * scores * 2
    assert memory.predicted_bytes(FUSED, CASE, 4096) == 4 * elements * 2 + 16 * 4096 * 4


class Watched(TorchDispatchMode):
    """Notes the most bytes that lived at once, of the tensors given and all that are made."""

    def __init__(self, tensors) -> None:
        super().__init__()
        self.peak, self.storages = 0, {}
        self.note(tensors)

    def note(self, tensors) -> None:
        for tensor in tensors:
            storage = tensor.untyped_storage()
            reference = StorageWeakRef(storage)
            self.storages[reference.cdata] = reference, storage.nbytes()
        living = (n for reference, n in self.storages.values() if not reference.expired())
        self.peak = max(self.peak, sum(living))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        self.note([made] if isinstance(made, torch.Tensor) else [])
        return made


@pytest.mark.parametrize("provider", [FUSED, STAGES], ids=lambda p: p.role)
def test_a_launch_allocates_what_the_formula_says(provider, monkeypatch):
    pytest.importorskip("triton", reason="Triton exists for Linux only")
    if ON_GPU:
        got = memory.peak_bytes(torch, provider, CASE, 2048)
        assert got == pytest.approx(memory.predicted_bytes(provider, CASE, 2048), abs=2**20)
        return
    # The wrapper allocates, the kernel does not; the interpreter would keep tensors in cycles.
    executor = importlib.import_module("triton.runtime.interpreter").GridExecutor
    monkeypatch.setattr(executor, "__call__", lambda self, *args, **settings: None)
    tensors = {n: torch.zeros(1, SMALL.heads, 64, SMALL.head_dim) for n in ("q", "k", "v")}
    with torch.no_grad(), Watched(tensors.values()) as watched:
        memory.attend(torch, provider, tensors, SMALL)
    assert watched.peak == memory.predicted_bytes(provider, SMALL, 64)


def test_every_provider_computes_the_same_attention():
    pytest.importorskip("triton", reason="Triton exists for Linux only")
    device = "cuda" if ON_GPU else "cpu"
    case = MemoryCase(2, 16, "float32" if not ON_GPU else "bfloat16", "causal", (64,))
    settings = {"device": device, "dtype": getattr(torch, case.dtype)}
    tensors = {name: torch.randn(1, 2, 40, 16, **settings) for name in ("q", "k", "v")}
    wide = [tensor.double() for tensor in tensors.values()]
    exact = torch.nn.functional.scaled_dot_product_attention(*wide, is_causal=True)
    for provider in memory.PROVIDERS:
        got = memory.attend(torch, provider, tensors, case).double()
        torch.testing.assert_close(got, exact, atol=1e-5 if not ON_GPU else 0.05, rtol=0)


# Measuring.


class FakeCuda:
    """An allocator of numbers; `attend` takes what it is told to for the time of one launch."""

    def __init__(self, free: int = 10**12) -> None:
        self.free, self.now, self.peak, self.emptied = free, 0, 0, 0

    def take(self, n_bytes: int) -> None:
        self.now += n_bytes
        self.peak = max(self.peak, self.now)

    def empty_cache(self):
        self.emptied += 1

    def mem_get_info(self):
        return self.free, self.free

    def synchronize(self):
        pass

    def reset_peak_memory_stats(self):
        self.peak = self.now

    def memory_allocated(self):
        return self.now

    def max_memory_allocated(self):
        return self.peak


def fake_torch(cuda: FakeCuda) -> SimpleNamespace:
    def randn(shape, device, dtype):
        n_bytes = 2
        for n in shape:
            n_bytes *= n
        cuda.take(n_bytes)
        return SimpleNamespace(nbytes=n_bytes)

    return SimpleNamespace(cuda=cuda, randn=randn, bfloat16="bfloat16", no_grad=torch.no_grad)


def test_a_peak_holds_the_inputs_and_one_launch_but_not_what_came_before(monkeypatch):
    cuda = FakeCuda()
    cuda.take(7_000_000)  # someone else's
    launches = []

    def attend(torch_, provider, tensors, case):
        launches.append(provider)
        if len(launches) == 1:
            cuda.take(32_000_000)  # a workspace that torch keeps
        cuda.take(1000)
        cuda.now -= 1000

    monkeypatch.setattr(memory, "attend", attend)
    got = memory.peak_bytes(fake_torch(cuda), FUSED, CASE, 256)
    assert got == memory.inputs_bytes(CASE, 256) + 1000 and len(launches) == 2


class OutOfMemoryError(RuntimeError):
    """torch's, by its name: that is how it is told."""


@pytest.fixture
def no_collection(monkeypatch):
    """Keep a collection of all that the tests have loaded from taking a second each."""
    monkeypatch.setattr(memory.gc, "collect", lambda: None)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OutOfMemoryError("CUDA out of memory. Tried to allocate 16.00 GiB"), "out_of_memory"),
        (RuntimeError("No available kernel. Aborting execution."), "unsupported"),
    ],
)
def test_what_does_not_fit_ends_its_point_only(no_collection, monkeypatch, error, reason):
    def peak(torch_, provider, case, length):
        if provider is STAGES:
            raise error
        return 5

    monkeypatch.setattr(memory, "peak_bytes", peak)
    made = [memory.point(fake_torch(FakeCuda()), p, CASE, 512) for p in memory.PROVIDERS]
    assert [p.reason for p in made] == ["", reason, "", ""]
    assert [p.peak_bytes for p in made] == [5, None, 5, 5]


def test_a_fault_of_the_gpu_is_not_passed_over(no_collection, monkeypatch):
    def peak(*_):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(memory, "peak_bytes", peak)
    with pytest.raises(RuntimeError, match="illegal"):
        memory.point(fake_torch(FakeCuda()), FUSED, CASE, 512)


def test_what_cannot_fit_is_not_tried(no_collection, monkeypatch):
    monkeypatch.setattr(memory, "peak_bytes", lambda *_: pytest.fail("tried"))
    made = memory.point(fake_torch(FakeCuda(free=10**10)), STAGES, CASE, 16_384)
    assert made == MemoryPoint("three_stage", 16_384, None, "too_large")


def test_nothing_is_measured_without_a_gpu():
    with pytest.raises(InputError, match="on a GPU"):
        next(memory.measure(CASE, "interpreter"))


# Traffic.


@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize(("length", "block_m", "block_n"), [(64, 16, 16), (50, 8, 16), (33, 16, 8)])
def test_reads_of_k_are_those_of_the_traces_steps(mask, length, block_m, block_n):
    entry = ALGORITHMS["flash_attention"]
    tiles = Tiles(block_m, block_n, is_causal=mask == "causal")
    rng = torch.Generator().manual_seed(1)
    arrays = {n: torch.randn(length, 4, generator=rng).numpy() for n in ("q", "k", "v")}
    steps = [step for step in entry.trace(arrays, tiles, "float32").steps if "k" in step.reads]
    n_blocks = -(-length // block_n)
    counted = [sum(step.tile[1] == j for step in steps) for j in range(n_blocks)]
    got = traffic.reads_of_keys(length, block_m, block_n, mask == "causal")
    assert got == (counted[0], counted[-1])
    case = MemoryCase(1, 4, "float32", mask, (length,))
    moved = entry.hbm_bytes(memory.shape_of(case, length, tiles))
    assert moved["k"] == sum(step.reads["k"] for step in steps)


@pytest.mark.parametrize("mask", ["none", "causal"])
def test_traffic_is_quadratic_and_its_constant_is_head_dim_over_block_m(mask):
    case = memory.choose_memory(head_dim=64, mask=mask)
    counted = traffic.count(case)
    for line in counted.lines:
        assert line.kv_bytes[-1] / line.kv_bytes[-2] == pytest.approx(4, rel=0.02)
        halved = 2 if mask == "causal" else 1
        constant = 2 * line.block_m / 64 * halved  # S and P: 4 numbers a score; K, V: 2 d / BLOCK_M
        assert counted.sp_bytes[-1] / line.kv_bytes[-1] == pytest.approx(constant, rel=0.02)
    assert counted.once_bytes[-1] == 2 * 16 * 16_384 * 64 * 2


# Figures and words.


def test_a_prediction_is_dashed_and_a_measurement_is_a_mark():
    alone = charts.memory_figure(memory.lines(CASE, None), CASE.lengths, "en")
    assert [(t.mode, t.line.dash) for t in alone.data] == [("lines", "dash")] * 2
    run = MemoryRun(CASE, GPU, points(sdpa_math="too_large"))
    both = charts.memory_figure(memory.lines(CASE, run), CASE.lengths, "en")
    marks = [trace for trace in both.data if "markers" in trace.mode]
    assert [trace.line.dash for trace in marks] == [None] * 4
    assert sorted(trace.mode for trace in marks) == ["lines+markers"] * 2 + ["markers"] * 2
    (math,) = [trace for trace in marks if trace.marker.symbol == charts.TORCH_SYMBOLS[0]]
    assert math.y[-1] is None and math.connectgaps is False


def test_points_of_another_case_are_not_drawn():
    run = MemoryRun(memory.choose_memory(head_dim=64), GPU, points())
    assert not any(any(line.measured) for line in memory.lines(CASE, run))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("mask", ["none", "causal"])
@pytest.mark.parametrize("head_dim", [1, 64, 256])
def test_both_charts_are_strict_json_and_no_two_labels_touch(language, mask, head_dim):
    case = memory.choose_memory(1, head_dim, "float32", mask)
    for made in (
        charts.memory_figure(memory.lines(case, None), case.lengths, language),
        charts.traffic_figure(traffic.count(case), language),
    ):
        json.loads(payload(made), parse_constant=pytest.fail)
        low, high = made.layout.yaxis.range
        per_px = (high - low) / charts.PLOT_PX
        ends = [note for note in made.layout.annotations if note.yref is None]
        at = sorted((note.y - low) / per_px + note.yshift for note in ends)
        gaps = [b - a for a, b in zip(at, at[1:])]
        assert min(gaps) > charts.LABEL_PX - 0.5 and at[-1] <= charts.PLOT_PX + 0.5


@pytest.mark.parametrize(
    ("n_bytes", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (9_996_000, "10.0 MB"),
        (99_960_000, "100 MB"),
        (999_500_000, "1.00 GB"),
        (17_381_195_776, "17.4 GB"),
        (2**50, "1.13 PB"),
    ],
)
def test_sizes_have_three_digits(n_bytes, said):
    assert size(n_bytes) == said


def headline(run: MemoryRun | None) -> str:
    return words(memory_words.memory_headline(memory.lines(CASE, run), CASE, run, "en"))


def test_the_headline_says_whether_it_was_measured():
    assert "Predicted by formula" in headline(None) and "should need 17.4 GB" in headline(None)
    here = MemoryRun(CASE, GPU, points())
    assert "Measured here on NVIDIA H200" in headline(here) and "took 17.4 GB" in headline(here)
    kept = MemoryRun(CASE, GPU, points(), "2026-01-02", "0123456", "x")
    assert "Recorded on NVIDIA H200, 2026-01-02" in headline(kept)
    grown = MemoryRun(CASE, GPU, points(three_stage="out_of_memory"))
    assert "do not fit" in headline(grown)
    started = MemoryRun(CASE, GPU, points()[:4])
    assert "At T = 256 three stages took 7.34 MB" in headline(started)
    failed = MemoryRun(CASE, GPU, (MemoryPoint("three_stage", 256, None, "out_of_resources"),))
    assert "should need 17.4 GB" in headline(failed)


@pytest.mark.parametrize(
    ("factor", "said"), [(4, "4.0× less than"), (1, "as much as"), (0.5, "2.0× that of S and P")]
)
def test_the_traffic_headline_compares_with_s_and_p(factor, said):
    counted = traffic.count(CASE)
    (tiles, _) = attention_schedule("forward", 16_384, 16_384, 128, 2)
    assert (counted.studied, counted.block_n) == (tiles.block_m, tiles.block_n)
    sp_bytes = [int(factor * n) for n in counted.line(counted.studied).kv_bytes]
    shown = words(memory_words.traffic_headline(replace(counted, sp_bytes=tuple(sp_bytes)), "en"))
    assert said in shown and "slope 2.00" in shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_missing_point_says_why(language):
    for reason in memory.REASONS:
        run = MemoryRun(CASE, GPU, points(sdpa_flash=reason))
        shown = words(memory_words.memory_table(memory.lines(CASE, run), CASE, language))
        assert "SDPBackend.FLASH_ATTENTION" in shown and "16384" in shown.split("÷")[-1]


# The tab.

HOSTILE = [
    ([None, 128, "bfloat16", "none"], "heads must be a whole number from 1 to 64, got nothing."),
    ([[16], 128, "bfloat16", "none"], "heads must be a whole number"),
    ([65, 128, "bfloat16", "none"], "heads must be from 1 to 64, got 65."),
    ([16, float("nan"), "bfloat16", "none"], "head_dim must be a whole number"),
    ([16, 257, "bfloat16", "none"], "head_dim must be from 1 to 256, got 257."),
    ([16, True, "bfloat16", "none"], "head_dim must be a whole number"),
    ([16, 128, "<b>", "none"], "dtype must be one of float32, float16, bfloat16, got <b>."),
    ([16, 128, "bfloat16", {"a": 1}], "mask must be one of none, causal, got a dict of 1."),
]


@pytest.mark.parametrize(("values", "said"), HOSTILE)
def test_a_mistake_gets_one_sentence_and_the_picture_stays(values, said):
    shown = tab.redraw(values, None, NOTHING, "en")
    assert set(shown) == {"note"} and said in words(shown["note"])
    worker = FakeWorker(device=GPU)
    (update,) = tab.measure(worker, values, NOTHING, "en")
    assert said in words(update.shown["note"]) and not worker.jobs and update.running is False


VALUES = [16, 128, "bfloat16", "none"]


def stage(provider=FUSED, length=256) -> Progress:
    details = {"provider": provider.name, "exact": provider.exact, "length": length}
    return Progress("memory", details)


@pytest.mark.parametrize("language", LANGUAGES)
def test_points_stream_and_stay_when_the_run_fails(language):
    answers = [Progress("queued", {"position": 1}), stage(), stage(), *points()[:3]]
    worker = FakeWorker(*answers, JobFailed("crashed", signal="SIGKILL"), device=GPU)
    updates = list(tab.measure(worker, VALUES, NOTHING, language))
    assert [len(u.run.points) for u in updates if u.run] == [1, 2, 3, 3]
    drawn = ["peak_plot" in u.shown for u in updates if u.run]
    assert drawn == [True, False, False, True]  # at once, then once a second, and at the end
    assert all("peak_table" in u.shown for u in updates if u.run)
    assert not any("traffic_plot" in u.shown for u in updates[:-1])  # it cannot have changed
    assert "SIGKILL" in words(updates[-1].shown["note"])
    assert [u.running for u in updates] == [True] * (len(updates) - 1) + [False]
    assert all("note" in u.shown for u in updates)  # an update that says less could undo one


def test_stopping_ends_the_job_and_no_gpu_is_said():
    worker = FakeWorker(*[stage()] * 9, device=GPU)
    running = tab.measure(worker, VALUES, NOTHING, "en")
    next(running), next(running)
    running.close()
    assert worker.closed
    refused = InputError("needs_gpu", "Memory is measured on a GPU, and there is none here.")
    *_, last = tab.measure(FakeWorker(refused, device=GPU), VALUES, NOTHING, "en")
    assert "there is none here" in words(last.shown["note"]) and last.run is None


def test_a_recording_is_shown_for_its_own_case_and_ones_own_points_come_first():
    recorded = MemoryRun(CASE, GPU, points(), "2026-01-02", "0123456", "x")
    kept = tab.Recordings((recorded,), (InputError("recorded_foreign", "{file}", file="a.json"),))
    shown = tab.redraw(VALUES, None, kept, "en")
    assert "Recorded on NVIDIA H200, 2026-01-02" in words(shown["peak_headline"])
    assert "a.json is not a recorded run" in words(shown["peak_table"])
    other = tab.redraw([16, 64, "bfloat16", "none"], None, kept, "en")
    assert "Predicted by formula" in words(other["peak_headline"])
    assert "Recorded on NVIDIA H200, 2026-01-02: batch 1, 16 heads" in words(other["peak_table"])
    mine = tab.redraw(VALUES, MemoryRun(CASE, GPU, points()[:4]), kept, "en")
    assert "Measured here" in words(mine["peak_headline"])


def test_the_button_acts_on_a_gpu_only():
    assert measured.button(GPU, "en")["interactive"] is True
    assert measured.button(CPU, "en")["interactive"] is False
    assert measured.button(CPU, "en")["value"] == "No GPU here to measure"
    assert measured.button(None, "en")["interactive"] is False
