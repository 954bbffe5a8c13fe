"""Count and time the launches of softmax(x) + x * y on a GPU, by torch's profiler.

Every provider is checked against float64 before it is timed. Then the providers take turns, in
another order each round, and each call finds the L2 cache full of something else and the GPU idle.
Backward is `torch.autograd.grad` alone, for one fixed dz; its graph is made anew before each call.

Before every call runs a marker: an operation that nobody computes with. It empties the cache, and
among the profiler's events, which say what ran when but not for whom, it tells calls apart.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from benchmarks.failures import classify, clean
from benchmarks.launches import DIRECTIONS, PROVIDERS, Provider, least_bytes
from benchmarks.launches_events import Unseen, sorted_out, spans_of, timed
from benchmarks.launches_results import KernelSpan, LaunchCase, ProviderRun
from benchmarks.results import Progress
from benchmarks.row_run import quiet
from benchmarks.timing import flush_bytes
from kernels.errors import InputError

N_CALLS = 51  # then p20, median and p80 are the 11th, the 26th and the 41st
N_WARM = 3
FUSED_MODULE = "kernels.fused_chain.autograd"


class Call(NamedTuple):
    """What is timed: ``run`` of what ``prepare`` gives, which is not."""

    prepare: Callable[[], object]
    run: Callable[[object], tuple]


def measure(case: LaunchCase, device_kind: str) -> Iterator[Progress | ProviderRun]:
    """Yield Progress and a ProviderRun for each provider, forward and then backward."""
    if device_kind != "gpu":
        raise InputError("needs_gpu", "This is measured on a GPU, and there is none here.")
    import torch

    for direction in DIRECTIONS:
        tensors = make_tensors(torch, case, "cuda", direction)
        exact = references(torch, tensors, direction)
        ready: list[tuple[ProviderRun, Call]] = []
        for provider in PROVIDERS:
            yield Progress("launches", {"provider": provider.exact, "direction": direction})
            run, call = checked(torch, provider, case, tensors, exact, direction)
            if run.reason:
                yield run
            else:
                ready.append((run, call))
        yield Progress("launches_timed", {"direction": direction})
        yield from profile_all(torch, ready, direction)


def profile_all(torch, ready: list[tuple[ProviderRun, Call]], direction: str) -> list[ProviderRun]:
    """Return the runs with their times, or with the reason that the profiler saw too little."""
    try:
        with quiet(), torch.set_grad_enabled(direction == "backward"):
            seen = profiled(torch, [call for _, call in ready]) if ready else []
    except Unseen as error:
        about = {"reason": "unseen", "message": str(error)}
        return [ProviderRun(run.provider, run.direction, **about) for run, _ in ready]
    return [timed(run, spans) for (run, _), spans in zip(ready, seen)]


def make_tensors(torch, case: LaunchCase, where: str, direction: str) -> dict[str, object]:
    """Return x, y and dz, standard normal; backward, x and y want gradients."""
    generator = torch.Generator(where).manual_seed(1)
    settings = {"device": where, "dtype": getattr(torch, case.dtype), "generator": generator}
    tensors = {n: torch.randn(case.n_rows, case.n_cols, **settings) for n in ("x", "y", "dz")}
    for name in ("x", "y"):
        tensors[name].requires_grad_(direction == "backward")
    return tensors


def references(torch, tensors: dict, direction: str) -> list[tuple]:
    """Return, for each output, its value in float64 and the error that is allowed it.

    Allowed is what rounding every intermediate to the dtype can cost, as torch's chain does: with
    u half an epsilon, u of s, of t and of z forward, at most eps (s + |t|); backward s is rounded
    before it is used twice, and three more times something is, at most 2 eps of the terms. float32
    adds what an exponential and a sum over the columns cost.
    """
    x, y, dz = (tensors[name].detach().double() for name in ("x", "y", "dz"))
    s = torch.softmax(x, -1)
    if direction == "forward":
        pairs, n_roundings = [(s + x * y, s + (x * y).abs())], 1
    else:
        weighted = s * dz
        dx = weighted - s * weighted.sum(-1, keepdim=True) + dz * y
        terms = weighted.abs() + s * weighted.abs().sum(-1, keepdim=True) + (dz * y).abs()
        pairs, n_roundings = [(dx, terms), (dz * x, (dz * x).abs())], 2
    info = torch.finfo(tensors["x"].dtype)
    largest = float(x.abs().max())
    arithmetic = 1e-6 + 2.0**-23 * (2 * largest + x.shape[1] ** 0.5)
    share, least = n_roundings * info.eps + arithmetic, info.tiny * info.eps
    return [(value, magnitude * share + least) for value, magnitude in pairs]


def worst_share(torch, outputs: tuple, exact: list[tuple]) -> float:
    """Return the largest error as a share of what is allowed it; inf where one is not finite."""
    shares = [
        ((got.detach().double() - value).abs() / allowed).max()
        for got, (value, allowed) in zip(outputs, exact, strict=True)
    ]
    worst = max((float(share) for share in shares), key=lambda share: (share != share, share))
    return worst if worst < float("inf") else float("inf")


def make_call(torch, provider: Provider, case: LaunchCase, tensors: dict, direction: str) -> Call:
    """Return what ``provider`` is to run. Nothing is compiled yet."""
    x, y, dz = (tensors[name] for name in ("x", "y", "dz"))
    if provider.role == "ceiling":
        # Half of the bytes are read and half written.
        n_bytes = least_bytes(case, direction) // 2
        source = torch.empty(n_bytes, dtype=torch.uint8, device=x.device)
        target = torch.empty_like(source)
        return Call(lambda: None, lambda _: (target.copy_(source),))
    compute = _function(torch, provider)
    if direction == "forward":
        return Call(lambda: None, lambda _: (compute(x, y),))
    return Call(lambda: compute(x, y), lambda z: torch.autograd.grad(z, (x, y), dz))


def _function(torch, provider: Provider) -> Callable:
    """Return the function of x and y that ``provider`` is."""
    if provider.role == "fused":
        return importlib.import_module(FUSED_MODULE).softmax_plus_product

    def chain(x, y):
        return torch.softmax(x, -1) + x * y

    if provider.name != "compile":
        return chain
    torch._dynamo.reset()  # or the shapes of earlier runs count against its limit
    importlib.import_module("torch._inductor.config").compile_threads = 1  # no processes of its own
    return torch.compile(chain, dynamic=False, fullgraph=True)


def checked(
    torch, provider: Provider, case: LaunchCase, tensors: dict, exact: list, direction: str
):
    """Warm ``provider`` up and check its output; return a run without times, and what to time."""
    about = {"provider": provider.name, "direction": direction}
    try:
        with quiet(), torch.set_grad_enabled(direction == "backward"):
            begun = time.perf_counter()
            call = make_call(torch, provider, case, tensors, direction)
            outputs = call.run(call.prepare())
            _wait(torch, tensors)
            first_s = round(time.perf_counter() - begun, 5)
            worst = 0.0 if provider.role == "ceiling" else worst_share(torch, outputs, exact)
            for _ in range(N_WARM):
                call.run(call.prepare())
            _wait(torch, tensors)
    except Exception as error:
        failure = classify(error, on_gpu=True)
        if failure.kind == "gpu_error":
            raise  # nothing after it can be trusted
        reason = "out_of_memory" if failure.kind == "out_of_memory" else "failed"
        return ProviderRun(**about, reason=reason, message=said(error)), None
    if worst > 1:
        return ProviderRun(**about, reason="wrong", message=f"{worst:.3g}"), None
    return ProviderRun(**about, first_s=first_s, worst=round(worst, 4)), call


def _wait(torch, tensors: dict) -> None:
    """Wait for the GPU; a CPU is done by now."""
    if tensors["x"].is_cuda:
        torch.cuda.synchronize()


def said(error: Exception) -> str:
    """Return an error's sentence; the compiler's first line only says which backend raised."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    while len(lines) > 1 and lines[0].endswith("raised:"):
        lines.pop(0)
    printable = "".join(c if c.isprintable() else " " for c in clean("\n".join(lines)))
    return f"{type(error).__name__}: {printable}"


def profiled(torch, calls: list[Call]) -> list[list[list[KernelSpan]]]:
    """Return the launches of `N_CALLS` calls of each. Raise Unseen if some were not seen."""
    from torch.profiler import ProfilerActivity, profile

    marker = torch.zeros(flush_bytes(torch), dtype=torch.uint8, device="cuda")

    def mark() -> None:
        marker.bitwise_not_()
        torch.cuda.synchronize()

    def rounds(n_rounds: int) -> list[int]:
        order = []
        for index in turns(len(calls), n_rounds):
            mark()
            prepared = calls[index].prepare()
            mark()
            calls[index].run(prepared)
            torch.cuda.synchronize()
            order.append(index)
        return order

    with profile(activities=[ProfilerActivity.CUDA]):
        rounds(1)  # the profiler's own first time
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        order = rounds(N_CALLS)
    return sorted_out(spans_of(profiler.events()), order, len(calls))


def turns(n: int, n_rounds: int) -> Iterator[int]:
    """Yield 0 … n - 1 in each round, starting one later every time."""
    for k in range(n_rounds):
        yield from ((k + index) % n for index in range(n))
