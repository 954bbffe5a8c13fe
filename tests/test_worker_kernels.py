"""The worker with real kernels, and what it does where they cannot run as they should."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

from benchmarks.jobs import CheckJob, DeviceJob, QuickJob
from benchmarks.layouts import LAYOUTS
from benchmarks.results import CheckResult, Progress, QuickResult, TileCheckResult
from benchmarks.softmax_matrix import SoftmaxJob
from benchmarks.worker import JobFailed, Worker
from kernels import ALGORITHMS
from kernels.inputs import Case
from kernels.softmax.paths import BACKWARD_PATHS, PATHS
from tests.rows import ROWS
from tests.worker_jobs import Count, Sleep
from tests.workers import failure, results, started, with_patched_device


@pytest.fixture(scope="module")
def real_worker():
    """Give a worker that runs real kernels."""
    pytest.importorskip("triton")
    running = Worker(time_limit_s=60)
    running.start()
    yield running
    running.close()


@pytest.mark.parametrize("name", ROWS)
def test_a_check_says_its_stages_and_ends_with_a_result(real_worker, name):
    stages, last = [], None
    for last in real_worker.run(CheckJob(name, Case("outlier_last", 2, 20, 8))):
        if isinstance(last, Progress) and last.stage not in ("queued", "starting", *stages):
            stages.append(last.stage)
    assert stages == ["inputs", "kernel", "compare"]
    assert isinstance(last, CheckResult)
    assert last.verdict == "passed" and last.n_unwritten == last.n_outside == 0
    assert set(last.state_ulps) == set(ROWS[name].captured)
    assert max(last.state_ulps.values(), default=0) <= 8
    assert bool(last.softmax_path) == (ROWS[name].output == "y")
    assert last.device == real_worker.device()


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in ROWS])
def test_a_check_on_tiles_ends_with_a_result(real_worker, name):
    sizes = {"batch": 2, "heads": 2, "seq_q": 19, "seq_k": 18, "head_dim": 20, "mask": "causal"}
    case = Case("rising", **sizes, size_m=33, size_n=20, size_k=35, block=16, dtype="float16")
    *_, result = real_worker.run(CheckJob(name, case))
    assert isinstance(result, TileCheckResult)
    assert result.verdict == "passed", result.outputs
    assert set(result.state_ulps) == set(ALGORITHMS[name].captured)
    assert result.device == real_worker.device()
    *_, quick = real_worker.run(QuickJob(name, case, own_schedule=False))
    assert isinstance(quick, QuickResult) and quick.verdict == "passed"
    for short, full in zip(quick.outputs, result.outputs, strict=True):
        assert short.error == pytest.approx(full.kernel.max_abs, rel=1e-9)
        assert short.tolerance == pytest.approx(full.tolerance, rel=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("name", [name for name, entry in ROWS.items() if len(entry.rows) == 2])
def test_a_check_of_any_strides_passes_with_nothing_written_beside(real_worker, name, layout):
    case = Case("normal", 3, 20, 8, layout=layout)
    (result,) = results(real_worker, CheckJob(name, case, keep=False))
    assert (result.verdict, result.n_outside, result.case.layout) == ("passed", 0, layout)


@pytest.mark.parametrize("path", [None, *PATHS])
def test_softmax_takes_the_path_that_is_planned_or_asked_for(real_worker, path):
    case = Case("normal", 2, 70, dtype="float16", layout="scalar")
    (result,) = results(real_worker, SoftmaxJob(case, path))
    assert result.verdict == "passed", result
    assert result.path == result.planned == (path or result.path)
    gradients = ["dx", *(f"dx, {name}" for name in BACKWARD_PATHS if path is None)]
    assert [output.name for output in result.outputs] == ["y", *gradients]


def test_a_block_that_is_too_small_is_one_sentence(real_worker):
    error = failure(real_worker, CheckJob("flash_attention", Case(block=8)))
    assert error.details["message"] == "BLOCK_N must be at least 16, got 8."


def test_a_naive_softmax_overflows(real_worker):
    (result,) = results(real_worker, CheckJob("naive_softmax", Case("huge", 2, 20, 8)))
    assert result.verdict == "overflowed" and result.torch.n_mismatched == 0


def test_special_rows_behave_as_in_torch_on_every_path(real_worker):
    for numbers in ((np.nan, 1.0, 2.0), (np.inf, 1.0, 2.0), (-np.inf,) * 3, (-np.inf, 0.0, 1.0)):
        for name in ROWS:
            (result,) = results(real_worker, CheckJob(name, Case("own", 1, 3, 2, numbers=numbers)))
            # Without a maximum, exp(+inf) makes the sum infinite.
            overflows = name == "naive_softmax" and np.inf in numbers
            assert result.verdict == ("overflowed" if overflows else "passed"), (name, numbers)


def test_the_device_is_known(real_worker):
    assert results(real_worker, DeviceJob()) == [real_worker.device()]
    assert {"torch", "triton", "numpy", "python"} <= set(real_worker.device().versions)


def test_a_killed_worker_is_told_and_replaced(real_worker):
    running = real_worker.run(Sleep())
    os.kill(started(running), signal.SIGKILL)
    with pytest.raises(JobFailed) as caught:
        list(running)
    assert (caught.value.kind, caught.value.details) == ("crashed", {"signal": "SIGKILL"})
    assert results(real_worker, CheckJob("safe_softmax", Case()))[-1].verdict == "passed"


def test_a_gpu_that_fails_its_test_is_not_used(tmp_path):
    """Here torch sees no GPU, so the copy kernel does fail on the one that is pretended."""
    gpu = "Driver((13, 0), '580', 'NVIDIA Test', (9, 0))"
    facts = f"driver={gpu}, torch_cuda='13.0', torch_sees_gpu=True, self_test=self_test"
    body = f"device.read_facts = lambda self_test='': Facts({facts})\n"
    worker = Worker(environment=with_patched_device(tmp_path, body))
    try:
        found = worker.device()
        assert (found.kind, found.reason) == ("interpreter", "self_test")
        assert found.details["message"]
        assert results(worker, CheckJob("safe_softmax", Case()))[-1].verdict == "passed"
    finally:
        worker.close()


def test_a_copy_kernel_that_fails_in_the_interpreter_is_no_device_at_all(tmp_path, monkeypatch):
    body = (
        "def fails(where):\n    raise SelfTestFailed('no copy')\n"
        "device._has = lambda package: True\n"
        "device.read_facts = lambda self_test='': Facts()\n"
        "device.copy_test = fails\n"
    )
    worker = Worker(environment=with_patched_device(tmp_path, body))
    try:
        with pytest.raises(JobFailed, match="crashed"):
            worker.device()
    finally:
        worker.close()


def test_without_triton_jobs_fail_with_a_reason(tmp_path):
    body = "device._has = lambda package: package != 'triton'\n"
    worker = Worker(environment=with_patched_device(tmp_path, body))
    try:
        assert (worker.device().kind, worker.device().reason) == ("none", "no_triton")
        assert failure(worker, Count()).kind == "no_triton"
    finally:
        worker.close()


def test_a_home_that_cannot_be_written_is_no_obstacle():
    pytest.importorskip("triton")
    worker = Worker(environment={"HOME": "/proc/none", "TRITON_HOME": ""})
    try:
        assert results(worker, CheckJob("online_softmax", Case()))[-1].verdict == "passed"
    finally:
        worker.close()
