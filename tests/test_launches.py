"""softmax(x) + x * y: its launches by formula and measured, and what the tab says of them."""

from __future__ import annotations

import importlib.util
import json
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks import __main__ as command
from benchmarks import launches, launches_command, launches_events, recorded
from benchmarks import launches_timing as timing
from benchmarks.launches_results import KernelSpan, LaunchRun, ProviderRun, passes
from benchmarks.messages import JobFailed
from benchmarks.results import Progress
from kernels.errors import InputError
from tests.fake_check import CPU, GPU
from tests.test_figures import words
from tests.workers import FakeWorker
from viz.figures import launches as charts
from viz.figures import launches_words, sizes
from viz.figures.base import payload
from viz.locales import LANGUAGES, text
from viz.tabs.measure import launches as tab

CASE = launches.choose_launches()
SMALL = launches.choose_launches(6, 50, "bfloat16")
EAGER, COMPILE, FUSED, COPY = launches.PROVIDERS


def span(name: str, start: float, duration: float, kind: str = "kernel") -> KernelSpan:
    return KernelSpan(name, kind, start, duration)


def provider_run(provider, direction, *spans: KernelSpan, wall: float = 30.0) -> ProviderRun:
    """Return a run whose median call is ``spans``."""
    total = launches_events.device_us(spans)
    times = (total - 0.5, total, total + 1.5), (wall - 1, wall, wall + 2)
    counts = len(spans), len(spans)
    return ProviderRun(provider.name, direction, spans, counts, *times, 51, 0.25, 0.5)


SOFTMAX = (
    "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, float, 10, false, false>"
    "(c10::BFloat16*, c10::BFloat16 const*, int)"
)
ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>)"
)
MUL = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<c10::BFloat16, "
    "c10::BFloat16, float, at::native::binary_internal::MulFunctor<float> > >(int)"
)
RUNS = (
    provider_run(
        EAGER, "forward", span(SOFTMAX, 0, 6), span(MUL, 10, 8), span(ADD, 22, 10), wall=32.0
    ),
    ProviderRun("compile", "forward", reason="failed", message="RuntimeError: no C compiler"),
    provider_run(FUSED, "forward", span("fused_chain_kernel", 0, 8), wall=8.0),
    provider_run(COPY, "forward", span("Memcpy DtoD (Device -> Device)", 0, 7, "memcpy"), wall=7.0),
)
RUN = LaunchRun(CASE, GPU, RUNS, "2026-01-02", "0123456", "python -m benchmarks launches …")


# The formula, and what torch really launches.


class Moved(TorchDispatchMode):
    """Notes the bytes of the tensors that every operation takes and gives, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, int]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        name = func.__name__.split(".")[0].rstrip("_")
        if name != "detach":
            tensors = [t for t in (*args, made) if isinstance(t, torch.Tensor)]
            self.seen.append((name, sum(tensor.nbytes for tensor in tensors)))
        return made


@pytest.mark.parametrize("direction", launches.DIRECTIONS)
def test_the_formula_is_what_torch_dispatches(direction):
    tensors = timing.make_tensors(torch, SMALL, "cpu", direction)
    with torch.set_grad_enabled(direction == "backward"):
        call = timing.make_call(torch, EAGER, SMALL, tensors, direction)
        prepared = call.prepare()
        with Moved() as moved:
            call.run(prepared)
    n_bytes = 6 * 50 * 2
    formula = [(k.name, n_bytes * len((*k.reads, *k.writes))) for k in launches.CHAIN[direction]]
    # What aten launches inside one operation, and only on a GPU, is not dispatched.
    inside = [("mul", 3 * n_bytes)] if direction == "backward" else []
    assert sorted([*moved.seen, *inside]) == sorted(formula)


def test_the_formula_has_the_launches_that_were_recorded():
    runs, refused = recorded.read_all()
    runs = [run for run in runs if isinstance(run, LaunchRun)]
    assert runs and not refused
    for run in runs:
        for direction in launches.DIRECTIONS:
            eager, _, fused, _ = launches.lines(run.case, direction, run)
            for line in (eager, fused):
                n = len(line.kernels)
                assert line.measured.launches == (n, n), (run.case, direction, line.exact)
                assert len(line.measured.spans) == n
            # torch's own multiplications are as many as the formula's.
            muls = [one for one in eager.measured.spans if "MulFunctor" in one.name]
            assert len(muls) == [kernel.name for kernel in eager.kernels].count("mul")


def test_passes_by_hand():
    told = {direction: launches.lines(CASE, direction, None) for direction in launches.DIRECTIONS}
    size = 4096 * 1024 * 2
    got = {d: [line.n_bytes // size for line in lines] for d, lines in told.items()}
    assert got == {"forward": [8, 3, 3, 3], "backward": [15, 5, 5, 5]}
    assert passes(launches.CHAIN["forward"]) == {"x": 2, "y": 1, "s": 2, "t": 2, "z": 1}
    back = {"dz": 3, "x": 1, "y": 1, "s": 2, "g": 2, "dx_t": 2, "dx_s": 2, "dx": 1, "dy": 1}
    assert passes(launches.CHAIN["backward"]) == back


# Checking before timing.


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("direction", launches.DIRECTIONS)
def test_torch_passes_the_check_and_what_leaves_a_term_out_does_not(dtype, direction):
    case = launches.choose_launches(32, 700, dtype)
    tensors = timing.make_tensors(torch, case, "cpu", direction)
    exact = timing.references(torch, tensors, direction)
    x, y, dz = (tensors[name] for name in ("x", "y", "dz"))
    with torch.set_grad_enabled(direction == "backward"):
        call = timing.make_call(torch, EAGER, case, tensors, direction)
        outputs = call.run(call.prepare())
    assert 0 < timing.worst_share(torch, outputs, exact) <= 1
    without = (x * y,) if direction == "forward" else (dz * y, dz * x)
    assert timing.worst_share(torch, without, exact) > 10
    outputs[0].data[3, 5] = torch.nan
    assert timing.worst_share(torch, outputs, exact) == float("inf")


def test_our_kernel_is_where_it_is_looked_for():
    found = importlib.util.find_spec(timing.FUSED_MODULE)
    assert "def softmax_plus_product(" in Path(found.origin).read_text("utf-8")


def check(provider, direction="forward", case=SMALL):
    tensors = timing.make_tensors(torch, case, "cpu", direction)
    exact = timing.references(torch, tensors, direction)
    return timing.checked(torch, provider, case, tensors, exact, direction)


def test_a_wrong_kernel_is_not_timed_and_one_that_raises_says_why(monkeypatch):
    run, call = check(EAGER)
    assert not run.reason and 0 < run.worst <= 1 and callable(call.run)

    def compute(answer):
        monkeypatch.setattr(timing, "_function", lambda *_: answer)

    compute(lambda x, y: torch.softmax(x, 0) + x * y)
    run, call = check(FUSED)
    assert (run.reason, call) == ("wrong", None) and float(run.message) > 1

    def no_compiler(x, y):
        raise RuntimeError("backend='inductor' raised:\nRuntimeError: No C compiler in /usr/bin/cc")

    compute(no_compiler)
    run, _ = check(COMPILE)
    assert run.reason == "failed" and run.message.startswith("RuntimeError: RuntimeError: No C")
    assert "/usr" not in run.message

    def faulted(x, y):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    compute(faulted)
    with pytest.raises(RuntimeError, match="illegal"):
        check(FUSED)


# The profiler's events.


def event(name: str, start: float, end: float, device: str = "CUDA", annotation: bool = False):
    """Return an event with what is read of torch's."""
    return SimpleNamespace(
        name=name,
        device_type=SimpleNamespace(name=device),
        time_range=SimpleNamespace(start=start, end=end),
        is_user_annotation=annotation,
    )


def test_the_events_of_torch_have_what_is_read():
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        torch.ones(3) + 1
    seen = profiler.events()
    assert launches_events.spans_of(seen) == []  # nothing ran on a GPU
    assert all(one.time_range.end >= one.time_range.start for one in seen)
    assert {one.device_type.name for one in seen} == {"CPU"}
    assert torch.autograd.DeviceType.CUDA.name == "CUDA"


def test_only_what_ran_on_the_gpu_is_a_launch_in_the_order_of_time():
    seen = [
        event("cudaLaunchKernel", 0, 3, device="CPU"),
        event("add", 9, 12.5),
        event("Torch-Compiled Region: 0/0", 4, 13, annotation=True),
        event("Memset (Device)", 5, 6),
        event("Memcpy DtoD (Device -> Device)", 7, 8),
    ]
    got = launches_events.spans_of(seen)
    assert got == [
        span("Memset (Device)", 5, 1, "memset"),
        span("Memcpy DtoD (Device -> Device)", 7, 1, "memcpy"),
        span("add", 9, 3.5),
    ]


def test_calls_are_what_lies_between_markers_and_preparations_are_left_out():
    def pair(at: float, *names: str):
        mark, prepared = span("mark", at, 9), span("forward", at + 10, 1)
        ran = [span(name, at + 30 + k, 1) for k, name in enumerate(names)]
        return [mark, prepared, span("mark", at + 20, 9), *ran]

    spans = [*pair(0, "a"), *pair(100, "b", "c"), *pair(200, "b", "c"), *pair(300, "a")]
    got = launches_events.sorted_out(spans, [0, 1, 1, 0], 2)
    named = [[[one.name for one in call] for call in calls] for calls in got]
    assert named == [[["a"], ["a"]], [["b", "c"], ["b", "c"]]]
    for lost in (spans[4:], spans[:-1], []):
        with pytest.raises(launches_events.Unseen):
            launches_events.sorted_out(lost, [0, 1, 1, 0], 2)


def test_times_are_those_of_real_calls_and_the_spans_of_the_median_one():
    calls = [[span("k", 100.0, float(n)), span("k", 160.0, 1.0)] for n in range(50, -1, -1)]
    run = timing.timed(ProviderRun("fused", "forward", first_s=1.5), calls)
    assert run.device_us == (11, 26, 41) and run.wall_us == (61, 61, 61)
    assert run.spans == (span("k", 0, 25), span("k", 60, 1))
    assert (run.launches, run.n_calls, run.first_s) == ((2, 2), 51, 1.5)


def test_profiling_marks_each_call_and_leaves_its_preparation_out(monkeypatch):
    import torch.profiler

    log: list = []

    def launch(name: str) -> None:
        log.append(event(name, len(log), len(log) + 0.5))

    class Profile:
        def __init__(self, activities) -> None:
            assert activities == [torch.profiler.ProfilerActivity.CUDA]

        def __enter__(self):
            log.clear()
            return self

        def __exit__(self, *_) -> None:
            pass

        def events(self):
            return list(log)

    made = []
    marker = SimpleNamespace(bitwise_not_=lambda: launch("bitwise_not"))
    fake = SimpleNamespace(
        uint8="uint8",
        zeros=lambda n, **settings: made.append((n, settings)) or marker,
        cuda=SimpleNamespace(
            current_device=lambda: 0,
            get_device_properties=lambda _: SimpleNamespace(L2_cache_size=60_000_000),
            synchronize=lambda: None,
        ),
    )
    monkeypatch.setattr(torch.profiler, "profile", Profile)
    calls = [
        timing.Call(lambda: launch("forward"), lambda _: launch("backward")),
        timing.Call(lambda: None, lambda _: (launch("a"), launch("b"))),
    ]
    seen = timing.profiled(fake, calls)
    assert made == [(120_000_000, {"dtype": "uint8", "device": "cuda"})]  # twice the L2
    named = [[[one.name for one in call] for call in of] for of in seen]
    assert named == [[["backward"]] * timing.N_CALLS, [["a", "b"]] * timing.N_CALLS]


def test_everyone_is_first_as_often():
    order = list(timing.turns(3, 6))
    assert order[:6] == [0, 1, 2, 1, 2, 0] and order[::3] == [0, 1, 2] * 2


def test_measuring_checks_first_and_says_what_was_not_seen(monkeypatch):
    real = timing.make_tensors
    monkeypatch.setattr(timing, "make_tensors", lambda t, c, where, d: real(t, c, "cpu", d))
    monkeypatch.setattr(timing, "_function", lambda *_: lambda x, y: torch.softmax(x, -1) + x * y)

    def profiled(_, calls):
        if torch.is_grad_enabled():
            raise launches_events.Unseen("0 of 8 markers, 0 launches")
        return [[[span("k", 0, n + 1)]] * 3 for n, _ in enumerate(calls)]

    monkeypatch.setattr(timing, "profiled", profiled)
    items = list(timing.measure(SMALL, "gpu"))
    runs = [item for item in items if isinstance(item, ProviderRun)]
    assert [(run.provider, run.direction) for run in runs] == [
        (provider.name, direction)
        for direction in launches.DIRECTIONS
        for provider in launches.PROVIDERS
    ]
    assert [run.device_us[1] for run in runs[:4]] == [1, 2, 3, 4]
    assert {run.reason for run in runs[4:]} == {"unseen"} and not runs[0].reason
    stages = [item.stage for item in items if isinstance(item, Progress)]
    assert stages == [*["launches"] * 4, "launches_timed"] * 2
    with pytest.raises(InputError, match="on a GPU"):
        next(timing.measure(SMALL, "interpreter"))


# Recorded, and the command.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(recorded.write, "__defaults__", (tmp_path,))
    return tmp_path


def test_what_is_written_reads_back(tmp_path):
    path = recorded.write(RUN, tmp_path)
    assert path.name == "launches-nvidia-h200-2026-01-02-4096x1024-bfloat16.json"
    assert recorded.read_all(tmp_path) == ([RUN], [])


DAMAGE = [
    (("case", "n_rows"), 0, "case.n_rows cannot be 0"),
    (("case", "n_rows"), 65_536, "case.n_rows × n_cols cannot be 67108864"),
    (("case", "dtype"), "int8", "case.dtype cannot be int8"),
    (("runs",), [], "runs cannot be a list of 0"),
    (("runs", 0, "provider"), "x", "runs[0].provider cannot be x"),
    (("runs", 0, "direction"), 1, "runs[0].direction cannot be 1"),
    (("runs", 2, "provider"), "eager", "runs[2].direction cannot be forward"),
    (("runs", 0, "message"), "hi", "runs[0].message cannot be hi"),
    (("runs", 0, "spans"), [], "runs[0].spans cannot be"),
    (("runs", 0, "spans", 1, "kind"), "thread", "runs[0].spans[1].kind cannot be thread"),
    (("runs", 0, "spans", 0, "name"), "", "runs[0].spans[0].name cannot be"),
    (("runs", 0, "spans", 0, "start_us"), 1, "runs[0].spans[0].start_us cannot be 1"),
    (("runs", 0, "spans", 2, "start_us"), 5, "runs[0].spans[2].start_us cannot be 5"),
    (("runs", 0, "spans", 2, "duration_us"), 3, "runs[0].device_us cannot be 24"),
    (("runs", 0, "launches"), [1, 2], "runs[0].launches cannot be"),
    (("runs", 0, "device_us"), [24, 23, 25], "runs[0].device_us cannot be"),
    (("runs", 0, "wall_us"), [1, True, 3], "runs[0].wall_us cannot be True"),
    (("runs", 0, "worst"), 1.5, "runs[0].worst cannot be 1.5"),
    (("runs", 0, "n_calls"), 0, "runs[0].n_calls cannot be 0"),
    (("runs", 1, "reason"), "<b>", "runs[1].reason cannot be <b>"),
    (("runs", 1, "launches"), [1, 1], "runs[1].launches cannot be"),
    (("kind",), "memory", "points cannot be nothing"),
]


def test_damage_is_named(tmp_path):
    whole = recorded.write(RUN, tmp_path).read_text("utf-8")
    path = tmp_path / "odd.json"
    for where, value, said in DAMAGE:
        document = inner = json.loads(whole)
        *names, last = where
        for name in names:
            inner = inner[name]
        inner[last] = value
        path.write_text(json.dumps(document), "utf-8")
        with pytest.raises(InputError) as caught:
            recorded.read(path)
        assert said in str(caught.value)


def options(**changes) -> Namespace:
    given = {"rows": "4096", "cols": "1024", "dtype": "bfloat16", "record": True}
    return Namespace(**{**given, "commit": "0123456", **changes})


def test_the_command_records_what_was_measured(folder, capsys):
    worker = FakeWorker(Progress("launches"), *RUNS, device=GPU)
    assert launches_command.run(worker, GPU, options()) == 0
    (run,), refused = recorded.read_all(folder)
    assert not refused and (run.case, run.runs, run.commit) == (CASE, RUNS, "0123456")
    wanted = "launches --record --rows 4096 --cols 1024 --dtype bfloat16"
    assert run.command == f"python -m benchmarks {wanted}"
    said = capsys.readouterr().out
    eager = next(line for line in said.splitlines() if line.startswith("torch eager "))
    assert eager.split()[2:] == [
        "3", "67.11", "24.00", "(23.50-25.50)", "32.00", "(31.00-34.00)", "1049", "1.00", "0.250",
    ]  # fmt: skip
    assert "3.00" in said and "no C compiler" in said and "fused_chain_kernel" in said


def test_three_sizes_are_recorded_unless_one_is_asked_for(folder):
    worker = FakeWorker(*RUNS, device=GPU)
    assert launches_command.run(worker, GPU, options(rows=None, cols=None)) == 0
    assert [(job.case.n_rows, job.case.n_cols) for job in worker.jobs] == list(launches.SIZES)
    assert len(list(folder.iterdir())) == 3


def test_nothing_is_recorded_of_a_run_that_failed_or_had_no_gpu(folder, capsys, monkeypatch):
    failing = FakeWorker(*RUNS[:1], JobFailed("timeout", limit="240"), device=GPU)
    assert launches_command.run(failing, GPU, options()) == 1
    assert "ended early (timeout: limit 240)" in capsys.readouterr().err
    wrong = ProviderRun("fused", "forward", reason="wrong", message="7.5")
    assert launches_command.run(FakeWorker(wrong, device=GPU), GPU, options()) == 1
    assert launches_command.run(FakeWorker(), CPU, options()) == 1
    assert "Only a run on a GPU can be recorded" in capsys.readouterr().err
    monkeypatch.setattr(recorded, "_git", lambda *_: "")
    assert launches_command.run(FakeWorker(device=GPU), GPU, options(commit=None)) == 2
    assert not list(folder.iterdir())


def test_without_a_gpu_the_command_says_the_formula(capsys, monkeypatch):
    class Closing(FakeWorker):
        def close(self):
            pass

    monkeypatch.setattr(command, "Worker", lambda: Closing())
    assert command.main(["launches", "--rows", "64", "--cols", "256"]) == 0
    said = capsys.readouterr().out
    assert "3*" in said and "0.26" in said and ">=0.10" in said and "0.49" in said
    assert command.main(["launches", "--rows", "64"]) == 2
    assert (
        capsys.readouterr().err == "n_cols must be a whole number from 1 to 16384, got nothing.\n"
    )


# Figures and words.

TOLD = launches.lines(CASE, "forward", RUN)
PLAIN = launches.lines(CASE, "forward", None)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        (SOFTMAX, "softmax_warp_forward"),
        (ADD, "elementwise CUDAFunctor_add"),
        (MUL, "elementwise MulFunctor"),
        ("fused_chain_kernel", "fused_chain_kernel"),
        ("triton_per_fused_add_mul_softmax_0", "triton_per_fused_add_mul_softmax_0"),
        ("Memset (Device)", "Memset (Device)"),
        ("", ""),
    ],
)
def test_a_kernels_short_name_keeps_what_tells_it_apart(name, short):
    assert charts.short_name(name) == short


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_bar_is_a_launch_with_its_time_and_gaps_stay(language):
    made = charts.timeline_figure(TOLD, language)
    json.loads(payload(made), parse_constant=pytest.fail)
    eager, compiled, fused, *_ = made.data
    assert list(zip(eager.base, eager.x)) == [(0, 6), (10, 8), (22, 10)]
    assert list(compiled.x) == [] and list(zip(fused.base, fused.x)) == [(0, 8)]
    said = " ".join(note.text for note in made.layout.annotations)
    assert "torch.compile" in said and ("3 launches" in said or language == "zh")
    assert made.layout.xaxis.ticktext[-1] == "30 µs"
    plain = charts.timeline_figure(PLAIN, language)
    assert not any(trace.x for trace in plain.data) and plain.layout.xaxis.ticktext == ()


def test_a_bar_without_room_for_its_name_keeps_its_time_and_a_long_name_its_ends():
    long = "triton_red_fused__softmax_add_exp_mul_prepare_softmax_online_sub_0"
    compiled = provider_run(COMPILE, "forward", span(long, 0, 15))
    told = launches.lines(CASE, "forward", LaunchRun(CASE, GPU, (RUNS[0], compiled, RUNS[2])))
    made = charts.timeline_figure(told, "en")
    eager, compiled, fused, *names = made.data
    # The time is text of its own, under a line left free; a name without room goes alone.
    assert [told.split("<br>") for told in eager.text] == [
        [charts.BLANK, "6.00 µs"], [charts.BLANK, "8.00 µs"], [charts.BLANK, "10.00 µs"]
    ]  # fmt: skip
    assert names[0].text[2] == f"elementwise CUDAFunctor_add<br>{charts.BLANK}"
    for under, over in zip((eager, compiled, fused), names, strict=True):
        for field in ("base", "x", "y", "width"):
            assert under[field] == over[field]
        assert over.marker.color == charts.base.CLEAR and over.hoverinfo == "skip"
    # Beside a short bar there is room for both, on a phone too.
    assert fused.text == ("fused_chain_kernel<br>8.00 µs",) and names[2].text == ("",)
    assert fused.textposition == ("outside",) and compiled.textposition == ("inside",)
    assert names[1].text[0].startswith("triton_red_fus…_online_sub_0")
    assert long in compiled.customdata[0]


@pytest.mark.parametrize(
    ("name", "most", "short"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abc…fg"), ("abcdefgh", 5, "ab…gh"), ("", 5, "")],
)
def test_a_long_name_is_shortened_in_its_middle(name, most, short):
    assert charts.shortened(name, most) == short


def test_bars_of_bytes_are_as_long_as_what_their_kernels_move():
    made = charts.bytes_figure(launches.lines(CASE, "backward", None), "en")
    size = 4096 * 1024 * 2 / 1e6
    assert list(made.data[0].x) == pytest.approx([3 * size] * 5)
    assert list(made.data[0].base) == pytest.approx([3 * k * size for k in range(5)])
    assert list(made.data[2].x) == pytest.approx([5 * size])
    assert made.data[2].text[0] == "x, y, dz → dx, dy"
    assert "at least 41.9 MB" in " ".join(note.text for note in made.layout.annotations)


def headline(runs: tuple[ProviderRun, ...] | None, **about: str) -> str:
    run = None if runs is None else LaunchRun(CASE, GPU, runs, **about)
    told = launches.lines(CASE, "forward", run)
    return words(launches_words.timeline_headline(told, CASE, "forward", run, "en"))


def test_the_headline_says_what_was_measured_and_where():
    kept = headline(RUNS, date="2026-01-02", commit="0123456", command="x")
    assert "Recorded on NVIDIA H200, 2026-01-02" in kept and "4096 × 1024, bfloat16" in kept
    assert "Launches: 1 instead of 3" in kept and "8.00 µs instead of 24.0 µs, 3.00× less" in kept
    assert "Measured here on NVIDIA H200" in headline(RUNS)
    for duration, said in ((24.5, "about the same"), (48, "2.00× more")):
        slow = provider_run(FUSED, "forward", span("fused_chain_kernel", 0, duration))
        assert said in headline((RUNS[0], slow))
    assert "only a GPU can say" in headline(RUNS[:1]) and "3 launches" in headline(None)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_tables_have_every_number_and_every_reason(language):
    shown = words(launches_words.timeline_table(TOLD, "forward", language))
    numbers = "67.1 MB|≥ 25.2 MB|24.0 µs|23.5–25.5|32.0 µs|1049 GB/s|3.00×|4.00×|0.50|51"
    for said in (*numbers.split("|"), "RuntimeError: no C compiler", "softmax_warp_forward"):
        assert said in shown, said
    assert "GB/s" not in words(launches_words.timeline_table(PLAIN, "forward", language))
    counted = words(launches_words.bytes_table(PLAIN, "forward", language))
    assert "8×" in counted and "≥ 3×" in counted and "8.39 MB" in counted
    for reason in launches.REASONS:
        run = LaunchRun(CASE, GPU, (ProviderRun("fused", "forward", reason=reason, message="7"),))
        told = launches.lines(CASE, "forward", run)
        assert "Blockwise" in words(launches_words.timeline_table(told, "forward", language))


def test_the_launches_are_told_numbers_first_and_names_short():
    long = "triton_red_fused__softmax_add_exp_mul_prepare_softmax_online_sub_0"
    runs = (provider_run(COMPILE, "forward", span(long, 0, 15)),)
    told = launches.lines(CASE, "forward", LaunchRun(CASE, GPU, runs))
    table = launches_words.timeline_table(told, "forward", "en")[-1][2]
    *_, heads, body = table
    assert [head[2] for head in heads[2][2:]] == ["", "start", "duration", "kernel"]
    _, *cells = body[2][2:]
    assert [cell[2] for cell in cells[:2]] == ["0.00 µs", "15.00 µs"]
    assert cells[2][1]["title"] == long
    assert cells[2][2] == f"{long[:20]}…{long[-19:]}"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (7.583, "7.58 s"), (0.1, "0.10 s"), (0.0996, "0.10 s"), (0.097, "97 ms"),
        (0.0031, "3.1 ms"), (0.002, "2 ms"), (0.00042, "0.42 ms"), (0.0, "< 1 ms"),
    ],
)  # fmt: skip
def test_a_first_call_is_told_in_ms_where_it_is_short(seconds, said):
    assert sizes.duration(seconds) == said


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_claim_is_checked_by_counting_and_by_measuring(language):
    kept = words(launches_words.claim(TOLD, RUN, language))
    here = words(launches_words.claim(TOLD, LaunchRun(CASE, GPU, RUNS), language))
    for said, key in ((kept, "memory.from.recorded"), (here, "memory.from.here")):
        assert text(language, key, name="NVIDIA H200", date="2026-01-02") in said
        assert all(number in said for number in ("3.00", "4.00", "8", "2.67"))
    assert text(language, "launches.claim.unmeasured") in words(
        launches_words.claim(PLAIN, None, language)
    )
    if language == "en":
        assert "8 passes over memory become 3, 2.67× fewer bytes. Recorded on NVIDIA H200" in kept
        assert "takes 3.00× the time" in kept and "4.00× from first to last" in kept
        assert "Measured here" not in kept


# The tab.

NOTHING = tab.Recordings((), ())
KEPT = tab.Recordings((RUN,), ())
VALUES = ["4096 × 1024", "bfloat16", "forward"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([None, "bfloat16", "forward"], "n_rows must be a whole number"),
        (["4096", "bfloat16", "forward"], "n_cols must be a whole number"),
        (["4 × 99999", "bfloat16", "forward"], "n_cols must be from 1 to 16384, got 99999."),
        (["65536 × 16384", "bfloat16", "forward"], "may be at most 33554432"),
        ([["a"], "bfloat16", "forward"], "n_rows must be a whole number"),
        ([VALUES[0], "int8", "forward"], "dtype must be one of"),
        ([VALUES[0], "bfloat16", "<b>"], "direction must be one of forward, backward, got <b>."),
    ],
)
def test_a_mistake_gets_one_sentence_and_the_picture_stays(values, said):
    shown = tab.redraw(values, None, NOTHING, "en")
    assert set(shown) == {"note"} and said in words(shown["note"])
    worker = FakeWorker(device=GPU)
    (update,) = tab.measure(worker, values, NOTHING, "en")
    assert said in words(update.shown["note"]) and not worker.jobs and update.running is False


def test_a_recording_is_shown_for_its_own_case_and_ones_own_run_comes_first():
    assert "Recorded on" in words(tab.redraw(VALUES, None, KEPT, "en")["timeline_headline"])
    other = tab.redraw(["64 × 256", *VALUES[1:]], None, KEPT, "en")
    assert "No run of a GPU recorded" in words(other["timeline_headline"])
    assert "2026-01-02: 4096 × 1024, bfloat16" in words(other["timeline_table"])
    mine = tab.redraw(VALUES, LaunchRun(CASE, GPU, RUNS[:1]), KEPT, "en")
    assert "Measured here" in words(mine["timeline_headline"])
    nothing = tab.redraw(VALUES, None, NOTHING, "en")
    assert "No run of a GPU has been recorded" in words(nothing["timeline_table"])
    odd = LaunchRun(launches.choose_launches(8, 9), GPU, RUNS)
    assert tab.sizes(tab.Recordings((odd, RUN), ())) == [
        "4096 × 1024", "4096 × 4096", "64 × 256", "8 × 9",
    ]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_runs_stream_and_stay_when_the_job_fails(language):
    stage = Progress("launches", {"provider": EAGER.exact, "direction": "forward"})
    backward = ProviderRun("eager", "backward", reason="wrong", message="7")
    answers = [stage, *RUNS[:2], Progress("launches_timed", {"direction": "backward"}), backward]
    worker = FakeWorker(*answers, JobFailed("crashed", signal="SIGKILL"), device=GPU)
    updates = list(tab.measure(worker, VALUES, NOTHING, language))
    assert [len(u.run.runs) for u in updates if u.run] == [1, 2, 2, 3, 3]
    drawn = ["timeline_plot" in u.shown for u in updates]
    assert drawn == [False, False, True, True, False, False, True]
    assert "SIGKILL" in words(updates[-1].shown["note"])
    assert [u.running for u in updates] == [True] * (len(updates) - 1) + [False]
    assert all("note" in u.shown for u in updates)
