"""``python -m benchmarks export``: kernels to take away, compiled for a GPU that need not be here.

python -m benchmarks export --algorithm flash_attention --gpu sm_90 --dtype bfloat16 \\
    --head-dim 128 --seq-q 4096 --seq-k 4096 --heads 16 --block-m 64 --block 64 --causal
python -m benchmarks export --algorithm all --gpu H200 --out exported

writes a .cubin, a .ptx and a .json with its launch facts for every kernel that the algorithm's
launch starts; with ``all``, into a folder an algorithm.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import check_command
from benchmarks.export import Exported, files_of
from benchmarks.export_gpus import GPUS, Gpu, choose_gpu
from benchmarks.export_process import ExportJob, compiled
from benchmarks.messages import JobFailed
from kernels import ALGORITHMS
from kernels.inputs import Case, one_of

LIMIT_S = 600.0  # for each algorithm
ROW = "{:<28} {:>8} {:>6} {:>14} {:>10} {:>8}  {}"
HEADS = ("kernel", "programs", "warps", "shared bytes", "registers", "stack", "grid")


def add_to(commands) -> None:
    """Add the command; sizes are named and checked as `check`'s are."""
    parser = commands.add_parser("export", help="compile kernels for a GPU, to take away")
    parser.add_argument("--algorithm", required=True, help=f"all, {', '.join(ALGORITHMS)}")
    parser.add_argument("--gpu", required=True, help="; ".join(gpu.label for gpu in GPUS))
    parser.add_argument("--out", default=".", metavar="FOLDER", help="made if need be")
    check_command.add_sizes(parser)
    parser.set_defaults(preset="normal", seed="7")


def run(options: argparse.Namespace) -> int:
    """Compile, write the files, print a table, and return the exit code."""
    gpu = choose_gpu(options.gpu)
    if options.algorithm == "all":
        names = tuple(ALGORITHMS)
    else:
        names = (one_of("algorithm", options.algorithm, ("all", *ALGORITHMS)),)
    jobs = [
        ExportJob(name, check_command.case_of(ALGORITHMS[name], options, False), gpu)
        for name in names
    ]
    try:
        answers = compiled(jobs, LIMIT_S * len(jobs))
    except JobFailed as error:
        print(_sentence(error, options.algorithm), file=sys.stderr)
        return 1
    print(f"{gpu.label}, {options.dtype}")
    print(ROW.format(*HEADS))
    code = 0
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, JobFailed):
            print(_sentence(answer, name), file=sys.stderr)
            code = 1
            continue
        print("\n".join(table(answer)))
        folder = Path(options.out, name) if len(names) > 1 else Path(options.out)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for file, content in files_of(answer).items():
                (folder / file).write_bytes(content)
        except OSError as error:
            print(f"{folder} cannot be written: {error.strerror}.", file=sys.stderr)
            return 2
    return code


def table(kernels: Sequence[Exported]) -> list[str]:
    """Return a line a kernel."""
    lines = []
    for kernel in kernels:
        launch, grid = kernel.facts["launch"], kernel.facts["grid"]
        numbers = (
            grid["here"][0] * grid["here"][1] * grid["here"][2],
            launch["num_warps"],
            launch["dynamic_shared_bytes"],
            *(launch[name] for name in ("registers_per_thread", "stack_bytes_per_thread")),
        )
        shown = ("?" if number is None else number for number in numbers)
        rule = grid["rule"][: 1 + max(at for at in range(3) if at == 0 or grid["rule"][at] != "1")]
        lines.append(ROW.format(kernel.stem, *shown, " x ".join(rule)))
    return lines


def _sentence(error: JobFailed, name: str) -> str:
    """Return why ``name`` could not be exported."""
    told = error.details
    reasons = {
        "no_triton": "Triton, which compiles the kernels, is not installed here: it has packages "
        "for Linux only",
        "no_torch": "torch, whose types the kernels' wrappers use, is not installed here",
        "timeout": "it took longer than {limit} seconds",
        "crashed": "the compiler's process ended early ({signal})",
        "out_of_resources": "it needs {required} bytes of {what} and this GPU has {limit}: choose "
        "a smaller block",
        "compile": "Triton could not compile it: {message}",
    }
    reason = reasons.get(error.kind, "{message}").format_map({"message": error, **told})
    return f"{name} was not exported: {reason.rstrip('.')}."


def command_of(algorithm: str, case: Case, gpu: Gpu) -> str:
    """Return the command that exports the same kernels."""
    entry = ALGORITHMS[algorithm]
    given = {"algorithm": algorithm, "gpu": f"sm_{gpu.sm}", "dtype": case.dtype}
    if entry.problem == "row":
        given |= {"rows": case.n_rows, "cols": case.n_cols}
        given |= {} if entry.whole_row else {"block": case.block}
        given |= {"head_dim": case.head_dim} if entry.has_values else {}
        given["warps"] = case.num_warps
    else:
        read = (*entry.fields, "num_warps", "num_stages")
        read += ("batch", "heads", "kv_heads") if entry.problem == "attention" else ()
        for option, name in check_command.TILE_OPTIONS.items():
            given |= {option: getattr(case, name)} if name in read else {}
    words = [f"--{option.replace('_', '-')} {value}" for option, value in given.items()]
    if entry.problem != "row" and "mask" in entry.fields:
        words.append("--causal" if case.mask == "causal" else "--no-causal")
    return " ".join(["python -m benchmarks export", *words])
