"""The numbers behind a preset and a seed, before they are rounded to a dtype.

A link holds a preset and a seed, so what they give must stay.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def preset_row(preset: str, n: int, dtype: str, seed: int) -> np.ndarray:
    """Return the preset's ``n`` scores, two decimals each, so that they can be checked by hand."""
    rng = np.random.default_rng(seed)
    normal = np.round(rng.normal(size=n) * 1.5, 2)
    if preset in ("rising", "falling"):
        # Strictly monotone after rounding: bfloat16 holds 1/32 steps up to 8, but not hundredths.
        # Rows too long for that keep one step, and rise or fall over a longer range.
        step = max(round(8 / n, 2), 0.02) if dtype != "bfloat16" else 1 / 32
        ramp = np.round((np.arange(n) - n // 2) * step, 5)
        return ramp if preset == "rising" else ramp[::-1]
    if preset == "outlier_last":
        normal[-1] = np.round(np.abs(normal).max() + 6, 2)
    elif preset == "ties":
        normal = rng.integers(-2, 3, size=n).astype(float)
        normal[rng.permutation(n)[: max(2, n // 6)]] = 2.0
    elif preset == "all_equal":
        normal = np.full(n, 1.25)
    elif preset == "huge":
        normal = np.round(rng.uniform(-1e4, 1e4, size=n), 0)
    elif preset == "masked_tail":
        normal[n - n // 3 :] = -np.inf
    elif preset == "all_masked":
        normal = np.full(n, -np.inf)
    return normal


def normal_numbers(shape: int | tuple[int, ...], stream: Sequence[int]) -> np.ndarray:
    """Return standard normal numbers, two decimals each, from a random stream of their own."""
    return np.round(np.random.default_rng(stream).normal(size=shape), 2)


def softmax_of(x: np.ndarray) -> np.ndarray:
    """Return softmax(x) of one row in float64; NaN where it has no value, as in torch."""
    with np.errstate(all="ignore"):
        p = np.exp(x.astype(np.float64) - x.max())
        return p / p.sum()
