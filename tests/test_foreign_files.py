"""What foreign files, full disks and odd options must not do to recorded runs and the shell."""

from __future__ import annotations

import json
import os
import threading
from contextlib import contextmanager

import pytest

from benchmarks import __main__ as main
from benchmarks import recorded
from benchmarks.claims import CLAIMS
from benchmarks.record_plan import PLAN
from benchmarks.sweep_choice import WIDE, choose_sweep
from benchmarks.writable import why_no_file, why_no_folder
from kernels.errors import InputError
from tests.claim_runs import answering, any_run, shell_of, sweep_run
from tests.landscapes import SOFTMAX
from tests.sweeps import RUN
from viz.tabs.measure import speed
from viz.tabs.measure.measured import Recordings
from viz.tabs.measure.speed_runs import key_of

# Foreign files.


def write(path, run, change):
    """Write a run's file as somebody changed it."""
    document = json.loads(recorded.text_of(run))
    change(document)
    path.write_text(json.dumps(document))
    return path


def refusal(path) -> str:
    with pytest.raises(InputError) as caught:
        recorded.read(path)
    return str(caught.value)


@pytest.mark.parametrize("name", ["A" * 5000, "\ud800", "\x1b[31m", "a\nb"], ids=ascii)
def test_the_name_of_an_odd_field_is_told_short_and_printable(tmp_path, name):
    odd = [
        write(tmp_path / "1.json", RUN, lambda one: one.update({name: 1})),
        write(tmp_path / "2.json", RUN, lambda one: one["case"]["sizes"].update({name: 1})),
        write(tmp_path / "3.json", RUN, lambda one: one["points"][0].update({name: 1})),
        write(tmp_path / "4.json", RUN, lambda one: one["device"].update(name=name)),
    ]
    for path in odd:
        said = refusal(path)
        assert said.isprintable() and len(said) < 250 and said.encode()


def test_the_name_of_a_file_is_told_printable(tmp_path):
    path = tmp_path / "a\x1b[31m\nb.json"
    path.write_text("{")
    assert refusal(path) == ("The recorded run a?[31m b.json cannot be read, so it is left out.")


def test_settings_that_the_kernel_does_not_have_are_refused(tmp_path):
    """The Claims tab reads block_k of a product's landscape: it must be there."""
    product = any_run(CLAIMS["C12"].cases[0])
    path = write(tmp_path / "x.json", product, lambda one: one["points"][1]["settings"].popitem())
    assert "points[1].settings cannot be" in refusal(path)


def test_a_map_of_thousands_of_columns_is_refused(tmp_path):
    def widen(document):
        point = document["points"][-1]
        for k in range(1000):
            document["points"].append({**point, "settings": {"block": 2 + k, "num_warps": 3 + k}})

    assert "settings.block cannot be" in refusal(write(tmp_path / "x.json", SOFTMAX, widen))


def test_a_file_that_never_ends_is_refused_at_once(tmp_path):
    for k, target in enumerate(("/dev/zero", "/dev/full", os.devnull)):
        (tmp_path / f"{k}.json").symlink_to(target)
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "folder.json").mkdir()
    found: list = []
    reading = threading.Thread(
        target=lambda: found.extend(recorded.read_all(tmp_path)), daemon=True
    )
    reading.start()
    reading.join(20)
    runs, refused = found
    assert runs == [] and len(refused) == 5
    assert all("cannot be read" in str(error) for error in refused)
    assert "cannot be read" in refusal(tmp_path / "0.json")


def with_values(text: str):
    case = choose_sweep("add", text, n_rows=1000, limits=WIDE)
    return sweep_run(case, lambda *_: 1e3)


def test_a_run_of_other_values_between_the_same_ends_is_kept_beside(tmp_path):
    one, other = with_values("256,512,1024"), with_values("256,700,1024")
    paths = [recorded.write(run, tmp_path) for run in (one, other, one, other)]
    assert paths[:2] == paths[2:] and paths[1].name == paths[0].name[:-5] + "-2.json"
    kept, refused = recorded.read_all(tmp_path)
    assert {run.case for run in kept} == {one.case, other.case} and not refused
    assert len({key_of(run) for run in kept}) == 2
    recordings = Recordings(tuple(kept), ())
    assert [speed.read_picked(key_of(run), recordings) for run in kept] == [(r,) for r in kept]


def test_a_full_disk_takes_no_run_that_was_there(tmp_path, monkeypatch):
    path = recorded.write(RUN, tmp_path)
    before = path.read_text()

    def half(self, text, encoding):
        self.write_bytes(text[:100].encode(encoding))
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "write_text", half)
    assert recorded.try_write(RUN, tmp_path)[1].endswith("No space left on device.")
    assert path.read_text() == before and list(tmp_path.iterdir()) == [path]


# A shell.


@pytest.fixture
def shell(monkeypatch, tmp_path, capsys):
    """Return a function that runs a command: (exit code, stdout, stderr, worker)."""
    return shell_of(monkeypatch, tmp_path / "kept", capsys)


@contextmanager
def full_disk(monkeypatch):
    """Let nothing be written: as a full disk does, without the name of a file."""

    def write(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(recorded, "write", write)
    yield


@pytest.mark.parametrize(
    "command",
    [
        ["claims", "C7", "--run", "--record"],
        ["memory", "--record"],
        ["launches", "--rows", "4096", "--cols", "4096", "--record"],
        ["record", "--only", "C22"],
    ],
    ids=lambda command: command[0],
)
def test_what_cannot_be_written_is_a_sentence(shell, monkeypatch, command):
    everything = answering({entry.case: any_run(entry.case) for entry in PLAN if entry.claims})
    with full_disk(monkeypatch):
        code, _, err, _ = shell([*command, "--commit", "0123456"], everything)
    assert code == 1 and "The run cannot be written: No space left on device." in err


@pytest.mark.parametrize("command", [["claims", "C7", "--run", "--record"], ["record"]], ids=str)
def test_a_folder_that_cannot_be_written_is_said_before_anything_is_measured(
    shell, monkeypatch, tmp_path, command
):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(recorded, "FOLDER", tmp_path / "file")
    code, _, err, worker = shell([*command, "--commit", "0123456"])
    assert code == 2 and not worker.jobs and err.endswith("file cannot be written: File exists.\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--csv", "a" * 300], "a cannot be written."),
        (["--csv", "/proc/1/x"], "/proc/1/x cannot be written."),
        (["--csv", "a", "--html", "./a"], "--json, --csv and --html need a file each."),
    ],
    ids=["long", "proc", "same"],
)
def test_a_sweeps_files_are_tried_before_minutes_are_spent(
    shell, monkeypatch, tmp_path, options, said
):
    monkeypatch.chdir(tmp_path)
    code, _, err, worker = shell(["sweep", "--operation", "add", "--values", "256", *options])
    assert code == 2 and not worker.jobs and err.endswith(f"{said}\n") and len(err) < 400


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(" * 5000], ids=lambda p: p[:9])
def test_what_is_no_pattern_is_one_short_sentence(shell, pattern):
    code, _, err, _ = shell(["record", "--list", "--only", pattern])
    assert code == 2 and "is no pattern: " in err and err.count("\n") == 1 and len(err) < 300


def test_a_folder_that_no_machine_can_have_is_one_without_runs(shell):
    assert shell(["record", "--list", "--only", "C20", "--folder", "a" * 300])[0] == 0


def test_what_can_be_written_is_left_as_it_is(tmp_path):
    there = tmp_path / "there"
    there.write_text("kept")
    assert why_no_file(there) == why_no_file(tmp_path / "new") == why_no_folder(tmp_path) == ""
    assert there.read_text() == "kept" and list(tmp_path.iterdir()) == [there]
    assert why_no_folder(there).endswith("there cannot be written: File exists.")


def test_who_reads_no_further_ends_it_quietly(monkeypatch):
    read, write = os.pipe()
    os.close(read)

    def listed():
        raise BrokenPipeError

    monkeypatch.setattr(main, "main", listed)
    with os.fdopen(write, "w") as stdout:
        monkeypatch.setattr(main.sys, "stdout", stdout)
        assert main.shell() == 1
