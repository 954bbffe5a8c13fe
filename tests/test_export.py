"""What is downloaded holds every number of the result, and reads back to it."""

from __future__ import annotations

import ast
import csv
import dataclasses
import io
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernels.inputs import Case
from tests.fake_check import GPU, SMALL, check
from tests.rows import ROWS
from viz import export

SPECIAL = Case("own", 1, 5, 2, 2, numbers=(1.0, math.nan, math.inf, -math.inf, 2.0))


def assert_same(a, b, where="result"):
    """Assert that two values are the same, down to the sign of 0, NaN being NaN."""
    assert type(a) is type(b), where
    if dataclasses.is_dataclass(a):
        for field in dataclasses.fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape, where
        assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f"), where
        if a.dtype.kind == "f":
            numbers = ~np.isnan(a)
            assert np.array_equal(np.signbit(a)[numbers], np.signbit(b)[numbers]), where
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for name in a:
            assert_same(a[name], b[name], f"{where}[{name}]")
    elif isinstance(a, tuple):
        assert len(a) == len(b), where
        for index, pair in enumerate(zip(a, b, strict=True)):
            assert_same(*pair, f"{where}[{index}]")
    else:
        assert a == b or (a != a and b != b), where


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("case", [SMALL, SPECIAL, Case("all_masked", 2, 9, 4, 3)])
def test_json_reads_back_to_the_same_result(name, case):
    result = check(name, case)
    text = export.to_json(result)
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert_same(export.from_json(text), result)


def test_infinite_distances_survive():
    result = check("attention_row")
    rows = tuple(
        dataclasses.replace(row, state_ulps={**row.state_ulps, "l": np.array([math.inf, 0.0])})
        for row in result.rows
    )
    spoilt = dataclasses.replace(result, rows=rows, state_ulps={**result.state_ulps, "l": math.inf})
    assert_same(export.from_json(export.to_json(spoilt)), spoilt)


def test_json_says_what_ran_and_on_what():
    document = json.loads(export.to_json(check("attention_row", SMALL, GPU)))
    assert document["format"] == export.FORMAT
    assert document["device"]["name"] == "NVIDIA H200"
    assert document["device"]["versions"]["triton"] == "3.7.1"
    case = {k: v for k, v in document["case"].items() if k != "record"}
    assert Case(**{**case, "numbers": tuple(case["numbers"])}) == SMALL


@pytest.mark.parametrize("text", ["{}", "[]", '"x"', '{"format": "other"}'])
def test_other_documents_are_refused(text):
    with pytest.raises(ValueError, match="blockwise-check"):
        export.from_json(text)


@pytest.mark.parametrize("case", [SMALL, SPECIAL])
def test_csv_has_every_output_of_the_rows_kept(case):
    result = check("attention_row", case)
    lines = list(csv.reader(io.StringIO(export.to_csv(result))))
    assert tuple(lines[0]) == export.CSV_COLUMNS
    assert len(lines) == 1 + sum(len(row.outputs["kernel"]) for row in result.rows)
    read = iter(lines[1:])
    for detail in result.rows:
        for column in range(len(detail.outputs["kernel"])):
            row, col, kernel, torch, exact, *_ = next(read)
            assert (int(row), int(col)) == (detail.row, column)
            for text, who in ((kernel, "kernel"), (torch, "torch"), (exact, "float64")):
                want = float(detail.outputs[who][column])
                assert float(text) == want or (want != want and text == "nan")


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("case", [SMALL, SPECIAL])
def test_the_script_is_python_and_makes_the_same_case(name, case):
    result = check(name, case)
    script = export.to_python(result)
    tree = ast.parse(script)
    call = next(
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "case"
    )
    made = eval(ast.unparse(call), {"Case": Case, "inf": math.inf, "nan": math.nan})
    assert repr(made) == repr(case)
    assert f"from kernels.{name}.kernel import launch" in script
    assert f'entry = ALGORITHMS["{name}"]' in script
    assert 'os.environ["TRITON_INTERPRET"]' in script


def test_the_script_for_a_gpu_asks_for_no_interpreter():
    script = export.to_python(check("online_softmax", SMALL, GPU))
    assert "TRITON_INTERPRET" not in script and 'device="cuda"' in script


@pytest.mark.parametrize("name", ["vector_add", "single_backward", "fused_chain"])
def test_csv_has_the_inputs_beside_the_outputs(name):
    result = check(name, Case(n_rows=3, n_cols=9, block=4))
    first, *lines = csv.reader(io.StringIO(export.to_csv(result)))
    inputs = ROWS[name].inputs
    assert first == ["row", "column", *inputs, *export.CSV_COLUMNS[2:]]
    for detail in result.rows:
        for column in range(9):
            line = lines[[d.row for d in result.rows].index(detail.row) * 9 + column]
            assert [int(line[0]), int(line[1])] == [detail.row, column]
            given = [float(detail.inputs[tensor][column]) for tensor in inputs]
            assert [float(value) for value in line[2:4]] == given
            assert float(line[4]) == detail.outputs["kernel"][column]


def test_a_document_from_before_a_field_was_added_is_read():
    result = check("online_softmax")
    document = json.loads(export.to_json(result))
    del document["softmax_path"], document["case"]["layout"], document["rows"][0]["inputs"]
    read = export.from_json(json.dumps(document))
    assert (read.softmax_path, read.case, read.rows[0].inputs) == ("", result.case, {})


@pytest.mark.slow
def test_the_script_runs_and_gives_the_kernels_outputs():
    """One process runs the scripts of kernels that differ in what they take."""
    pytest.importorskip("triton")
    case = Case(n_rows=2, n_cols=20, block=8, head_dim=3)
    names = ("attention_row", "vector_add", "single_backward", "fused_chain", "split_softmax")
    script = "\n".join(export.to_python(check(name, case)) for name in names)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    ran = ("online 2", "blocks 6", "single 2", "single 2", "split 6")
    assert [line for line in done.stdout.splitlines() if line in ran] == list(ran)
    for output in ("lse", "z", "dx", "y"):
        assert f"'{output}'" in done.stdout
