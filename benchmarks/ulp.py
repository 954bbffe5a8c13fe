"""Distances in units in the last place, two ways, for two purposes.

`spacing` is how far apart a dtype's numbers lie around a magnitude: outputs are compared in units
of the spacing at their row's largest. `distance` counts the float32 numbers between two: scalars of
the kernel's state are compared by it.
"""

from __future__ import annotations

import numpy as np

# Bits of the significand, the hidden one included, and the exponent of the smallest normal number.
_FORMATS = {"float32": (24, -126), "float16": (11, -14), "bfloat16": (8, -126)}
_TINY = np.float32(2.0**-126)


def spacing(magnitude: np.ndarray, dtype: str) -> np.ndarray:
    """Return the gap between ``dtype``'s numbers at ``magnitude`` and the next one, in float64.

    1.0 gives 2^-23 in float32, 2^-10 in float16, 2^-7 in bfloat16; below the smallest normal number
    the gap stays. NaN and infinities count as 0.
    """
    bits, lowest = _FORMATS[dtype]
    finite = np.where(np.isfinite(magnitude), np.abs(magnitude), 0.0)
    exponent = np.frexp(finite)[1] - 1  # finite = f * 2^exponent with 1 <= f < 2
    exponent = np.where(finite == 0, lowest, np.maximum(exponent, lowest))
    return np.ldexp(1.0, exponent - (bits - 1))


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return how many float32 numbers a and b are apart, in float64.

    0 for equal values, for two NaNs, and between +0 and -0; inf where one is NaN or infinite and
    the other is not. Numbers below 2^-126 count as 0: a GPU's exp flushes them, a CPU's does not.
    """
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    apart = np.abs(_ordered(a) - _ordered(b)).astype(np.float64)
    special = ~(np.isfinite(a) & np.isfinite(b))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(special, np.where(same, 0.0, np.inf), apart)


def _ordered(x: np.ndarray) -> np.ndarray:
    """Return integers that are ordered, and spaced, as the float32 numbers are."""
    flushed = np.where(np.abs(x) < _TINY, np.float32(0), x)
    magnitude = flushed.view(np.int32).astype(np.int64) & 0x7FFFFFFF
    # What lies between 0 and the smallest normal number is one step: it all counts as 0.
    magnitude = np.maximum(magnitude - 0x007FFFFF, 0)
    return np.where(np.signbit(flushed), -magnitude, magnitude)
