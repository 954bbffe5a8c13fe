"""Recorded runs: what is written reads back, what is damaged or not ours is refused in words."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest

from benchmarks import __main__ as command
from benchmarks import memory, memory_command, recorded
from benchmarks.memory_results import MemoryPoint, MemoryRun
from benchmarks.messages import JobFailed
from benchmarks.results import Progress
from kernels.errors import InputError
from tests.fake_check import CPU, GPU
from viz.locales import LANGUAGES, text

CASE = memory.choose_memory(head_dim=64, mask="causal")
POINTS = (
    MemoryPoint("flash_attention", 256, 2_113_536),
    MemoryPoint("three_stage", 256, 5_767_168),
    MemoryPoint("sdpa_math", 16_384, None, "too_large"),
)
RUN = MemoryRun(CASE, GPU, POINTS, "2026-01-02", "0123456789ab-changed", "python -m benchmarks …")


@pytest.fixture
def document(tmp_path) -> dict:
    return json.loads(recorded.write(RUN, tmp_path).read_text("utf-8"))


def refusal(tmp_path, content: object) -> str:
    path = tmp_path / "odd.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    with pytest.raises(InputError) as caught:
        recorded.read(path)
    for language in LANGUAGES:
        assert "odd.json" in text(language, f"error.{caught.value.key}", **caught.value.details)
    return str(caught.value)


def test_what_is_written_reads_back(tmp_path):
    path = recorded.write(RUN, tmp_path)
    assert path.name == "memory-nvidia-h200-2026-01-02-h16-d64-bfloat16-causal.json"
    assert recorded.read(path) == RUN
    newer = MemoryRun(CASE, GPU, POINTS[:1], "2026-02-01", "0123456", "x")
    recorded.write(newer, tmp_path)
    (tmp_path / "README.md").write_text("not a run")
    assert recorded.read_all(tmp_path) == ([newer, RUN], [])


def test_every_file_that_ships_can_be_read():
    runs, refused = recorded.read_all()
    assert not refused
    assert len(runs) == len(list(recorded.FOLDER.glob("*.json")))


DAMAGE = [
    (("date",), "yesterday", "date cannot be yesterday"),
    (("date",), "20260102", "date cannot be"),
    (("commit",), "main; rm", "commit cannot be main; rm"),
    (("command",), "a" * 301, "command cannot be"),
    (("command",), "a\u202eb", "command cannot be"),
    (("device", "name"), "", "device.name cannot be"),
    (("device", "capability"), [7, 5], "device.capability cannot be"),
    (("device", "capability"), [9.0, 0], "device.capability cannot be"),
    (("device", "versions"), {}, "device.versions cannot be a dict of 0"),
    (("device", "versions", "torch"), 2.13, "versions.torch cannot be 2.13"),
    (("case",), [], "case cannot be a list of 0"),
    (("case", "heads"), 0, "case.heads cannot be 0"),
    (("case", "heads"), "16; drop", "case.heads cannot be 16; drop"),
    (("case", "dtype"), "float64", "case.dtype cannot be float64"),
    (("case", "batch"), True, "case.batch cannot be True"),
    (("case", "lengths"), [256], "case.lengths cannot be a list of 1"),
    (("points",), [], "points cannot be a list of 0"),
    (("points", 0), 7, "points[0] cannot be 7"),
    (("points", 0, "provider"), ["x"], "points[0].provider cannot be"),
    (("points", 0, "length"), 300, "points[0].length cannot be 300"),
    (("points", 0, "peak_bytes"), -5, "points[0].peak_bytes cannot be -5"),
    (("points", 0, "peak_bytes"), 1000, "points[0].peak_bytes cannot be 1000"),
    (("points", 0, "peak_bytes"), 1e9, "points[0].peak_bytes cannot be 1000000000.0"),
    (("points", 0, "peak_bytes"), 2**60, "points[0].peak_bytes cannot be"),
    (("points", 0, "peak_bytes"), None, "points[0].reason cannot be"),
    (("points", 2, "reason"), "<script>", "points[2].reason cannot be <script>"),
    (("points", 1), dict(vars(POINTS[0])), "points[1].length cannot be 256"),
    (("extra",), 1, "extra cannot be 1"),
]


@pytest.mark.parametrize(("where", "value", "said"), DAMAGE)
def test_damage_is_named(tmp_path, document, where, value, said):
    *path, last = where
    inner = document
    for name in path:
        inner = inner[name]
    inner[last] = value
    assert said in refusal(tmp_path, document)


def test_a_missing_field_is_named(tmp_path, document):
    del document["case"]["mask"]
    assert "case.mask cannot be nothing" in refusal(tmp_path, document)


@pytest.mark.parametrize("content", ["", "{", "NaN", '{"a": Infinity}', "[" * 100_000, "\x00"])
def test_what_is_no_json_is_refused(tmp_path, content):
    assert "cannot be read" in refusal(tmp_path, content)


def test_what_is_not_ours_or_too_long_is_refused(tmp_path, document):
    for foreign in ([], 3, {}, {**document, "format": "x"}, {**document, "kind": "race"}):
        assert "is not a recorded run of this program" in refusal(tmp_path, foreign)
    assert "cannot be read" in refusal(tmp_path, " " * recorded.MAX_FILE_BYTES + "{}")


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    odd = MemoryRun(CASE, GPU, (MemoryPoint("flash_attention", 256, 10),), "2026-01-02", "0123456")
    with pytest.raises(Exception, match="."):
        recorded.write(odd, tmp_path)
    assert not list(tmp_path.iterdir())


# The command.


class FakeWorker:
    """Measures as a GPU would; ``failure`` comes after the points."""

    failure: Exception | None = None

    def __init__(self, device=GPU) -> None:
        self.given = device

    def device(self):
        return self.given

    def run(self, job, time_limit_s=None):
        assert job.case == CASE and time_limit_s > 60
        for point in POINTS:
            yield Progress("memory", {"provider": point.provider, "length": point.length})
            yield point
        if self.failure:
            raise self.failure

    def close(self):
        pass


def options(**changes) -> Namespace:
    defaults = {"heads": "16", "head_dim": "64", "dtype": "bfloat16", "mask": "causal"}
    return Namespace(**{**defaults, "record": True, "commit": "0123456", **changes})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded.write, "__defaults__", (tmp_path,))
    return tmp_path


def test_the_command_records_what_was_measured(folder, capsys):
    assert memory_command.run(FakeWorker(), GPU, options()) == 0
    (run,), refused = recorded.read_all(folder)
    assert not refused and run.points == POINTS and run.device == GPU and run.commit == "0123456"
    wanted = "--record --heads 16 --head-dim 64 --dtype bfloat16 --mask causal"
    assert run.command == f"python -m benchmarks memory {wanted}"
    said = capsys.readouterr().out
    assert "2.11" in said and "too_large" in said and "recorded in" in said


def test_nothing_is_recorded_of_a_run_that_failed_or_had_no_gpu(folder, capsys, monkeypatch):
    failing = FakeWorker()
    failing.failure = JobFailed("timeout", limit="900")
    assert memory_command.run(failing, GPU, options()) == 1
    assert "ended early (timeout: limit 900)" in capsys.readouterr().err
    assert memory_command.run(FakeWorker(), CPU, options()) == 1
    assert "Only a run on a GPU can be recorded" in capsys.readouterr().err
    monkeypatch.setattr(recorded, "_git", lambda *_: "")
    assert memory_command.run(FakeWorker(), GPU, options(commit=None)) == 2
    assert "Which commit is this?" in capsys.readouterr().err
    assert not list(folder.iterdir())


def test_without_a_gpu_the_command_says_the_formula(capsys, monkeypatch):
    monkeypatch.setattr(command, "Worker", lambda: FakeWorker(CPU))
    assert command.main(["memory", "--mask", "causal"]) == 0
    said = capsys.readouterr().out
    assert "17381.20" in said and "three_stage*" in said and "* by formula" in said
    assert command.main(["memory", "--heads", "0"]) == 2
    assert capsys.readouterr().err == "heads must be from 1 to 64, got 0.\n"


def test_the_commit_says_whether_files_differ(monkeypatch):
    answers = {"rev-parse": "0123456", "status": ""}
    monkeypatch.setattr(recorded, "_git", lambda what, *_: answers[what])
    assert recorded.this_commit() == "0123456"
    answers["status"] = " M app.py"
    assert recorded.this_commit() == "0123456-changed"
