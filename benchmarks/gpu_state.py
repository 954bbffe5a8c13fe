"""What a GPU says of itself between calls: its clock, its temperature, and what slows it down.

NVML says it, through the package nvidia-ml-py if torch finds it; nothing here needs it to be there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

# Bits of NVML's clock event reasons, in the order in which they are told.
SLOWED = (
    ("heat", 0x20 | 0x40),  # software and hardware thermal slowdown
    ("power", 0x04 | 0x80),  # the power limit, and the power brake
    ("hardware", 0x08),
)


class GpuState(NamedTuple):
    """None and "" are what cannot be read.

    clock_mhz       of the multiprocessors
    temperature_c   of the chip
    slowed          "heat", "power" or "hardware" where that holds the clock down
    """

    clock_mhz: int | None = None
    temperature_c: int | None = None
    slowed: str = ""


def gpu_state() -> GpuState:
    """Return the state of the current GPU. Never raises."""
    import torch

    bits = _asked(_reasons) or 0
    slowed = next((word for word, mask in SLOWED if bits & mask), "")
    clock_mhz = _asked(lambda: torch.cuda.clock_rate())
    return GpuState(clock_mhz, _asked(lambda: torch.cuda.temperature()), slowed)


def _asked(question: Callable[[], object]) -> int | None:
    """Return an answer, None where there is none: the driver's library is not everywhere."""
    try:
        return int(question())
    except Exception:
        return None


def _reasons() -> int:
    """Return NVML's bits of why the clock is where it is."""
    import torch

    nvml = importlib.import_module("pynvml")
    return nvml.nvmlDeviceGetCurrentClocksThrottleReasons(torch.cuda._get_pynvml_handler())
