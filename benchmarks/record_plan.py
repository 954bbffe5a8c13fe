"""Everything that is worth recording on a GPU, the most important first, and for about how long.

First what the claims need, then sweeps of every operation, then landscapes. Rows are as many as
make the traffic large, and attention has a batch of 4, so that a GPU is full. That leaves no memory
for the scores of long sequences, so only providers that keep none take part in those.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.claims import CLAIMS
from benchmarks.claims_results import Case
from benchmarks.launches import SIZES, choose_launches
from benchmarks.launches_results import LaunchCase
from benchmarks.measuring import name_of
from benchmarks.memory_results import MemoryCase
from benchmarks.operations import OPERATIONS, is_ours
from benchmarks.sweep_choice import WIDE, choose_landscape, choose_sweep
from benchmarks.sweep_results import LandscapeCase
from kernels.inputs import DTYPES
from kernels.problems import shape_of

# torch.compile takes seconds a value: so lengths are 4 times the one before, and two odd ones.
COLUMNS = "256..1048576x4,781,50257"
LENGTHS = "512..16384x2"
FAST = "ours,sdpa_flash,sdpa_cudnn,sdpa_efficient"

# Seconds, about, most of them spent on compiling: to plan by, and never shown as a result.
A_VALUE, AN_OWN_KERNEL, A_COMPILE, A_SETTING = 0.9, 0.1, 1.0, 0.3
A_MEMORY_RUN, A_LAUNCH_RUN = 20.0, 15.0


class Entry(NamedTuple):
    """A case that is to be recorded, about how long it takes, and the claims that it tests."""

    case: Case
    seconds: float
    claims: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What tells it from others: what a pattern is looked for in."""
        return " ".join([*self.claims, name_of(self.case)])


def seconds_for(case: Case) -> float:
    """Return about how long a case takes."""
    if isinstance(case, MemoryCase):
        return A_MEMORY_RUN
    if isinstance(case, LaunchCase):
        return A_LAUNCH_RUN
    if isinstance(case, LandscapeCase):
        entry = OPERATIONS[case.operation].algorithm
        return A_SETTING * len(entry.configs(shape_of(entry, case.sizes)))
    own = sum(is_ours(who) for who in case.providers)
    compiled = A_COMPILE * ("compile" in case.providers)
    return len(case.values) * (A_VALUE + AN_OWN_KERNEL * own + compiled)


def _of_claims() -> Iterator[Case]:
    """Yield the claims' cases: landscapes, which take minutes, after the others."""
    cases = [case for claim in CLAIMS.values() for case in claim.cases]
    yield from sorted(cases, key=lambda case: isinstance(case, LandscapeCase))


def _sweeps() -> Iterator[Case]:
    """Yield the sweeps: one of each operation that matters first, then other dtypes and masks."""
    wide = {"limits": WIDE}
    attention = [
        {"head_dim": head_dim, "mask": mask, "batch": 4, "providers": FAST, **wide}
        for mask in ("none", "causal")
        for head_dim in (128, 64)
    ]
    yield choose_sweep("softmax", COLUMNS, **wide)
    yield from (choose_sweep("attention", LENGTHS, **sizes) for sizes in attention)
    yield choose_sweep("matmul", "256..8192x2", **wide)
    yield choose_sweep("softmax_backward", COLUMNS, **wide)
    yield from (choose_sweep("attention_backward", LENGTHS, **sizes) for sizes in attention)
    yield choose_sweep("decode", "1024..131072x2", head_dim=128, **wide)
    yield choose_sweep("add", "256..65536x2", **wide)
    yield choose_sweep("chain", "256..65536x4", **wide)
    for dtype in DTYPES:
        for operation in ("softmax", "softmax_backward"):
            yield choose_sweep(operation, COLUMNS, dtype, **wide)
        yield choose_sweep("matmul", "256..8192x2", dtype, **wide)


def _landscapes() -> Iterator[Case]:
    """Yield the landscapes: one size each, every setting of our kernel."""
    for n_cols in (4096, 32_768, 65_536):
        yield choose_landscape("softmax", n_cols, limits=WIDE)
    yield choose_landscape("matmul", 4096, limits=WIDE)
    yield choose_landscape("softmax_backward", 4096, limits=WIDE)
    yield choose_landscape("decode", 65_536, head_dim=128, limits=WIDE)
    for head_dim in (128, 64):
        yield choose_landscape("attention_backward", 4096, head_dim=head_dim, batch=4, limits=WIDE)


def _plan() -> Iterator[Entry]:
    """Yield every case once."""
    launched = (choose_launches(*size) for size in SIZES)
    cases = dict.fromkeys([*_of_claims(), *_sweeps(), *_landscapes(), *launched])
    for case in cases:
        tested = tuple(key for key, claim in CLAIMS.items() if case in claim.cases)
        yield Entry(case, seconds_for(case), tested)


PLAN: tuple[Entry, ...] = tuple(_plan())
