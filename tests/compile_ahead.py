"""Compile launches ahead in a process of its own, and print what was compiled, and when.

TRITON_CACHE_DIR=EMPTY python -m tests.compile_ahead

There is no GPU: launches are recorded, as an export records them. Prints JSON: ``ahead`` and
``later``, how many kernels were compiled by `compile_ahead` and by the same launches afterwards;
``threads``, how many were at work; ``error``, what a launch that fails says afterwards.
"""

from __future__ import annotations

import json
import os
import threading
from functools import partial

os.environ.pop("TRITON_INTERPRET", None)

from triton import knobs
from triton.runtime import JITFunction

from benchmarks import ahead
from benchmarks.export_gpus import GPUS
from benchmarks.export_record import record
from kernels import ALGORITHMS
from kernels.inputs import Case


def main() -> None:
    """Compile three blocks of a kernel ahead, with a block that is refused between them."""
    entry, gpu = ALGORITHMS["vector_add"], next(gpu for gpu in GPUS if gpu.sm == 90)
    cases = [Case(n_rows=4, n_cols=4096, block=block) for block in (256, 3, 512, 1024)]
    launches = [partial(record, entry, case, gpu) for case in cases]
    compiled, workers, running = [], set(), JITFunction.run
    knobs.runtime.jit_post_compile_hook = lambda **about: compiled.append(about["key"])
    ahead.cores = lambda: 2
    before = threading.Thread.start

    def start(self):
        workers.add(self.name)
        before(self)

    threading.Thread.start = start
    ahead.compile_ahead(launches)
    n_ahead, error = len(compiled), ""
    assert JITFunction.run is running
    for launch in launches:
        try:
            launch()
        except ValueError as fault:
            error = str(fault)
    told = {"ahead": n_ahead, "later": len(compiled) - n_ahead, "threads": len(workers)}
    print(json.dumps({**told, "error": error}))


if __name__ == "__main__":
    main()
