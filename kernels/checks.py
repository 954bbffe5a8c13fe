"""Refuse what a kernel cannot compute, in one sentence, before anything is launched.

Tensors are only asked for their shape, strides, dtype and device, so that nothing here needs torch.
"""

from __future__ import annotations

DTYPES = ("torch.float16", "torch.bfloat16", "torch.float32")
MAX_NUMEL = 2**20  # elements of one Triton tensor; the compiler refuses more


def check_inputs(grad_enabled: bool, interpreted: bool, num_warps: int, **tensors) -> None:
    """Raise unless every tensor is a usable matrix like the first, and ``num_warps`` is legal.

    ``grad_enabled`` is torch's: these kernels have no backward, so a tensor that autograd would
    expect a gradient for is refused instead of silently left without one.
    """
    (first_name, first), *_ = tensors.items()
    for name, tensor in tensors.items():
        check_tensor(name, tensor, 2, interpreted=interpreted)
        check_same(name, tensor, first_name, first)
        if grad_enabled and tensor.requires_grad:
            raise ValueError(
                f"{name} requires a gradient, and this kernel has no backward: call it under "
                f"torch.no_grad(), or pass {name}.detach()."
            )
    check_power_of_two("num_warps", num_warps, 32)


def check_tensor(name: str, tensor, n_dims: int, *, interpreted: bool) -> None:
    """Raise unless ``tensor`` has ``n_dims`` dimensions, a supported dtype, and a usable device."""
    if not hasattr(tensor, "stride"):
        raise TypeError(f"{name} must be a torch tensor, got {type(tensor).__name__}.")
    if str(tensor.dtype) not in DTYPES:
        raise TypeError(
            f"{name} must be float16, bfloat16 or float32, got {str(tensor.dtype)[6:]}."
        )
    if tensor.dim() != n_dims:
        raise ValueError(
            f"{name} must have {n_dims} dimensions, got {tensor.dim()}: {list(tensor.shape)}."
        )
    if not interpreted and tensor.device.type != "cuda":
        raise ValueError(
            f"{name} is on {tensor.device}, but the kernel was compiled for a GPU: move it to "
            "cuda, or set TRITON_INTERPRET=1 before Triton is imported."
        )


def check_same(name: str, tensor, other_name: str, other) -> None:
    """Raise unless both tensors have one dtype and one device."""
    if tensor.dtype != other.dtype:
        raise TypeError(
            f"{name} and {other_name} must have one dtype, got {str(tensor.dtype)[6:]} and "
            f"{str(other.dtype)[6:]}."
        )
    if tensor.device != other.device:
        raise ValueError(
            f"{name} and {other_name} must be on one device, got {tensor.device} and "
            f"{other.device}."
        )


def check_power_of_two(name: str, value, high: int) -> None:
    """Raise unless ``value`` is a power of two from 1 to ``high``."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}.")
    if not 1 <= value <= high or value & (value - 1):
        raise ValueError(f"{name} must be a power of two from 1 to {high}, got {value}.")


def output_tensor(out, like, shape: tuple[int, ...], *inputs, stored_as):
    """Return the tensor a kernel writes: ``out`` if it fits and overlaps no input, or a new one.

    ``stored_as`` is the dtype to allocate; where it differs from ``like``'s `finish_output` rounds.
    """
    if out is None:
        return like.new_empty(shape, dtype=stored_as)
    check_same("out", out, "the input", like)
    if tuple(out.shape) != shape:
        raise ValueError(f"out must have shape {list(shape)}, got {list(out.shape)}.")
    if any(step == 0 and size > 1 for step, size in zip(out.stride(), out.shape, strict=True)):
        raise ValueError("out must not be expanded: several outputs would share one address.")
    if any(_overlap(out, tensor) for tensor in inputs):
        raise ValueError("out must not share memory with an input: it is read again later.")
    return out if stored_as == like.dtype else like.new_empty(shape, dtype=stored_as)


def finish_output(written, out, dtype):
    """Return the kernel's output in ``dtype``, in ``out`` where one was given."""
    if out is None:
        return written.to(dtype)
    return out if written is out else out.copy_(written)


def _overlap(a, b) -> bool:
    """Return whether the address ranges of two tensors overlap."""
    if a.device != b.device or not a.numel() or not b.numel():
        return False
    (a_start, a_stop), (b_start, b_stop) = _extent(a), _extent(b)
    return a_start < b_stop and b_start < a_stop


def _extent(tensor) -> tuple[int, int]:
    """Return the first address and the one past the last byte of ``tensor``."""
    last = sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return start, start + (last + 1) * tensor.element_size()
