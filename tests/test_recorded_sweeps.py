"""Recorded sweeps: what is written reads back to the last bit, what cannot be is refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import recorded
from benchmarks.operations import OPERATIONS
from benchmarks.recorded_sweeps import sweep_name
from benchmarks.sweep_choice import WIDE, choose_sweep
from benchmarks.sweep_results import SweepRun
from kernels.errors import InputError
from tests.fake_check import GPU
from tests.sweeps import CASE, RUN, missing, timed
from viz.locales import LANGUAGES, text

KERNELS = Path(__file__).parents[1] / "kernels"


def refusal(tmp_path, document) -> str:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document), "utf-8")
    with pytest.raises(InputError) as caught:
        recorded.read(path)
    for language in LANGUAGES:
        assert "odd.json" in text(language, f"error.{caught.value.key}", **caught.value.details)
    return str(caught.value)


DAMAGE = [
    (("case", "operation"), "sort", "operation"),
    (("case", "operation"), ["add"], "operation"),
    (("case", "axis"), "seq", "case.axis cannot be seq"),
    (("case", "values"), [1024, 256], "case.values"),
    (("case", "values"), [256, 256], "case.values"),
    (("case", "values"), "256", "case.values"),
    (("case", "values"), [], "case.N"),
    (("case", "values"), [0, 256], "case.N cannot be 0"),
    (("case", "sizes", "n_rows"), 0, "case.n_rows cannot be 0"),
    (("case", "sizes", "heads"), 3, "case.sizes.heads cannot be 3"),
    (("case", "sizes", "n_cols"), 4096, "case.sizes.n_cols cannot be 4096"),
    (("case", "sizes", "group_m"), True, "case.sizes.group_m cannot be True"),
    (("case", "sizes"), [], "case.sizes cannot be"),
    (("case", "providers"), ["copy"], "case.provider"),
    (("case", "providers"), None, "case.providers cannot be nothing"),
    (("case", "fixed_rows"), 1, "case.fixed_rows cannot be 1"),
    (("case", "is_hot"), "no", "case.is_hot cannot be no"),
    (("case", "budget_s"), -1, "case.budget_s cannot be -1"),
    (("case", "extra"), 1, "case.extra cannot be 1"),
    (("points",), [], "points cannot be a list of 0"),
    (("points",), {"a": 1}, "points cannot be"),
    (("points", 0), 7, "points[0] cannot be 7"),
    (("points", 0, "provider"), "liger", "points[0].provider cannot be liger"),
    (("points", 0, "provider"), None, "points[0].provider cannot be nothing"),
    (("points", 0, "value"), 512, "points[0].value cannot be 512"),
    (("points", 0, "value"), True, "points[0].value cannot be True"),
    (("points", 1, "provider"), "ours", "points[1].value cannot be 256"),
    (("points", 0, "median_ms"), None, "points[0].median_ms cannot be nothing"),
    (("points", 0, "median_ms"), 0, "points[0].median_ms cannot be 0"),
    (("points", 0, "median_ms"), "2", "points[0].median_ms cannot be 2"),
    (("points", 0, "median_ms"), 0.5, "points[0].median_ms cannot be 0.5"),
    (("points", 0, "p20_ms"), 0.01, "points[0].median_ms cannot be"),
    (("points", 0, "p80_ms"), 1e300, "points[0].p80_ms cannot be"),
    (("points", 0, "n"), 0, "points[0].n cannot be 0"),
    (("points", 0, "n"), 60.0, "points[0].n cannot be 60.0"),
    (("points", 1, "n_outliers"), 31, "points[1].n_outliers cannot be 31"),
    (("points", 0, "n_outliers"), 0, "points[0].n_outliers cannot be 0"),  # is never written
    (("points", 0, "n_bytes"), 1_536_001, "points[0].n_bytes cannot be 1536001"),
    (("points", 2, "flops"), 1000, "points[2].flops cannot be 1000"),
    (("points", 0, "n_rows"), 999, "points[0].n_bytes"),
    (("points", 0, "error"), 1.0, "points[0].error cannot be 1.0"),
    (("points", 0, "error"), None, "points[0].error cannot be nothing"),
    (("points", 0, "allowed"), -1, "points[0].allowed cannot be -1"),
    (("points", 0, "path"), "<b>", "points[0].path cannot be <b>"),
    (("points", 0, "path"), 0, "points[0].path cannot be 0"),
    (("points", 0, "settings"), {"colour": 3}, "points[0].settings cannot be colour"),
    (("points", 0, "settings"), {"block": "x"}, "points[0].settings.block cannot be x"),
    (("points", 0, "settings"), [], "points[0].settings cannot be"),
    (("points", 0, "registers"), -1, "points[0].registers cannot be -1"),
    (("points", 2, "registers"), 3, "points[2].registers cannot be 3"),
    (("points", 0, "clock_mhz"), 10**6, "points[0].clock_mhz cannot be 1000000"),
    (("points", 0, "graph_us"), 0, "points[0].graph_us cannot be 0"),
    (("points", 0, "message"), "but", "points[0].message cannot be but"),
    (("points", 0, "reason"), "wrong", "points[0].median_ms cannot be"),
    (("points", 3, "reason"), "tired", "points[3].reason cannot be tired"),
    (("points", 3, "reason"), "unfit", "points[3].reason cannot be unfit"),
    (("points", 3, "reason"), [], "points[3].reason cannot be"),
    (("points", 3, "message"), "a\u202eb", "points[3].message cannot be"),
    (("points", 3, "clock_mhz"), 1000, "points[3].clock_mhz cannot be 1000"),
    (("points", 0, "gb_per_s"), 1, "points[0].gb_per_s cannot be 1"),
]


@pytest.mark.parametrize(("where", "value", "said"), DAMAGE)
def test_damage_is_named(tmp_path, where, value, said):
    document = json.loads(recorded.text_of(RUN))
    *path, last = where
    inner = document
    for name in path:
        inner = inner[name]
    inner[last] = value
    assert said in refusal(tmp_path, document)


def test_what_no_gpu_does_is_refused(tmp_path):
    document = json.loads(recorded.text_of(RUN))
    fast = {"median_ms": 7.6e-5, "p20_ms": 7.6e-5, "p80_ms": 7.6e-5}  # 20,210 GB/s
    document["points"][0] |= fast
    assert "points[0].median_ms cannot be 7.6e-05" in refusal(tmp_path, document)
    document["points"][0] |= dict.fromkeys(fast, 7.7e-5)
    (tmp_path / "odd.json").write_text(json.dumps(document))
    assert recorded.read(tmp_path / "odd.json").points[0].gb_per_s == pytest.approx(19_948, abs=1)


def test_an_error_without_bound_and_a_message_of_lines_are_kept(tmp_path):
    odd = missing(CASE, "torch", 256, "wrong", "inf > 0.01")
    odd = replace(odd, error=float("inf"), allowed=0.01, first_s=0.5)
    said = missing(CASE, "ours", 256, "failed", "first\nsecond\t" + "x" * 400)
    path = recorded.write(replace(RUN, points=(odd, said)), tmp_path)
    kept, other = recorded.read(path).points
    assert kept.error == float("inf") and kept.median_ms != kept.median_ms
    assert other.message.startswith("first second x") and len(other.message) == 300


# What a launch calls its way: a file must hold each of them.
PATHS = {
    *re.findall(
        r"""(?:\bstate, |\bNone, |path=(?:[^"\n]*else )?)"([^"]+)\"""",
        "".join(path.read_text("utf-8") for path in KERNELS.glob("*/kernel.py")),
    )
}


def test_every_path_that_a_kernel_names_can_be_kept(tmp_path):
    assert {"online", "split", "three stages", "tiles", "blocks", "single"} <= PATHS
    for path in PATHS:
        points = (timed(CASE, "ours", 256, 2.0, path=path),)
        kept = recorded.write(replace(RUN, points=points), tmp_path)
        assert recorded.read(kept).points == points


@pytest.mark.parametrize("operation", OPERATIONS)
def test_sweeps_of_every_operation_read_back(tmp_path, operation):
    case = choose_sweep(operation, "64,1000", mask="causal", heads=2)
    found = (*case.providers, "copy")
    points = tuple(timed(case, name, value, 500.0) for value in case.values for name in found)
    path = recorded.write(replace(RUN, case=case, points=points), tmp_path)
    assert recorded.read(path) == replace(RUN, case=case, points=points)


def test_a_whole_sweep_is_a_small_file(tmp_path):
    case = choose_sweep("softmax", "256..1048576 x2, 1000, 50257", limits=WIDE)
    nine = [name for name in case.providers if name != "quack"]
    settings = {"block": 16_384, "num_warps": 32}
    facts = {"settings": settings, "registers": 128, "spills": 0, "shared_bytes": 65_536}
    points = []
    for value in case.values:
        for k, provider in enumerate(nine):
            ours = facts | {"path": "online"} if k < 6 else {}
            points.append(timed(case, provider, value, 1000 / 7 + k / 3, **ours))
        points.append(timed(case, "copy", value, 1000 / 7))
    path = recorded.write(
        SweepRun(case, GPU, tuple(points), "2026-01-02", "0123456", "x"), tmp_path
    )
    assert len(case.values) == 15 and path.stat().st_size < 70_000
    assert recorded.read(path).points == tuple(points)


OTHERWISE = {
    "seq": 2048, "head_dim": 32, "heads": 8, "batch": 2, "n_splits": 8, "mask": "causal",
    "n_rows": 48, "n_cols": 512, "dtype": "float16", "is_hot": True, "providers": "ours",
}  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
def test_sweeps_of_other_sizes_have_files_of_their_own(operation):
    for axis in OPERATIONS[operation].axes:
        usual = {"operation": operation, "values": "64,128", "axis": axis, "limits": WIDE}
        cases = [choose_sweep(**usual)]
        for option, value in OTHERWISE.items():
            case = choose_sweep(**{**usual, option: value})
            if case not in cases:
                cases.append(case)
        assert len({sweep_name(case) for case in cases}) == len(cases) > 2
