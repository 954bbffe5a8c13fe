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


def check_one_block(n_cols: int, otherwise: str = "") -> None:
    """Raise unless a row of ``n_cols`` fits one block; ``otherwise`` says what else there is."""
    if n_cols > MAX_NUMEL:
        raise ValueError(
            f"a single block holds a row of up to {MAX_NUMEL} columns, got {n_cols}{otherwise}."
        )


def check_row_tile(rows: int, block: int, otherwise: str) -> None:
    """Raise unless ``rows`` is a power of two and so many rows of ``block`` fit one program."""
    check_power_of_two("rows", rows, MAX_NUMEL)
    if rows * block > MAX_NUMEL:
        raise ValueError(
            f"rows x n_cols, rounded up to a power of two, must be at most {MAX_NUMEL}, got {rows} "
            f"x {block}: use {otherwise} for longer rows."
        )


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


MAX_HEAD_DIM = 256


def check_attention(grad_enabled: bool, interpreted: bool, **tensors) -> None:
    """Raise unless q, k and v, and others shaped like q, are one attention's.

    q [batch, heads, seq_q, head_dim]; k and v [batch, kv_heads, seq_k, head_dim], heads a multiple
    of kv_heads. ``grad_enabled`` is torch's, as in `check_inputs`.
    """
    q, k, v = (tensors[name] for name in "qkv")
    for name, tensor in tensors.items():
        check_tensor(name, tensor, 4, interpreted=interpreted)
        check_same(name, tensor, "q", q)
        if grad_enabled and tensor.requires_grad:
            raise ValueError(
                f"{name} requires a gradient, and this call has no backward: use "
                "kernels.flash_backward.kernel.attention, or call it under torch.no_grad()."
            )
        if name not in "kv" and tensor.shape != q.shape:
            raise ValueError(
                f"{name} must have q's shape {list(q.shape)}, got {list(tensor.shape)}."
            )
    if k.shape != v.shape:
        raise ValueError(f"k and v must have one shape, got {list(k.shape)} and {list(v.shape)}.")
    (batch, heads, _, head_dim), (kv_batch, kv_heads, _, kv_dim) = q.shape, k.shape
    if batch != kv_batch:
        raise ValueError(f"q and k must have one batch size, got {batch} and {kv_batch}.")
    if head_dim != kv_dim:
        raise ValueError(f"q and k must have one head_dim, got {head_dim} and {kv_dim}.")
    if not 1 <= head_dim <= MAX_HEAD_DIM:
        raise ValueError(f"head_dim must be from 1 to {MAX_HEAD_DIM}, got {head_dim}.")
    if heads and (not kv_heads or heads % kv_heads):
        raise ValueError(
            f"q's heads must be a multiple of k's, got {heads} query heads and {kv_heads} key "
            "heads."
        )


def check_schedule(tiles, num_warps, num_stages, *blocks: str) -> None:
    """Raise unless every block is a power of two that the tensor cores take, 16 at least."""
    for name in blocks:
        value = getattr(tiles, name)
        check_power_of_two(name.upper(), value, 256)
        if value < 16:
            raise ValueError(f"{name.upper()} must be at least 16, got {value}.")
    if num_warps is not None:
        check_power_of_two("num_warps", num_warps, 16)
    if num_stages is not None and not (isinstance(num_stages, int) and 1 <= num_stages <= 8):
        raise ValueError(f"num_stages must be from 1 to 8, got {num_stages}.")


def check_matrices(grad_enabled: bool, interpreted: bool, a, b) -> None:
    """Raise unless a [M, K] and b [K, N] can be multiplied; the rest as in `check_inputs`."""
    check_inputs(grad_enabled, interpreted, 1, a=a, b=b)
    if a.shape[1] != b.shape[0]:
        raise ValueError(
            f"a's columns must be as many as b's rows, got {a.shape[1]} and {b.shape[0]}."
        )
