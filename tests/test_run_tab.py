"""The Run tab without a browser: what a choice becomes, what a run yields, what a fault says."""

from __future__ import annotations

import math

import gradio as gr
import pytest

from benchmarks.messages import JobFailed
from benchmarks.results import Progress
from kernels.errors import InputError
from kernels.inputs import Case, choose, make_arrays
from tests.fake_check import CPU, GPU, SMALL, check
from tests.rows import ROWS
from tests.test_figures import words
from tests.workers import FakeWorker
from viz.locales import LANGUAGES, table
from viz.tabs import run, run_form, run_rows, run_screen
from viz.tabs.page import Page

ROW = next(name for name, entry in ROWS.items() if entry.has_values)
PLAIN = next(name for name, entry in ROWS.items() if not entry.has_values)
WHOLE = next(name for name, entry in ROWS.items() if entry.whole_row)
WATCHED = {
    "algorithm": ROW,
    "preset": "rising",
    "n_cols": 20,
    "block": 8,
    "head_dim": 3,
    "dtype": "float16",
    "seed": 5,
    "numbers": "",
}


def form(**changes) -> list:
    """Return what the controls hold for a larger case, with ``changes``."""
    values = {
        **dict.fromkeys(run_form.FIELDS),
        "source": "larger",
        "algorithm": ROW,
        "preset": "normal",
        "dtype": "float32",
        "n_rows": 6,
        "n_cols": 50,
        "head_dim": 5,
        "block": 16,
        "warps": 4,
        "seed": 7,
        **changes,
    }
    return [values[name] for name in ("source", *run_form.FIELDS)]


def read(watched=None, interpreted=True, **changes):
    return run_form.read(form(**changes), watched or WATCHED, interpreted)


def updates(worker, language="en", **changes) -> list[run.Update]:
    return list(run.run(worker, language, WATCHED, form(**changes)))


def test_the_larger_case_is_what_the_controls_say():
    assert read() == (ROW, SMALL)


def test_the_watched_numbers_are_what_watch_holds_whatever_the_controls_say():
    algorithm, case = read(source="watched", n_cols=9999, preset="nonsense", seed=None)
    assert algorithm == ROW
    assert case == Case("rising", 1, 20, 8, 3, "float16", 4, 5)


@pytest.mark.parametrize("numbers", ["1, inf, nan", (1.0, math.inf, math.nan)])
def test_pasted_numbers_are_run_as_text_or_as_numbers(numbers):
    watched = {**WATCHED, "preset": "own", "numbers": numbers}
    case = read(watched, source="watched")[1]
    assert repr(case.numbers) == repr((1.0, math.inf, math.nan)) and case.n_rows == 1


def test_a_control_that_is_not_a_choice_cannot_fail_a_run():
    assert read(algorithm=PLAIN, head_dim=None)[1].head_dim == 1
    assert read(algorithm=WHOLE, block="nonsense")[1].block == 64
    assert read(algorithm=WHOLE, block=3, n_cols=60000, n_rows=1)[1].block == 8192


@pytest.mark.parametrize(
    "changes",
    [
        {"source": "elsewhere"},
        {"source": None},
        {"algorithm": "rm -rf"},
        {"algorithm": ["a"]},
        {"preset": "own"},
        {"preset": None},
        {"dtype": "float64"},
        {"n_rows": math.nan},
        {"n_rows": math.inf},
        {"n_rows": 0},
        {"n_rows": -1},
        {"n_rows": 2.5},
        {"n_rows": True},
        {"n_rows": None},
        {"n_rows": [1]},
        {"n_rows": "x" * 5_000_000},
        {"n_cols": 10**30},
        {"n_cols": {}},
        {"block": 48},
        {"block": 2**20},
        {"warps": 3},
        {"warps": 64},
        {"head_dim": 0},
        {"seed": -1},
        {"seed": 2**31},
        {"n_rows": 4096, "n_cols": 65536},
        {"n_rows": 4096, "n_cols": 1000, "block": 1},
        {"algorithm": WHOLE, "n_cols": math.nan},
    ],
)
def test_whatever_arrives_is_one_sentence(changes):
    with pytest.raises(InputError) as caught:
        read(**changes)
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)
    worker = FakeWorker()
    last = updates(worker, **changes)[-1]
    assert words(last.note).startswith("✕ ") and last.running is False
    assert last.result is None and worker.jobs == []


@pytest.mark.parametrize("watched", [None, [], "x", {"n_cols": None}, {"numbers": 3}])
def test_an_odd_watch_state_is_a_sentence_or_the_defaults(watched):
    try:
        run_form.read(form(source="watched"), watched, True)
    except InputError:
        pass


def test_the_interpreters_limits_hold_only_on_the_interpreter():
    large = {"n_rows": 4096, "n_cols": 1000, "block": 128}
    with pytest.raises(InputError):
        read(**large)
    assert read(interpreted=False, **large)[1].n_rows == 4096
    worker = FakeWorker(check(ROW), device=GPU)
    assert updates(worker, **large)[-1].result is not None
    worker = FakeWorker(check(ROW), device=CPU)
    assert updates(worker, **large)[-1].result is None and not worker.jobs


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_run_says_where_it_stands_and_ends_with_the_result(language):
    result = check(ROW)
    stages = [Progress("queued", {"position": 2}), *[Progress("kernel")] * 2, Progress("compare")]
    said = updates(FakeWorker(*stages, result), language)
    assert said[0].running is True and said[-1].running is False
    assert said[-1].result is result and said[-1].note == [] and said[-1].device is CPU
    shown = [words(update.note) for update in said if isinstance(update.note, list)]
    assert table(language)["progress.queued"].format(position=2) in shown
    assert shown.count(table(language)["progress.kernel"]) == 1, "a repeated stage is not redrawn"
    assert len(said) == 2 + len(stages), "yet every beat is a chance to stop"


def test_a_worker_that_is_still_starting_is_waited_for():
    said = updates(FakeWorker(check(ROW), not_ready=3))
    assert len(said) == 5 and said[-1].result is not None


FAILURES = {
    "timeout": {"limit": "60"},
    "crashed": {"signal": "SIGKILL"},
    "exception": {"type": "ValueError", "message": "<img src=x onerror=alert(1)> ${1} {{2}}"},
    "gpu_error": {"message": "illegal memory access"},
    "compile": {"message": "too large"},
    "out_of_memory": {},
    "out_of_resources": {"what": "shared memory", "required": 300000, "limit": 232448},
    "not_ready": {},
    "closed": {},
    "no_triton": {},
    "no_torch": {},
    "no_device": {},
}


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_failed_job_is_a_sentence_in_the_visitors_language(kind, language):
    error = JobFailed(kind, **FAILURES[kind])
    said = updates(FakeWorker(Progress("kernel"), error), language)
    assert said[-1].running is False and said[-1].result is None
    sentence = words(said[-1].note)
    assert sentence == "✕ " + table(language)[f"failed.{kind}"].format(**FAILURES[kind])
    # The message is a text node of the tree, never markup.
    assert isinstance(said[-1].note[0][-1], str)


def test_an_unknown_failure_still_says_something():
    assert "strange" in words(updates(FakeWorker(JobFailed("strange")))[-1].note)


def test_a_job_that_ends_without_a_result_is_a_failure():
    assert words(updates(FakeWorker(Progress("kernel")))[-1].note).startswith("✕")


def test_closing_a_run_closes_the_workers():
    worker = FakeWorker(*[Progress("kernel")] * 9)
    running = run.run(worker, "en", WATCHED, form())
    for _ in range(3):
        next(running)
    running.close()
    assert worker.closed


@pytest.fixture(scope="module")
def built():
    with gr.Blocks():
        page = Page(FakeWorker(), gr.State("en"), gr.State({}))
        screen = run_screen.build_screen(page)
        controls = run_form.build_form(page)
    return page, screen, controls


def filled(screen, by_part) -> set[str]:
    """Return the parts that show something; a figure that has nothing must be hidden."""
    shown = set()
    for name, component in screen.parts.items():
        update = by_part[component]
        if isinstance(component, gr.Plot):
            assert hasattr(update.get("value"), "plot") == update["visible"], name
            update = update["visible"]
        shown |= {name} if update else set()
    return shown


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_part_of_the_screen_is_filled_in_its_place(built, language):
    _, screen, _ = built
    result = check(ROW)
    drawn = run_screen.draw(result, None, language)
    assert len(drawn) == len(screen.outputs) == len(run_screen.draw(None, None, language))
    by_part = dict(zip(screen.outputs, drawn, strict=True))
    assert filled(screen, by_part) == set(run_rows.fill(result, None, None, language)) | {"python"}
    again = run_screen.draw_row(result, result.worst_row, language)
    for component, value in zip(screen.row_outputs, again, strict=True):
        assert value == by_part[component]


def test_the_worst_row_comes_first_and_is_called_so():
    result = check(ROW)
    (label, row), *others = run_rows.row_choices(result, "en")
    assert row == result.worst_row and "the worst" in label
    assert sorted([row, *(r for _, r in others)]) == [d.row for d in result.rows]


@pytest.mark.parametrize("row", [None, [], "3", 10**9, math.nan, True, -1])
def test_a_row_that_is_not_kept_opens_the_worst(row):
    result = check(ROW)
    assert run_rows.detail_of(result, row).row == result.worst_row


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("preset, dtype", [("normal", "float32"), ("masked_tail", "bfloat16")])
def test_a_row_can_be_watched_as_it_was_run(name, preset, dtype):
    result = check(name, Case(preset, 6, 50, 16, 5, dtype))
    for detail in result.rows:
        wanted = run_screen.watched_row(result, detail.row)
        entry = ROWS[wanted.pop("algorithm")]
        choice = choose(**wanted)
        arrays = make_arrays(choice, entry.draws)
        trace = entry.trace(arrays, choice.block, choice.dtype)
        assert (trace.outputs[entry.output] == detail.outputs["kernel"]).all()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_kernel_that_keeps_nothing_shows_its_row_without_a_state(built, language):
    _, screen, _ = built
    result = check("vector_add", Case(n_rows=3, n_cols=20, block=8))
    by_part = dict(zip(screen.outputs, run_screen.draw(result, 1, language), strict=True))
    shown = filled(screen, by_part)
    assert not {"state", "state_words"} & shown and {"state_head", "numbers"} <= shown
    said = words(by_part[screen.parts["state_head"]])
    assert table(language)["run.row.alone"].format(row=run_rows.detail_of(result, 1).row) in said
    assert table(language)["run.tiles.row.how"] in said
    opened = run_rows.detail_of(result, 1).row
    title = table(language)["run.numbers"].format(name="z", row=opened)
    assert words(by_part[screen.parts["numbers"]]).startswith(title)


def test_a_row_that_watch_cannot_draw_says_why():
    result = check(ROW, Case(n_rows=1, n_cols=600, block=64, head_dim=4))
    update = run_screen.draw_row(result, 0, "en")[-1]
    assert update["interactive"] is False and "over 512" in update["value"]


def adapted(source, algorithm, watched=WATCHED, sized="row") -> dict:
    updates = run_form.adapt(source, algorithm, watched, "en", sized)
    return dict(zip((*run_form.FIELDS, "hint", "sized"), updates, strict=True))


def test_controls_show_what_would_be_run():
    watched = adapted("watched", ROW)
    for name, value in (("algorithm", ROW), ("n_rows", 1), ("n_cols", 20), ("block", 8)):
        assert watched[name]["value"] == value and watched[name]["interactive"] is False
    assert watched["warps"]["interactive"] is True and watched["hint"] == []
    larger = adapted("larger", PLAIN)
    assert larger["head_dim"]["interactive"] is False and larger["n_cols"]["interactive"] is True
    assert "value" not in larger["n_cols"], "what was typed stays"
    assert "own" not in [value for _, value in larger["preset"]["choices"]]
    whole = adapted("larger", WHOLE)
    assert whole["block"]["interactive"] is False
    assert words(whole["hint"]) == table("en")["run.whole_row"]
    fresh = adapted("larger", ROW, sized="")
    assert fresh["n_rows"]["value"] == run_form.LARGER["row"]["n_rows"]


def test_the_larger_case_to_start_with_is_allowed_and_can_be_watched():
    algorithm, case = read(**run_form.LARGER["row"])
    assert -(-case.n_cols // case.block) > 1 and case.n_cols % case.block
    choose(case.preset, case.n_cols, case.block, case.head_dim, case.dtype, case.seed)
