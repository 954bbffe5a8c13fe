"""``python -m benchmarks check``: its table, its exit codes, its sentences."""

from __future__ import annotations

import json
import threading
import time

import pytest

from benchmarks import __main__ as command
from benchmarks import matrix, report
from benchmarks.jobs import QuickJob
from benchmarks.messages import JobFailed
from benchmarks.results import QuickOutput, QuickResult
from kernels import ALGORITHMS
from kernels.inputs import DTYPES, PRESETS, Case
from kernels.tiles import Tiles
from tests.mirrored import CPU, judged, judged_tiles
from tests.rows import ROWS


class FakeWorker:
    """Judges every job as if a kernel did what the mirror does, or fails them all."""

    failure: Exception | None = None
    jobs: list = []

    def device(self):
        return CPU

    def run(self, job):
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
    def run(self, job):
        time.sleep(0.002)  # or one worker would be done before the next begins
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
    def run(self, job):
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
    assert {(j.algorithm, j.case.dtype, j.case.preset, j.case.n_cols) for j in jobs} == {
        (a, d, p, c) for a in ROWS for d in DTYPES for p in PRESETS for c in matrix.COLS
    }
    on_gpu = list(matrix.jobs(on_gpu=True))
    assert any(job.case.n_rows > 65_535 for job in on_gpu)
    assert any(job.case.n_cols == 65_536 for job in on_gpu)
    failed = JobFailed("crashed", signal="SIGSEGV")
    lines = report.summary([(job.algorithm, job.case, failed) for job in jobs])
    assert len(lines) <= 60


def test_a_result_is_a_plain_record():
    json.dumps(report.as_json("x", Case(), judged("online_softmax", Case())), allow_nan=False)
