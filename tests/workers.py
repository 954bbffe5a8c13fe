"""What tests of the worker share: children with a changed idea of the machine, and short cuts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.results import Progress
from benchmarks.worker import JobFailed

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
