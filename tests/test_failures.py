"""Exceptions become facts without paths, and every fact has a sentence in both languages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.failures import classify, clean

LOCALES = Path(__file__).parent.parent / "viz" / "locales"


class OutOfResources(Exception):
    required, limit, name = 300_000, 232_448, "shared memory"


class InterpreterError(Exception):
    pass


class CompilationError(Exception):
    pass


def test_failures_are_told_apart():
    assert classify(OutOfResources(), True).details == {
        "what": "shared memory",
        "required": 300_000,
        "limit": 232_448,
    }
    fault = classify(RuntimeError("CUDA error: an illegal memory access was encountered"), True)
    assert (fault.kind, fault.replace) == ("gpu_error", True)
    assert classify(RuntimeError("odd"), True).replace and not classify(ValueError(), True).replace
    assert not classify(RuntimeError("odd"), False).replace
    wrapped = InterpreterError("IndexError(...)")
    wrapped.__cause__ = IndexError("out of range")
    assert classify(wrapped, False).details == {"type": "IndexError", "message": "out of range"}
    found = classify(CompilationError("at 12:8:\n  x = y\n  ^\nname y is not defined"), True)
    assert (found.kind, found.details) == ("compile", {"message": "name y is not defined"})


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("cannot open /usr/lib/x86_64/libcuda.so.1: no", "cannot open …: no"),
        (r"C:\Users\me\kernel.py is odd", "… is odd"),
        ("at 0x7ffdeadbeef it ended", "at … it ended"),
        ("1/2 of n_rows/n_cols", "1/2 of n_rows/n_cols"),
        ("\n\n first\nsecond", "first"),
        ("", ""),
        ("x" * 1000, "x" * 159 + "…"),
    ],
)
def test_messages_carry_no_paths_or_addresses(text, cleaned):
    assert clean(text) == cleaned


FAILURES = {
    "timeout": {"limit": "60"},
    "crashed": {"signal": "SIGSEGV"},
    "exception": {"type": "ValueError", "message": "odd"},
    "gpu_error": {"message": "illegal memory access"},
    "compile": {"message": "odd"},
    "out_of_memory": {},
    "out_of_resources": {"what": "shared memory", "required": 2, "limit": 1},
    "not_ready": {},
    "closed": {},
    "no_triton": {},
    "no_torch": {},
    "no_device": {},
}
REASONS = {
    "asked": {},
    "no_driver": {},
    "no_gpu": {},
    "cpu_torch": {"name": "NVIDIA L4"},
    "old_driver": {"driver": "520.61", "cuda": "11.8", "wanted": "13.0"},
    "old_gpu": {"name": "Tesla T4", "capability": "7.5", "wanted": "8.0"},
    "no_compiler": {},
    "self_test": {"message": "odd"},
    "no_triton": {},
    "no_torch": {},
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_failure_and_reason_has_a_sentence(language):
    texts = json.loads((LOCALES / f"{language}.json").read_text("utf-8"))
    for prefix, known in (("failed", FAILURES), ("device.reason", REASONS)):
        for key, details in known.items():
            sentence = texts[f"{prefix}.{key}"].format(**details)
            assert all(str(value) in sentence for value in details.values()), key
    for stage in ("queued", "starting", "inputs", "kernel", "compare"):
        assert texts[f"progress.{stage}"].format(position=2)
