"""A Trace for the page with its arrays as base64: a grid's has a few hundred thousand numbers.

A trace's values are float32, so four bytes hold each of them exactly; seven digits and a comma
take ten. ``js/packed.js`` reads them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kernels.trace import Trace, Value, encode


def packed_trace(trace: Trace) -> dict:
    """Return what ``trace.as_json()`` does, each array packed."""
    steps = tuple(replace(step, values={}) for step in trace.steps)
    bare = replace(trace, arrays={}, outputs={}, steps=steps).as_json()
    for step, ours in zip(bare["steps"], trace.steps, strict=True):
        if ours.values:
            step["values"] = packed_values(ours.values)
    arrays, outputs = packed_values(trace.arrays), packed_values(trace.outputs)
    return bare | {"arrays": arrays, "outputs": outputs}


def packed_values(values: Mapping[str, Value]) -> dict:
    """Return each value packed, by name."""
    return {name: pack(value) for name, value in values.items()}


def pack(value: Value) -> object:
    """Return an array as its shape and the bytes of its float32, and a number as `encode` does."""
    if not isinstance(value, np.ndarray):
        return encode(value)
    data = np.ascontiguousarray(value, "<f4").tobytes()
    return {"f32": base64.b64encode(data).decode("ascii"), "shape": list(value.shape)}
