"""How many programs of a kernel one multiprocessor holds at once, and what keeps it from more.

By the rules of NVIDIA's occupancy calculator: registers are given to warps in units of 256, and
every program takes 1 KiB of shared memory beyond its own, in units of 128 bytes. More programs hide
more of the time that memory takes; a kernel that streams through shared memory may need few.
"""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.export_gpus import GPUS

SM_REGISTERS = 65_536
REGISTER_UNIT, WARP = 256, 32
RESERVED_SHARED, SHARED_UNIT = 1024, 128


class Occupancy(NamedTuple):
    """What one multiprocessor holds.

    share       its warps at work, of those it can hold, 0 to 1
    programs    how many programs at once
    limits      what there is no more of: among "warps", "programs", "registers" and "shared"
    """

    share: float
    programs: int
    limits: tuple[str, ...]


def occupancy(
    capability: tuple[int, int] | None,
    warps: int | None,
    registers: int | None,
    shared_bytes: int | None,
) -> Occupancy | None:
    """Return the occupancy of programs of so many warps; None where anything is not known.

    registers are a thread's, shared_bytes a program's. A kernel that cannot run at all has none.
    """
    if capability is None or None in (warps, registers, shared_bytes) or not warps:
        return None
    gpu = next((gpu for gpu in GPUS if gpu.sm == 10 * capability[0] + capability[1]), None)
    if gpu is None:
        return None
    of_a_warp = _up(max(registers, 1) * WARP, REGISTER_UNIT)
    of_a_program = _up(shared_bytes + RESERVED_SHARED, SHARED_UNIT)
    by_limit = {
        "warps": gpu.sm_warps // warps,
        "programs": gpu.sm_programs,
        "registers": SM_REGISTERS // of_a_warp // warps,
        "shared": gpu.sm_shared // of_a_program,
    }
    programs = min(by_limit.values())
    if not programs:
        return None
    limits = tuple(name for name, most in by_limit.items() if most == programs)
    return Occupancy(programs * warps / gpu.sm_warps, programs, limits)


def _up(n: int, unit: int) -> int:
    """Return the least multiple of ``unit`` that holds ``n``."""
    return -(-n // unit) * unit
