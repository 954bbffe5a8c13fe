"""Hold arrays against a reference, element by element, strictly.

A NaN or an infinity agrees with the same, and with nothing else: an element where only one side is
finite is a mismatch, counted and never averaged away. All sizes are [n_rows, n_cols].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.results import REL_FLOOR, ErrorStats
from benchmarks.ulp import spacing

MAX_MAP = 128  # cells a side
N_BINS = 24


@dataclass(frozen=True)
class Comparison:
    """How far one array is from another.

    ulps        |error| in ULPs at the row's largest reference, float32; 0 where both agree on a NaN
                or an infinity, NaN where they do not
    """

    stats: ErrorStats
    ulps: np.ndarray

    def worst_row(self) -> int:
        """Return the row with the most mismatches, or else the largest error; 0 of no rows."""
        if not self.ulps.size:
            return 0
        n_mismatched = np.isnan(self.ulps).sum(axis=1)
        if n_mismatched.any():
            return int(n_mismatched.argmax())
        return int(self.ulps.max(axis=1).argmax())


def row_ulp(reference: np.ndarray, dtype: str) -> np.ndarray:
    """Return [n_rows]: the spacing of ``dtype`` at each row's largest finite |reference|."""
    finite = np.where(np.isfinite(reference), np.abs(reference), 0.0)
    return spacing(finite.max(axis=1, initial=0.0), dtype)


def compare(actual: np.ndarray, expected: np.ndarray, ulp: np.ndarray) -> Comparison:
    """Return how far ``actual`` is from ``expected``; ulp [n_rows] is the unit of each row."""
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    both_finite = np.isfinite(actual) & np.isfinite(expected)
    agree = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    mismatched = ~both_finite & ~agree
    error = np.subtract(actual, expected, where=both_finite, out=np.zeros_like(actual))
    np.abs(error, out=error)
    ulps = (error / ulp[:, None]).astype(np.float32)
    ulps[mismatched] = np.nan
    finite = error[both_finite]
    if finite.size:
        magnitude = np.maximum(np.abs(expected[both_finite]), REL_FLOOR)
        in_ulps = ulps[both_finite]
        numbers = (
            finite.max(),
            np.sqrt(np.mean(finite**2)),
            (finite / magnitude).max(),
            in_ulps.max(),
            np.median(in_ulps),
        )
    else:
        numbers = (0.0,) * 5
    return Comparison(ErrorStats(*map(float, numbers), int(mismatched.sum())), ulps)


def without_rows(comparison: Comparison, excluded: np.ndarray, n_rows: int) -> np.ndarray:
    """Return ulps [n_rows, n_cols] of a comparison that left out rows: 0 in those."""
    ulps = np.zeros((n_rows, comparison.ulps.shape[1]), np.float32)
    ulps[~excluded] = comparison.ulps
    return ulps


def n_same_bits(a: np.ndarray, b: np.ndarray) -> int:
    """Return how many elements are the same to the last bit, the sign of 0 included; NaN is NaN."""
    same = (a == b) & (np.signbit(a) == np.signbit(b))
    return int((same | (np.isnan(a) & np.isnan(b))).sum())


def map_step(n_rows: int, n_cols: int) -> tuple[int, int]:
    """Return how many (rows, cols) of elements one cell of a map stands for."""
    return max(1, -(-n_rows // MAX_MAP)), max(1, -(-n_cols // MAX_MAP))


def downsample(ulps: np.ndarray, step: tuple[int, int]) -> np.ndarray:
    """Return the largest of every ``step`` block of ``ulps``, NaN where the block holds one."""
    n_rows, n_cols = ulps.shape
    row_starts, col_starts = np.arange(0, n_rows, step[0]), np.arange(0, n_cols, step[1])
    if not ulps.size:
        return np.zeros((len(row_starts), len(col_starts)), np.float32)
    # np.maximum propagates NaN, which is what a mismatch is here.
    by_rows = np.maximum.reduceat(ulps, row_starts, axis=0)
    return np.maximum.reduceat(by_rows, col_starts, axis=1)


def histogram(kernel: np.ndarray, torch: np.ndarray) -> dict[str, np.ndarray]:
    """Return "edges" [25] in ULPs, and how many elements of each lie between; mismatches nowhere.

    The edges go from 0 to the first of 1, 2, 5, 10 … that holds both; the last bin is closed.
    """
    ours, theirs = (ulps[~np.isnan(ulps)] for ulps in (kernel, torch))
    largest = max((float(ulps.max()) for ulps in (ours, theirs) if ulps.size), default=0.0)
    edges = np.linspace(0.0, _round_up(largest), N_BINS + 1)
    counts = {
        name: np.histogram(ulps, edges)[0] for name, ulps in (("kernel", ours), ("torch", theirs))
    }
    return {"edges": edges, **counts}


def _round_up(largest: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that is at least ``largest`` and 1."""
    if not 1.0 < largest < np.inf:
        return 1.0
    power = 10.0 ** np.floor(np.log10(largest))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= largest))
