"""What can be measured: operations, their sizes and costs, and who provides each.

An operation is named by what it computes; its cost is that of an entry of ``kernels.ALGORITHMS``:
each input read once, each output written once, floating-point operations counted as the entry says.
A backward counts 2.5 times the forward's operations of attention, as is the custom, whatever a
kernel computes again. Providers are in `benchmarks.providers`; nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernels import ALGORITHMS
from kernels.algorithm import Algorithm
from kernels.inputs import Case
from kernels.problems import shape_of

ROW_AXES = ("n_cols", "n_rows")
ATTENTION_AXES = ("seq", "head_dim", "heads", "batch")


@dataclass(frozen=True)
class Operation:
    """One thing that is computed.

    entry       the algorithm whose sizes, costs and reference it has
    providers   keys in the order of the legend: ours first, by path, then torch's and others'
    axes        the sizes that a sweep can vary; "seq" is seq_q and seq_k together
    is_backward whether the providers compute gradients
    reads       bytes that the copy reads for each one it writes: as the operation does where its
                bytes decide how fast it is; of keys and values for one query there are many more
    """

    name: str
    entry: str
    providers: tuple[str, ...]
    axes: tuple[str, ...]
    is_backward: bool = False
    reads: int = 1

    @property
    def algorithm(self) -> Algorithm:
        """The algorithm that the operation is an entry of."""
        return ALGORITHMS[self.entry]

    @property
    def by_flops(self) -> bool:
        """Whether the operation is drawn in TFLOP/s, or else in GB/s: as bytes decide, or not."""
        return self.algorithm.problem != "row" and self.reads == 1

    def costs(self, case: Case) -> tuple[int, int]:
        """Return (bytes, floating-point operations) of one call at these sizes."""
        shape = shape_of(self.algorithm, case)
        return self.algorithm.min_bytes(shape), self.algorithm.flops(shape)


_SOFTMAXES = ("ours", "rows", "single", "online", "split", "safe", "torch", "compile")
_SDPA = ("sdpa_flash", "sdpa_cudnn", "sdpa_efficient", "sdpa_math")
_FOUND = ("liger", "quack")

# By provider of "caches": the modifiers of the load and of the store; "ours" has none.
CACHES: Mapping[str, tuple[str, str]] = {
    "load_ca": (".ca", ""),
    "load_cg": (".cg", ""),
    "store_wb": ("", ".wb"),
    "store_cs": ("", ".cs"),
    "ca_wb": (".ca", ".wb"),
    "ca_cs": (".ca", ".cs"),
}

_ALL = (
    Operation("softmax", "online_softmax", (*_SOFTMAXES, *_FOUND), ROW_AXES),
    Operation(
        "softmax_backward",
        "block_backward",
        ("ours", "rows", "single", "blocks", "torch", "compile", "quack"),
        ROW_AXES,
        is_backward=True,
        reads=2,
    ),
    # Our single-block softmax as it is, and with cache modifiers: claim C19.
    Operation("caches", "single_softmax", ("ours", *CACHES), ROW_AXES),
    Operation("add", "vector_add", ("ours", "torch"), ROW_AXES, reads=2),
    Operation("chain", "fused_chain", ("ours", "torch", "compile"), ROW_AXES, reads=2),
    Operation("matmul", "matmul", ("ours", "torch"), ("size",)),
    Operation("attention", "flash_attention", ("ours", "three", *_SDPA), ATTENTION_AXES),
    Operation(
        "attention_backward", "flash_backward", ("ours", *_SDPA), ATTENTION_AXES, is_backward=True
    ),
    Operation(
        "decode",
        "split_kv",
        ("ours", "flash", *_SDPA),
        ("seq_k", "batch", "n_splits"),
        reads=16,
    ),
)

OPERATIONS: Mapping[str, Operation] = {operation.name: operation for operation in _ALL}

# Exact names, as they stand in legends, tables and recorded files.
NAMES = {
    "ours": "Blockwise",
    "rows": "Blockwise rows",
    "single": "Blockwise single",
    "online": "Blockwise online",
    "split": "Blockwise split",
    "safe": "Blockwise three passes",
    "blocks": "Blockwise blocks",
    "load_ca": "Blockwise load .ca",
    "load_cg": "Blockwise load .cg",
    "store_wb": "Blockwise store .wb",
    "store_cs": "Blockwise store .cs",
    "ca_wb": "Blockwise .ca and .wb",
    "ca_cs": "Blockwise .ca and .cs",
    "three": "Blockwise three stages",
    "flash": "Blockwise flash",
    "torch": "torch eager",
    "compile": "torch.compile",
    "sdpa_flash": "SDPA flash",
    "sdpa_cudnn": "SDPA cuDNN",
    "sdpa_efficient": "SDPA efficient",
    "sdpa_math": "SDPA math",
    "liger": "Liger",
    "quack": "quack",
    "copy": "copy",
}


def is_ours(provider: str) -> bool:
    """Whether a provider is a kernel of this program."""
    return NAMES[provider].startswith(NAMES["ours"])


def fields_of(axis: str) -> tuple[str, ...]:
    """Return the fields of a Case that an axis sets alike: two for "seq", three for "size"."""
    several = {"seq": ("seq_q", "seq_k"), "size": ("size_m", "size_n", "size_k")}
    return several.get(axis, (axis,))


def at(case: Case, axis: str, value: int) -> Case:
    """Return ``case`` with one size set."""
    changed = dict.fromkeys(fields_of(axis), value)
    if axis == "heads":
        changed["kv_heads"] = value
    return Case(**{**vars(case), **changed})
