"""Numbers as the page writes them: a true minus, no thousands separators, NaN and ∞ by name."""

from __future__ import annotations

import math

MINUS = "−"


def short(value: float) -> str:
    """Return two significant digits: ``9.5e−7`` below 0.001 or from 10000, else ``0.56``."""
    if not math.isfinite(value):
        return special(value)
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e4:
        written = f"{value:.0f}" if abs(value) >= 99.5 else f"{value:.2g}"
        return written.replace("-", MINUS)
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}".replace("-", MINUS)


def ulps(value: float) -> str:
    """Return a distance in ULPs: ``0``, ``0.56``, ``7.0``, ``128``."""
    if not math.isfinite(value):
        return special(value)
    if value < 0.005 or value >= 1e5:
        return short(value)
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def exact(value: float, digits: int = 9) -> str:
    """Return ``value`` to ``digits`` significant digits: nine tell any two float32 apart."""
    if not math.isfinite(value):
        return special(value)
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value:#.{digits}g}".partition("e")
    return (f"{mantissa}e{int(exponent)}" if exponent else mantissa).replace("-", MINUS)


def special(value: float) -> str:
    """Return the name of a NaN or an infinity."""
    return "NaN" if math.isnan(value) else "∞" if value > 0 else f"{MINUS}∞"
