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

from benchmarks.results import (
    CheckResult,
    Device,
    ErrorStats,
    OutputCheck,
    RowDetail,
    TileCheckResult,
)
from kernels.inputs import Case
from kernels.tiles import Tiles
from viz.figures.distance import row_distances
from viz.figures.tile_verdict import is_product

Result = CheckResult | TileCheckResult

FORMAT = "blockwise-check-1"
CSV_COLUMNS = ("row", "column", "kernel", "torch", "float64", "kernel_ulps", "torch_ulps")
TILE_COLUMNS = ("output", "head", "row", "column", "kernel", "torch", "float64")
ROW_FIELDS = ("preset", "n_rows", "n_cols", "block", "head_dim", "dtype", "num_warps", "seed")
ATTENTION_FIELDS = (
    *("preset", "batch", "heads", "kv_heads", "seq_q", "seq_k", "head_dim", "mask"),
    *("block_m", "block", "n_splits", "dtype", "seed", "num_warps", "num_stages"),
)
PRODUCT_FIELDS = (
    *("preset", "size_m", "size_n", "size_k", "block_m", "block", "block_k", "group_m"),
    *("dtype", "seed", "num_warps", "num_stages"),
)
_KINDS = (CheckResult, Case, Device, ErrorStats, OutputCheck, RowDetail, TileCheckResult, Tiles)
_RECORDS = {kind.__name__: kind for kind in _KINDS}
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def to_csv(result: Result) -> str:
    """Return every output of the rows kept, a line each, with digits enough to read it back.

    A row's inputs stand before its outputs where they have the same columns.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    is_row = isinstance(result, CheckResult)
    inputs = tuple(result.rows[0].inputs) if is_row else ()
    writer.writerow((*CSV_COLUMNS[:2], *inputs, *CSV_COLUMNS[2:]) if is_row else TILE_COLUMNS)
    for detail in result.rows:
        columns = [detail.outputs["kernel"], detail.outputs["torch"], detail.outputs["float64"]]
        place: tuple = (detail.row,)
        if is_row:
            away = row_distances(detail, result.case.dtype)
            columns += [away["kernel"], away["torch"]]
            columns = [*(detail.inputs[name] for name in inputs), *columns]
        else:
            place = (result.outputs[0].name, result.state_head, detail.row)
        listed = [_digits(column) for column in columns]
        writer.writerows((*place, c, *line) for c, line in enumerate(zip(*listed, strict=True)))
    return out.getvalue()


def _digits(column: np.ndarray) -> list[str]:
    """Return numbers as the shortest text that reads back to the same number."""
    return [repr(float(value)) for value in np.asarray(column, dtype=np.float64)]


def to_json(result: Result) -> str:
    """Return the whole result, strict JSON."""
    document = {"format": FORMAT, **_plain(result)}
    return json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1)


def from_json(text: str) -> Result:
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
        written = {"array": str(value.dtype), "values": _plain(value.tolist())}
        # Lists do not say how wide an array of no rows is.
        return written if value.size else {**written, "shape": list(value.shape)}
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
        array = np.array(_numbers(value["values"]), dtype=value["array"])
        return array.reshape(value["shape"]) if "shape" in value else array
    if "record" not in value:
        return {name: _record(item) for name, item in value.items()}
    kind = _RECORDS[value["record"]]
    # A field that came later has its default in a document written before.
    named = {f.name: _record(value[f.name]) for f in fields(kind) if f.name in value}
    return kind(**{name: _restore(kind, name, item) for name, item in named.items()})


def _restore(kind: type, name: str, item: object) -> object:
    """Return a field that holds a number as a number: a special one was written as a word."""
    if name == "state_ulps" and kind in (CheckResult, TileCheckResult):
        return _finite_or_special(item)
    if name == "rivals":  # a rival's errors, or the sentence why it has none
        return {
            rival: found if isinstance(found, str) else _finite_or_special(found)
            for rival, found in item.items()
        }
    if name == "numbers":
        return tuple(_numbers(item))
    is_number = kind is ErrorStats or name == "tolerance"
    return _SPECIAL.get(item, item) if is_number and isinstance(item, str) else item


def _finite_or_special(numbers: Mapping[str, object]) -> dict[str, object]:
    """Return numbers by name, those that were written as words as numbers again."""
    return {name: _SPECIAL.get(number, number) for name, number in numbers.items()}


def _numbers(value: object) -> object:
    """Return nested lists with the words for special numbers turned into those."""
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    return _SPECIAL[value] if isinstance(value, str) else value


def to_python(result: Result) -> str:
    """Return a script that makes the same tensors and launches the same kernel, without the app."""
    lines = _row_script(result) if isinstance(result, CheckResult) else _tile_script(result)
    return "\n".join([*_preamble(result), *lines]) + "\n"


def _preamble(result: Result) -> Iterator[str]:
    """Yield what comes before our own imports: which device Triton is to use, and torch."""
    if result.device.kind != "gpu":
        yield "import os"
        yield ""
        yield '# Triton\'s CPU interpreter; without this line, and with "cuda" below, a GPU.'
        yield 'os.environ["TRITON_INTERPRET"] = "1"'
        yield ""
    yield "import torch"
    yield ""


def _case(case: Case, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines that make the case, from the fields that this kind of problem reads."""
    yield "case = Case("
    for name in (*names, *(("numbers",) if case.numbers else ())):
        yield f"    {name}={getattr(case, name)!r},"
    yield ")"


def _row_script(result: CheckResult) -> Iterator[str]:
    """Yield the lines for a kernel that takes rows."""
    case, where = result.case, '"cuda"' if result.device.kind == "gpu" else '"cpu"'
    yield "from kernels import ALGORITHMS"
    yield "from kernels.inputs import Case, make_matrix"
    yield f"from kernels.{result.algorithm}.kernel import launch"
    yield ""
    yield "inf, nan = float('inf'), float('nan')" if case.numbers else "# Row r is seeded seed + r."
    yield from _case(case, ROW_FIELDS)
    yield f'entry = ALGORITHMS["{result.algorithm}"]'
    yield "arrays = make_matrix(case, entry.draws)"
    yield f"to = dict(device={where}, dtype=torch.{case.dtype})"
    yield "tensors = [torch.from_numpy(arrays[name]).to(**to) for name in entry.inputs]"
    yield "block = None if entry.whole_row else case.block"
    yield (
        f"run = launch(*tensors, block=block, num_warps={case.num_warps}, "
        "capture=bool(entry.captured))"
    )
    yield "print(run.path, run.n_programs)"
    yield "print(run.outputs)"


def _tile_script(result: TileCheckResult) -> Iterator[str]:
    """Yield the lines for a kernel that works on tiles."""
    case, product = result.case, is_product(result)
    where = "cuda" if result.device.kind == "gpu" else "cpu"
    make = "matmul_arrays" if product else "attention_arrays"
    has_gradients = any(output.name == "dq" for output in result.outputs)
    if has_gradients:
        yield "from benchmarks.results import Device"
        yield "from benchmarks.tile_run import with_forward"
    yield "from kernels import ALGORITHMS"
    yield "from kernels.inputs import Case"
    yield f"from kernels.tile_inputs import {make}, tiles_of"
    yield f"from kernels.{result.algorithm}.kernel import launch"
    yield ""
    yield f'entry = ALGORITHMS["{result.algorithm}"]'
    yield from _case(case, PRODUCT_FIELDS if product else ATTENTION_FIELDS)
    yield "tiles = tiles_of(entry, case)"
    yield f'options = {{"num_warps": {case.num_warps}, "num_stages": {case.num_stages}}}'
    yield f'to = dict(device="{where}", dtype=torch.{case.dtype})'
    yield f"arrays = {make}(case)"
    yield "tensors = {name: torch.from_numpy(array).to(**to) for name, array in arrays.items()}"
    if has_gradients:
        device = f'Device("{result.device.kind}", "{where}")'
        yield "# The backward pass reads o and lse, as the forward kernel leaves them."
        yield f"tensors = with_forward(entry, tensors, tiles, options, {device})"
    yield "inputs = {name: tensors[name] for name in entry.inputs}"
    yield "run = launch(inputs, tiles, capture=bool(entry.captured), **options)"
    yield "print(run.path, run.n_programs)"
    yield "print(run.outputs)"
