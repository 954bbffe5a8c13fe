"""The tensors that a measured algorithm is given, and float64's answer that each call is held to.

Random normal numbers, never zeros: a GPU draws less power for zeros and runs them faster. Attention
is checked on one head, in pieces, since float64's scores of all heads would not fit.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from benchmarks.own_providers import schedule
from benchmarks.row_run import TORCH
from kernels.algorithm import Algorithm
from kernels.inputs import Case
from kernels.tiles import Tiles

# The largest error that is timed, as a share of the largest element of float64's answer. Several
# times what a right kernel has, in any order of sums; a wrong one is off by far more.
SHARE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
PIECE = 1024  # queries at a time

Exact = tuple  # of tensors in float64, an output each


def tensors_for(entry: Algorithm, case: Case, where: str = "cuda") -> dict[str, object]:
    """Return the inputs of ``entry`` on the device ``where``, standard normal, by name."""
    import torch

    generator = torch.Generator(where).manual_seed(1)
    settings = {"device": where, "dtype": getattr(torch, case.dtype), "generator": generator}

    def draw(*shape: int):
        return torch.randn(shape, **settings)

    if entry.problem == "matmul":
        return {"a": draw(case.size_m, case.size_k), "b": draw(case.size_k, case.size_n)}
    if entry.problem == "row":
        tensors = {name: draw(case.n_rows, case.n_cols) for name in entry.rows}
        return tensors | {
            name: torch.softmax(tensors[name], -1)
            for name, holds in entry.draws.items()
            if holds == "softmax"
        }
    over_q = case.batch, case.heads, case.seq_q, case.head_dim
    over_k = case.batch, case.kv_heads, case.seq_k, case.head_dim
    tensors = {"q": draw(*over_q), "k": draw(*over_k), "v": draw(*over_k)}
    if "do" in entry.inputs:
        tensors["do"] = draw(*over_q)
        tensors |= _forward(case, tensors)
    return tensors


def _forward(case: Case, tensors: Mapping) -> dict[str, object]:
    """Return o and lse, which a backward reads, from our own forward."""
    tiles, options = schedule("forward", case, tensors)
    launch = importlib.import_module("kernels.flash_attention.kernel").launch
    return dict(launch({name: tensors[name] for name in "qkv"}, tiles, **options).outputs)


def exact(entry: Algorithm, case: Case, tensors: Mapping) -> Exact:
    """Return float64's outputs; of attention, those of the first head of the first batch."""
    import torch

    with torch.no_grad():
        if entry.problem == "attention":
            return _attention(case, tensors)
        wide = [tensors[name].double() for name in entry.inputs]
        if entry.problem == "matmul":
            return (wide[0] @ wide[1],)
        return (TORCH[entry.torch_expression](torch, *wide),)


def check(entry: Algorithm, case: Case, wanted: Exact, outputs) -> tuple[float, float]:
    """Return (the largest error against ``wanted``, the largest that may be timed).

    ``outputs`` is a tensor, or a tuple of them. Both numbers are of the output that is furthest off
    for its size; the error is infinite where an output is not finite.
    """
    import torch

    with torch.no_grad():
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        if entry.problem == "attention":
            given = tuple(tensor[0, 0] for tensor in given)
        worst = (0.0, 1.0)
        for got, true in zip(given, wanted, strict=True):
            error = float((got.detach().double() - true).abs().max())
            allowed = SHARE[case.dtype] * max(float(true.abs().max()), 1e-30)
            if not error <= float("inf"):
                return float("inf"), allowed
            if error / allowed > worst[0] / worst[1]:
                worst = error, allowed
        return worst if worst[1] != 1.0 else (0.0, SHARE[case.dtype])


def _attention(case: Case, tensors: Mapping) -> Exact:
    """Return o, or dq, dk and dv, of one head in float64, a piece of the queries at a time.

    dk and dv of a key head that several query heads share are sums over all of these.
    """
    import torch

    k, v = (tensors[name][0, 0].double() for name in ("k", "v"))
    is_backward = "do" in tensors
    shared = case.heads // case.kv_heads if is_backward else 1
    scale, is_causal = Tiles().scale_for(case.head_dim), case.mask == "causal"
    outputs, dk, dv = [], torch.zeros_like(k), torch.zeros_like(v)
    for head in range(shared):
        q = tensors["q"][0, head].double()
        do = tensors["do"][0, head].double() if is_backward else None
        for start in range(0, case.seq_q, PIECE):
            part = q[start : start + PIECE]
            scores = scale * part @ k.T
            if is_causal:
                rows = torch.arange(start, start + len(part), device=q.device)[:, None]
                keys = torch.arange(case.seq_k, device=q.device)[None, :]
                hidden = keys > rows + case.seq_k - case.seq_q
                scores.masked_fill_(hidden, float("-inf"))
            p = torch.softmax(scores, -1).nan_to_num(0.0)
            if not is_backward:
                outputs.append(p @ v)
                continue
            d_o = do[start : start + PIECE]
            dp = d_o @ v.T
            ds = p * (dp - (p * dp).sum(-1, keepdim=True))
            dk += scale * ds.T @ part
            dv += p.T @ d_o
            if head == 0:
                outputs.append(scale * ds @ k)
    first = torch.cat(outputs)
    return (first, dk, dv) if is_backward else (first,)
