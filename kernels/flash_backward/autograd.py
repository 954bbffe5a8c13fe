"""Attention as one differentiable operation: the forward kernel, and the backward's three."""

from __future__ import annotations

from dataclasses import replace

import torch

from kernels.flash_attention import kernel as forward
from kernels.flash_backward import kernel as backward
from kernels.schedules import attention_schedule
from kernels.tiles import Tiles


def schedule(which: str, q, k, causal: bool, scale: float | None) -> tuple[Tiles, dict[str, int]]:
    """Return the tiles and launch options for ``which`` kernel on these tensors."""
    if q.dim() != 4 or k.dim() != 4:  # refused in a sentence by the launch
        return Tiles(is_causal=causal, scale=scale), {}
    (seq_q, head_dim), seq_k = q.shape[2:], k.shape[2]
    limit = None
    if q.is_cuda:
        limit = torch.cuda.get_device_properties(q.device).shared_memory_per_block_optin
    tiles, options = attention_schedule(which, seq_q, seq_k, head_dim, q.element_size(), limit)
    return replace(tiles, is_causal=causal, scale=scale), options


class Attention(torch.autograd.Function):
    """The forward and the backward as one differentiable operation."""

    @staticmethod
    def forward(ctx, q, k, v, causal, scale):
        """Run the forward kernel; keep the inputs, o and lse: one float32 number a query."""
        tiles, options = schedule("forward", q, k, causal, scale)
        outputs = forward.launch({"q": q, "k": k, "v": v}, tiles, **options).outputs
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(q, k, v, outputs["o"], outputs["lse"])
        ctx.causal, ctx.scale = causal, scale
        return outputs["o"], outputs["lse"]

    @staticmethod
    def backward(ctx, do, dlse):
        """Run the backward kernels. Raise ValueError where a second derivative is asked for."""
        if torch.is_grad_enabled():
            raise ValueError(
                "attention's gradient cannot be differentiated again: call backward without "
                "create_graph=True."
            )
        q, k, v, o, lse = ctx.saved_tensors
        if do is None:
            do = torch.zeros((), dtype=o.dtype, device=o.device).expand_as(o)
        tensors = {"q": q, "k": k, "v": v, "o": o, "do": do, "lse": lse}
        tiles, options = schedule("backward", q, k, ctx.causal, ctx.scale)
        grads = backward.launch(tensors, tiles, dlse=dlse, **options).outputs
        return grads["dq"], grads["dk"], grads["dv"], None, None


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return o = softmax(scale q k^T) v and lse; both can be differentiated, once.

    Shapes, types and errors as in `kernels.flash_attention.kernel.launch`; scale is
    1 / sqrt(head_dim) unless given. lse is the natural log of the sum of exp of the scores.
    """
    return Attention.apply(q, k, v, causal, scale)
