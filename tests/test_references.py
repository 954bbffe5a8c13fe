"""What a timed call is held against: right results pass, wrong ones do not, whatever they are."""

from __future__ import annotations

import importlib
import math

import pytest
import torch

from tests.test_kernels import ON_GPU  # isort: split

from benchmarks import own_providers, providers, references
from benchmarks.ceiling import copy_calls
from benchmarks.operations import OPERATIONS
from benchmarks.own_providers import own_settings
from benchmarks.tune import _steps
from kernels import ALGORITHMS
from kernels.inputs import Case
from kernels.problems import shape_of
from kernels.spaces import ROW_BLOCKS
from kernels.tuning import Limits, sift

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy on NaN and inf

WHERE = "cuda" if ON_GPU else "cpu"
SMALL = Case(
    n_rows=3, n_cols=70, block=64, size_m=40, size_n=30, size_k=20,
    heads=2, kv_heads=2, seq_q=40, seq_k=40, head_dim=16, mask="causal",
)  # fmt: skip
DECODE = Case(heads=4, kv_heads=2, seq_q=1, seq_k=40, head_dim=16, block=64, n_splits=3)
TUNABLE = [entry for entry in ALGORITHMS.values() if entry.configs]
each = pytest.mark.parametrize("entry", TUNABLE, ids=lambda entry: entry.name)


def one_setting(entry):
    """Settings of the entry's space that a small case and the interpreter take in their stride."""
    kept, _ = sift(entry.configs(shape_of(entry, SMALL)), Limits(shared_bytes=101_376))
    return kept[0].settings


@each
def test_a_kernel_passes_and_what_is_wrong_in_one_element_does_not(entry):
    tensors = references.tensors_for(entry, SMALL, WHERE)
    exact = references.exact(entry, SMALL, tensors)
    call = own_settings(entry, SMALL, tensors, one_setting(entry))
    with torch.no_grad():
        outputs = call.run()
    error, allowed = references.check(entry, SMALL, exact, outputs)
    assert 0 < error <= allowed
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for k, output in enumerate(outputs):
        spoiled = output.clone()
        others = outputs[:k], outputs[k + 1 :]
        spoiled.view(-1)[5] += 100 * allowed
        error, most = references.check(entry, SMALL, exact, (*others[0], spoiled, *others[1]))
        assert error > most
        spoiled.view(-1)[5] = math.nan
        error, _ = references.check(entry, SMALL, exact, (*others[0], spoiled, *others[1]))
        assert error == math.inf


OURS_OF = [
    (operation.name, provider)
    for operation in OPERATIONS.values()
    for provider in operation.providers
    if provider not in ("torch", "compile", "liger", "quack") and not provider.startswith("sdpa")
]
OWN_PATHS = ("rows", "single", "online", "split", "blocks", "flash")


@pytest.mark.parametrize("operation, provider", OURS_OF)
def test_each_of_our_providers_is_right_and_takes_the_path_it_is_named_for(
    monkeypatch, operation, provider
):
    monkeypatch.setattr(own_providers, "_capability", lambda tensor: (9, 0))
    entry = OPERATIONS[operation].algorithm
    case = DECODE if operation == "decode" else SMALL
    tensors = references.tensors_for(entry, case, WHERE)
    exact = references.exact(entry, case, tensors)
    call = providers.make(operation, provider, case, tensors)
    error, allowed = references.check(entry, case, exact, call.run())
    assert error <= allowed
    if provider in OWN_PATHS:
        assert call.path == provider


@pytest.mark.parametrize("provider", OPERATIONS["caches"].providers)
def test_a_cache_modifiers_provider_launches_with_the_modifiers_it_is_named_for(
    monkeypatch, provider
):
    monkeypatch.setattr(own_providers, "_capability", lambda tensor: (9, 0))
    kernel = importlib.import_module("kernels.single_softmax.kernel")
    launch, given = kernel.launch, []

    def heard(*inputs, **options):
        given.append((options["load_cache"], options["store_cache"]))
        return launch(*inputs, **options)

    monkeypatch.setattr(kernel, "launch", heard)
    entry = OPERATIONS["caches"].algorithm
    tensors = references.tensors_for(entry, SMALL, WHERE)
    call = providers.make("caches", provider, SMALL, tensors)
    call.run()
    wanted = {
        "ours": ("", ""), "load_ca": (".ca", ""), "load_cg": (".cg", ""), "store_wb": ("", ".wb"),
        "store_cs": ("", ".cs"), "ca_wb": (".ca", ".wb"), "ca_cs": (".ca", ".cs"),
    }  # fmt: skip
    assert given == [wanted[provider]] * 2 and call.path == "single"


@pytest.mark.parametrize(
    ("operation", "provider", "longest"),
    [
        ("softmax", "rows", 16_384), ("softmax", "single", 131_072),
        ("softmax_backward", "rows", 16_384), ("softmax_backward", "single", 131_072),
        ("caches", "load_ca", 131_072), ("chain", "ours", 131_072),
    ],
)  # fmt: skip
def test_a_row_that_one_program_is_not_asked_to_hold_is_said_to_be_too_long(
    operation, provider, longest
):
    case = Case(n_rows=1, n_cols=longest + 1)
    tensors = dict.fromkeys(("x", "y", "dy"), torch.zeros(1, longest + 1))
    with pytest.raises(own_providers.Unavailable) as caught:
        providers.make(operation, provider, case, tensors)
    assert (caught.value.key, caught.value.message) == ("too_long", str(longest))


def test_gradients_are_checked_each_for_its_own_size():
    entry = ALGORITHMS["flash_backward"]
    tensors = references.tensors_for(entry, SMALL, WHERE)
    exact = references.exact(entry, SMALL, tensors)
    leaves = [tensors[name].clone().requires_grad_() for name in "qkv"]
    o = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True)
    grads = torch.autograd.grad(o, leaves, tensors["do"])
    error, allowed = references.check(entry, SMALL, exact, grads)
    assert error <= allowed
    for number in range(3):
        wrong = [g.clone() for g in grads]
        wrong[number][0, 0, 3, 3] += 0.1
        error, allowed = references.check(entry, SMALL, exact, tuple(wrong))
        assert error > allowed


def test_a_key_head_that_queries_share_has_the_sum_of_their_gradients():
    entry, case = (
        ALGORITHMS["flash_backward"],
        Case(heads=4, kv_heads=2, seq_q=9, seq_k=9, head_dim=8),
    )
    tensors = references.tensors_for(entry, case, WHERE)
    leaves = [tensors[name].clone().requires_grad_() for name in "qkv"]
    o = torch.nn.functional.scaled_dot_product_attention(*leaves, enable_gqa=True)
    grads = torch.autograd.grad(o, leaves, tensors["do"])
    error, allowed = references.check(entry, case, references.exact(entry, case, tensors), grads)
    assert error <= allowed


def test_a_wrong_kernel_is_not_tuned(monkeypatch):
    monkeypatch.setattr(references.tensors_for, "__defaults__", (WHERE,))
    monkeypatch.setattr("benchmarks.tune.cold", lambda call: Timed())
    entry = ALGORITHMS["online_softmax"]
    settings = {"block": ROW_BLOCKS[0], "num_warps": 2}
    measure, _ = _steps(entry, SMALL)
    assert measure(settings) == 0.25
    monkeypatch.setattr(
        "benchmarks.tune.references.exact", lambda *_: (torch.ones(3, 70, device=WHERE),)
    )
    measure, _ = _steps(entry, SMALL)
    with pytest.raises(ValueError, match="its result is off by"):
        measure(settings)


class Timed:
    """What `cold` gives, as far as it is read."""

    median_ms = 0.25


@pytest.mark.parametrize(("reads", "n_ways"), [(1, 4), (2, 3), (16, 3)])
@pytest.mark.parametrize("n_bytes", [0, 1, 4, 52_224, 52_224 + 4])  # 52,224 = 64 x 3 x 16 x 17
def test_copies_move_as_many_bytes_as_asked_and_all_of_them(monkeypatch, n_bytes, reads, n_ways):
    randint, drawn = torch.randint, []
    monkeypatch.setattr(
        torch, "randint", lambda *a, **kw: drawn.append(randint(*a, **kw)) or drawn[0]
    )
    calls = copy_calls(n_bytes, reads, WHERE)
    (source,) = drawn
    wanted = source[0].clone()
    for more in source[1:]:
        wanted |= more
    assert len(calls) == n_ways
    for call in calls:
        target = call.run()
        moved = 4 * (source.numel() + target.numel())
        assert 0 <= moved - n_bytes < 64 * (reads + 1) and (n_bytes != 52_224 or moved == n_bytes)
        assert torch.equal(target, wanted)
        target.zero_()
