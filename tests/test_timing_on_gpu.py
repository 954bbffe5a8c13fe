"""What a stopwatch must do on a GPU: agree with itself, and find nothing faster than a copy."""

from __future__ import annotations

import pytest
import torch

from benchmarks import timing
from benchmarks.ceiling import COPY
from benchmarks.sweep import sweep
from benchmarks.sweep_choice import choose_sweep
from benchmarks.sweep_results import SweepPoint

ON_GPU = torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0)
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not ON_GPU, reason="needs a GPU: it holds the clock itself to account"),
]


@pytest.mark.parametrize("n_cols", [256, 4096, 65_536])
def test_one_kernel_under_two_names_is_within_3_percent_of_itself(n_cols):
    from kernels.softmax.autograd import softmax

    x = torch.randn(2**26 // n_cols, n_cols, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        first, second = timing.in_turns([lambda: softmax(x), lambda: softmax(x)], seconds=1.0)
    assert first.median_ms == pytest.approx(second.median_ms, rel=0.03)


@pytest.mark.parametrize("operation", ["softmax", "add"])
def test_nothing_is_faster_than_the_copy_by_more_than_its_spread(operation):
    case = choose_sweep(operation, "256, 1024, 4096, 16384", providers="ours, torch")
    points = [point for point in sweep(case) if isinstance(point, SweepPoint)]
    copies = {point.value: point for point in points if point.provider == COPY}
    timed = [point for point in points if point.provider != COPY and not point.reason]
    assert len(timed) == 8
    for point in timed:
        copy = copies[point.value]
        spread = (copy.p80_ms - copy.p20_ms) + (point.p80_ms - point.p20_ms)
        assert point.median_ms >= copy.median_ms - spread - 0.02 * copy.median_ms


def test_a_small_call_is_longer_for_who_waits_and_shorter_in_a_graph():
    from kernels.softmax.autograd import softmax

    x = torch.randn(64, 256, device="cuda")
    with torch.no_grad():
        waited, in_graph = timing.wall(lambda: softmax(x)), timing.from_graph(lambda: softmax(x))
        on_gpu = timing.cold(lambda: softmax(x)).median_ms * 1e3
    assert 0 < in_graph <= on_gpu + 2 < waited
