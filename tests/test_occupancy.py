"""Programs that a multiprocessor holds, against numbers worked out by hand, and NVML's words."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from benchmarks import gpu_state
from benchmarks.occupancy import Occupancy, occupancy

H200, A10 = (9, 0), (8, 6)


@pytest.mark.parametrize(
    ("capability", "warps", "registers", "shared", "wanted"),
    [
        # 64 warps are 16 programs of 4; 65,536 / (32 x 32 x 4) are 16 programs too.
        (H200, 4, 32, 0, Occupancy(1.0, 16, ("warps", "registers"))),
        # 168 registers a thread: 65,536 // 5,376 = 12 warps, 3 programs of 4.
        (H200, 4, 168, 1024, Occupancy(12 / 64, 3, ("registers",))),
        # 33 registers are given as 40: 1,280 a warp, 51 warps, 12 programs.
        (H200, 4, 33, 0, Occupancy(48 / 64, 12, ("registers",))),
        # 228 KiB hold two programs of 97 KiB and the KiB that each takes beyond.
        (H200, 8, 64, 97 * 1024, Occupancy(16 / 64, 2, ("shared",))),
        (H200, 1, 32, 0, Occupancy(32 / 64, 32, ("programs",))),
        (A10, 4, 32, 0, Occupancy(1.0, 12, ("warps",))),
        (A10, 4, 32, 40_000, Occupancy(8 / 48, 2, ("shared",))),
    ],
)
def test_what_a_multiprocessor_holds_by_hand(capability, warps, registers, shared, wanted):
    assert occupancy(capability, warps, registers, shared) == wanted


def test_what_is_not_known_has_no_occupancy():
    assert occupancy(None, 4, 32, 0) is None
    assert occupancy((7, 5), 4, 32, 0) is None
    for known in ((None, 32, 0), (4, None, 0), (4, 32, None), (0, 32, 0)):
        assert occupancy(H200, *known) is None
    assert occupancy(H200, 4, 32, 300_000) is None  # no program fits


def test_a_gpu_says_what_it_can(monkeypatch):
    said = {"bits": 0}
    torch = SimpleNamespace(
        cuda=SimpleNamespace(
            clock_rate=lambda: 1980, temperature=lambda: 41, _get_pynvml_handler=lambda: "handle"
        )
    )
    nvml = SimpleNamespace(nvmlDeviceGetCurrentClocksThrottleReasons=lambda handle: said["bits"])
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert gpu_state.gpu_state() == (1980, 41, "")
    # The last is idleness, which holds nothing down.
    for bits, word in (
        (0x04, "power"), (0x44, "heat"), (0x88, "power"), (0x08, "hardware"), (0x01, ""),
    ):  # fmt: skip
        said["bits"] = bits
        assert gpu_state.gpu_state().slowed == word


def test_a_gpu_that_says_nothing_is_no_fault(monkeypatch):
    def refuse(*_):
        raise RuntimeError("no library of the driver's")

    torch = SimpleNamespace(
        cuda=SimpleNamespace(clock_rate=refuse, temperature=refuse, _get_pynvml_handler=refuse)
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert gpu_state.gpu_state() == (None, None, "")
