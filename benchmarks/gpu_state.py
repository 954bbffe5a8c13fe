"""What a GPU says of itself: its limits, and between calls its clock, heat and what slows it down.

The latter NVML says, through the package nvidia-ml-py if torch finds it; none needs it to be there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple

from kernels.tuning import Limits

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


def limits_here() -> Limits:
    """Return what a program may use on the current GPU."""
    import torch

    about = torch.cuda.get_device_properties(torch.cuda.current_device())
    return Limits(shared_bytes=about.shared_memory_per_block_optin)
