"""How far a row's outputs are from float64, in ULPs of the row's largest output."""

from __future__ import annotations

import numpy as np

from benchmarks.results import RowDetail

# Bits of the fraction, and the exponent of the smallest normal number.
_FORMATS = {"float32": (23, -126), "float16": (10, -14), "bfloat16": (7, -126)}


def row_ulp(detail: RowDetail, dtype: str) -> float:
    """Return the spacing of ``dtype`` at the row's largest finite float64 output."""
    exact = np.abs(np.asarray(detail.outputs["float64"], dtype=np.float64))
    largest = exact[np.isfinite(exact)].max(initial=0.0)
    fraction, smallest = _FORMATS[dtype]
    exponent = np.frexp(largest)[1] - 1 if largest > 0 else smallest
    return float(2.0 ** (max(int(exponent), smallest) - fraction))


def row_distances(detail: RowDetail, dtype: str) -> dict[str, np.ndarray]:
    """Return "kernel" and "torch" -> [out_cols]: 0 where both sides are the same special value.

    NaN where one side is finite and the other is not.
    """
    exact = np.asarray(detail.outputs["float64"], dtype=np.float64)
    unit = row_ulp(detail, dtype)
    found = {}
    for who in ("kernel", "torch"):
        got = np.asarray(detail.outputs[who], dtype=np.float64)
        same = (got == exact) | (np.isnan(got) & np.isnan(exact))
        finite = np.isfinite(got) & np.isfinite(exact)
        with np.errstate(invalid="ignore"):
            off = np.where(finite, np.abs(got - exact) / unit, np.nan)
        found[who] = np.where(same, 0.0, off)
    return found
