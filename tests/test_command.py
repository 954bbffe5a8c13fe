"""``python -m benchmarks check``: its table, its exit codes, its sentences."""

from __future__ import annotations

import dataclasses
import json
import threading

import pytest

from benchmarks import __main__ as command
from benchmarks import layouts, matrix, report, softmax_matrix
from benchmarks.jobs import QuickJob
from benchmarks.messages import JobFailed
from benchmarks.results import QuickOutput, QuickResult
from kernels import ALGORITHMS
from kernels.inputs import DTYPES, ITEMSIZE, PRESETS, Case
from kernels.softmax import paths
from kernels.tiles import Tiles
from tests.mirrored import CPU, judged, judged_tiles
from tests.rows import ROWS


class FakeWorker:
    """Judges every job as if a kernel did what the mirror does, or fails them all."""

    failure: Exception | None = None
    jobs: list = []

    def device(self):
        return CPU

    def run(self, job, time_limit_s=None):
        if self.failure:
            raise self.failure
        self.jobs.append((self, job))
        if isinstance(job, QuickJob):
            output = QuickOutput("o", 1e-7, 1e-7, 2e-7, True, 0, 0, 0, 0)
            yield QuickResult(job.case, job.algorithm, Tiles(), "passed", "SDPA flash", (output,))
        elif ALGORITHMS[job.algorithm].problem == "row":
            yield judged(job.algorithm, job.case)
        else:
            yield judged_tiles(job.algorithm, job.case)

    def close(self):
        pass


@pytest.fixture
def fake_worker(monkeypatch):
    monkeypatch.setattr(command, "Worker", FakeWorker)
    monkeypatch.setattr(FakeWorker, "failure", None)
    monkeypatch.setattr(FakeWorker, "jobs", [])
    return FakeWorker


def test_the_command_prints_a_line_for_each_algorithm(fake_worker, capsys, tmp_path):
    path = tmp_path / "check.json"
    assert command.main(["check", "--preset", "huge", "--json", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Triton interpreter on CPU: no_driver")
    n_outputs = sum(
        1 + len(entry.extra_outputs) for name, entry in ALGORITHMS.items() if name not in ROWS
    )
    assert len(lines) == 2 + len(ROWS) + 2 + n_outputs
    assert [line.split()[-3] for line in lines if "naive" in line] == ["overflowed"]
    record = json.loads(path.read_text("utf-8"))
    assert [c["algorithm"] for c in record["checks"]] == list(ALGORITHMS)
    assert record["checks"][0]["kernel"]["n_mismatched"] == 0
    on_tiles = record["checks"][-1]
    assert on_tiles["outputs"][0]["kernel"]["n_mismatched"] == 0 and on_tiles["rival"]
    assert "maps" not in on_tiles["outputs"][0]


def test_a_preset_that_only_rows_take_leaves_out_the_others(fake_worker, capsys):
    assert command.main(["check", "--preset", "masked_tail"]) == 0
    assert {job.algorithm for _, job in FakeWorker.jobs} == set(ROWS)
    assert command.main(["check", "--preset", "masked_tail", "--algorithm", "matmul"]) == 2


def test_what_is_said_of_tiles_reaches_the_case(fake_worker, capsys):
    said = "--heads 4 --kv-heads 2 --batch 2 --seq-q 9 --seq-k 70 --head-dim 24 --causal"
    said += " --block-m 16 --block 32 --splits 3 --warps 8 --stages 1 --dtype float16"
    assert command.main(["check", "--algorithm", "split_kv", *said.split()]) == 0
    assert [job.case for _, job in FakeWorker.jobs] == [
        Case(
            dtype="float16",
            num_warps=8,
            num_stages=1,
            batch=2,
            heads=4,
            kv_heads=2,
            seq_q=9,
            seq_k=70,
            head_dim=24,
            block_m=16,
            block=32,
            n_splits=3,
            mask="causal",
        )
    ]
    out = capsys.readouterr().out
    assert "2x4/2 9x70 d24 s3 causal" in out and "16x32" in out
    said = ["--size-m", "33", "--size-k", "40", "--block-k", "32", "--group-m", "4"]
    assert command.main(["check", "--algorithm", "matmul", *said]) == 0
    case = FakeWorker.jobs[-1][1].case
    assert (case.size_m, case.size_k, case.block_k, case.group_m) == (33, 40, 32, 4)
    assert command.main(["check", "--algorithm", "flash_attention", "--no-causal"]) == 0
    assert FakeWorker.jobs[-1][1].case.mask == "none"


def test_a_matrix_is_shared_out_and_reported_in_order(fake_worker, monkeypatch, capsys, tmp_path):
    begun = threading.Barrier(3)  # or one worker could be done before the next begins

    def run(self, job, time_limit_s=None):
        if all(worker is not self for worker, _ in FakeWorker.jobs):
            begun.wait(timeout=60)
        return original(self, job)

    original = FakeWorker.run
    monkeypatch.setattr(FakeWorker, "run", run)
    path = tmp_path / "check.json"
    said = ["check", "--matrix", "--algorithm", "flash_attention", "--json", str(path)]
    assert command.main([*said, "--workers", "3"]) == 0
    checks = json.loads(path.read_text("utf-8"))["checks"]
    assert len(checks) == len(FakeWorker.jobs) >= 30
    by_dtype = [check["case"]["dtype"] for check in checks]
    assert by_dtype == sorted(by_dtype, key=DTYPES.index)
    workers: dict[tuple, set] = {}
    for worker, job in FakeWorker.jobs:
        key = (job.case.dtype, job.case.head_dim, job.case.mask)
        workers.setdefault(key, set()).add(worker)
    assert all(len(each) == 1 for each in workers.values())
    assert len(set.union(*workers.values())) == 3
    assert capsys.readouterr().out.rstrip().endswith(f"{len(checks)} checks, 0 failed.")


def test_an_interrupted_matrix_says_what_it_has(fake_worker, monkeypatch, capsys):
    def run(self, job, time_limit_s=None):
        if len(FakeWorker.jobs) == 5 and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        return original(self, job)

    original = FakeWorker.run
    monkeypatch.setattr(FakeWorker, "run", run)
    said = ["check", "--matrix", "--algorithm", "split_kv", "--workers", "1"]
    assert command.main(said) == 130
    said = capsys.readouterr()
    assert "5 checks, 0 failed." in said.out and "Stopped: 5 of" in said.err


def test_a_failed_check_exits_with_1(fake_worker, monkeypatch, capsys):
    monkeypatch.setattr(FakeWorker, "failure", JobFailed("timeout", limit="60"))
    assert command.main(["check"]) == 1
    assert "error: timeout: limit 60" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["check", "--nope"],
        ["check", "--block", "17"],
        ["check", "--algorithm", "fast_softmax"],
        ["check", "--rows", "nan"],
        ["check", "--json", "/proc/none/file"],
        ["check", "--algorithm", "flash_attention", "--heads", "3", "--kv-heads", "2"],
        ["check", "--algorithm", "matmul", "--block-k", "8"],
        ["check", "--matrix", "--workers", "0"],
    ],
)
def test_a_usage_mistake_is_one_sentence_and_exits_with_2(fake_worker, capsys, arguments):
    try:
        code = command.main(arguments)
    except SystemExit as stopped:
        code = stopped.code
    error = capsys.readouterr().err
    assert code == 2
    assert error.count("\n") == 1 and error.rstrip().endswith(".")


def test_the_matrix_has_every_preset_and_dtype_and_its_summary_is_short():
    jobs = list(matrix.jobs(on_gpu=False))
    assert len(jobs) == len(set(jobs))
    presets = {(j.algorithm, j.case.dtype, j.case.preset) for j in jobs}
    assert presets == {(a, d, p) for a in ROWS for d in DTYPES for p in PRESETS}
    failed = JobFailed("crashed", signal="SIGSEGV")
    lines = report.summary([(job.algorithm, job.case, failed) for job in jobs])
    assert len(lines) <= 60 and lines[1 + 3 * len(ROWS)] == ""
    assert lines[2 + 3 * len(ROWS)] == f"{len(jobs)} checks, {len(jobs)} failed."


@pytest.mark.parametrize("name", ROWS)
def test_the_matrix_crosses_lengths_types_and_strides_on_a_gpu(name):
    jobs = [job for job in matrix.jobs(on_gpu=True) if job.algorithm == name]
    entry = ROWS[name]
    seen = {(j.case.n_cols, j.case.dtype, j.case.layout) for j in jobs if j.case.preset == "normal"}
    assert all(not job.keep for job in jobs) and any(j.case.n_rows > 65_535 for j in jobs)
    for n_cols in (1, 7, 127, 781, 1000, 4097):
        for dtype in DTYPES:
            for layout in ("contiguous", "sliced", "transposed", "expanded"):
                assert (n_cols, dtype, layout) in seen
            assert ((n_cols, dtype, "scalar") in seen) == (len(entry.rows) == 2)
    longest = {n_cols for n_cols, _, _ in seen}
    assert max(longest) in (4097, 1_048_576)
    if not entry.whole_row:
        assert {j.case.block for j in jobs if j.case.n_cols == 1_048_576} >= {1024}
        assert len({j.case.block for j in jobs if j.case.n_cols == 65_537}) == 2
    for job in jobs:
        lanes = 1 << (job.case.n_cols - 1).bit_length() if entry.whole_row else job.case.block
        assert lanes / (32 * job.case.num_warps) <= 1024, "a thread holds at most so many"


def test_softmax_is_checked_on_every_path_and_its_own_choice():
    for on_gpu in (False, True):
        jobs = list(softmax_matrix.jobs(on_gpu))
        assert len(jobs) == len(set(jobs)) and {job.algorithm for job in jobs} == {"softmax"}
        asked = {(j.path, j.case.dtype) for j in jobs}
        assert asked == {(p, d) for p in (None, *paths.PATHS) for d in DTYPES}
        assert {j.case.layout for j in jobs} == set(layouts.LAYOUTS)
    left = {(j.case.n_cols, j.case.dtype, j.case.layout) for j in jobs if j.path is None}
    assert {(n, d, y) for n in matrix.COLS for d in DTYPES for y in layouts.LAYOUTS} == left
    planned = {
        paths.plan(j.case.n_rows, j.case.n_cols, ITEMSIZE[j.case.dtype], (9, 0)).path
        for j in jobs
        if j.path is None
    }
    assert planned == set(paths.PATHS), "the plan takes every path somewhere"


def softmax_checked(**changes):
    """Return what a case of softmax(x) found, with ``changes``."""
    output = QuickOutput("y", 2e-7, 1e-7, 2e-7, True, 0, 0, 0, 0)
    found = {"planned": "online", "path": "online", "is_copied": False, "verdict": "passed"}
    return softmax_matrix.SoftmaxResult(
        Case(n_cols=50_257), None, outputs=(output,), **{**found, **changes}
    )


def test_softmax_on_another_path_than_planned_fails_the_command(fake_worker, monkeypatch, capsys):
    found = iter([softmax_checked(), softmax_checked(path="single", verdict="failed")])

    def run(self, job, time_limit_s=None):
        assert time_limit_s > 60, "a long row compiles for longer than a page would wait"
        yield next(found)

    monkeypatch.setattr(FakeWorker, "run", run)
    both = list(softmax_matrix.jobs(False))[:2]
    monkeypatch.setattr(softmax_matrix, "jobs", lambda on_gpu: both)
    assert command.main(["check", "--matrix", "--algorithm", "softmax", "--workers", "1"]) == 1
    out = capsys.readouterr().out
    assert "2 checks, 1 failed." in out
    assert "asked for none, planned online, ran single): the wrong path" in out
    assert [line.split()[2:4] for line in out.splitlines() if line.startswith("y ")] == [
        ["single", "1/1"],
        ["online", "1/1"],
    ]


def test_softmax_alone_is_no_algorithm_to_check_once(fake_worker, capsys):
    assert command.main(["check", "--algorithm", "softmax"]) == 2
    assert "algorithm must be one of" in capsys.readouterr().err


def summed_up(name, dtype, errors):
    """Return the one line of checks with these (kernel's, torch's) errors; all have passed."""
    result = judged(name, Case("normal", 2, 8, 4, dtype=dtype))
    outcomes = []
    for ours, theirs in errors:
        kernel, torch = (
            dataclasses.replace(result.kernel, max_abs=error) for error in (ours, theirs)
        )
        each = dataclasses.replace(result, kernel=kernel, torch=torch, verdict="passed")
        outcomes.append((name, each.case, each))
    return report.summary(outcomes)[1].split()


def test_a_summary_tells_the_worst_ratio_and_how_many_pass_by_the_floor():
    errors = [(3e-7, 1e-7), (5e-7, 4e-7), (1e-8, 0.0), (0.0, 2e-7)]
    line = summed_up("vector_add", "float16", errors)
    assert line[:4] == ["vector_add", "float16", "4/4", "0"]
    assert line[4:8] == ["5.0e-07", "4.0e-07", "3.00", "2"]


def test_a_result_is_a_plain_record():
    json.dumps(report.as_json("x", Case(), judged("online_softmax", Case())), allow_nan=False)
