"""Who computes an operation: our kernels by path, torch by backend, others if they are installed.

A provider makes a call out of a point's tensors. What is timed is the call alone; what it would
have to compile, choose or save before, it does when it is made. A provider that cannot is
`Unavailable`, with the reason: a library that is not installed, a backend that refuses, sizes that
a path cannot hold. Nothing here is needed to be installed but torch and Triton.
"""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Mapping

from benchmarks.operations import OPERATIONS
from benchmarks.own_providers import OURS, Call, Tensors, Unavailable
from benchmarks.rivals import reason as sdpa_reason
from kernels.inputs import Case


def make(operation: str, provider: str, case: Case, tensors: Tensors) -> Call:
    """Return the call of one provider at one point. Raise Unavailable if it cannot."""
    if provider not in OPERATIONS[operation].providers:
        raise Unavailable("unknown", provider)
    if provider in _OTHERS:
        return _other(operation, provider, tensors)
    if provider == "torch" and operation in _TORCH:
        return Call(lambda: _TORCH[operation](tensors))
    if provider == "compile":
        return _compiled(operation, tensors)
    if provider in _SDPA:
        return _sdpa(operation, provider, case, tensors)
    return OURS[operation](provider, case, tensors)


# torch.


def _aten_softmax_backward(tensors: Tensors):
    """What autograd runs for softmax's gradient."""
    import torch

    y = tensors["y"]
    return torch.ops.aten._softmax_backward_data(tensors["dy"], y, -1, y.dtype)


def _torch_softmax(tensors: Tensors):
    return tensors["x"].softmax(-1)


def _torch_chain(tensors: Tensors):
    return tensors["x"].softmax(-1) + tensors["x"] * tensors["y"]


_TORCH: Mapping[str, Callable] = {
    "softmax": _torch_softmax,
    "softmax_backward": _aten_softmax_backward,
    "add": lambda tensors: tensors["x"] + tensors["y"],
    "chain": _torch_chain,
    "matmul": lambda tensors: tensors["a"] @ tensors["b"],
}


def _softmax_gradient(y, dy):
    """The gradient as one writes it down, for the compiler to fuse."""
    wide, grad = y.float(), dy.float()
    return (wide * (grad - (wide * grad).sum(-1, keepdim=True))).to(y.dtype)


def _compiled(operation: str, tensors: Tensors) -> Call:
    """Return what torch.compile makes of the same expression, compiled for these very shapes."""
    import torch

    torch._dynamo.reset()  # or earlier shapes count against its limit
    importlib.import_module("torch._inductor.config").compile_threads = 1
    if operation == "softmax_backward":
        function, inputs = _softmax_gradient, (tensors["y"], tensors["dy"])
    elif operation == "chain":
        function = lambda x, y: x.softmax(-1) + x * y  # noqa: E731
        inputs = tensors["x"], tensors["y"]
    else:
        function, inputs = (lambda x: x.softmax(-1)), (tensors["x"],)
    compiled = torch.compile(function, dynamic=False, fullgraph=True)
    return Call(lambda: compiled(*inputs))


_SDPA = {
    "sdpa_flash": "FLASH_ATTENTION",
    "sdpa_cudnn": "CUDNN_ATTENTION",
    "sdpa_efficient": "EFFICIENT_ATTENTION",
    "sdpa_math": "MATH",
}


def _sdpa(operation: str, provider: str, case: Case, tensors: Tensors) -> Call:
    """Return scaled_dot_product_attention held to one backend, or its gradient."""
    import torch
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backend = getattr(SDPBackend, _SDPA[provider])
    q, k, v = (tensors[name] for name in "qkv")
    options = {"is_causal": case.mask == "causal", "enable_gqa": case.heads != case.kv_heads}

    def forward():
        with sdpa_kernel([backend]):
            return F.scaled_dot_product_attention(q, k, v, **options)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            if operation != "attention_backward":
                with torch.no_grad():
                    forward()
                return Call(forward)
            leaves = [t.detach().requires_grad_() for t in (q, k, v)]
            with torch.enable_grad(), sdpa_kernel([backend]):
                o = F.scaled_dot_product_attention(*leaves, **options)

            def backward():
                return torch.autograd.grad(o, leaves, tensors["do"], retain_graph=True)

            backward()
            return Call(backward)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            if "CUDA error" in str(error):
                raise  # nothing after a fault can be trusted
            sentence = sdpa_reason([str(one.message) for one in said], str(error))
            raise Unavailable("refused", sentence) from None


# Others: found, never required.

_OTHERS = {"liger": "liger_kernel", "quack": "quack"}


def _other(operation: str, provider: str, tensors: Tensors) -> Call:
    """Return another library's softmax, if it is installed and takes these sizes."""
    if importlib.util.find_spec(_OTHERS[provider]) is None:
        raise Unavailable("not_installed", provider)
    try:
        if provider == "liger":
            function = importlib.import_module("liger_kernel.ops.softmax").LigerSoftmaxFunction
            x = tensors["x"]
            call = Call(lambda: function.apply(x))
        elif operation == "softmax":
            function = importlib.import_module("quack.softmax").softmax
            x = tensors["x"]
            call = Call(lambda: function(x))
        else:
            function = importlib.import_module("quack.softmax").softmax_bwd
            dy, y = tensors["dy"], tensors["y"]
            call = Call(lambda: function(dy, y))
        call.run()
        return call
    except Exception as error:  # another's library may raise anything
        raise Unavailable("refused", str(error).splitlines()[0][:200]) from None
