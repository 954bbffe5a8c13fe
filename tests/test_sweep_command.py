"""Sweeps from a shell: what is printed, kept, read back, refused, listed and compared."""

from __future__ import annotations

import csv
import shlex
from dataclasses import replace

import pytest

from benchmarks import __main__ as main
from benchmarks import recorded, sweep_command
from benchmarks.jobs import SweepJob
from benchmarks.messages import JobFailed
from benchmarks.operations import OPERATIONS
from benchmarks.results import Progress
from benchmarks.sweep_choice import WIDE, choose_landscape, choose_sweep
from benchmarks.sweep_results import SweepPoint, SweepRun
from tests.fake_check import CPU, GPU
from tests.sweeps import CASE, POINTS, missing, timed
from tests.workers import FakeWorker

COMMAND = ["sweep", "--operation", "add", "--values", "256,1024", "--rows", "1000"]


def answers(points=POINTS):
    for n, value in enumerate(CASE.values):
        yield Progress("sweep", {"n": n + 1, "of": 2, "axis": "n_cols", "value": value})
        yield from (point for point in points if point.value == value)


@pytest.fixture
def shell(monkeypatch, tmp_path, capsys):
    """Return a function that runs a command with answers: (exit code, stdout, stderr, worker)."""
    monkeypatch.setattr(recorded.write, "__defaults__", (tmp_path,))
    monkeypatch.setattr(recorded.read_all, "__defaults__", (tmp_path,))

    def run(arguments, *given, device=GPU, worker_class=FakeWorker):
        worker = worker_class(*given, device=device)
        worker.close = lambda: None
        monkeypatch.setattr(main, "Worker", lambda: worker)
        try:
            code = main.main([str(one) for one in arguments])
        except SystemExit as stop:
            code = stop.code
        said = capsys.readouterr()
        return code, said.out, said.err, worker

    return run


# The command.


def test_a_sweep_is_printed_with_the_copy_first(shell):
    code, out, err, worker = shell(COMMAND, *answers())
    assert code == 0 and worker.jobs == [SweepJob(CASE)]
    lines = out.splitlines()
    at = next(k for k, line in enumerate(lines) if line.lstrip().startswith("N "))
    assert lines[at].split("  ")[-3:] == ["copy", "Blockwise", "torch eager"]
    assert lines[at + 1].split() == ["256", "1536", "768", "512"]
    assert lines[at + 2].split() == ["1024", "1575", "1536", "-"]
    assert "- torch eager: it refuses these sizes (it does not want to): at 1024" in out
    assert "torch eager at 256: 2 of 60 calls took over twice the median" in out
    assert "the clock fell by 9%, from 1980 to 1800 MHz at 1024" in out
    assert "under 20 us, the same from a captured graph: Blockwise at 256 1.2 us" in out
    assert "the launch included: Blockwise at 256 40.5 us" in out
    assert "the clock was held down by power: Blockwise at 1024" in out
    assert "[1/2] N 256: Blockwise 768 GB/s, 2.0 us, first call 1.5 s" in err
    assert "[2/2] N 1024: torch eager: it refuses these sizes" in err


def test_nothing_is_said_against_a_run_without_doubts(shell):
    nothing = {"n_outliers": 0, "graph_us": None, "wall_us": None, "slowed": "", "clock_mhz": 1900}
    calm = [replace(point, **nothing) for point in POINTS if not point.reason]
    _, out, *_ = shell(COMMAND, *answers(calm))
    assert not any(word in out for word in ("clock", "twice", "launch", "\n-"))
    slightly = [replace(p, clock_mhz=1900 if p.value == 256 else 1810) for p in calm]
    assert "clock" not in shell(COMMAND, *answers(slightly))[1]


def test_attention_is_in_tflops_and_its_copy_in_gb(shell):
    case = choose_sweep("attention", "1024", providers="ours", limits=WIDE)
    points = timed(case, "ours", 1024, 100.0), timed(case, "copy", 1024, 10.0)
    command = ["sweep", "--operation", "attention", "--values", "1024", "--providers", "ours"]
    code, out, *_ = shell(command, *points)
    assert code == 0 and "attention, TFLOP/s: bfloat16, batch 1, heads 16, head_dim 64" in out
    # 4 x 16 x 1024 x 1024 x 64 operations in 100 us; 4 x 16 x 1024 x 64 x 2 bytes and an LSE in 10
    assert "copy, GB/s  Blockwise\n1024         845       42.9\n" in out


@pytest.mark.parametrize("reason", ["failed", "wrong"])
def test_a_kernel_of_ours_that_fails_is_a_failure_and_anothers_is_a_finding(shell, reason):
    ours = [missing(CASE, "ours", 256, reason), *POINTS[1:]]
    code, out, err, _ = shell([*COMMAND, "--record", "--commit", "0123456"], *answers(ours))
    assert code == 1 and "recorded in" not in out and "Not recorded" in err
    theirs = [POINTS[0], missing(CASE, "torch", 256, reason), *POINTS[2:]]
    assert shell(COMMAND, *answers(theirs))[0] == 0


def test_a_run_that_ends_early_says_so_and_keeps_its_points(shell, tmp_path):
    file = tmp_path / "kept.json"
    given = [*list(answers())[:3], JobFailed("crashed", signal="SIGKILL")]
    code, out, err, _ = shell([*COMMAND, "--json", file, "--commit", "0123456"], *given)
    assert code == 1 and "ended early (crashed: signal SIGKILL)" in err
    assert "768" in out and recorded.read(file).points == POINTS[:2]
    code, out, *_ = shell(COMMAND, JobFailed("out_of_memory"))
    assert code == 1 and "GB/s" not in out


class StoppedWorker(FakeWorker):
    """A worker whose run is stopped from the keyboard after its answers."""

    def run(self, job, time_limit_s=None):
        yield from super().run(job, time_limit_s)
        raise KeyboardInterrupt


def test_a_stopped_sweep_prints_what_is_there_and_records_nothing(shell, tmp_path):
    command = [*COMMAND, "--record", "--commit", "0123456"]
    code, out, err, _ = shell(command, *list(answers())[:4], worker_class=StoppedWorker)
    assert code == 130 and "Stopped" in err and "Not recorded" in err
    assert [line.split() for line in out.splitlines() if line.startswith("256")] == [
        ["256", "1536", "768", "512"]
    ]
    assert "1024" not in out
    assert not list(tmp_path.iterdir())


def test_a_sweep_whose_time_is_over_is_kept_as_it_is(shell):
    given = [*list(answers())[:4], Progress("sweep_over", {"n": 1, "of": 2})]
    code, out, err, _ = shell([*COMMAND, "--record", "--commit", "0123456"], *given)
    assert code == 0 and "The time is over after 1 of 2." in err and "recorded in" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--operation", "sort", "--values", "1"], "operation must be one of"),
        (["--operation", "add", "--values", "1.."], "N must be numbers"),
        (["--operation", "add", "--values", "1", "--providers", "liger"], "provider must be one"),
        (["--operation", "add", "--values", "1", "--rows", "x"], "n_rows must be a whole number"),
        (["--operation", "add", "--values", "1", "--budget", "0"], "budget_s must be from 1"),
        (["--operation", "matmul", "--values", "1,2", "--landscape"], "N must be a whole number"),
        (["--operation", "add"], "The following arguments are required: --values"),
        (["--operation", "add", "--values", "1", "--json", "/nowhere/x"], "cannot be written"),
        (["--operation", "add", "--values", "1", "--csv", "/"], "/ cannot be written"),
        (["--operation", "add", "--values", "1", "--record", "--commit", "z"], "Which commit"),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(shell, arguments, said):
    code, _, err, worker = shell(["sweep", *arguments], *answers())
    assert code == 2 and said in err and not worker.jobs and "Traceback" not in err


def test_without_a_gpu_nothing_is_measured(shell):
    code, _, err, worker = shell(COMMAND, device=CPU)
    assert code == 1 and err == "This is measured on a GPU, and there is none here.\n"
    assert not worker.jobs


def test_a_landscape_is_printed_the_fastest_first(shell):
    case = choose_landscape("matmul", 1024, limits=WIDE)
    n_bytes, flops = OPERATIONS["matmul"].costs(case.sizes)
    blank = SweepPoint("ours", 0, n_bytes=n_bytes, flops=flops)
    times = {"n": 9, "error": 0.1, "allowed": 1.0}
    others = {"block": 64, "block_k": 32, "group_m": 8, "num_warps": 4, "num_stages": 3}
    points = [
        replace(blank, settings={"block_m": 256} | others, reason="unfit", message="300000 bytes"),
        SweepPoint("copy", 0, n_bytes=n_bytes, median_ms=0.01, p20_ms=0.01, p80_ms=0.01, n=9),
        *(
            replace(blank, value=k, settings={"block_m": block} | others, median_ms=ms, p20_ms=ms,
                    p80_ms=ms, registers=64, **times)
            for k, (block, ms) in enumerate(((64, 0.02), (128, 0.008)))
        ),
    ]  # fmt: skip
    command = ["sweep", "--operation", "matmul", "--values", "1024", "--landscape"]
    kept = ["--record", "--commit", "0123456"]
    compiling = Progress("compiling", {"n": 1, "end": 2, "of": 2})
    code, out, err, worker = shell([*command, *kept], compiling, *points)
    assert code == 0 and worker.jobs == [SweepJob(case)]
    assert "Compiling settings 1 to 2 of 2" in err
    lines = [line.replace(",", "").split() for line in out.splitlines()]
    lines = [[*line[:2], *line[-5:-3]] for line in lines]
    at = next(k for k, line in enumerate(lines) if line[:1] == ["settings"])
    assert lines[at + 1][:4] == ["copy", "GB/s", "10.0", "629"]
    assert lines[at + 2] == ["block_m", "128", "8.0", "268"]  # 2 x 1024**3 in 8 us
    assert lines[at + 3] == ["block_m", "64", "20.0", "107"]
    assert "it does not fit this GPU (300000 bytes): at [block_m 256, block 64" in out
    (run,), refused = recorded.read_all()
    assert run.case == case and run.points[2:] == tuple(points[2:]) and not refused


# What is kept.


def test_what_is_recorded_reads_back_and_is_listed_and_compared(shell, tmp_path):
    code, out, *_ = shell([*COMMAND, "--record", "--commit", "0123456"], *answers())
    assert code == 0 and "recorded in" in out
    (run,), refused = recorded.read_all(tmp_path)
    assert not refused and (run.case, run.device, run.commit) == (CASE, GPU, "0123456")
    whole = [point for point in POINTS if not point.reason]
    assert [point for point in run.points if not point.reason] == whole  # to the last bit
    assert [p.message for p in run.points if p.reason] == ["it does not want to"]

    code, out, err, worker = shell(["list"])
    assert code == 0 and not worker.jobs and not err
    assert out.splitlines()[1].split() == [
        "sweep", "NVIDIA", "H200", run.date, "0123456",
        *"add n_cols 256-1024 2 bfloat16 rows 1000".split(),
    ]  # fmt: skip

    (first,) = tmp_path.glob("*.json")
    twice = [replace(p, median_ms=p.median_ms / 2, p20_ms=p.median_ms / 2) for p in whole]
    other = replace(run, points=tuple(twice[:3]), device=replace(GPU, name="NVIDIA L4"))
    second = recorded.write(other, tmp_path)
    code, out, *_ = shell(["compare", first, second])
    lines = out.splitlines()
    assert code == 0 and "above 1, B is faster" in lines[0]
    assert "A: NVIDIA H200, " in lines[1] and "B: NVIDIA L4, " in lines[2] and run.date in lines[2]
    assert lines[3].split() == ["N", "copy", "Blockwise", "torch", "eager"]
    assert lines[4:] == [lines[4]] and lines[4].split() == ["256", "2.000", "2.000", "2.000"]


def test_json_and_csv_hold_every_point(shell, tmp_path):
    files = tmp_path / "a.json", tmp_path / "a.csv"
    command = [*COMMAND, "--json", files[0], "--csv", files[1], "--commit", "0123456"]
    assert shell(command, *answers())[0] == 0
    assert recorded.read(files[0]).case == CASE
    rows = list(csv.DictReader(files[1].open(encoding="utf-8", newline="")))
    assert [row["provider"] for row in rows[:3]] == ["ours", "torch", "copy"]
    assert float(rows[0]["gb_per_s"]) == pytest.approx(768)
    assert rows[0]["settings"] == "block=1024 num_warps=4"
    refused = next(row for row in rows if row["reason"])
    assert refused["median_ms"] == refused["gb_per_s"] == ""
    assert "nan" not in files[1].read_text()


def test_a_kept_command_gives_the_same_case():
    wide = {"limits": WIDE}
    cases = [CASE, choose_sweep("softmax", "1..512 +1", **wide), choose_landscape("softmax", 999)]
    cases.append(choose_sweep("softmax", "300", axis="n_rows", n_cols=77, is_hot=True, **wide))
    for operation, about in OPERATIONS.items():
        for axis in about.axes:
            sizes = {"heads": 8, "head_dim": 32, "batch": 3, "seq": 700, "n_splits": 4}
            cases.append(choose_sweep(operation, "16,64", "float16", axis=axis, **sizes, **wide))
        if operation not in ("decode", "attention_backward"):
            cases.append(choose_landscape(operation, 512, mask="causal", budget_s=9))
    cases.append(choose_sweep("attention", "64", providers=["three"], mask="causal", **wide))
    for case in cases:
        words = shlex.split(sweep_command.command_of(case))[3:]
        options = main._parser().parse_args(words)
        assert sweep_command.case_of(options) == case


# Listing and comparing.


def test_what_is_damaged_is_listed_as_refused(shell, tmp_path):
    assert shell(["list"])[:2] == (0, "Nothing is recorded.\n")
    (tmp_path / "a.json").write_text("{}")
    code, _, err, _ = shell(["list"])
    assert code == 1 and err.startswith("a.json is not a recorded run of this program")


def test_only_sweeps_of_one_thing_are_compared(shell, tmp_path):
    def kept(case, name):
        provider = case.providers[0]
        points = tuple(timed(case, provider, value, 100.0) for value in case.values)
        run = SweepRun(case, GPU, points, "2026-01-02", "0123456", "x")
        (tmp_path / name).write_text(recorded.text_of(run))
        return tmp_path / name

    first = kept(choose_sweep("add", "256"), "a.json")
    for other, said in (
        (choose_sweep("chain", "256"), "Only sweeps of one operation can be compared"),
        (choose_sweep("add", "256", axis="n_rows"), "Only sweeps of one axis"),
        (choose_sweep("add", "512"), "no value and provider in common"),
    ):
        code, out, err, _ = shell(["compare", first, kept(other, "b.json")])
        assert code == 2 and said in err and not out
    code, out, *_ = shell(["compare", first, kept(choose_sweep("add", "256", "float16"), "b.json")])
    assert code == 0 and "not of the same sizes or type" in out
    code, _, err, _ = shell(["compare", first, tmp_path / "none.json"])
    assert code == 2 and "cannot be read" in err
