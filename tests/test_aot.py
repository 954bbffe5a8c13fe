"""Kernels taken away: what is exported is a loadable kernel, and its facts are the binary's own."""

from __future__ import annotations

import argparse
import importlib
import io
import json
import math
import re
import zipfile
from dataclasses import replace

import pytest

from benchmarks import __main__ as command
from benchmarks import check_command, export_command, export_process
from benchmarks.device import read_driver
from benchmarks.export import FORMAT, files_of, sizes_of
from benchmarks.export_gpus import GPUS, choose_gpu
from benchmarks.export_process import ExportJob, compiled
from benchmarks.export_record import dimensions_of
from benchmarks.messages import JobFailed
from kernels import ALGORITHMS
from kernels.errors import InputError
from kernels.inputs import Case
from kernels.tile_inputs import tiles_of
from tests import cubin, cuda_driver
from viz.locales import text
from viz.tabs import run_export
from viz.tabs.run_form import FIELDS
from viz.tabs.run_sizes import LARGER

needs_triton = pytest.mark.skipif(
    bool(export_process.missing()), reason="needs Triton, which has packages for Linux only"
)
# Odd sizes: no size is another's multiple, and the last block is never full.
ODD = ["--dtype", "bfloat16", "--rows", "6", "--cols", "100", "--block", "16", "--heads", "6"]
ODD += ["--kv-heads", "3", "--seq-q", "70", "--seq-k", "100", "--head-dim", "24"]
ODD += ["--warps", "2", "--stages", "3"]
WIDTHS = {"CUdeviceptr": 8, "int64_t": 8, "int32_t": 4, "float": 4}
TINY = "single_softmax"  # compiled once more, for a GPU with next to no shared memory


def case_of(name: str, *arguments: str):
    """Return the Case that `export`'s options describe."""
    parser = argparse.ArgumentParser()
    export_command.add_to(parser.add_subparsers())
    options = parser.parse_args(["export", "--algorithm", name, "--gpu", "x", *arguments])
    return check_command.case_of(ALGORITHMS[name], options, interpreted=False)


@pytest.fixture(scope="module")
def answers():
    """Give what every algorithm exports for an H200, and one that cannot fit: one child for all."""
    gpu = choose_gpu("H200")
    jobs = {name: ExportJob(name, case_of(name, *ODD), gpu) for name in ALGORITHMS}
    sizes = {"size_m": 512, "size_n": 256, "size_k": 128}
    even = Case(dtype="bfloat16", **sizes, block_m=128, block=128, block_k=64)
    jobs["even product"] = ExportJob("matmul", even, gpu)
    jobs["too small"] = ExportJob(TINY, jobs[TINY].case, replace(gpu, max_shared=4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")  # as where the page's own worker interprets
        return dict(zip(jobs, compiled(list(jobs.values()), 170.0), strict=True))


@needs_triton
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_facts_are_those_of_the_binary(answers, name):
    kernels = answers[name]
    assert kernels and not isinstance(kernels, JobFailed)
    for number, kernel in enumerate(kernels, 1):
        facts, binary = kernel.facts, cubin.read(kernel.cubin)
        launch, arguments = facts["launch"], facts["arguments"]
        assert (facts["format"], facts["algorithm"]) == (FORMAT, name)
        assert (facts["launch_number"], facts["launches"]) == (number, len(kernels))
        assert binary.symbol == facts["symbol"]
        assert binary.registers == launch["registers_per_thread"]
        assert binary.stack == launch["stack_bytes_per_thread"]
        assert binary.threads == launch["threads_per_block"]
        assert binary.parameters == [WIDTHS[argument["c_type"]] for argument in arguments]
        assert [argument["name"] for argument in arguments[-2:]] == [
            "global_scratch",
            "profile_scratch",
        ]


@needs_triton
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_ptx_is_for_the_target_and_takes_the_arguments(answers, name):
    for kernel in answers[name]:
        (entry,) = re.findall(r"\.entry (\w+)\((.*?)\)", kernel.ptx, re.DOTALL)
        assert entry[0] == kernel.facts["symbol"]
        assert entry[1].count(".param") == len(kernel.facts["arguments"])
        assert re.search(r"^\.target sm_90a?$", kernel.ptx, re.MULTILINE)
        assert kernel.facts["target"]["arch"] == "sm_90"
        for content in (kernel.cubin, kernel.ptx.encode()):
            assert b"kernel.py" not in content  # nor any other file of this machine


@needs_triton
def test_a_launch_that_starts_several_kernels_gives_them_all(answers):
    stems = {name: [kernel.stem for kernel in answers[name]] for name in ALGORITHMS}
    assert stems["flash_backward"] == ["delta_kernel", "dkdv_kernel", "dq_kernel"]
    assert stems["three_stage"] == ["matmul_kernel", "single_softmax_kernel", "matmul_kernel-2"]


# What each launches for the odd sizes, counted by hand: 6 rows of 100 in blocks of 16; batch 1,
# 6 heads on 3 key heads, 70 queries and 100 keys in blocks of 16.
@needs_triton
@pytest.mark.parametrize(
    "name, at, n_programs",
    [
        ("online_softmax", 0, 6),
        ("vector_add", 0, 6 * 7),
        ("flash_attention", 0, 6 * 5),
        ("flash_backward", 1, 3 * 7),
        ("flash_backward", 2, 6 * 5),
        ("split_kv", 0, 3 * 9 * 4),  # 2 heads share a key head: 140 queries
        ("split_kv", 1, 6 * 70),
        ("three_stage", 0, 6 * 5 * 7),
        ("matmul", 0, 2 * 2),
    ],
)
def test_the_grid_is_the_one_that_is_launched(answers, name, at, n_programs):
    assert answers[name][at].facts["grid"]["here"] == [n_programs, 1, 1]


@needs_triton
@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_rule_gives_its_number(answers, name):
    for kernel in answers[name]:
        facts = kernel.facts
        assert "n_rows" in facts["grid"]["rule"][0] or ALGORITHMS[name].problem != "row"
        pairs = list(zip(facts["grid"]["rule"], facts["grid"]["here"], strict=True))
        pairs += [(told["rule"], told["value"]) for told in facts["arguments"] if "rule" in told]
        for rule, value in pairs:
            known = {"ceil": math.ceil, "floor": math.floor, **facts["sizes"]}
            assert eval(rule, {"__builtins__": {}}, known) == value, rule


@needs_triton
def test_arguments_say_what_they_are_given(answers):
    (kernel,) = answers["attention_row"]
    told = {argument["name"]: argument for argument in kernel.facts["arguments"]}
    assert (told["x_ptr"]["tensor"], told["x_ptr"]["role"]) == ("x", "input")
    assert told["v_ptr"]["shape"] == [100, 24] and told["v_ptr"]["points_to"] == "bfloat16"
    assert (told["lse_ptr"]["role"], told["lse_ptr"]["points_to"]) == ("output", "float32")
    assert told["n_cols"]["value"] == 100 and "divisible_by" not in told["n_cols"]
    assert kernel.facts["fixed"]["stride_xn"] == 1 and "stride_xn" not in told
    assert kernel.facts["constants"]["BLOCK_N"] == 16


@needs_triton
def test_kernels_that_hand_on_a_tensor_name_it_alike(answers):
    first, second = answers["split_kv"]
    made = [
        {a["tensor"] for a in kernel.facts["arguments"] if a.get("role") == "made"}
        for kernel in (first, second)
    ]
    assert made[0] == made[1] == {"o_part", "lse_part"}
    (shared,) = answers["split_softmax"]
    filled = [a for a in shared.facts["arguments"] if "filled_with" in a]
    assert [a["filled_with"] for a in filled] == [0]


@needs_triton
def test_a_tma_path_that_is_not_exported_is_said(answers):
    assert "pointers" in answers["flash_attention"][0].facts["notes"]
    assert not answers["matmul"][0].facts["notes"]


@needs_triton
def test_a_product_of_sizes_that_16_divides_is_read_16_bytes_at_a_time(answers):
    (kernel,) = answers["even product"]
    copies = re.findall(r"cp\.async\.\w+\.shared\.global[^;]*, 0x([0-9a-f]+)", kernel.ptx)
    assert set(copies) == {"10"} and "ld.global.b16" not in kernel.ptx


@needs_triton
def test_a_kernel_that_cannot_be_launched_there_is_not_exported(answers):
    failure = answers["too small"]
    assert failure.kind == "out_of_resources"
    needed = answers[TINY][0].facts["launch"]["dynamic_shared_bytes"]
    assert (failure.details["required"], failure.details["limit"]) == (needed, 4)


@needs_triton
def test_the_compiler_has_a_time_limit():
    with pytest.raises(JobFailed, match="timeout"):
        compiled([ExportJob(TINY, case_of(TINY), GPUS[0])], 0.05)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_command_of_a_case_describes_it(name):
    case = case_of(name, *ODD)
    words = export_command.command_of(name, case, GPUS[0]).split()
    assert words[:5] == ["python", "-m", "benchmarks", "export", "--algorithm"]
    again, entry = case_of(name, *words[8:]), ALGORITHMS[name]
    assert sizes_of(entry, again) == sizes_of(entry, case)
    for field in ("dtype", "num_warps", "num_stages"):
        assert getattr(again, field) == getattr(case, field)


@needs_triton
def test_the_command_writes_three_files_a_kernel(answers, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(
        export_command, "compiled", lambda jobs, limit_s: [answers[j.algorithm] for j in jobs]
    )
    wanted = ["export", "--gpu", "h200", *ODD]
    assert command.main([*wanted, "--algorithm", "split_kv", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "split_kernel" in printed and "batch * heads * seq_q" in printed
    stems = ("split_kernel", "merge_kernel")
    wanted_files = {f"{stem}.{kind}" for stem in stems for kind in ("cubin", "ptx", "json")}
    assert {path.name for path in tmp_path.iterdir()} == wanted_files
    facts = json.loads((tmp_path / "merge_kernel.json").read_text("utf-8"))
    assert facts == json.loads(json.dumps(answers["split_kv"][1].facts))
    monkeypatch.setattr(export_command, "compiled", lambda jobs, limit_s: [answers["too small"]])
    assert command.main([*wanted, "--algorithm", TINY, "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.strip() == (
        f"{TINY} was not exported: it needs {answers['too small'].details['required']} bytes of "
        "shared memory and this GPU has 4: choose a smaller block."
    )


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (["--algorithm", "matmul", "--gpu", "sm_75"], "gpu must be one of sm_80, sm_86,"),
        (["--algorithm", "sorting", "--gpu", "sm_90"], "algorithm must be one of all,"),
        (["--algorithm", "matmul", "--gpu", "sm_90", "--block", "12"], "BLOCK_N must be"),
        (["--gpu", "sm_90"], "The following arguments are required: --algorithm."),
    ],
)
def test_a_mistake_is_a_sentence(capsys, arguments, sentence):
    try:
        code = command.main(["export", *arguments])
    except SystemExit as end:
        code = end.code
    assert code == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith(sentence) and said.endswith(".") and "\n" not in said


@pytest.mark.parametrize("name", ["sm_90", "SM_90", "h200", "H100 (sm_90)", "H200, H100 (sm_90)"])
def test_a_gpu_goes_by_several_names(name):
    assert choose_gpu(name).sm == 90


@pytest.mark.parametrize("name", [None, 90, "", "sm_75", "T4", "sm_90; rm"])
def test_other_gpus_are_refused(name):
    with pytest.raises(InputError, match="gpu must be one of"):
        choose_gpu(name)


def form_values(kind: str, **chosen: object) -> list:
    """Return the form's values for a larger case."""
    values = dict.fromkeys(FIELDS) | LARGER[kind]
    values |= {"preset": "normal", "dtype": "bfloat16", "warps": 4, "stages": 2, "seed": 7}
    return ["larger", *(values | chosen).values()]


@needs_triton
def test_the_page_takes_what_the_form_says(answers, monkeypatch):
    asked = []
    monkeypatch.setattr(
        run_export, "compiled", lambda jobs, limit_s: asked.append(jobs) or [answers["split_kv"]]
    )
    values = form_values("splits", algorithm="split_kv", head_dim=32)
    taken, name, content = run_export.take(values, {}, "L4")
    (job,) = asked[0]
    assert (job.algorithm, job.case.head_dim, job.gpu.sm) == ("split_kv", 32, 89)
    assert name == "split_kv-sm_89.zip"
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        packed = {file: archive.read(file) for file in archive.namelist()}
    assert packed == files_of(answers["split_kv"])
    drawn = json.dumps(run_export.draw(taken, "en"))
    for told in ("split_kernel", "batch * heads * seq_q = 420", "--gpu sm_89", "lse_part"):
        assert told in drawn
    assert text("en", "run.export.note.pointers") in drawn


def test_what_the_page_cannot_export_is_a_sentence(monkeypatch):
    values = form_values("row", algorithm=TINY)
    with pytest.raises(InputError, match="gpu must be one of"):
        run_export.take(values, {}, "T4")
    failure = JobFailed("out_of_resources", what="shared memory", required=9, limit=8)
    monkeypatch.setattr(run_export, "compiled", lambda jobs, limit_s: [failure])
    with pytest.raises(JobFailed) as raised:
        run_export.take(values, {}, "H200")
    for language in ("en", "zh"):
        said = run_export._sentence(raised.value, language)
        assert said == text(language, "run.export.failed.out_of_resources", **failure.details)


@pytest.fixture(scope="module")
def loaded():
    """Give what every algorithm exports for the GPU of this machine."""
    driver = read_driver()
    major, minor = (driver and driver.capability) or (0, 0)
    gpu = next((gpu for gpu in GPUS if gpu.sm == 10 * major + minor), None)
    if gpu is None:
        pytest.skip("needs a GPU that kernels are exported for")
    jobs = [ExportJob(name, case_of(name, *ODD), gpu) for name in ALGORITHMS]
    return dict(zip(ALGORITHMS, compiled(jobs, 170.0), strict=True))


@pytest.mark.gpu
@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_loaded_binary_gives_what_launch_gives_to_the_bit(loaded, monkeypatch, name):
    import torch
    from triton.runtime import driver

    entry, case, kernels = ALGORITHMS[name], case_of(name, *ODD), loaded[name]
    torch.manual_seed(7)
    tensors = {}
    for each in entry.inputs:
        shape = [getattr(case, size) for size in dimensions_of(entry, each)]
        dtype = torch.float32 if each == "lse" else getattr(torch, case.dtype)
        tensors[each] = torch.randn(shape, device="cuda", dtype=dtype)
    # What is exported reads plain pointers: launch does, too, on a GPU without a TMA unit. Triton's
    # driver keeps the function that it asks, so it must have found the real one first.
    assert f"sm_{driver.active.get_current_target().arch}" == kernels[0].facts["target"]["arch"]
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (8, 0))
    launch = importlib.import_module(entry.kernel_module).launch
    if entry.problem == "row":
        block = None if entry.whole_row else case.block
        expected = launch(*tensors.values(), block=block, num_warps=case.num_warps)
    else:
        options = {"num_warps": case.num_warps, "num_stages": case.num_stages}
        expected = launch(tensors, tiles_of(entry, case), **options)
    ran = cuda_driver.run([(kernel.cubin, kernel.facts) for kernel in kernels], tensors)
    for output, wanted in expected.outputs.items():
        integer = torch.int16 if wanted.element_size() == 2 else torch.int32
        got = ran[output].view(wanted.shape)
        assert torch.equal(got.view(integer), wanted.contiguous().view(integer)), output
