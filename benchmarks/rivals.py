"""What torch gives for the same inputs, by the exact name of what computed it.

Attention has several rivals: `scaled_dot_product_attention` (SDPA) with each of its backends, one
at a time. The one that sets a kernel's tolerance is the one that SDPA's own dispatcher takes for
these inputs, as `torch._fused_sdp_choice` says; where a torch has no such function, the first in
the dispatcher's order that does not refuse. Three kernels one after another are held against three
torch calls in the same dtype, which round in the same places.

Gradients come from autograd. torch's `is_causal` aligns the mask top-left and ours bottom-right:
with as many keys as queries they are one, with more keys torch gets an explicit mask, and with
fewer it gets only the queries that see a key, which makes both numbers equal again. Heads that
share a key head do so in torch too (`enable_gqa`), unless that leaves the dispatcher nothing but
the math backend: then k and v are repeated, and the name says so.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Iterator, Mapping

from benchmarks.failures import clean
from kernels.algorithm import Algorithm
from kernels.tiles import Tiles

# SDPBackend's name -> ours. In the order in which a torch that cannot say is asked.
BACKENDS = {
    "FLASH_ATTENTION": "SDPA flash",
    "EFFICIENT_ATTENTION": "SDPA efficient",
    "CUDNN_ATTENTION": "SDPA cuDNN",
    "MATH": "SDPA math",
}
REPEATED = ", k and v repeated"
MAX_MATH_SCORES = 2**27  # the math backend holds them all, a few times over
THREE_CALLS = "torch.matmul, softmax, matmul"
# What a refusal says before it says why.
_PREAMBLE = re.compile(r"not used because|not viable|runtime disabled|Triggered internally")
_ORIGIN = re.compile(r"\s*\(Triggered internally at .*\)\s*$")

Outputs = Mapping[str, object]


def run(
    entry: Algorithm, tensors: Mapping, tiles: Tiles, every: bool = True
) -> tuple[str, dict[str, Outputs | str]]:
    """Return the name of the rival that sets the tolerance, and every rival's outputs by name.

    Instead of outputs there is a sentence where a backend refused. ``every`` False runs only the
    one that sets the tolerance. Outputs of queries that see no key are 0.
    """
    with exact_products():
        if entry.problem == "matmul":
            name = _matmul_name(tensors["a"])
            return name, {name: {"c": tensors["a"] @ tensors["b"]}}
        inputs = {name: tensors[name] for name in ("q", "k", "v", "do") if name in entry.inputs}
        if "scaled_dot_product_attention" not in entry.torch_expression:
            found: dict[str, Outputs | str] = {THREE_CALLS: _three_calls(inputs, tiles)}
            return THREE_CALLS, found | (_sdpa_rivals(inputs, tiles, True)[1] if every else {})
        return _sdpa_rivals(inputs, tiles, every)


@contextlib.contextmanager
def exact_products() -> Iterator[None]:
    """Have float32 products in float32, not TF32, and sums of half products in float32 too."""
    import torch

    matmul = torch.backends.cuda.matmul
    switches = [
        name
        for name in (
            "allow_fp16_reduced_precision_reduction",
            "allow_bf16_reduced_precision_reduction",
        )
        if hasattr(matmul, name)
    ]
    before = torch.get_float32_matmul_precision(), [getattr(matmul, s) for s in switches]
    torch.set_float32_matmul_precision("highest")
    for switch in switches:
        setattr(matmul, switch, False)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        for switch, value in zip(switches, before[1]):
            setattr(matmul, switch, value)


def _matmul_name(a) -> str:
    """Return what a product of this dtype is called; "ieee" is Triton's word for no TF32."""
    dtype = str(a.dtype).removeprefix("torch.")
    return "torch.matmul, ieee" if dtype == "float32" else f"torch.matmul, {dtype}"


def _sdpa_rivals(
    inputs: Mapping, tiles: Tiles, every: bool
) -> tuple[str, dict[str, Outputs | str]]:
    """Return SDPA's rivals, as `run` does."""
    shares = inputs["q"].shape[1] != inputs["k"].shape[1]
    repeats = shares and _dispatched(inputs, tiles, repeats=False) == "MATH"
    suffix = REPEATED if repeats else ""
    chosen = _dispatched(inputs, tiles, repeats)
    found: dict[str, Outputs | str] = {}
    n_scores = inputs["q"].shape[:3].numel() * inputs["k"].shape[2]
    for backend in sorted(BACKENDS, key=lambda name: name != chosen):
        name = BACKENDS[backend] + suffix
        if backend == "MATH" and backend != chosen and found and n_scores > MAX_MATH_SCORES:
            found[name] = f"It was not asked to hold {n_scores} scores at once."
            continue
        found[name] = _attempt(backend, inputs, tiles, repeats)
        if not every and not isinstance(found[name], str):
            break
    answered = [name for name, outputs in found.items() if not isinstance(outputs, str)]
    if not answered:
        raise RuntimeError(f"no backend of SDPA takes these inputs: {'; '.join(found.values())}")
    return answered[0], found


def _dispatched(inputs: Mapping, tiles: Tiles, repeats: bool) -> str | None:
    """Return the SDPBackend that the dispatcher takes, or None if this torch does not say."""
    import torch
    from torch.nn.attention import SDPBackend

    (q, k, v), _, options = _arguments(inputs, tiles, repeats)
    try:
        name = SDPBackend(int(torch._fused_sdp_choice(q, k, v, **options))).name
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None
    return name if name in BACKENDS else None


def _attempt(backend: str, inputs: Mapping, tiles: Tiles, repeats: bool) -> Outputs | str:
    """Return one backend's outputs, or the sentence that says why it refused."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            with sdpa_kernel([getattr(SDPBackend, backend)]):
                return _sdpa(inputs, tiles, repeats)
        except torch.OutOfMemoryError:
            return "It ran out of memory."
        except RuntimeError as error:
            if "CUDA error" in str(error):
                raise  # the context has faulted: nothing after it can be trusted
            return reason([str(warning.message) for warning in said], str(error))


def reason(said: list[str], error: str) -> str:
    """Return one sentence from torch's warnings, which say why, or else from its error."""
    sentences = [clean(_ORIGIN.sub("", text)) for text in said]
    telling = [text for text in sentences if text and not _PREAMBLE.search(text)]
    text = telling[0] if telling else clean(error)
    return text.partition(". ")[0].rstrip(".") + "."


def _arguments(inputs: Mapping, tiles: Tiles, repeats: bool) -> tuple[tuple, tuple, dict]:
    """Return q, k, v as SDPA takes them, the leaves they come from, and SDPA's options.

    The leaves want gradients if there is a ``do``.
    """
    import torch

    q, k, v = (inputs[name].detach() for name in ("q", "k", "v"))
    (heads, seq_q), (kv_heads, seq_k) = q.shape[1:3], k.shape[1:3]
    options = {"is_causal": tiles.is_causal, "scale": tiles.scale_for(q.shape[3])}
    if tiles.is_causal:
        q = q[:, :, max(0, seq_q - seq_k) :]
    if tiles.is_causal and seq_q < seq_k:
        sees = torch.ones(seq_q, seq_k, dtype=torch.bool, device=q.device)
        options |= {"is_causal": False, "attn_mask": sees.tril(seq_k - seq_q)}
    leaves = tuple(t.detach().requires_grad_("do" in inputs) for t in (q, k, v))
    if heads == kv_heads:
        return leaves, leaves, options
    if not repeats:
        return leaves, leaves, options | {"enable_gqa": True}
    k, v = (leaf.repeat_interleave(heads // kv_heads, 1) for leaf in leaves[1:])
    return (leaves[0], k, v), leaves, options


def _sdpa(inputs: Mapping, tiles: Tiles, repeats: bool) -> Outputs:
    """Return SDPA's outputs in the context's backend, gradients with them if ``do`` is given."""
    import torch.nn.functional as F

    qkv, leaves, options = _arguments(inputs, tiles, repeats)
    return _with_gradients(F.scaled_dot_product_attention(*qkv, **options), leaves, inputs)


def _with_gradients(o, leaves: tuple, inputs: Mapping) -> Outputs:
    """Return o, or the gradients of the leaves at ``do``; rows that see no key are filled with 0.

    An algorithm has one or the other among its outputs.
    """
    import torch

    n_hidden = inputs["q"].shape[2] - o.shape[2]
    if "do" not in inputs:
        return {"o": _below(n_hidden, o.detach())}
    dq, dk, dv = torch.autograd.grad(o, leaves, inputs["do"][:, :, n_hidden:])
    return {"dq": _below(n_hidden, dq), "dk": dk, "dv": dv}


def _below(n_rows: int, tensor):
    """Return ``tensor`` [batch, heads, rows, d] below so many rows of zeros."""
    import torch

    return torch.nn.functional.pad(tensor, (0, 0, n_rows, 0)) if n_rows else tensor


def _three_calls(inputs: Mapping, tiles: Tiles) -> Outputs:
    """Return o = softmax(scale q k^T) v, each step a torch call in the inputs' dtype."""
    import torch

    (q, k, v), leaves, options = _arguments(inputs, tiles, repeats=True)
    s = q @ k.mT * options["scale"]
    if tiles.is_causal:
        sees = torch.ones(s.shape[-2:], dtype=torch.bool, device=s.device)
        s = s.masked_fill(~sees.tril(s.shape[-1] - s.shape[-2]), -torch.inf)
    return _with_gradients(torch.softmax(s, -1) @ v, leaves, inputs)
