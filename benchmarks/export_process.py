"""Compile kernels for export in a child process: the page's process loads neither torch nor Triton.

The worker cannot do it, since where there is no GPU its kernels are made for the interpreter. The
child is given all of its orders at once, answers each, and ends; it sees no GPU.
"""

from __future__ import annotations

import importlib.util
import io
import logging
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.device import use_writable_cache
from benchmarks.export import Exported, export
from benchmarks.export_gpus import Gpu
from benchmarks.failures import classify
from benchmarks.messages import Failure, JobFailed, Message, Order, receive, send
from benchmarks.process import ROOT
from kernels import ALGORITHMS
from kernels.inputs import Case

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class ExportJob:
    """What is to be exported: the kernels that an algorithm starts for a case, for one GPU."""

    algorithm: str
    case: Case
    gpu: Gpu

    def run(self) -> tuple[Exported, ...]:
        """Compile them; in the child."""
        return export(ALGORITHMS[self.algorithm], self.case, self.gpu)


def missing() -> str:
    """Return the package without which nothing can be exported here, or ""; none is imported."""
    packages = ("triton", "torch")
    return next((name for name in packages if importlib.util.find_spec(name) is None), "")


def compiled(jobs: Sequence[ExportJob], limit_s: float) -> list[tuple[Exported, ...] | JobFailed]:
    """Return each job's kernels, or why it has none.

    Raise JobFailed for all of them: "timeout" after ``limit_s``, "no_triton", "no_torch",
    "crashed".
    """
    if missing():
        raise JobFailed(f"no_{missing()}")
    # Line information would name this machine's folders.
    environment = {"CUDA_VISIBLE_DEVICES": "", "TRITON_DISABLE_LINE_INFO": "1"}
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.export_process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, **environment},
        cwd=ROOT,
    )
    asked = io.BytesIO()
    send(asked, Order(0, tuple(jobs), limit_s))
    try:
        answer, log = child.communicate(asked.getvalue(), limit_s)
    except subprocess.TimeoutExpired:
        raise JobFailed("timeout", limit=f"{limit_s:g}") from None
    finally:
        _end(child)
    try:
        payload = receive(io.BytesIO(answer)).payload
    except EOFError:
        LOG.error("the export's process ended early: %s", log.decode("utf-8", "replace"))
        raise JobFailed("crashed", signal=str(child.returncode)) from None
    return [JobFailed(it.kind, **it.details) if isinstance(it, Failure) else it for it in payload]


def _end(child: subprocess.Popen) -> None:
    """End the child and the compilers it started, if they have not ended."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()


def main() -> None:
    """Answer the order on standard input; what Triton prints goes to stderr."""
    outgoing = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    use_writable_cache(os.environ)
    answers: list[tuple[Exported, ...] | Failure] = []
    for job in receive(sys.stdin.buffer).job:
        try:
            answers.append(job.run())
        except JobFailed as error:
            answers.append(Failure(error.kind, error.details))
        except Exception as error:
            traceback.print_exc()
            answers.append(classify(error, on_gpu=False))
    send(outgoing, Message("done", 0, answers))


if __name__ == "__main__":
    main()
