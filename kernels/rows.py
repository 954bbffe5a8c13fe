"""Launch a row softmax: what the wrappers of all four kernels share.

torch comes as an argument, so that only the kernels' own files import it.
"""

from __future__ import annotations

from kernels.algorithm import Launch
from kernels.checks import check_inputs, finish_output, output_tensor


def launch_rows(
    torch,
    kernel,
    x,
    *,
    block: int,
    num_warps: int,
    capture: bool,
    out,
    n_fields: int,
    path: str,
    interpreted: bool,
) -> Launch:
    """Run ``kernel``, one program a row of x [n_rows, n_cols], and return y of the same shape.

    The captured state is [n_rows, n_blocks, n_fields]. Raises TypeError or ValueError, one
    sentence, for what cannot be computed.
    """
    check_inputs(torch.is_grad_enabled(), interpreted, num_warps, x=x)
    n_rows, n_cols = x.shape
    # The interpreter truncates float32 to bfloat16 where a GPU rounds: there torch rounds instead.
    stored_as = torch.float32 if interpreted else x.dtype
    y = output_tensor(out, x, (n_rows, n_cols), x, stored_as=stored_as)
    state = None
    if capture:
        state = x.new_empty((n_rows, -(-n_cols // block), n_fields), dtype=torch.float32)
    if x.numel():
        with torch.cuda.device_of(x):
            kernel[(n_rows,)](
                x,
                y,
                state,
                n_cols,
                *x.stride(),
                *y.stride(),
                BLOCK_N=block,
                CAPTURE=capture,
                num_warps=num_warps,
            )
    return Launch({"y": finish_output(y, out, x.dtype)}, state, path, n_rows)
