"""Launch a kernel on rows: what the wrappers of all of them share.

torch comes as an argument, so that only the kernels' own files import it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.algorithm import Launch
from kernels.checks import check_inputs, finish_output, output_tensor

LOAD_CACHES = ("", ".ca", ".cg", ".cv")
STORE_CACHES = ("", ".wb", ".cg", ".cs", ".wt")
MAX_PROGRAMS = 2**31 - 1  # of a launch grid's first dimension


def caches(load_cache: str, store_cache: str) -> dict[str, str]:
    """Return the constants of a kernel that takes cache modifiers, or raise ValueError.

    They say where a load may be kept (``.ca`` all levels, ``.cg`` L2 only, ``.cv`` nowhere) and
    how a store leaves (``.wb`` write back, ``.cg`` L2 only, ``.cs`` streaming, ``.wt`` write
    through); "" leaves it to the compiler.
    """
    for name, value, known in (
        ("load_cache", load_cache, LOAD_CACHES),
        ("store_cache", store_cache, STORE_CACHES),
    ):
        if value not in known:
            choices = ", ".join(repr(each) for each in known)
            raise ValueError(f"{name} must be one of {choices}, got {value!r}.")
    return {"LOAD_CACHE": load_cache, "STORE_CACHE": store_cache}


def launch_rows(
    torch,
    kernel,
    inputs: Mapping[str, object],
    output: str,
    *,
    block: int,
    num_warps: int,
    capture: bool,
    out,
    n_fields: int,
    path: str,
    interpreted: bool,
    constants: Mapping[str, object] | None = None,
    n_programs: int | None = None,
    leading: tuple[object, ...] = (),
) -> Launch:
    """Run ``kernel`` on inputs [n_rows, n_cols] of one shape; return an output of that shape.

    The kernel takes pointers to the inputs, the output and the state, what is ``leading``, n_cols,
    the strides of the inputs and of the output, BLOCK_N, and ``constants``: CAPTURE among them
    where a state is captured, which is [n_rows, n_blocks, n_fields]. One program a row unless
    ``n_programs`` is given. Raises TypeError or ValueError, one sentence, for what cannot be
    computed.
    """
    check_inputs(torch.is_grad_enabled(), interpreted, num_warps, **inputs)
    first_name, first = next(iter(inputs.items()))
    for name, tensor in inputs.items():
        if tensor.shape != first.shape:
            raise ValueError(
                f"{name} must have {first_name}'s shape {list(first.shape)}, "
                f"got {list(tensor.shape)}."
            )
    n_rows, n_cols = first.shape
    # The interpreter truncates float32 to bfloat16 where a GPU rounds: there torch rounds instead.
    stored_as = torch.float32 if interpreted else first.dtype
    written = output_tensor(out, first, (n_rows, n_cols), *inputs.values(), stored_as=stored_as)
    pointers, constants = [*inputs.values(), written], dict(constants or {})
    state = None
    if n_fields:
        constants["CAPTURE"] = capture
        if capture:
            shape = (n_rows, -(-n_cols // block), n_fields)
            state = first.new_empty(shape, dtype=torch.float32)
        pointers.append(state)
    strides = [step for tensor in (*inputs.values(), written) for step in tensor.stride()]
    n_programs = n_rows if n_programs is None else n_programs
    if n_programs > MAX_PROGRAMS:
        raise ValueError(
            f"a launch has at most {MAX_PROGRAMS} programs, and this needs {n_programs}: take a "
            "larger block."
        )
    compiled = None
    if first.numel():
        with torch.cuda.device_of(first):
            compiled = kernel[(n_programs,)](
                *pointers,
                *leading,
                n_cols,
                *strides,
                BLOCK_N=block,
                num_warps=num_warps,
                **constants,
            )
    outputs = {output: finish_output(written, out, first.dtype)}
    return Launch(outputs, state, path, n_programs, compiled)
