"""What is found out about attention's memory and traffic: frozen records of plain numbers."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.results import Device


@dataclass(frozen=True)
class MemoryCase:
    """What attention's memory and traffic are told for: every length of ``lengths`` in turn.

    q, k, v and o are [batch, heads, length, head_dim]; ``mask`` is "none" or "causal".
    """

    heads: int
    head_dim: int
    dtype: str
    mask: str
    lengths: tuple[int, ...]
    batch: int = 1


@dataclass(frozen=True)
class MemoryPoint:
    """The peak memory of one provider at one length, inputs included.

    peak_bytes  measured; None where there is no number
    reason      then why not, a locale key under ``memory.why.``: "too_large" (not tried: more
                was estimated than was free), "out_of_memory", "out_of_resources", "unsupported"
    """

    provider: str
    length: int
    peak_bytes: int | None
    reason: str = ""


@dataclass(frozen=True)
class MemoryRun:
    """Measured points, and where they come from.

    date        "2026-11-29"; date, commit and command are "" for a run of this page
    commit      of this program, with "-changed" where files differed from it
    """

    case: MemoryCase
    device: Device
    points: tuple[MemoryPoint, ...]
    date: str = ""
    commit: str = ""
    command: str = ""


@dataclass(frozen=True)
class MemoryLine:
    """One provider's peak memory over a case's lengths.

    role        "fused", "stages", or "torch" for torch's own attention
    alive       the tensors that exist at the peak, q, k and v included; () where torch decides
    predicted   their bytes, a number a length; () where torch decides
    measured    a point a length, None where there is none
    exact       torch's own name for it, "" for a kernel of ours
    """

    provider: str
    role: str
    alive: tuple[str, ...]
    predicted: tuple[int, ...]
    measured: tuple[MemoryPoint | None, ...]
    exact: str = ""


@dataclass(frozen=True)
class TrafficLine:
    """What the fused kernel reads of K and V with one BLOCK_M, a number a length.

    reads       how often the first block of K is read, and how often the last one
    all_bytes   everything it moves
    stages_bytes  everything that the three stages move in tiles of this height
    """

    block_m: int
    kv_bytes: tuple[int, ...]
    all_bytes: tuple[int, ...]
    stages_bytes: tuple[int, ...]
    reads: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Traffic:
    """Bytes counted from the schedules, over a case's lengths.

    block_n     of all lines: the fused kernel's own
    studied     the BLOCK_M that the fused kernel takes unless told
    lines       a `TrafficLine` a BLOCK_M, ascending
    sp_bytes    what the three stages write and read of S and P
    once_bytes  K and V, once each: what traffic in O(T) would be
    """

    case: MemoryCase
    block_n: int
    studied: int
    lines: tuple[TrafficLine, ...]
    sp_bytes: tuple[int, ...]
    once_bytes: tuple[int, ...]

    def line(self, block_m: int) -> TrafficLine:
        """Return the line of ``block_m``."""
        return next(line for line in self.lines if line.block_m == block_m)
