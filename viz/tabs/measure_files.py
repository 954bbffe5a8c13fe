"""A sweep as files: CSV with a line a point, JSON of everything, NaN as null."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict

from benchmarks.sweep_results import SweepPoint, SweepRun

COLUMNS = (*SweepPoint.__dataclass_fields__, "gb_per_s", "tflop_per_s")


def to_csv(run: SweepRun) -> str:
    """Return every point, a line each; what is not known is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for point in run.points:
        writer.writerow([_cell(getattr(point, name)) for name in COLUMNS])
    return out.getvalue()


def _cell(value: object) -> object:
    """Return a value as it stands in a cell."""
    if isinstance(value, float) and math.isnan(value):
        return ""
    if isinstance(value, dict):
        return " ".join(f"{key}={number}" for key, number in value.items())
    return value


def to_json(run: SweepRun) -> str:
    """Return the case, the device, every point, and where the run comes from."""
    return json.dumps(_plain(asdict(run)), ensure_ascii=False, allow_nan=False, indent=1)


def _plain(value: object) -> object:
    """Return ``value`` without NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def file_name(run: SweepRun) -> str:
    """Return what a downloaded sweep is called, without its suffix."""
    gpu = "-".join(run.device.name.lower().split())
    kept = "".join(letter for letter in gpu if letter.isalnum() or letter == "-")
    parts = ("sweep", run.case.operation, run.case.sizes.dtype, kept, run.date)
    return "-".join(part for part in parts if part)
