"""How a grid of tiles is walked: sizes, mask and order, shared by mirrors, kernels and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Tiles:
    """The schedule of an algorithm that works on tiles.

    block_m, block_n  a tile's height and width: queries and keys, or rows and columns of C
    block_k     the inner block of a matrix product
    group_m     rows of tiles that neighbouring programs of a matrix product share
    n_splits    how many programs share the keys of one query block
    is_causal   whether query i of Sq sees only the keys j <= i + Sk - Sq
    scale       what scores are multiplied by; None for 1 / sqrt(head_dim)
    """

    block_m: int = 16
    block_n: int = 16
    block_k: int = 16
    group_m: int = 1
    n_splits: int = 1
    is_causal: bool = False
    scale: float | None = None

    @classmethod
    def of(cls, sizes: Mapping[str, int]) -> Tiles:
        """Return the schedule that a Trace's sizes hold."""
        names = ("block_m", "block_k", "group_m", "n_splits")
        return cls(
            **{name: sizes[name] for name in names if name in sizes},
            block_n=sizes["block"],
            is_causal=bool(sizes.get("is_causal", 0)),
        )

    def sizes(self, *names: str) -> dict[str, int]:
        """Return the fields ``names`` as a Trace's sizes, where BLOCK_N is called ``block``."""
        kept = asdict(self)
        return {("block" if name == "block_n" else name): int(kept[name]) for name in names}

    def scale_for(self, head_dim: int) -> float:
        """Return the factor of the scores: the one given, or 1 / sqrt(head_dim)."""
        return 1 / math.sqrt(max(head_dim, 1)) if self.scale is None else self.scale


# Elements: where sizes and strides are multiples of so many, the compiler knows that a thread can
# read sixteen bytes at once.
STEP = 16

# On the host triton.cdiv and triton.next_power_of_2 take three microseconds each.


def cdiv(n: int, block: int) -> int:
    """Return how many blocks hold ``n``."""
    return -(-n // block)


def next_power_of_two(n: int) -> int:
    """Return the smallest power of two that is at least ``n``, and 1 for 0."""
    return 1 << max(n - 1, 0).bit_length()


def padded(length: int) -> int:
    """Return the power of two, 16 at least, that a block of ``length`` is stored in."""
    return max(16, next_power_of_two(length))


def visible(query: int, seq_q: int, seq_k: int, is_causal: bool) -> int:
    """Return how many keys a query sees: the first so many. Causal masks align bottom-right."""
    return min(seq_k, max(0, query + 1 + seq_k - seq_q)) if is_causal else seq_k


def key_stop(start: int, block_m: int, seq_q: int, seq_k: int, is_causal: bool) -> int:
    """Return the end of the keys that a block of queries from ``start`` visits."""
    return visible(min(start + block_m, seq_q) - 1, seq_q, seq_k, is_causal)


def split_of(n_blocks: int, n_splits: int) -> int:
    """Return how many key blocks in a row a split takes; the last splits may get fewer or none."""
    return -(-n_blocks // n_splits)


def query_start(key: int, seq_q: int, seq_k: int, is_causal: bool) -> int:
    """Return the first query that sees ``key``; seq_q if none does."""
    return min(seq_q, max(0, key + seq_q - seq_k)) if is_causal else 0
