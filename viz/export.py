"""A result as files: CSV of the outputs, JSON of everything, Python that runs it again.

JSON has no NaN and no infinity: they are written as "nan", "inf" and "-inf". `from_json` reads back
the same record, every number of it, so that a run can be compared or repeated elsewhere.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

import numpy as np

from benchmarks.results import CheckResult, Device, ErrorStats, RowDetail
from kernels.inputs import Case
from viz.figures.distance import row_distances

FORMAT = "blockwise-check-1"
CSV_COLUMNS = ("row", "column", "kernel", "torch", "float64", "kernel_ulps", "torch_ulps")
_KINDS = (CheckResult, Case, Device, ErrorStats, RowDetail)
_RECORDS = {kind.__name__: kind for kind in _KINDS}
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_csv(result: CheckResult) -> str:
    """Return every output of the rows kept, a line each, with digits enough to read it back."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for detail in result.rows:
        away = row_distances(detail, result.case.dtype)
        columns = [detail.outputs["kernel"], detail.outputs["torch"], detail.outputs["float64"]]
        columns += [away["kernel"], away["torch"]]
        listed = [_digits(column) for column in columns]
        writer.writerows((detail.row, c, *line) for c, line in enumerate(zip(*listed, strict=True)))
    return out.getvalue()


def _digits(column: np.ndarray) -> list[str]:
    """Return numbers as the shortest text that reads back to the same number."""
    return [repr(float(value)) for value in np.asarray(column, dtype=np.float64)]


def to_json(result: CheckResult) -> str:
    """Return the whole result, strict JSON."""
    document = {"format": FORMAT, **_plain(result)}
    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)


def from_json(text: str) -> CheckResult:
    """Return the result that `to_json` wrote. Raise ValueError if it is something else."""
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"This is no {FORMAT} document.")
    return _record({name: value for name, value in document.items() if name != "format"})


def _plain(value: object) -> object:
    """Return ``value`` as JSON can hold it; arrays and records say what they are."""
    if is_dataclass(value):
        named = {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
        return {"record": type(value).__name__, **named}
    if isinstance(value, np.ndarray):
        return {"array": str(value.dtype), "values": _plain(value.tolist())}
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def _record(value: object) -> object:
    """Return what `_plain` was given; lists become tuples, as the records hold them."""
    if isinstance(value, list):
        return tuple(_record(item) for item in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return np.array(_numbers(value["values"]), dtype=value["array"])
    if "record" not in value:
        return {name: _record(item) for name, item in value.items()}
    kind = _RECORDS[value["record"]]
    named = {f.name: _record(value[f.name]) for f in fields(kind)}
    return kind(**{name: _restore(kind, name, item) for name, item in named.items()})


def _restore(kind: type, name: str, item: object) -> object:
    """Return a field that holds a number as a number: a special one was written as a word."""
    if isinstance(item, Mapping) and name == "state_ulps" and kind is CheckResult:
        return {field: _SPECIAL.get(number, number) for field, number in item.items()}
    if name == "numbers":
        return tuple(_numbers(item))
    is_number = kind is ErrorStats or name == "tolerance"
    return _SPECIAL.get(item, item) if is_number and isinstance(item, str) else item


def _numbers(value: object) -> object:
    """Return nested lists with the words for special numbers turned into those."""
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    return _SPECIAL[value] if isinstance(value, str) else value


def to_python(result: CheckResult) -> str:
    """Return a script that makes the same tensors and launches the same kernel, without the app."""
    return "\n".join(_script(result)) + "\n"


def _script(result: CheckResult) -> Iterator[str]:
    """Yield the script's lines."""
    case, on_gpu = result.case, result.device.kind == "gpu"
    tensors = "x, v" if any("acc" in row.state_ulps for row in result.rows) else "x"
    where = '"cuda"' if on_gpu else '"cpu"'
    if not on_gpu:
        yield "import os"
        yield ""
        yield '# Triton\'s CPU interpreter; without this line, and with "cuda" below, a GPU.'
        yield 'os.environ["TRITON_INTERPRET"] = "1"'
        yield ""
    yield "import torch"
    yield ""
    yield "from kernels.inputs import Case, make_matrix"
    yield f"from kernels.{result.algorithm}.kernel import launch"
    yield ""
    yield "inf, nan = float('inf'), float('nan')" if case.numbers else "# Row r is seeded seed + r."
    yield "case = Case("
    for field in fields(case):
        if field.name != "numbers" or case.numbers:
            yield f"    {field.name}={getattr(case, field.name)!r},"
    yield ")"
    yield f"arrays = make_matrix(case, with_values={'v' in tensors})"
    yield f"to = dict(device={where}, dtype=torch.{case.dtype})"
    for name in tensors.split(", "):
        yield f'{name} = torch.from_numpy(arrays["{name}"]).to(**to)'
    yield (
        f"run = launch({tensors}, block={result.block}, num_warps={case.num_warps}, capture=True)"
    )
    yield "print(run.path, run.n_programs)"
    yield "print(run.outputs)"
