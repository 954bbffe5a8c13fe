"""A kernel that does exactly what its mirror does, to judge and to spoil in tests."""

from __future__ import annotations

import numpy as np

from benchmarks import check, states
from benchmarks.results import Device
from kernels import ALGORITHMS
from kernels.inputs import make_matrix, round_to

CPU = Device("interpreter", "CPU", reason="no_driver")


def mirrored(entry, case, arrays):
    """Return what a kernel that does exactly what the mirror does would give."""
    traces = [entry.trace({**arrays, "x": row}, case.block, case.dtype) for row in arrays["x"]]
    outputs = {entry.output: np.stack([trace.outputs[entry.output] for trace in traces])}
    for name in entry.extra_outputs:
        outputs[name] = np.concatenate([trace.outputs[name] for trace in traces])
    by_row = [states.mirror_state(entry, trace) for trace in traces]
    state = np.stack(
        [
            np.concatenate([np.reshape(s[f], (len(s[f]), -1)) for f in entry.captured], axis=1)
            for s in by_row
        ]
    )
    return check.Ran(outputs, state, "online", case.n_rows, 0)


def by_torch(entry, case, arrays):
    """Return float64's outputs rounded to the dtype, NaN in rows that are -inf everywhere."""
    result = round_to(entry.reference(arrays)[entry.output], case.dtype)
    result[(arrays["x"] == -np.inf).all(axis=1)] = np.nan
    return result


def judged(name, case, change=lambda ran: ran, arrays=None):
    entry = ALGORITHMS[name]
    if arrays is None:
        arrays = make_matrix(case, entry.has_values)
    ran = change(mirrored(entry, case, arrays))
    return check.judge(entry, case, arrays, ran, by_torch(entry, case, arrays), CPU)
