"""Claims of three texts on these kernels, each with the runs that test it and a judge that reads.

The texts: A, a lecture on kernels; B, an article on FlashAttention-2 in Triton; C, an article on
softmax kernels in Triton. What they measured, they measured on other GPUs: a claim is judged by
what it says of one kernel against another, on whichever GPU ran both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchmarks import claims_judges, claims_rows, claims_tiles, memory
from benchmarks.claims_points import NotEnough
from benchmarks.claims_results import Case, Claim, Finding, Run
from benchmarks.launches import choose_launches
from benchmarks.sweep_choice import WIDE, choose_landscape, choose_sweep

SDPA = "sdpa_flash,sdpa_cudnn,sdpa_efficient,sdpa_math"
# Softmax of short rows fits the L2 cache of most GPUs: 4 to 34 MB.
CACHED = {"dtype": "bfloat16", "providers": "ours,torch,compile", "n_rows": 4096, "limits": WIDE}
# As in the article on softmax.
AS_THERE = {"dtype": "float32", "n_rows": 4096, "limits": WIDE}
SHORTER = "256,512,1000,1024,2048,2049,3000,4096,5001,6000,7000,8192,10007,12672"
LONGER = "16384,30000,32768,60000,65536,98304"

CHAIN = choose_launches(4096, 4096, "bfloat16")
# Batches keep the GPU full at short lengths; at the longest, one is what the scores leave room for.
LENGTHS = (
    choose_sweep("attention", "512..8192x2", "float16", f"ours,three,{SDPA}", batch=4, limits=WIDE),
    choose_sweep("attention", "16384", "float16", f"ours,three,{SDPA}", batch=1, limits=WIDE),
)
MEMORY = memory.choose_memory(16, 128, "bfloat16", "none")
AT_4096 = choose_sweep("attention", "4096", "bfloat16", head_dim=128, limits=WIDE)
PRODUCT_TILES = choose_landscape("matmul", 4096, "float16", limits=WIDE)
PRODUCTS = choose_sweep("matmul", "256..8192x2", "float16", limits=WIDE)
ATTENTION_TILES = tuple(
    choose_landscape("attention", 4096, "bfloat16", head_dim=head_dim, batch=4, limits=WIDE)
    for head_dim in (64, 128)
)
COLUMNS = (
    choose_sweep("softmax", SHORTER, providers="ours,single,online,torch", **AS_THERE),
    choose_sweep("softmax", LONGER, providers="ours,single,online,torch,compile", **AS_THERE),
)
MODIFIERS = choose_sweep("caches", "1024..32768x2", **AS_THERE)
COLD = choose_sweep("softmax", "256..2048x2", **CACHED)
HOT = choose_sweep("softmax", "256..2048x2", is_hot=True, **CACHED)

_ALL = (
    Claim("C1", "A", (CHAIN,), claims_judges.intermediates),
    Claim("C7", "A", LENGTHS, claims_judges.faster_than_naive),
    Claim("C8", "B", LENGTHS, claims_judges.faster_beyond_2048),
    Claim("C10", "B", (MEMORY, AT_4096), claims_judges.table_of_4096),
    Claim("C11", "B", LENGTHS, claims_judges.fused_against_stages),
    Claim("C12", "B", (PRODUCT_TILES, PRODUCTS), claims_tiles.tiles_of_64),
    Claim("C13", "B", ATTENTION_TILES, claims_tiles.blocks_of_128),
    Claim("C14", "B", ATTENTION_TILES, claims_tiles.warps_and_stages),
    Claim("C19", "C", (MODIFIERS,), claims_rows.cache_modifiers),
    Claim("C20", "C", COLUMNS, claims_rows.over_columns),
    Claim("C22", "A", (COLD, HOT), claims_rows.warm_and_many),
)
CLAIMS: Mapping[str, Claim] = {claim.key: claim for claim in _ALL}


def runs_of(claim: Claim, runs: Iterable[Run]) -> tuple[Run, ...] | None:
    """Return the newest run of each case, all of one GPU, or None where there are not all.

    ``runs`` are the newest first, as `recorded.read_all` gives them; runs that ended too early to
    be judged count as missing.
    """
    by_gpu: dict[str, dict[Case, Run]] = {}
    for run in runs:
        if run.case in claim.cases:
            by_gpu.setdefault(run.device.name, {}).setdefault(run.case, run)
    for kept in by_gpu.values():
        if len(kept) == len(set(claim.cases)):
            found = tuple(kept[case] for case in claim.cases)
            try:
                claim.judge(found)
            except NotEnough:
                continue
            return found
    return None


def found(claim: Claim, runs: tuple[Run, ...]) -> Finding:
    """Return what the runs, one a case, say of a claim.

    Raise NotEnough if what the claim is about has no time in them; not of runs from `runs_of`.
    """
    return claim.judge(runs)
