"""One softmax for every shape: it chooses the kernel, says which and why, and has a gradient.

    y = softmax(x, dim);   dx = y * (dy - sum y * dy)

Only y is kept for the backward. What is chosen, and the measurements behind it, is in `paths`.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

import torch

from kernels.checks import check_tensor
from kernels.online_softmax.kernel import INTERPRETED
from kernels.softmax.paths import BACKWARD_PATHS, PATHS, Plan, plan, plan_backward


class Taken(NamedTuple):
    """What `softmax_with_path` returns.

    y           the result, shaped like x; differentiable
    path        the path that ran, as the kernel's own wrapper reports it
    reason      why, one sentence
    is_copied   whether x had to be copied: its dimensions other than ``dim`` have no one stride
    """

    y: torch.Tensor
    path: str
    reason: str
    is_copied: bool


class Softmax(torch.autograd.Function):
    """Softmax of the rows of x [n_rows, n_cols] along a plan, and its gradient."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, chosen: Plan, told: dict) -> torch.Tensor:
        """Run the planned kernel; keep y. ``told["path"]`` becomes the path that ran."""
        launch = importlib.import_module(f"kernels.{PATHS[chosen.path]}.kernel").launch
        launched = launch(x, **{"block": None, **chosen.settings})
        told["path"] = launched.path
        y = launched.outputs["y"]
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        """Return the gradient; any strides of dy. Raise ValueError for a second derivative."""
        if torch.is_grad_enabled():
            raise ValueError(
                "softmax's gradient cannot be differentiated again: call backward without "
                "create_graph=True."
            )
        (y,) = ctx.saved_tensors
        return softmax_gradient(y, dy), None, None


def softmax_gradient(y: torch.Tensor, dy: torch.Tensor, path: str | None = None) -> torch.Tensor:
    """Return dx = y * (dy - sum y * dy) for rows: y, dy [n_rows, n_cols], any strides.

    ``path`` tells ``rows``, ``single`` or ``blocks`` instead of choosing. Raises TypeError or
    ValueError, one sentence, for what cannot be computed.
    """
    return gradient_with_path(y, dy, path)[0]


def gradient_with_path(
    y: torch.Tensor, dy: torch.Tensor, path: str | None = None
) -> tuple[torch.Tensor, str]:
    """Return what `softmax_gradient` does, and the path that the kernel's wrapper reports."""
    chosen = plan_backward(*y.shape, y.element_size(), _capability(y), path)
    launch = importlib.import_module(f"kernels.{BACKWARD_PATHS[chosen.path]}.kernel").launch
    launched = launch(y, dy, **{"block": None, **chosen.settings})
    return launched.outputs["dx"], launched.path


def softmax(x: torch.Tensor, dim: int = -1, *, path: str | None = None) -> torch.Tensor:
    """Return softmax(x) over ``dim``, for any rank and strides.

    x float16, bfloat16 or float32; float32 inside. ``path`` tells ``rows``, ``single``, ``online``
    or ``split`` instead of choosing. Differentiable, once. Raises TypeError or ValueError, one
    sentence, for what cannot be computed.
    """
    return softmax_with_path(x, dim, path).y


def softmax_with_path(x: torch.Tensor, dim: int = -1, path: str | None = None) -> Taken:
    """Return what `softmax` does, the path that it took and why. Errors as there."""
    n_dims = x.dim() if isinstance(x, torch.Tensor) else 0
    check_tensor("x", x, n_dims, interpreted=INTERPRETED)
    dim = _dimension(x, dim)
    moved = x.movedim(dim, -1) if x.dim() else x.reshape(1)
    n_cols = moved.shape[-1]
    # Zero columns leave nothing from which to infer the rows.
    rows = moved.reshape(-1, n_cols) if moved.numel() else moved.reshape(_count(moved), n_cols)
    is_copied = bool(rows.numel()) and rows.data_ptr() != x.data_ptr()
    chosen = plan(*rows.shape, x.element_size(), _capability(x), path)
    told: dict[str, str] = {}
    y = Softmax.apply(rows, chosen, told).reshape(moved.shape)
    y = y.movedim(-1, dim) if x.dim() else y.reshape(())
    return Taken(y, told["path"], chosen.reason, is_copied)


def _dimension(x: torch.Tensor, dim: int) -> int:
    """Return ``dim`` if x has it, or raise."""
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise TypeError(f"dim must be an integer, got {type(dim).__name__}.")
    rank = max(x.dim(), 1)
    if not -rank <= dim < rank:
        raise ValueError(f"dim must be from {-rank} to {rank - 1}, got {dim}.")
    return dim


def _count(moved: torch.Tensor) -> int:
    """Return how many rows a tensor without elements has: its last dimension is the columns."""
    n_rows = 1
    for size in moved.shape[:-1]:
        n_rows *= size
    return n_rows


def _capability(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Return the compute capability of the tensor's GPU, None on a CPU."""
    return torch.cuda.get_device_capability(tensor.device) if tensor.is_cuda else None
