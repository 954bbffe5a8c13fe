"""``python -m benchmarks check``: its table, its exit codes, its sentences."""

from __future__ import annotations

import json

import pytest

from benchmarks import __main__ as command
from benchmarks import matrix, report
from benchmarks.messages import JobFailed
from kernels import ALGORITHMS
from kernels.inputs import DTYPES, PRESETS, Case
from tests.mirrored import CPU, judged


class FakeWorker:
    """Judges every job as if a kernel did what the mirror does, or fails them all."""

    failure: Exception | None = None

    def device(self):
        return CPU

    def run(self, job):
        if self.failure:
            raise self.failure
        yield judged(job.algorithm, job.case)

    def close(self):
        pass


@pytest.fixture
def fake_worker(monkeypatch):
    monkeypatch.setattr(command, "Worker", FakeWorker)
    monkeypatch.setattr(FakeWorker, "failure", None)
    return FakeWorker


def test_the_command_prints_a_line_for_each_algorithm(fake_worker, capsys, tmp_path):
    path = tmp_path / "check.json"
    assert command.main(["check", "--preset", "huge", "--json", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Triton interpreter on CPU: no_driver")
    assert len(lines) == 2 + len(ALGORITHMS)
    assert [line.split()[-3] for line in lines if "naive" in line] == ["overflowed"]
    record = json.loads(path.read_text("utf-8"))
    assert [c["algorithm"] for c in record["checks"]] == list(ALGORITHMS)
    assert record["checks"][0]["kernel"]["n_mismatched"] == 0


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
        (a, d, p, c) for a in ALGORITHMS for d in DTYPES for p in PRESETS for c in matrix.COLS
    }
    on_gpu = list(matrix.jobs(on_gpu=True))
    assert any(job.case.n_rows > 65_535 for job in on_gpu)
    assert any(job.case.n_cols == 65_536 for job in on_gpu)
    failed = JobFailed("crashed", signal="SIGSEGV")
    lines = report.summary([(job.algorithm, job.case, failed) for job in jobs])
    assert len(lines) <= 60


def test_a_result_is_a_plain_record():
    json.dumps(report.as_json("x", Case(), judged("online_softmax", Case())), allow_nan=False)
