"""The fused chain with its gradient: z = softmax(x) + x * y, one kernel each way.

    s = softmax(x);   dx = s * (dz - sum s * dz) + dz * y;   dy = dz * x

The backward computes s again from x rather than keep it: x, y and dz are read once, dx and dy
written once, five passes over [n_rows, n_cols].
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.checks import check_inputs
from kernels.fused_chain.kernel import INTERPRETED, launch
from kernels.tiles import next_power_of_two


@triton.jit
def fused_chain_backward_kernel(
    x_ptr,
    y_ptr,
    dz_ptr,
    dx_ptr,
    dy_ptr,
    n_cols,
    stride_xm,
    stride_xn,
    stride_ym,
    stride_yn,
    stride_dzm,
    stride_dzn,
    stride_dxm,
    stride_dxn,
    stride_dym,
    stride_dyn,
    BLOCK_N: tl.constexpr,
):
    """One program a row."""
    row = tl.program_id(0).to(tl.int64)  # rows x stride can pass 2^31
    offs_n = tl.arange(0, BLOCK_N)
    mask_n = offs_n < n_cols
    far_n = offs_n.to(tl.int64)
    x = tl.load(x_ptr + row * stride_xm + far_n * stride_xn, mask_n, float("-inf"))  # [BLOCK_N]
    y = tl.load(y_ptr + row * stride_ym + far_n * stride_yn, mask_n, 0.0)  # [BLOCK_N]
    dz = tl.load(dz_ptr + row * stride_dzm + far_n * stride_dzn, mask_n, 0.0)  # [BLOCK_N]
    x, y, dz = x.to(tl.float32), y.to(tl.float32), dz.to(tl.float32)
    p = tl.exp(x - tl.max(x, 0))  # [BLOCK_N]
    s = p / tl.sum(p, 0)  # [BLOCK_N]
    delta = tl.sum(s * dz, 0)
    dx = s * (dz - delta) + dz * y
    tl.store(dx_ptr + row * stride_dxm + far_n * stride_dxn, dx, mask_n)
    tl.store(dy_ptr + row * stride_dym + far_n * stride_dyn, dz * x, mask_n)


def launch_backward(
    x: torch.Tensor, y: torch.Tensor, dz: torch.Tensor, *, num_warps: int = 4
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return dx and dy for x, y and dz [n_rows, n_cols], any strides; n_cols at most 2^20."""
    check_inputs(torch.is_grad_enabled(), INTERPRETED, num_warps, x=x, y=y, dz=dz)
    n_rows, n_cols = x.shape
    # The interpreter truncates float32 to bfloat16 where a GPU rounds: there torch rounds instead.
    stored_as = torch.float32 if INTERPRETED else x.dtype
    dx, dy = (torch.empty((n_rows, n_cols), dtype=stored_as, device=x.device) for _ in range(2))
    if x.numel():
        strides = [step for tensor in (x, y, dz, dx, dy) for step in tensor.stride()]
        block = next_power_of_two(n_cols)
        with torch.cuda.device_of(x):
            fused_chain_backward_kernel[(n_rows,)](
                x, y, dz, dx, dy, n_cols, *strides, BLOCK_N=block, num_warps=num_warps
            )
    return dx.to(x.dtype), dy.to(x.dtype)


def warps_for(n_cols: int) -> int:
    """Return warps for a row: 4, more from 4096 columns on, so that registers suffice."""
    return 4 if n_cols < 4096 else 8 if n_cols < 8192 else 16 if n_cols < 16_384 else 32


class SoftmaxPlusProduct(torch.autograd.Function):
    """z = softmax(x) + x * y for rows, and both gradients."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Run the kernel; keep x and y, which exist anyway."""
        ctx.save_for_backward(x, y)
        return launch(x, y, num_warps=warps_for(x.shape[-1])).outputs["z"]

    @staticmethod
    def backward(ctx, dz: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return dx and dy. Raise ValueError where a second derivative is asked for."""
        if torch.is_grad_enabled():
            raise ValueError(
                "this gradient cannot be differentiated again: call backward without "
                "create_graph=True."
            )
        x, y = ctx.saved_tensors
        return launch_backward(x, y, dz, num_warps=warps_for(x.shape[-1]))


def softmax_plus_product(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return softmax(x) + x * y over the last dimension, differentiable, once.

    x, y [n_rows, n_cols], float16, bfloat16 or float32, any strides; n_cols at most 2^20. Raises
    TypeError or ValueError, one sentence, for what cannot be computed.
    """
    return SoftmaxPlusProduct.apply(x, y)
