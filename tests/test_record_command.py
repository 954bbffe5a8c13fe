"""Recording everything: the plan, what is skipped, cut, refused, packed, and where it stops."""

from __future__ import annotations

import re
import zipfile
from dataclasses import replace

import pytest

from benchmarks import measuring, record_command, recorded
from benchmarks.claims import CLAIMS
from benchmarks.messages import JobFailed
from benchmarks.record_plan import PLAN
from benchmarks.sweep_results import LandscapeCase
from tests.claim_runs import answering, any_run, shell_of, sweep_run
from tests.fake_check import CPU, GPU

KEPT = ["--commit", "0123456"]
FIRST = [entry for entry in PLAN if "C20" in entry.claims or "C22" in entry.claims]
FEW = ["record", "--only", "C2[02]", *KEPT]


@pytest.fixture
def shell(monkeypatch, tmp_path, capsys):
    """Return a function that runs a command: (exit code, stdout, stderr, worker)."""
    return shell_of(monkeypatch, tmp_path / "kept", capsys)


def runs_of(entries, **instead):
    """Return a worker that measures the entries; ``instead`` is by place."""
    runs = {entry.case: any_run(entry.case) for entry in entries}
    runs |= {entries[int(place[1:])].case: run for place, run in instead.items()}
    return answering(runs)


def jobs_of(worker):
    return [job.case for job in worker.jobs]


# The plan.


def test_the_plan_has_each_case_once_and_each_reads_back_under_its_own_name():
    names = [entry.name for entry in PLAN]
    files = [re.sub(r"[^a-z0-9]+", "-", measuring.name_of(e.case).lower()) for e in PLAN]
    assert len({*names}) == len({*files}) == len({entry.case for entry in PLAN}) == len(PLAN)
    for entry in PLAN:
        run = any_run(entry.case)
        recorded.text_of(run)  # or it raises
        found = getattr(run, "points", getattr(run, "runs", ()))
        assert entry.seconds > 0 and measuring.fault_of(entry.case, found, 0) == ""


def test_claims_come_first_and_minutes_of_landscapes_after_them():
    wanted = {case for claim in CLAIMS.values() for case in claim.cases}
    assert {entry.case for entry in PLAN[: len(wanted)]} == wanted
    assert all(bool(entry.claims) == (entry.case in wanted) for entry in PLAN)
    is_landscape = [isinstance(entry.case, LandscapeCase) for entry in PLAN]
    assert not any(is_landscape[: len(wanted) - 3]) and all(is_landscape[len(wanted) - 3 :][:3])
    operations = {getattr(entry.case, "operation", "") for entry in PLAN}
    assert {"softmax", "softmax_backward", "attention", "attention_backward", "decode"} < operations


def test_the_plan_is_listed_with_what_is_recorded(shell, tmp_path):
    (tmp_path / "kept").mkdir()
    recorded.write(any_run(FIRST[0].case), tmp_path / "kept")
    code, out, err, worker = shell(["record", "--list", "--only", "c20"])
    lines = out.splitlines()
    assert code == 0 and not err and not worker.jobs and len(lines) == 3
    assert lines[0].startswith("C20 sweep softmax") and lines[0].endswith("NVIDIA H200 2026-01-02")
    assert lines[1].endswith("not recorded") and lines[2].startswith("2 runs, about ")
    assert len(shell(["record", "--list"])[1].splitlines()) == len(PLAN) + 1


# Recording.


def test_all_runs_are_recorded_one_after_another_and_only_once(shell, tmp_path):
    code, out, err, worker = shell(FEW, runs_of(FIRST))
    assert code == 0 and not err and jobs_of(worker) == [entry.case for entry in FIRST]
    assert f"[1/4] {FIRST[0].name}, about 46 s left" in out and "4 of 4 runs recorded." in out
    runs, refused = recorded.read_all()
    assert {run.case for run in runs} == {entry.case for entry in FIRST} and not refused
    assert all(run.commit == "0123456" and run.date == recorded.today() for run in runs)
    assert all(run.command.startswith("python -m benchmarks sweep") for run in runs)

    code, out, _, worker = shell(FEW, runs_of(FIRST))
    assert code == 0 and not worker.jobs and "0 of 0 runs" in out
    assert len(shell([*FEW, "--again"], runs_of(FIRST))[3].jobs) == 4
    # Another GPU has its own.
    other = replace(GPU, name="NVIDIA L4")
    assert len(shell(FEW, runs_of(FIRST), other)[3].jobs) == 4 and len(recorded.read_all()[0]) == 8


def test_what_fails_or_is_cut_is_not_kept_and_the_next_goes_on(shell):
    cut = any_run(FIRST[0].case)
    wrong = sweep_run(FIRST[2].case, lambda who, _: "wrong" if who == "ours" else 1e5)
    instead = {
        "_0": replace(cut, points=cut.points[:-2]),  # the copy and the last provider
        "_1": JobFailed("crashed", signal="SIGKILL"),
        "_2": wrong,
    }
    code, out, err, worker = shell(FEW, runs_of(FIRST, **instead))
    assert code == 1 and len(worker.jobs) == 4 and "1 of 4 runs recorded." in out
    said = [line for line in err.splitlines() if line.startswith("Not recorded")]
    assert said == [
        "Not recorded: It was cut short by its budget.",
        "Not recorded: It failed.",
        "Not recorded: Blockwise at 256: its result is wrong, so it is not timed.",
    ]
    assert "The run ended early (crashed: signal SIGKILL)." in err
    assert [run.case for run in recorded.read_all()[0]] == [FIRST[3].case]


def test_a_setting_that_fails_is_part_of_a_landscape_and_a_missing_one_is_not():
    case = next(entry.case for entry in PLAN if isinstance(entry.case, LandscapeCase))
    points = any_run(case).points
    failed = (*points[:-1], replace(points[-1], reason="failed"))
    assert measuring.fault_of(case, failed, 0) == ""
    assert "budget" in measuring.fault_of(case, points[:-1], 0)
    assert "wrong" in measuring.fault_of(
        case, (*points[:-1], replace(points[-1], reason="wrong")), 0
    )
    assert measuring.fault_of(case, points, 1) == "It failed."


def test_ctrl_c_keeps_what_is_written_and_begins_nothing_more(shell):
    code, out, err, worker = shell(FEW, runs_of(FIRST, _2=KeyboardInterrupt()))
    assert code == 130 and len(worker.jobs) == 3 and "It was stopped." in err
    assert "2 of 4 runs recorded." in out
    assert {run.case for run in recorded.read_all()[0]} == {e.case for e in FIRST[:2]}
    memory = next(entry for entry in PLAN if entry.name.startswith("C10 memory"))
    command = ["record", "--only", "c10 memory", *KEPT]
    code, out, *_ = shell(command, runs_of([memory], _0=KeyboardInterrupt()))
    assert code == 130 and "0 of 1 runs recorded." in out


def test_nothing_is_begun_that_would_end_after_the_budget(shell, monkeypatch):
    # The plan says 16.8, 13.2, 8 and 8 seconds, and each takes what it says.
    clock = iter([0.0])
    now = [0.0]
    monkeypatch.setattr(record_command.time, "monotonic", lambda: next(clock, now[0]))

    class Slow(type(runs_of(FIRST)(GPU))):
        def run(self, job, time_limit_s=None):
            now[0] += next(entry.seconds for entry in FIRST if entry.case == job.case)
            return super().run(job, time_limit_s)

    runs = {entry.case: any_run(entry.case) for entry in FIRST}
    command = [*FEW, "--budget", "28"]
    code, out, _, worker = shell(command, lambda device: Slow(runs, device))
    # 13.2 more would pass 28; 8 do not, and 8 more would.
    assert code == 0 and jobs_of(worker) == [FIRST[0].case, FIRST[2].case]
    assert "2 did not fit the budget" in out


def test_files_go_to_a_folder_and_into_a_pack(shell, tmp_path):
    folder, pack = tmp_path / "new" / "here", tmp_path / "all.zip"
    where = ["--folder", folder, "--pack", pack]
    instead = {"_3": KeyboardInterrupt()}
    assert shell([*FEW, *where], runs_of(FIRST, **instead))[0] == 130
    files = {path.name for path in folder.glob("*.json")}
    assert len(files) == 3 and set(zipfile.ZipFile(pack).namelist()) == files
    assert not recorded.read_all()[0]
    # What lies there is done.
    code, _, _, worker = shell([*FEW, *where], runs_of(FIRST))
    assert code == 0 and jobs_of(worker) == [FIRST[3].case]
    assert len(zipfile.ZipFile(pack).namelist()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "["], "[ is no pattern"),
        (["--only", "nothing"], "Nothing of the plan is called nothing"),
        (["--only", "nothing", "--list"], "Nothing of the plan is called nothing"),
        (["--budget", "soon"], "budget must be a whole number"),
        (["--budget", "0"], "budget must be from 1"),
        (["--pack", "all.tar"], "all.tar must end in .zip"),
        (["--folder", "/dev/null/x"], "/dev/null/x cannot be written"),
        (["--commit", "z"], "Which commit"),
    ],
)
def test_mistakes_are_told_before_anything_is_measured(shell, arguments, said):
    code, _, err, worker = shell(["record", *arguments], runs_of(FIRST))
    assert code == 2 and said in err and not worker.jobs and "Traceback" not in err


def test_without_a_gpu_nothing_is_recorded(shell):
    code, _, err, worker = shell(FEW, runs_of(FIRST), CPU)
    assert code == 1 and "there is none here" in err and not worker.jobs
