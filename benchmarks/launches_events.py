"""Read what torch's profiler saw: which launches belong to which call, and how long they took.

Everything here is a function of the events; nothing needs torch or a GPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from benchmarks.launches_results import KernelSpan, ProviderRun

MAX_NAME = 1000  # characters of a kernel's name that are kept: templates have no end
OTHER_KINDS = {"Memset": "memset", "Memcpy": "memcpy"}


class Unseen(Exception):
    """The profiler did not see what was launched."""


def spans_of(events: Iterable) -> list[KernelSpan]:
    """Return what ran on the GPU, in order; start_us counts from the profile's own start.

    ``events`` are torch's: ranges that a program named are among them and are no launches.
    """
    ran = [
        event
        for event in events
        if event.device_type.name == "CUDA" and not getattr(event, "is_user_annotation", False)
    ]
    spans = []
    for event in sorted(ran, key=lambda event: event.time_range.start):
        kind = OTHER_KINDS.get(event.name.split(" ")[0], "kernel")
        start, end = event.time_range.start, event.time_range.end
        name = "".join(c if c.isprintable() else " " for c in event.name)
        spans.append(KernelSpan(name[:MAX_NAME], kind, start, end - start))
    return spans


def sorted_out(
    spans: list[KernelSpan], order: list[int], n_calls: int
) -> list[list[list[KernelSpan]]]:
    """Return the calls' launches: of each of ``n_calls`` what it ran, every time it was called.

    ``spans`` begin with a marker; a preparation follows, and after the next marker the call.
    ``order`` says whose. Raise Unseen if markers are missing, or a call's launches.
    """
    groups: list[list[KernelSpan]] = []
    for span in spans:
        if span.name == spans[0].name:
            groups.append([])
        else:
            groups[-1].append(span)
    measured = groups[1::2]
    if len(groups) != 2 * len(order) or not all(measured):
        raise Unseen(f"{len(groups)} of {2 * len(order)} markers, {len(spans)} launches")
    seen: list[list[list[KernelSpan]]] = [[] for _ in range(n_calls)]
    for index, group in zip(order, measured):
        seen[index].append(group)
    return seen


def timed(run: ProviderRun, calls: list[list[KernelSpan]]) -> ProviderRun:
    """Return ``run`` with the times of its calls; its spans are those of the median call."""
    by_device = sorted(calls, key=device_us)
    counts = [len(spans) for spans in calls]
    return replace(
        run,
        spans=from_zero(by_device[rank(0.5, len(calls))]),
        launches=(min(counts), max(counts)),
        device_us=quantiles([device_us(spans) for spans in calls]),
        wall_us=quantiles([end_us(spans) - spans[0].start_us for spans in calls]),
        n_calls=len(calls),
    )


def device_us(spans: Iterable[KernelSpan]) -> float:
    """Return how long the GPU was at work for a call."""
    return sum(span.duration_us for span in spans)


def end_us(spans: Iterable[KernelSpan]) -> float:
    """Return when the last launch to finish has finished."""
    return max(span.start_us + span.duration_us for span in spans)


def rank(share: float, n: int) -> int:
    """Return which of ``n`` sorted values stands for a quantile."""
    return round(share * (n - 1))


def quantiles(values: list[float]) -> tuple[float, ...]:
    """Return p20, median and p80: values that were measured, none between two."""
    ranked = sorted(values)
    return tuple(round(ranked[rank(share, len(ranked))], 3) for share in (0.2, 0.5, 0.8))


def from_zero(spans: list[KernelSpan]) -> tuple[KernelSpan, ...]:
    """Return a call's launches in order, counted from the start of the first, to the nanosecond."""
    first = spans[0].start_us
    return tuple(
        replace(
            span,
            start_us=round(span.start_us - first, 3),
            duration_us=round(span.duration_us, 3),
        )
        for span in spans
    )
