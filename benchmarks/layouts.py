"""How the rows of a check lie in memory: a kernel must take any strides as they come.

contiguous  as torch makes a matrix
sliced      the first columns of a wider matrix; beyond them is NaN
transposed  stored by columns: a row's neighbours are n_rows apart
expanded    one row that stands for all, of stride 0
scalar      the last input is one number that stands for all, as the gradient of a sum is
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

LAYOUTS = ("contiguous", "sliced", "transposed", "expanded", "scalar")
BEYOND = 3  # columns of a wider matrix that are not part of a sliced one
GUARD = 64  # elements on either side of an output, a multiple of every alignment


def of_input(rows: Sequence[str], name: str, layout: str) -> str:
    """Return how one input lies in memory; ``rows`` names those that are rows, in order.

    What all rows share is not made of equal rows.
    """
    if layout == "scalar":
        return layout if name == rows[-1] else "contiguous"
    return layout if name in rows or layout != "expanded" else "contiguous"


def as_laid_out(
    rows: Sequence[str], arrays: Mapping[str, np.ndarray], layout: str
) -> dict[str, np.ndarray]:
    """Return the inputs with the values that ``layout`` gives them: equal rows, or one number."""
    made = {}
    for name, array in arrays.items():
        shared = {"expanded": array[:1], "scalar": array[:1, :1]}
        one = shared.get(of_input(rows, name, layout))
        made[name] = array if one is None else np.broadcast_to(one, array.shape).copy()
    return made


def placed(tensor, layout: str):
    """Return ``tensor`` [n_rows, n_cols] as ``layout`` keeps it, its values as `as_laid_out`'s."""
    n_rows, n_cols = tensor.shape
    if layout == "sliced":
        wide = tensor.new_full((n_rows, n_cols + BEYOND), float("nan"))
        wide[:, :n_cols] = tensor
        return wide[:, :n_cols]
    if layout == "transposed":
        return tensor.T.contiguous().T
    if layout == "expanded":
        return tensor[:1].expand(n_rows, n_cols)
    return tensor[:1, :1].expand(n_rows, n_cols) if layout == "scalar" else tensor


def room(like, shape: tuple[int, int], layout: str) -> tuple:
    """Return (buffer, output): an output [n_rows, n_cols] of ``layout`` inside a flat buffer.

    An output cannot be expanded: it is contiguous then.
    """
    n_rows, n_cols = shape
    width = n_cols + BEYOND if layout == "sliced" else n_cols
    buffer = like.new_empty((n_rows * width + 2 * GUARD,))
    inside = buffer[GUARD:-GUARD]
    if layout == "transposed":
        return buffer, inside.view(n_cols, n_rows).T
    return buffer, inside.view(n_rows, width)[:, :n_cols]
