"""Which kernel a softmax takes: a table of what was measured, and what it was measured against.

A line of the table holds up to a number of columns. Its reason is in it: the GB/s (each element
read once and written once, 1e9 bytes) of every path that was tried at ``at`` columns. They are from
one NVIDIA H200, driver 580.159.04, torch 2.11.0+cu130, Triton 3.6.0, on 2026-11-30: 2^28 bytes of
x, or 16 rows where few are meant; cold L2, CUDA events, median of 12. No other GPU has been
measured: there the same lines are a guess, and the reason says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from kernels.inputs import MAX_SPLITS
from kernels.tiles import STEP, next_power_of_two

PATHS = {
    "rows": "rows_softmax",
    "single": "single_softmax",
    "online": "online_softmax",
    "split": "split_softmax",
}
BACKWARD_PATHS = {
    "rows": "single_backward",
    "single": "single_backward",
    "blocks": "block_backward",
}
MEASURED_ON = {(9, 0): "an NVIDIA H200"}
DAY = "2026-11-30"
# Fewer rows than this leave multiprocessors of a large GPU idle where one program takes a row.
FEW_ROWS = 128
LONGEST = 2**63
SMALLEST_BLOCK = 128


@dataclass(frozen=True)
class Line:
    """What rows of up to ``up_to`` columns take, and why.

    settings    options of the kernel's ``launch``; ``tile`` stands for rows x columns of a program
    measured    path -> GB/s at ``at`` columns, the fastest settings of each
    unaligned   other settings where rows do not start at multiples of 16 elements
    """

    up_to: int
    path: str
    settings: Mapping[str, int]
    at: int
    measured: Mapping[str, int]
    unaligned: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """What one call takes: a path, its kernel's settings, and the reason as a sentence.

    ``gb_per_s`` and ``at`` are the measurement behind it, empty and 0 where the path was told.
    """

    path: str
    settings: Mapping[str, int]
    reason: str
    gb_per_s: Mapping[str, int] = field(default_factory=dict)
    at: int = 0


def _line(
    up_to: int, path: str, settings: dict, at: int, unaligned: dict | None = None, **measured
):
    """Return a `Line`; ``measured`` are paths and GB/s."""
    return Line(up_to, path, settings, at, measured, unaligned or {})


def _warps(n: int) -> dict[str, int]:
    """Return the settings of a kernel whose only choice is its warps."""
    return {"num_warps": n}


def _block(block: int, num_warps: int) -> dict[str, int]:
    """Return the settings of a kernel that takes blocks."""
    return {"block": block, "num_warps": num_warps}


SHORT = {"tile": 1024, "num_warps": 1}

# (bytes of an element, whether rows are few) -> lines, shortest rows first.
FORWARD: Mapping[tuple[int, bool], tuple[Line, ...]] = {
    (2, False): (
        _line(512, "rows", SHORT, 512, rows=4102, single=3279),
        _line(1024, "rows", SHORT, 1024, rows=4145, single=4124),
        _line(4096, "single", _warps(4), 2048, single=4126),
        _line(8192, "single", _warps(8), 8192, single=4099, online=3540),
        _line(16_384, "single", _warps(16), 16_384, single=3856, online=3457, split=2914),
        _line(32_768, "online", _block(16_384, 16), 32_768, online=3229, single=3131, split=2834),
        _line(
            65_536,
            "online",
            _block(16_384, 16),
            65_536,
            _block(8192, 16),
            online=2814,
            split=2717,
            single=2437,
        ),
        _line(4096 * MAX_SPLITS, "split", _block(4096, 4), 262_144, split=2628, online=2500),
        _line(LONGEST, "online", _block(16_384, 16), 1_048_576, online=2043),
    ),
    (2, True): (
        _line(256, "rows", SHORT, 256, rows=4),
        _line(1024, "single", _warps(4), 1024, single=16, rows=15),
        _line(4096, "single", _warps(8), 4096, single=59, split=31),
        _line(8192, "single", _warps(16), 8192, single=104, online=96, split=61),
        _line(32_768, "single", _warps(32), 32_768, single=270, split=228, online=219),
        _line(65_536, "split", _block(4096, 4), 65_536, split=406, single=347, online=266),
        _line(4096 * MAX_SPLITS, "split", _block(4096, 4), 262_144, split=1135, online=333),
        _line(LONGEST, "online", _block(16_384, 16), 1_048_576, online=346),
    ),
    (4, False): (
        _line(512, "rows", SHORT, 512, rows=4144, single=4124),
        _line(4096, "single", _warps(4), 1024, single=4127, rows=4124),
        _line(8192, "single", _warps(8), 8192, single=4010, online=4006),
        _line(16_384, "single", _warps(32), 16_384, single=4043, online=3792, split=3665),
        _line(32_768, "single", _warps(32), 32_768, single=3922, split=3554, online=2976),
        _line(
            65_536,
            "split",
            _block(8192, 8),
            65_536,
            _block(4096, 4),
            split=3437,
            online=2700,
            single=2526,
        ),
        _line(
            4096 * MAX_SPLITS,
            "split",
            _block(8192, 8),
            262_144,
            _block(4096, 4),
            split=3417,
            online=2648,
        ),
        _line(LONGEST, "online", _block(16_384, 32), 1_048_576, online=1845),
    ),
    (4, True): (
        _line(256, "rows", SHORT, 256, rows=8),
        _line(1024, "single", _warps(4), 1024, single=32, rows=28),
        _line(4096, "single", _warps(16), 4096, single=108, split=61),
        _line(8192, "single", _warps(16), 8192, single=192, online=180, split=118),
        _line(32_768, "single", _warps(32), 32_768, single=468, split=431, online=405),
        _line(65_536, "split", _block(4096, 4), 65_536, split=720, single=485, online=465),
        _line(4096 * MAX_SPLITS, "split", _block(4096, 4), 262_144, split=1768, online=570),
        _line(LONGEST, "online", _block(16_384, 32), 1_048_576, online=580),
    ),
}

# Bytes of an element -> lines. y and dy read once, dx written once: three passes counted.
BACKWARD: Mapping[int, tuple[Line, ...]] = {
    2: (
        _line(1024, "rows", {"tile": 2048, "num_warps": 4}, 512, rows=4264),
        _line(2048, "single", _warps(8), 2048, single=4278),
        _line(16_384, "single", _warps(16), 16_384, single=4166, blocks=3973),
        _line(32_768, "single", _warps(32), 32_768, single=3964, blocks=3346),
        _line(LONGEST, "blocks", _block(16_384, 32), 65_536, blocks=2545),
    ),
    4: (
        _line(1024, "rows", {"tile": 2048, "num_warps": 4}, 512, rows=4240),
        _line(2048, "single", _warps(8), 2048, single=4255),
        _line(16_384, "single", _warps(16), 16_384, single=4206, blocks=3871),
        _line(LONGEST, "blocks", _block(16_384, 32), 32_768, blocks=3419, single=3123),
    ),
}

# What a path takes where it was told and the table would not have chosen it, in rows of up to 4096
# columns and in longer ones: a path of blocks gets several. A single backward is called rows from
# two rows a program on.
TOLD_SHORT = {
    "rows": SHORT,
    "single": _warps(4),
    "online": _block(1024, 4),
    "split": _block(1024, 4),
}
TOLD_LONG = {
    "rows": {"tile": 1024, "num_warps": 16},  # one row: a warp for all of it compiles for minutes
    "single": _warps(32),
    "online": _block(16_384, 16),
    "split": _block(4096, 4),
}
PAIR = {"rows": 2, "num_warps": 8}
BACKWARD_TOLD_SHORT = {"rows": PAIR, "single": _warps(4), "blocks": _block(1024, 4)}
BACKWARD_TOLD_LONG = {"rows": PAIR, "single": _warps(32), "blocks": _block(16_384, 32)}


@lru_cache(1024)  # a model asks the same again and again, in microseconds that count
def plan(
    n_rows: int,
    n_cols: int,
    itemsize: int,
    capability: tuple[int, int] | None,
    path: str | None = None,
) -> Plan:
    """Return how y = softmax(x) of x [n_rows, n_cols] is computed.

    ``capability`` is the GPU's, None where there is none. ``path`` tells the path instead of
    choosing. Raises ValueError for a path that does not exist.
    """
    told = TOLD_SHORT if n_cols <= 4096 else TOLD_LONG
    return _plan(FORWARD[itemsize, n_rows < FEW_ROWS], n_cols, itemsize, capability, path, told)


@lru_cache(1024)
def plan_backward(
    n_rows: int,
    n_cols: int,
    itemsize: int,
    capability: tuple[int, int] | None,
    path: str | None = None,
) -> Plan:
    """Return how dx of y, dy [n_rows, n_cols] is computed, as `plan` does for the forward."""
    told = BACKWARD_TOLD_SHORT if n_cols <= 4096 else BACKWARD_TOLD_LONG
    return _plan(BACKWARD[itemsize], n_cols, itemsize, capability, path, told)


def _plan(
    lines: tuple[Line, ...],
    n_cols: int,
    itemsize: int,
    capability: tuple[int, int] | None,
    path: str | None,
    told: Mapping[str, Mapping[str, int]],
) -> Plan:
    """Return the plan of the first line that holds ``n_cols``, or of the path that was told.

    ``told`` has every path's settings for where the table does not choose it.
    """
    if path is not None and path not in told:
        raise ValueError(f"path must be one of {', '.join(told)}, got {path!r}.")
    line = next(line for line in lines if n_cols <= line.up_to)
    if path not in (None, line.path):
        reason = f"The path was told; {_reason(line, itemsize, capability, 'the table says')}"
        settings = _settings(told[path], n_cols)
        if "block" in settings:
            half = next_power_of_two(n_cols) // 2
            settings["block"] = min(settings["block"], max(SMALLEST_BLOCK, half))
        return Plan(path, settings, reason)
    settings = line.settings
    if line.unaligned and n_cols % STEP:
        settings = line.unaligned
    reason = _reason(line, itemsize, capability)
    return Plan(line.path, _settings(settings, n_cols), reason, line.measured, line.at)


def _settings(settings: Mapping[str, int], n_cols: int) -> dict[str, int]:
    """Return options of a launch: a tile becomes the rows that fill it."""
    options = dict(settings)
    if "tile" in options:
        options["rows"] = max(1, options.pop("tile") // next_power_of_two(n_cols))
    return options


def _reason(line: Line, itemsize: int, capability: tuple[int, int] | None, said: str = "") -> str:
    """Return the measurement behind a line as one sentence."""
    kind = "16-bit" if itemsize == 2 else "float32"
    best, *others = sorted(line.measured.items(), key=lambda item: item[0] != line.path)
    rates = [f"{best[1]:,} GB/s by {best[0]}", *(f"{rate:,} by {name}" for name, rate in others)]
    listed = rates[0] if len(rates) == 1 else f"{', '.join(rates[:-1])} and {rates[-1]}"
    where = MEASURED_ON.get(capability)
    doubt = ""
    if where is None:
        where = MEASURED_ON[9, 0]
        here = "no GPU is here" if capability is None else f"sm_{capability[0]}{capability[1]}"
        doubt = f" ({here}: not measured)" if capability else f" ({here})"
    lead = f"{said} {line.path}: " if said else ""
    return f"{lead}rows of {line.at:,} {kind} columns ran at {listed} on {where}, {DAY}{doubt}."
