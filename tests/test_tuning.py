"""Tuning: what cannot fit is never tried, the fastest is kept by its key, one thread at a time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.results import Device
from benchmarks.tune import TuneResult, key_of
from benchmarks.tune_command import TUNABLE, table
from kernels import ALGORITHMS
from kernels.inputs import Case
from kernels.problems import shape_of
from kernels.tiles import next_power_of_two
from kernels.tuning import Config, Limits, Tuner, sift

ROOT = Path(__file__).parent.parent
H200 = Limits(shared_bytes=232_448)
ADA = Limits(shared_bytes=101_376)
GPU = Device("gpu", "NVIDIA H200")


def configs(*times: int) -> list[Config]:
    return [Config({"block": 2**n, "num_warps": 4}) for n in range(len(times))]


def test_the_fastest_wins_and_all_are_told_in_order():
    times = {1: 3.0, 2: 1.0, 4: 2.0}
    found = Tuner().tune("key", configs(*times), H200, lambda settings: times[settings["block"]])
    assert found.settings["block"] == 2
    assert [(t.settings["block"], t.time_ms) for t in found.tried] == [(2, 1.0), (4, 2.0), (1, 3.0)]


def test_all_that_fits_is_prepared_before_any_is_measured():
    space = [*configs(0, 0), Config({"num_warps": 4}, shared_bytes=900_000)]
    seen = []
    Tuner().tune(
        "key",
        space,
        H200,
        lambda settings: seen.append(settings["block"]) or 1.0,
        lambda kept: seen.append([settings["block"] for settings in kept]),
    )
    assert seen == [[1, 2], 1, 2]


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="Triton exists for Linux only")
def test_kernels_are_compiled_ahead_on_several_cores_and_then_not_again(tmp_path):
    command = [sys.executable, "-m", "tests.compile_ahead"]
    about = {"cwd": ROOT, "env": {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}}
    ran = subprocess.run(command, **about, capture_output=True, text=True, timeout=170)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["ahead"], told["later"], told["threads"]) == (3, 0, 2)
    assert "block must be a power of two" in told["error"]


def test_what_cannot_fit_is_left_out_with_its_reason_and_never_measured():
    space = [
        Config({"num_warps": 4}, shared_bytes=90_000, values=1000),
        Config({"num_warps": 8}, shared_bytes=120_000),
        Config({"num_warps": 64}),
        Config({"num_warps": 4}, values=128 * 200),
    ]
    kept, refused = sift(space, ADA)
    assert kept == space[:1]
    assert [reason.reason for reason in refused] == [
        "120,000 bytes of shared memory, and a program has at most 101,376.",
        "2048 threads, and a program has at most 1024.",
        "200 values a thread, and 192 fit its registers.",
    ]
    measured = []
    Tuner().tune("key", space, ADA, lambda settings: measured.append(settings) or 1.0)
    assert measured == [{"num_warps": 4}]
    assert len(sift(space, H200)[0]) == 2  # a larger GPU takes the second, too


def test_one_that_fails_ends_itself_and_not_the_search():
    def measure(settings):
        if settings["block"] == 1:
            raise RuntimeError("out of resource: shared memory\nand a long trace")
        return 5.0

    found = Tuner().tune("key", configs(0, 0), H200, measure)
    assert found.settings["block"] == 2
    assert found.tried[-1].reason == "out of resource: shared memory"
    assert found.tried[-1].time_ms is None


def test_where_none_can_run_the_reasons_are_said():
    with pytest.raises(ValueError, match=r"no configuration can run here: 2048 threads"):
        Tuner().tune("key", [Config({"num_warps": 64})], H200, lambda settings: 1.0)


def test_another_key_is_measured_anew_and_the_same_one_is_not():
    tuner, calls = Tuner(), []
    for key in ("a", "b", "a"):
        tuner.tune(key, configs(0), H200, lambda settings, key=key: calls.append(key) or 1.0)
    assert calls == ["a", "b"]
    assert tuner.known("a").settings == {"block": 1, "num_warps": 4}
    assert tuner.known("c") is None


def test_threads_never_measure_at_once_and_each_key_is_measured_once():
    tuner, running, most, calls = Tuner(), [], [], []
    lock = threading.Lock()

    def measure(settings):
        with lock:
            running.append(settings)
            most.append(len(running))
            calls.append(settings["block"])
        time.sleep(0.002)
        with lock:
            running.pop()
        return float(settings["block"])

    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda n: tuner.tune(n % 2, configs(0, 0, 0), H200, measure), range(16))
        )
    assert max(most) == 1
    assert len(calls) == 2 * 3
    assert {each.settings["block"] for each in found} == {1}


def test_the_seconds_spent_are_kept_apart():
    found = Tuner().tune("key", configs(0), H200, lambda settings: time.sleep(0.05) or 0.001)
    assert found.time_ms == 0.001
    assert found.seconds >= 0.05


# Keys: what one tuning holds for.


def keys(name: str, **changes) -> list[tuple]:
    case = Case(n_rows=1000, n_cols=4096, seq_q=1000, seq_k=1000, dtype="float16")
    changed = Case(**{**vars(case), **changes})
    return [key_of(ALGORITHMS[name], each, GPU) for each in (case, changed)]


@pytest.mark.parametrize(
    "name, changes",
    [
        ("online_softmax", {"dtype": "float32"}),
        ("online_softmax", {"n_cols": 4095}),  # rows no longer start at multiples of 16 bytes
        ("online_softmax", {"n_cols": 8192}),
        ("flash_attention", {"mask": "causal"}),
        ("flash_attention", {"head_dim": 64}),
        ("flash_attention", {"kv_heads": 2}),
        ("flash_attention", {"seq_k": 5000}),
        ("matmul", {"size_k": 4096}),
        ("matmul", {"dtype": "bfloat16"}),
    ],
)
def test_dtype_flags_and_size_class_make_another_key(name, changes):
    before, after = keys(name, **changes)
    assert before != after


@pytest.mark.parametrize(
    "name, changes",
    [("online_softmax", {"n_cols": 4088}), ("online_softmax", {"n_rows": 600}),
     ("flash_attention", {"seq_q": 600}), ("matmul", {"block_m": 64, "num_warps": 8})],
)  # fmt: skip
def test_sizes_of_one_class_and_what_is_tuned_do_not(name, changes):
    before, after = keys(name, **changes)
    assert before == after


def test_another_gpu_is_another_key():
    case, entry = Case(), ALGORITHMS["matmul"]
    assert key_of(entry, case, GPU) != key_of(entry, case, Device("gpu", "NVIDIA L4"))


@pytest.mark.parametrize("n, expected", [(0, 1), (1, 1), (2, 2), (3, 4), (1025, 2048)])
def test_a_class_of_sizes_is_named_by_the_power_of_two_above_it(n, expected):
    assert next_power_of_two(n) == expected


# Spaces.


@pytest.mark.parametrize("name", TUNABLE)
def test_a_space_has_configurations_for_small_and_large_cases_on_a_small_gpu(name):
    entry = ALGORITHMS[name]
    for case in (
        Case(n_cols=1, head_dim=16, seq_q=16, seq_k=16, size_m=16, size_n=16, size_k=16),
        Case(n_rows=9, n_cols=30_000, head_dim=128, seq_q=4096, seq_k=4096, size_m=4096),
    ):
        space = entry.configs(shape_of(entry, case))
        kept, refused = sift(space, ADA)
        assert kept
        assert len(kept) + len(refused) == len(space)
        assert len({tuple(config.settings.items()) for config in space}) == len(space)


def test_large_heads_in_float32_are_sifted_on_a_gpu_with_little_shared_memory():
    entry = ALGORITHMS["flash_attention"]
    case = Case(seq_q=1000, seq_k=1000, head_dim=256, dtype="float32")
    space = entry.configs(shape_of(entry, case))
    kept, refused = sift(space, ADA)
    # q alone, 128 x 256 x 4 bytes, is 131,072: more than there is.
    assert all(config.settings["block_m"] < 128 for config in kept)
    assert any("shared memory" in each.reason for each in refused)
    assert all(config.shared_bytes <= ADA.shared_bytes for config in kept)


def test_the_table_says_what_ran_what_did_not_and_what_it_cost():
    entry = ALGORITHMS["online_softmax"]
    case = Case(n_rows=1000, n_cols=1000, dtype="float32")
    space = [*configs(0, 0), Config({"num_warps": 64})]
    tuning = Tuner().tune("k", space, H200, lambda settings: 0.01 * settings["block"])
    shape = shape_of(entry, case)
    result = TuneResult(
        entry.name, case, GPU, tuning, entry.min_bytes(shape), entry.flops(shape), False
    )
    lines = table(result)
    # 8,000,000 bytes in 0.01 ms are 800 GB/s.
    assert lines[1].split() == ["block=1,", "num_warps=4", "0.0100", "800"]
    assert lines[3].endswith("2048 threads, and a program has at most 1024.")
    assert lines[-1].startswith("2 of 3 ran; ")
