"""What tests with a worker share: real ones, pretended ones, and the page that they serve."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.results import Progress
from benchmarks.worker import JobFailed, Worker
from tests.fake_check import CPU

ROOT = Path(__file__).parent.parent

# A child that does not import torch is up in a moment: enough where only processes matter.
WITHOUT_TORCH = """
device._has = lambda package: True
device.read_facts = lambda self_test='': Facts()
device.copy_test = lambda where: None
"""


def with_patched_device(directory, body):
    """Return an environment in which the child's `benchmarks.device` is changed by ``body``."""
    code = "import benchmarks.device as device\nfrom benchmarks.device import *\n" + body
    (directory / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": f"{directory}{os.pathsep}{ROOT}", "CUDA_VISIBLE_DEVICES": ""}


def results(worker, job, **options):
    """Return what a job yields, without Progress."""
    return [item for item in worker.run(job, **options) if not isinstance(item, Progress)]


def failure(worker, job, **options):
    """Return the JobFailed of a job that must fail."""
    with pytest.raises(JobFailed) as caught:
        list(worker.run(job, **options))
    return caught.value


def started(generator):
    """Go on until the job itself speaks; return the process id it says."""
    return next(item.details["pid"] for item in generator if item.stage == "kernel")


@contextmanager
def served(worker) -> Iterator[str]:
    """Serve the whole page with ``worker`` on a free port; give its address, without a slash."""
    import app  # only here: it loads Gradio

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    page = app.serve(worker, "127.0.0.1", port)
    yield f"http://127.0.0.1:{port}"
    page.close()


@contextmanager
def served_without_torch(tmp_path_factory) -> Iterator[str]:
    """Serve the page; its worker says at once that there is no GPU. Give the address."""
    worker = Worker(environment=with_patched_device(tmp_path_factory.mktemp("cpu"), WITHOUT_TORCH))
    worker.start()
    with served(worker) as url:
        yield f"{url}/"
    worker.close()


class FakeWorker:
    """A worker whose device and answers are given; remembers its jobs and whether it was closed."""

    def __init__(self, *answers, device=CPU, not_ready: int = 0) -> None:
        self.answers, self.given, self.not_ready = answers, device, not_ready
        self.jobs: list = []
        self.closed = False

    def device(self, timeout_s=0.0):
        if self.not_ready:
            self.not_ready -= 1
            raise JobFailed("not_ready")
        return self.given

    def run(self, job, time_limit_s=None):
        self.jobs.append(job)
        try:
            for answer in self.answers:
                if isinstance(answer, Exception):
                    raise answer
                yield answer
        finally:
            self.closed = True
