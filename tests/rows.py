"""The algorithms that take a row: tests of rows run for these, tests of a contract for all."""

from __future__ import annotations

from kernels import ALGORITHMS

ROWS = {name: entry for name, entry in ALGORITHMS.items() if entry.problem == "row"}
