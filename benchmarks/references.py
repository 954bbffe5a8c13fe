"""The tensors of a measured operation, and float64's answer that each provider is held against.

Random normal numbers, never zeros: a GPU draws less power for zeros and runs them faster. Attention
is checked on one head, in pieces, since float64's scores of all heads would not fit.
"""

from __future__ import annotations

from collections.abc import Mapping

from benchmarks.operations import OPERATIONS
from kernels import ALGORITHMS
from kernels.inputs import Case
from kernels.tiles import Tiles

# The largest error that is timed, as a share of the largest element of float64's answer. Several
# times what a right kernel has, in any order of sums; a wrong one is off by far more.
SHARE = {"float32": 2e-5, "float16": 4e-3, "bfloat16": 3e-2}
PIECE = 1024  # queries at a time


def tensors_for(operation: str, case: Case) -> dict[str, object]:
    """Return the operation's inputs on the current GPU, standard normal, by name."""
    import torch

    generator = torch.Generator("cuda").manual_seed(1)
    settings = {"device": "cuda", "dtype": getattr(torch, case.dtype), "generator": generator}

    def draw(*shape: int):
        return torch.randn(shape, **settings)

    entry = ALGORITHMS[OPERATIONS[operation].entry]
    if entry.problem == "matmul":
        return {"a": draw(case.size_m, case.size_k), "b": draw(case.size_k, case.size_n)}
    if entry.problem == "row":
        tensors = {name: draw(case.n_rows, case.n_cols) for name in entry.rows}
        if "dy" in tensors:
            tensors["y"] = torch.softmax(tensors["y"], -1)
        return tensors
    over_q = case.batch, case.heads, case.seq_q, case.head_dim
    over_k = case.batch, case.kv_heads, case.seq_k, case.head_dim
    tensors = {"q": draw(*over_q), "k": draw(*over_k), "v": draw(*over_k)}
    if operation == "attention_backward":
        tensors["do"] = draw(*over_q)
        tensors |= _forward(case, tensors)
    return tensors


def _forward(case: Case, tensors: Mapping) -> dict[str, object]:
    """Return o and lse, which our backward reads, from our own forward."""
    import importlib

    from kernels.schedules import attention_schedule

    q = tensors["q"]
    tiles, options = attention_schedule(
        "forward", case.seq_q, case.seq_k, case.head_dim, q.element_size()
    )
    tiles = Tiles(tiles.block_m, tiles.block_n, is_causal=case.mask == "causal")
    launch = importlib.import_module("kernels.flash_attention.kernel").launch
    return dict(launch({name: tensors[name] for name in "qkv"}, tiles, **options).outputs)


def check(operation: str, case: Case, tensors: Mapping, outputs) -> tuple[float, float]:
    """Return (the largest error against float64, the largest that may be timed).

    Both are of the output that is furthest off for its size; the error is infinite where an output
    is not finite.
    """
    import torch

    with torch.no_grad():
        given = outputs if isinstance(outputs, tuple) else (outputs,)
        entry = ALGORITHMS[OPERATIONS[operation].entry]
        if entry.problem == "attention":
            given = tuple(tensor[0, 0] for tensor in given)
        worst = (0.0, 1.0)
        for got, wanted in zip(given, _wanted(operation, case, tensors), strict=True):
            error = float((got.detach().double() - wanted).abs().max())
            allowed = SHARE[case.dtype] * max(float(wanted.abs().max()), 1e-30)
            if not error <= float("inf"):
                return float("inf"), allowed
            if error / allowed > worst[0] / worst[1]:
                worst = error, allowed
        return worst if worst[1] != 1.0 else (0.0, SHARE[case.dtype])


def _wanted(operation: str, case: Case, tensors: Mapping) -> tuple:
    """Return float64's outputs; of attention, those of the first head of the first batch."""
    import torch

    if operation == "softmax":
        return (torch.softmax(tensors["x"].double(), -1),)
    if operation == "softmax_backward":
        y, dy = tensors["y"].double(), tensors["dy"].double()
        return (y * (dy - (y * dy).sum(-1, keepdim=True)),)
    if operation == "add":
        return (tensors["x"].double() + tensors["y"].double(),)
    if operation == "chain":
        x = tensors["x"].double()
        return (torch.softmax(x, -1) + x * tensors["y"].double(),)
    if operation == "matmul":
        return (tensors["a"].double() @ tensors["b"].double(),)
    return _attention(operation, case, tensors)


def _attention(operation: str, case: Case, tensors: Mapping) -> tuple:
    """Return o, or dq, dk and dv, of one head in float64, a piece of the queries at a time.

    dk and dv of a key head that several query heads share are sums over all of these.
    """
    import torch

    k, v = (tensors[name][0, 0].double() for name in ("k", "v"))
    shared = case.heads // case.kv_heads if operation == "attention_backward" else 1
    scale, is_causal = Tiles().scale_for(case.head_dim), case.mask == "causal"
    outputs, dk, dv = [], torch.zeros_like(k), torch.zeros_like(v)
    for head in range(shared):
        q = tensors["q"][0, head].double()
        do = tensors["do"][0, head].double() if "do" in tensors else None
        for start in range(0, case.seq_q, PIECE):
            part = q[start : start + PIECE]
            scores = scale * part @ k.T
            if is_causal:
                rows = torch.arange(start, start + len(part), device=q.device)[:, None]
                keys = torch.arange(case.seq_k, device=q.device)[None, :]
                hidden = keys > rows + case.seq_k - case.seq_q
                scores.masked_fill_(hidden, float("-inf"))
            p = torch.softmax(scores, -1).nan_to_num(0.0)
            if do is None:
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
    return (first,) if operation != "attention_backward" else (first, dk, dv)
