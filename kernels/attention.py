"""What every attention shares, however it is scheduled: its reference, its costs, its shape.

o = softmax(scale * q k^T) v over the keys a query sees, q [seq_q, head_dim], k and v
[seq_k, head_dim], one head; lse is the natural log of the sum of exp of a row's scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kernels.algorithm import Line, Stanza
from kernels.tiles import Tiles, key_stop, query_start, visible
from kernels.trace import Step, Trace

# What a risen maximum does to what was summed before, a row or a tile of rows at a time.
RESCALE = Stanza(
    "rescale",
    (
        Line("alpha", "exp({m} − {m_new})"),
        Line("l", "{l} · {alpha}", later="+ ∑ p"),
        Line("acc", "{acc} · {alpha}", later="+ p · V"),
    ),
)


@dataclass(frozen=True)
class AttentionShape:
    """The sizes and the schedule that decide cost; ``itemsize`` is bytes an element."""

    batch: int
    heads: int
    kv_heads: int
    seq_q: int
    seq_k: int
    head_dim: int
    itemsize: int
    tiles: Tiles

    @classmethod
    def of(cls, sizes: Mapping[str, int], itemsize: int) -> AttentionShape:
        """Return the shape of one traced head."""
        lengths = sizes["seq_q"], sizes["seq_k"], sizes["head_dim"]
        return cls(1, 1, 1, *lengths, itemsize, Tiles.of(sizes))

    def pairs(self) -> int:
        """Return how many (query, key) pairs are visible, over all batches and heads."""
        if not self.tiles.is_causal:
            return self.batch * self.heads * self.seq_q * self.seq_k
        seen = sum(visible(i, self.seq_q, self.seq_k, True) for i in range(self.seq_q))
        return self.batch * self.heads * seen

    def keys_loaded(self) -> int:
        """Return how many rows of K the query blocks load together, each for itself."""
        step, block_n = self.tiles.block_m, self.tiles.block_n
        stops = (
            key_stop(start, step, self.seq_q, self.seq_k, self.tiles.is_causal)
            for start in range(0, self.seq_q, step)
        )
        whole_blocks = sum(min(self.seq_k, -(-stop // block_n) * block_n) for stop in stops)
        return self.batch * self.heads * whole_blocks

    def queries_loaded(self) -> int:
        """Return how many rows of q the key blocks load together, each from its first query on."""
        step, block_m = self.tiles.block_n, self.tiles.block_m
        starts = (
            query_start(key, self.seq_q, self.seq_k, self.tiles.is_causal)
            for key in range(0, self.seq_k, step)
        )
        whole_blocks = sum(self.seq_q - start // block_m * block_m for start in starts)
        return self.batch * self.heads * whole_blocks

    def bytes_of(self, *tensors: str) -> dict[str, int]:
        """Return the size of each tensor; LSE, delta and the partial results are float32."""
        q = self.batch * self.heads * self.seq_q
        k = self.batch * self.kv_heads * self.seq_k
        s = q * self.seq_k
        wide = self.head_dim * self.itemsize
        sizes = {name: q * wide for name in ("q", "o", "do", "dq")}
        sizes |= {name: k * wide for name in ("k", "v", "dk", "dv")}
        sizes |= {name: s * self.itemsize for name in ("s", "p")}
        sizes |= {"lse": 4 * q, "delta": 4 * q}
        parts = self.tiles.n_splits * q
        sizes |= {"o_part": 4 * parts * self.head_dim, "lse_part": 4 * parts}
        return {name: sizes[name] for name in tensors}


def mask_of(seq_q: int, seq_k: int, is_causal: bool) -> np.ndarray:
    """Return [seq_q, seq_k] bools: the keys each query sees."""
    if not is_causal:
        return np.ones((seq_q, seq_k), bool)
    return np.arange(seq_k) <= np.arange(seq_q)[:, None] + seq_k - seq_q


def masked_scores(q: np.ndarray, k: np.ndarray, seen: np.ndarray, scale: float) -> np.ndarray:
    """Return scale * q k^T in the inputs' type, -inf where ``seen`` is False."""
    scores = q @ k.T * q.dtype.type(scale)
    return np.where(seen, scores, q.dtype.type(-np.inf))


def reference(
    arrays: Mapping[str, np.ndarray], tiles: Tiles, kind: type = np.float64
) -> dict[str, np.ndarray]:
    """Return o [seq_q, head_dim] and lse [seq_q], computed in ``kind``, whole rows at once.

    A query that sees no key, or only -inf, gives o = 0 and lse = -inf; NaN and +inf spread.
    """
    q, k, v = (arrays[name].astype(kind) for name in ("q", "k", "v"))
    if not len(k):
        return {"o": np.zeros((len(q), v.shape[1]), kind), "lse": np.full(len(q), -np.inf, kind)}
    with np.errstate(all="ignore"):
        seen = mask_of(len(q), len(k), tiles.is_causal)
        s = masked_scores(q, k, seen, tiles.scale_for(q.shape[1]))
        m = s.max(axis=1)
        shift = np.where(np.isinf(m), kind(0), m)
        p = np.exp(s - shift[:, None])
        l = p.sum(axis=1)
        o = np.where(l[:, None] == 0, kind(0), (p @ v) / l[:, None])
        return {"o": o, "lse": shift + np.log(l)}


def naive_bytes(shape: AttentionShape) -> dict[str, int]:
    """Three stages: S written and read, P written and read, everything else once."""
    once = shape.bytes_of("q", "k", "v", "s", "p", "o")
    return {name: 2 * n if name in "sp" else n for name, n in once.items()}


def min_bytes(shape: AttentionShape) -> int:
    """q, k and v read once; o and a float32 LSE written once."""
    return sum(shape.bytes_of("q", "k", "v", "o", "lse").values())


def flops(shape: AttentionShape) -> int:
    """Two products, a multiply and an add each: 4 x visible pairs x head_dim; half when causal."""
    return 4 * shape.pairs() * shape.head_dim


def gather(
    name: str,
    arrays: Mapping[str, np.ndarray],
    tiles: Tiles,
    dtype: str,
    run: Callable[..., Iterator[Step]],
    last: str,
    *schedule: str,
) -> Trace:
    """Run a forward mirror over one head to its end and return its Trace.

    ``last`` is the phase whose steps hold o and lse, a block of queries each; ``schedule`` names
    the fields of ``tiles`` that the algorithm reads.
    """
    arrays = {name: arrays[name] for name in ("q", "k", "v")}
    with np.errstate(all="ignore"):
        steps = tuple(run(arrays, tiles, dtype))
    done = [step.values for step in steps if step.phase == last]
    (seq_q, head_dim), seq_k = arrays["q"].shape, len(arrays["k"])
    sizes = {"seq_q": seq_q, "seq_k": seq_k, "head_dim": head_dim} | tiles.sizes(*schedule)
    outputs = {name: np.concatenate([values[name] for values in done]) for name in ("o", "lse")}
    return Trace(name, dtype, sizes, arrays, steps, outputs)
