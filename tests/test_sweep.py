"""What a sweep asks for: its sizes and costs, its times' summary, turns, and a user's choice."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from benchmarks import sweep, timing
from benchmarks.operations import NAMES, OPERATIONS, at
from benchmarks.own_providers import Call
from benchmarks.sweep_choice import Limits, choose_landscape, choose_sweep, limits_from, text_of
from benchmarks.sweep_results import SweepCase, SweepPoint
from kernels import tuning
from kernels.errors import InputError
from kernels.inputs import Case
from viz.locales import LANGUAGES, text

# Sizes and costs.


@pytest.mark.parametrize(
    ("operation", "sizes", "n_bytes", "flops_of_a_product"),
    [
        ("softmax", {"n_rows": 8, "n_cols": 100}, 2 * 8 * 100 * 2, None),
        ("softmax_backward", {"n_rows": 8, "n_cols": 100}, 3 * 8 * 100 * 2, None),
        ("add", {"n_rows": 8, "n_cols": 100}, 3 * 8 * 100 * 2, None),
        ("chain", {"n_rows": 8, "n_cols": 100}, 3 * 8 * 100 * 2, None),
        ("matmul", {"size": 64}, 3 * 64 * 64 * 2, 2 * 64**3),
        ("attention", {"seq": 128, "heads": 2, "head_dim": 16},
         4 * 2 * 128 * 16 * 2 + 4 * 2 * 128, 4 * 2 * 128 * 128 * 16),
        ("decode", {"seq_q": 1, "seq_k": 128, "heads": 2, "head_dim": 16},
         2 * 2 * 128 * 16 * 2 + 2 * 2 * 16 * 2 + 4 * 2, 4 * 2 * 128 * 16),
    ],
)  # fmt: skip
def test_costs_by_hand(operation, sizes, n_bytes, flops_of_a_product):
    case = Case(dtype="bfloat16", block=64)
    for axis, value in sizes.items():
        case = at(case, axis, value)
    got = OPERATIONS[operation].costs(case)
    assert got[0] == n_bytes
    if flops_of_a_product is not None:
        assert got[1] == flops_of_a_product
    is_by_flops = flops_of_a_product is not None and operation != "decode"
    assert OPERATIONS[operation].by_flops == is_by_flops


def test_a_backward_counts_two_and_a_half_forwards():
    case = at(Case(heads=4, kv_heads=4, dtype="float16", block=64), "seq", 256)
    forward, backward = (OPERATIONS[n].costs(case)[1] for n in ("attention", "attention_backward"))
    assert backward == forward * 5 // 2


def test_a_size_sets_all_that_it_stands_for():
    case = Case(n_cols=5)
    assert (at(case, "seq", 9).seq_q, at(case, "seq", 9).seq_k) == (9, 9)
    assert [getattr(at(case, "size", 9), f"size_{k}") for k in "mnk"] == [9, 9, 9]
    assert (at(case, "heads", 9).heads, at(case, "heads", 9).kv_heads) == (9, 9)
    assert at(case, "seq_k", 9) == Case(n_cols=5, seq_k=9)


@pytest.mark.parametrize("n_cols", [1, 100, 256, 50_257, 2**20])
def test_chosen_rows_make_the_traffic_large(n_cols):
    case = Case(n_cols=n_cols, dtype="bfloat16")
    n_rows = sweep.rows_for("softmax", case)
    assert n_rows % 16 == 0
    assert 4 * n_cols * n_rows >= 2**29 or n_rows == 2**22
    assert n_rows == 16 or 4 * n_cols * (n_rows - 16) < 2**29  # and no larger than that


def test_rows_are_chosen_at_each_value_unless_they_are_told():
    free, told = choose_sweep("softmax", "256,4096"), choose_sweep("softmax", "256", n_rows=48)
    assert [sweep.point_case(free, n).n_rows for n in free.values] == [2**19, 2**15]
    assert sweep.point_case(told, 256).n_rows == 48
    rows = choose_sweep("softmax", "16,32", axis="n_rows", n_cols=1000)
    assert [sweep.point_case(rows, n).n_rows for n in rows.values] == [16, 32]
    assert sweep.point_case(rows, 32).n_cols == 1000


def test_a_point_needs_no_less_than_its_tensors_and_their_scores():
    case = at(Case(heads=16, kv_heads=16, head_dim=64, dtype="float16", block=64), "seq", 16_384)
    scores = 16 * 16_384**2 * 2
    fused = sweep.needed_bytes("attention", case, ("ours", "sdpa_flash"))
    assert 4 * 16 * 16_384 * 64 * 2 < fused < scores
    assert sweep.needed_bytes("attention", case, ("ours", "three")) > 2 * scores


def test_every_provider_has_a_name():
    for about in OPERATIONS.values():
        assert set(about.providers) <= set(NAMES)
        assert about.providers[0] == "ours"


# Times.


def test_a_summary_by_hand():
    got = timing.summary([5.0, 1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0, 30.0])
    assert got == (5.5, 3.0, 8.0, 10, 1)  # a fifth, two times, is below 3 and above 8
    assert timing.summary([4.0]) == (4.0, 4.0, 4.0, 1, 0)
    assert timing.summary([1.0, 1.0, 2.0]).n_outliers == 0  # twice is not over twice
    with pytest.raises(ValueError, match="no call"):
        timing.summary([])


class PretendCuda:
    """A clock that each call and flush moves on, and the events that read it."""

    def __init__(self) -> None:
        self.now, self.log = 0.0, []

    def module(self):
        pretend = self

        class Event:
            def __init__(self, enable_timing=False) -> None:
                self.at = None

            def record(self):
                self.at = pretend.now

            def elapsed_time(self, other):
                return other.at - self.at

        class Buffer:
            def zero_(self):
                pretend.log.append("flush")
                pretend.now += 100.0

        cuda = SimpleNamespace(
            Event=Event,
            synchronize=lambda: None,
            current_device=lambda: 0,
            get_device_properties=lambda _: SimpleNamespace(L2_cache_size=2**25),
        )
        return SimpleNamespace(cuda=cuda, uint8=None, empty=lambda *_, **__: Buffer())

    def call(self, name: str, ms: float):
        def run():
            self.log.append(name)
            self.now += ms

        return run


@pytest.fixture
def cuda(monkeypatch):
    pretend = PretendCuda()
    monkeypatch.setitem(sys.modules, "torch", pretend.module())
    return pretend


def test_calls_take_turns_in_cold_caches_and_events_hold_the_call_alone(cuda):
    calls = [cuda.call(name, ms) for name, ms in (("a", 1.0), ("b", 2.0), ("c", 3.0))]
    times = timing.in_turns(calls, n_rounds=3)
    assert [each.median_ms for each in times] == [1.0, 2.0, 3.0]  # not the flush's 100
    assert [each.n for each in times] == [3, 3, 3]
    warm = 3 * timing.N_WARM * 2
    assert cuda.log[warm::2] == ["flush"] * 9
    assert cuda.log[warm + 1 :: 2] == list("abcbcacab")


def test_hot_calls_come_right_after_themselves(cuda):
    timing.in_turns([cuda.call("a", 1.0), cuda.call("b", 2.0)], n_rounds=2, is_hot=True)
    assert "flush" not in cuda.log
    assert cuda.log[2 * timing.N_WARM :] == list("aabbbbaa")


def test_the_gpu_waits_before_each_timed_call_and_the_wait_is_not_timed(cuda):
    def wait(cycles):
        cuda.log.append("wait")
        cuda.now += 50.0

    sys.modules["torch"].cuda._sleep = wait
    (found,) = timing.in_turns([cuda.call("a", 1.0)], n_rounds=2)
    assert found.median_ms == 1.0
    assert cuda.log[2 * timing.N_WARM :] == ["flush", "wait", "a"] * 2


def test_what_a_caller_waits_is_the_call_and_not_the_flush(cuda, monkeypatch):
    monkeypatch.setattr(timing.time, "perf_counter", lambda: cuda.now / 1e3)
    assert timing.wall(cuda.call("a", 0.05), n=3) == pytest.approx(50)  # us
    assert cuda.log == ["flush", "a"] * 3


@pytest.mark.parametrize(
    ("ms", "seconds", "rounds"),
    [(50.0, 3.0, 20), (1e6, 1.0, timing.FEWEST), (1.0, 1e3, timing.MOST)],
)
def test_there_are_as_many_rounds_as_fit_the_flush_counted(cuda, ms, seconds, rounds):
    (found,) = timing.in_turns([cuda.call("a", ms)], seconds=seconds)
    assert found.n == rounds


# Memory that runs out.


@pytest.mark.parametrize("where", ["references.tensors_for", "timed"])
def test_memory_that_runs_out_ends_a_value_and_not_the_sweep(monkeypatch, where):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (10**12, 10**12))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr("benchmarks.sweep._start", lambda: 0.0)
    monkeypatch.setattr("benchmarks.sweep.time.monotonic", lambda: 1.0)
    monkeypatch.setattr("benchmarks.sweep.references.tensors_for", lambda *_: {})
    monkeypatch.setattr("benchmarks.sweep.references.exact", lambda *_: ())
    monkeypatch.setattr("benchmarks.sweep._ready", lambda entry, case, point, *_: (point, None))
    monkeypatch.setattr("benchmarks.sweep.copies", lambda *_: [])
    monkeypatch.setattr(f"benchmarks.sweep.{where}", full)
    case = SweepCase("softmax", "n_cols", (64, 128), Case(), ("ours", "torch"))
    points = [one for one in sweep.sweep(case) if isinstance(one, SweepPoint)]
    wanted = [(64, "ours"), (64, "torch"), (128, "ours"), (128, "torch")]
    assert [(point.value, point.provider) for point in points] == wanted
    assert {point.reason for point in points} == {"no_memory"}


def test_what_was_timed_before_memory_ran_out_has_one_point(monkeypatch):
    def some(ready, _):
        yield replace(ready[0][0], median_ms=1.0)
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (10**12, 10**12))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(sweep, "_start", lambda: 0.0)
    monkeypatch.setattr(sweep.time, "monotonic", lambda: 1.0)
    monkeypatch.setattr(sweep.references, "tensors_for", lambda *_: {})
    monkeypatch.setattr(sweep.references, "exact", lambda *_: ())
    monkeypatch.setattr(sweep, "_ready", lambda entry, case, point, *_: (point, None))
    monkeypatch.setattr(sweep, "copies", lambda *_: [])
    monkeypatch.setattr(sweep, "timed", some)
    case = SweepCase("softmax", "n_cols", (64,), Case(), ("ours", "torch"))
    points = [one for one in sweep.sweep(case) if isinstance(one, SweepPoint)]
    assert [(point.provider, point.reason) for point in points] == [
        ("ours", ""),
        ("torch", "no_memory"),
    ]


def test_a_call_below_the_clocks_resolution_is_said_to_be_so(cuda, monkeypatch):
    monkeypatch.setattr(timing, "in_turns", lambda calls, **_: [timing.summary([0.0, 1.0, 2.0])])
    ready = [(SweepPoint("ours", 1, n_bytes=6), Call(lambda: None))]
    (point,) = sweep.timed(ready)
    assert point.reason == "too_fast" and point.median_ms != point.median_ms


@pytest.mark.parametrize("faster", [0, 1])
def test_the_ceiling_is_the_fastest_copy(cuda, monkeypatch, faster):
    times = [[4.0], [1.0 + faster], [2.0 - faster]]
    monkeypatch.setattr(timing, "in_turns", lambda calls, **_: [*map(timing.summary, times)])
    names = ("ours", "copy", "copy")
    ready = [(SweepPoint(name, 1, n_bytes=6), Call(lambda: None)) for name in names]
    found = list(sweep.timed(ready))
    assert [(point.provider, point.median_ms) for point in found] == [("ours", 4), ("copy", 1)]


# Landscapes.


@pytest.mark.parametrize("budget_s", [60, 2])
def test_settings_are_compiled_in_groups_each_before_its_first_is_timed(monkeypatch, budget_s):
    log, times = [], itertools.count()
    case = choose_landscape("softmax", 4096, budget_s=budget_s)

    def timed(ready, **_):
        log.append("timed")
        return [point for point, _ in ready]

    def ready(entry, case, point, making, exact):
        return point, Call(making)

    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(sweep, "_start", lambda: 0.0)
    monkeypatch.setattr(sweep.time, "monotonic", lambda: next(times))  # a second a setting
    monkeypatch.setattr(sweep, "limits_here", lambda: tuning.Limits(232_448))
    monkeypatch.setattr(sweep, "copies", lambda *_: [])
    monkeypatch.setattr(sweep.references, "tensors_for", lambda *_: {})
    monkeypatch.setattr(sweep.references, "exact", lambda *_: ())
    monkeypatch.setattr(sweep, "own_settings", lambda *_: log.append("compiled"))
    monkeypatch.setattr(sweep, "compile_ahead", lambda launches: [each() for each in launches])
    monkeypatch.setattr(sweep, "cores", lambda: 2)
    monkeypatch.setattr(sweep, "_ready", ready)
    monkeypatch.setattr(sweep, "timed", timed)
    told = list(sweep.landscape(case))
    kept = [one for one in told if isinstance(one, SweepPoint) and one.provider == "ours"]
    n = sum(not one.reason for one in kept)
    shown = "".join(word[0] for word in log)
    if budget_s == 60:
        assert n > 8 and shown[1:].startswith("ccccttttcccctttt")
        assert (shown.count("c"), shown.count("t")) == (n, n + 1)  # and the copy
        ends = [one.details for one in told if getattr(one, "stage", "") == "compiling"]
        assert ends[0] == {"n": 1, "end": 4, "of": n} and ends[-1]["end"] == n
    else:  # the time is over within the first group
        assert shown == "tccccttt" and told[-1].stage == "sweep_over"


# A user's choice.


def refusal(call, *given, **more) -> str:
    with pytest.raises(InputError) as caught:
        call(*given, **more)
    sentence = str(caught.value)
    assert text("en", f"error.{caught.value.key}", **caught.value.details) == sentence
    for language in LANGUAGES:
        assert text(language, f"error.{caught.value.key}", **caught.value.details)
    assert len(sentence) < 260 and "\n" not in sentence
    return sentence


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("256, 1024, 50257", (256, 1024, 50_257)),
        ("256..65536 x2", tuple(2**k for k in range(8, 17))),
        ("256..2000x2", (256, 512, 1024)),
        ("1000..4000 +500", (1000, 1500, 2000, 2500, 3000, 3500, 4000)),
        ("1..9×3;7，7\n5", (1, 3, 5, 7, 9)),
        ([512, 256.0, "300", 256], (256, 300, 512)),
        ("1048576", (2**20,)),
    ],
)
def test_values_are_lists_and_ranges(given, values):
    assert choose_sweep("softmax", given).values == values


HOSTILE = [
    *("", "  ", ",", "x", "1..", "..8", "1..9", "9..1 x2", "1..9 x1", "1..9 +0", "0..4 +1"),
    *("1..9 x-2", "1e3", "1.5", "٣", "256 512", "0x10", "nan", "1" * 3000, "9" * 40, "\0", "<b>"),
    *(None, {}, [], (), 7, 2.5, float("nan"), float("inf"), b"256", object(), [None], [[1]]),
    *([True], [1.5], [float("nan")], ["1..4"], "0", "-4", "1048577", [2**70]),
    *("1..99999999 +1", ",".join(str(n) for n in range(1, 66)), [3] * 65),
]


@pytest.mark.parametrize("given", HOSTILE, ids=[f"{k}" for k in range(len(HOSTILE))])
def test_hostile_values_are_refused_in_a_sentence(given):
    assert refusal(choose_sweep, "softmax", given)


def test_the_sentences_say_what_is_wrong():
    said = refusal(choose_sweep, "softmax", "256..")
    assert said.startswith("N must be numbers, as 256, 1024, 50257, or ranges, as 256..65536 x2")
    assert "must be from 1 to 1048576, got 0" in refusal(choose_sweep, "softmax", "0")
    assert "T must be from 1 to 32768" in refusal(choose_sweep, "attention", "65536")
    many = refusal(choose_sweep, "softmax", "1..65 +1")
    assert many == "values of a sweep may be at most 64 here, got 65."


@pytest.mark.parametrize(
    ("operation", "changes", "said"),
    [
        ("sort", {}, "operation must be one of softmax"),
        (["softmax"], {}, "operation must be one of"),
        ("softmax", {"dtype": "float64"}, "dtype must be one of"),
        ("softmax", {"providers": "ours,sdpa_math"}, "provider must be one of ours"),
        ("softmax", {"providers": "copy"}, "provider must be one of"),
        ("softmax", {"providers": []}, "provider must be one of"),
        ("softmax", {"providers": {"ours"}}, "provider must be one of"),
        ("softmax", {"providers": [["ours"]]}, "provider must be one of"),
        ("softmax", {"axis": "seq"}, "axis must be one of n_cols, n_rows"),
        ("softmax", {"n_rows": 0}, "n_rows must be from 1"),
        ("softmax", {"n_rows": True}, "n_rows must be a whole number"),
        ("softmax", {"n_rows": 2**22, "values": "4096"}, "rows × columns may be at most"),
        ("softmax", {"budget_s": 0}, "budget_s must be from 1"),
        ("softmax", {"budget_s": float("nan")}, "budget_s must be a whole number"),
        ("softmax", {"budget_s": 10**9}, "budget_s must be from 1"),
        ("matmul", {"values": "16385"}, "N must be from 1 to 16384"),
        ("attention", {"head_dim": 257}, "head_dim must be from 1 to 256"),
        ("attention", {"heads": "x"}, "heads must be a whole number"),
        ("attention", {"mask": "sliding"}, "mask must be one of"),
        ("attention", {"batch": 1024, "heads": 256, "values": "32768"}, "may be at most"),
        ("attention", {"batch": 64, "heads": 32, "values": "32768", "head_dim": 32},
         "floating-point operations may be at most"),
        ("decode", {"n_splits": 129}, "splits must be from 1 to 128"),
    ],
)  # fmt: skip
def test_other_fields_are_refused_too(operation, changes, said):
    changes = dict(changes)
    assert said in refusal(choose_sweep, operation, changes.pop("values", "256"), **changes)


def test_fields_that_an_operation_does_not_read_are_not_read():
    assert choose_sweep("softmax", "256", heads="no", mask="no") == choose_sweep("softmax", "256")
    assert choose_sweep("matmul", "256", n_rows="no") == choose_sweep("matmul", "256")


def test_providers_stand_in_the_operations_order_once():
    for given in ("torch, ours,torch", ["torch", "ours"], ("ours", "torch")):
        assert choose_sweep("softmax", "256", providers=given).providers == ("ours", "torch")
    assert choose_sweep("softmax", "256").providers == OPERATIONS["softmax"].providers


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_axis_of_every_operation_can_be_swept(operation):
    for axis in OPERATIONS[operation].axes:
        case = choose_sweep(operation, "16,64", axis=axis, heads=8, mask="causal")
        for value in case.values:
            sizes = sweep.point_case(case, value)
            assert sizes == at(sizes, axis, value)
            assert min(OPERATIONS[operation].costs(sizes)) > 0
            assert sizes.heads == sizes.kv_heads
        assert case.sizes.mask == ("causal" if operation.startswith("attention") else "none")


def test_decoding_is_one_query_over_many_keys():
    case = choose_sweep("decode", "1024..1048576 x4")
    assert (case.axis, case.sizes.seq_q, case.sizes.n_splits) == ("seq_k", 1, 16)
    assert sweep.point_case(case, 2**20).seq_k == 2**20


def test_a_landscape_is_one_size_with_its_rows():
    case = choose_landscape("softmax", "4096", "float16")
    assert (case.sizes.n_cols, case.sizes.n_rows, case.sizes.dtype) == (4096, 2**15, "float16")
    assert choose_landscape("softmax", 4096, n_rows=7).sizes.n_rows == 7
    assert choose_landscape("matmul", 512).sizes.size_k == 512
    assert choose_landscape("attention", 512, mask="causal").sizes.seq_k == 512
    for operation, n in (("sort", 1), ("softmax", 0), ("softmax", "1,2"), ("attention", 2**16)):
        assert refusal(choose_landscape, operation, n)
    decoding = choose_landscape("decode", 4096, head_dim=128).sizes
    assert (decoding.seq_q, decoding.seq_k, decoding.head_dim) == (1, 4096, 128)


def test_a_public_page_may_set_its_limits():
    assert limits_from({}) == (64, 300)
    told = {"BLOCKWISE_SWEEP_VALUES": "3", "BLOCKWISE_SWEEP_BUDGET_S": "20"}
    assert limits_from(told) == (3, 20)
    for odd in ("", "x", "-1", "1e3", "1.5", "9" * 30):
        assert limits_from(dict.fromkeys(told, odd)) == (64, 300)
    assert limits_from(dict.fromkeys(told, "0")) == (1, 1)
    few = Limits(3, 20)
    assert choose_sweep("softmax", "1,2,3", limits=few).budget_s == 20
    assert "at most 3 here" in refusal(choose_sweep, "softmax", "1,2,3,4", limits=few)
    assert "from 1 to 20" in refusal(choose_sweep, "softmax", "1", budget_s=21, limits=few)


def test_values_are_said_shortly_and_read_back():
    assert text_of([2**k for k in range(8, 17)]) == "256..65536x2"
    assert text_of([1000, 1500, 2000, 50_257]) == "1000..2000+500,50257"
    assert text_of([7, 9]) == "7,9"
    for values in itertools.combinations((1, 2, 3, 4, 6, 8, 12, 16), 5):
        assert choose_sweep("softmax", text_of(values)).values == values
