"""Numbers as the page writes them. kB, MB and GB are 1e3, 1e6 and 1e9 bytes."""

from __future__ import annotations

import math

UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def size(n_bytes: float) -> str:
    """Return three significant digits with a unit: ``4.21 MB``, ``17.4 GB``."""
    value, unit = float(n_bytes), 0
    while value >= 999.5 and unit < len(UNITS) - 1:
        value, unit = value / 1000, unit + 1
    digits = 0 if unit == 0 else max(0, 2 - int(math.log10(max(value, 1))))
    written = f"{value:.{digits}f}"
    # 9.996 to two decimals is 10.00: four digits, one too many
    if len(written.replace(".", "")) > 3 and digits:
        written = f"{value:.{digits - 1}f}"
    return f"{written} {UNITS[unit]}"


def times(ratio: float) -> str:
    """Return a ratio's number: ``1.9``, ``65``."""
    return f"{ratio:.1f}" if ratio < 9.95 else f"{ratio:.0f}"


def duration(seconds: float) -> str:
    """Return how long a first call took: "0.39 s", "97 ms", "3.1 ms", "< 1 ms" if noted as 0."""
    if seconds >= 0.0995:  # 100 ms in two digits
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.2g} ms" if seconds else "< 1 ms"


def slope(values: tuple[int, ...], lengths: tuple[int, ...]) -> float:
    """Return the exponent of the length by which the last two values differ."""
    grown = math.log2(values[-1] / values[-2])
    return grown / math.log2(lengths[-1] / lengths[-2])
