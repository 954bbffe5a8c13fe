"""Compile the project's kernels for a GPU that need not be there, and compare two builds.

Run as a program, since a process that interprets kernels cannot compile them:

    python -m tests.compile_for fp32 80,90 online_softmax safe_softmax

prints a line for each GPU and algorithm, ``90 online_softmax same``: ``same`` if the kernel without
CAPTURE and the kernel with its capture code deleted give the same cubin, byte for byte, else
``different``, or what went wrong. One process compiles them all: to start one takes seconds.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import tempfile
from pathlib import Path

os.environ.pop("TRITON_INTERPRET", None)
# Debug information names the source file, which differs; the machine code must not.
os.environ["TRITON_DISABLE_LINE_INFO"] = "1"

from kernels import ALGORITHMS

FLOAT32 = ("lse_ptr", "state_ptr", "o_part_ptr", "lse_part_ptr", "part_ptr")
POINTER = {**dict.fromkeys(FLOAT32, "*fp32"), "count_ptr": "*i32"}
CONSTEXPRS = {
    "BLOCK_N": 128,
    "BLOCK_D": 16,
    "HEAD_DIM": 16,
    "BLOCK_M": 64,
    "BLOCK_K": 32,
    "BLOCK_S": 8,
    "POLLS": 100,
    "SCATTERED": False,
    "LOAD_CACHE": "",
    "STORE_CACHE": "",
    "GROUP_M": 4,
    "IS_CAUSAL": True,
    "SIZE_STEP": 16,
    "PRECISION": "ieee",
    "BF16_BY_HAND": False,
    "k_desc": None,
    "v_desc": None,
}


def without_capture(source: str) -> str:
    """Return ``source`` with every ``if CAPTURE:`` block emptied, its line count unchanged."""
    lines = source.splitlines()
    n_found = 0
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "CAPTURE":
            n_found += 1
            for number in range(node.lineno - 1, node.end_lineno):
                lines[number] = ""
    if not n_found:
        raise ValueError("no `if CAPTURE:` block found")
    return "\n".join(lines) + "\n"


def load(path: Path, name: str):
    """Import the file at ``path`` as a module called ``name``."""
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def capturing(module):
    """Return the module's kernel that has a CAPTURE."""
    (found,) = (
        kernel
        for name, kernel in vars(module).items()
        if name.endswith("_kernel") and "CAPTURE" in kernel.arg_names
    )
    return found


def compile_kernel(kernel, sm: int, dtype: str, capture: bool):
    """Return the compiled kernel for compute capability ``sm``, with pointers of ``dtype``."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    constants = {**CONSTEXPRS, "CAPTURE": capture}
    signature = {}
    for name in kernel.arg_names:
        if name in constants:
            signature[name] = "constexpr"
        elif name == "scale":
            signature[name] = "fp32"
        elif name.endswith("_ptr"):
            signature[name] = POINTER.get(name, f"*{dtype}")
        else:
            signature[name] = "i32"
    used = {name: value for name, value in constants.items() if name in kernel.arg_names}
    source = ASTSource(fn=kernel, signature=signature, constexprs=used)
    return triton.compile(source, target=GPUTarget("cuda", sm, 32))


def verdict(sm: int, name: str, dtype: str) -> str:
    """Compile both versions of an algorithm's kernel and say whether they are the same."""
    path = ALGORITHMS[name].folder / "kernel.py"
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "kernel.py"
        bare.write_text(without_capture(path.read_text("utf-8")), "utf-8")
        kernels = [capturing(load(p, n)) for p, n in ((path, "full"), (bare, "bare"))]
        off, deleted = (compile_kernel(k, sm, dtype, capture=False) for k in kernels)
        on = compile_kernel(kernels[0], sm, dtype, capture=True)
    if on.asm["cubin"] == off.asm["cubin"]:
        return "the capture changes nothing: the comparison would be empty"
    return "same" if off.asm["cubin"] == deleted.asm["cubin"] else "different"


def main(dtype: str, sms: str, *names: str) -> None:
    """Print every verdict."""
    for sm in map(int, sms.split(",")):
        for name in names:
            try:
                print(sm, name, verdict(sm, name, dtype), flush=True)
            except Exception as error:  # one that does not compile must not hide the others
                print(sm, name, " ".join(str(error).split())[:500], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
