"""Turn an exception from a kernel into a sentence's worth of facts, without paths or addresses.

Exceptions of torch and Triton are told by their class names: this module imports neither.
"""

from __future__ import annotations

import re

from benchmarks.messages import Failure
from kernels.inputs import shorten

MESSAGE_LIMIT = 160

_OUT_OF_MEMORY = {"OutOfMemoryError", "MemoryError"}
_COMPILE = {"CompilationError", "CompileTimeAssertionFailure", "PTXASError"}
_PATH = re.compile(r"(?<![\w.])(?:file://|[A-Za-z]:)?(?:[/\\][\w.@+~%-]+){2,}[/\\]?")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{4,}\b")
# A CUDA context that has faulted answers every later call with the same error.
_GPU_FAULT = re.compile(
    r"CUDA error|Triton Error \[CUDA\]|illegal memory access|device-side assert"
    r"|misaligned address|illegal instruction|unspecified launch failure|CUBLAS_STATUS",
    re.IGNORECASE,
)


def classify(error: BaseException, on_gpu: bool) -> Failure:
    """Return the Failure that ``error`` is. On a GPU, whatever may be sticky asks to replace."""
    # The interpreter and the compiler wrap what a kernel raised: the cause is what says why.
    while type(error).__name__ == "InterpreterError" and error.__cause__ is not None:
        error = error.__cause__
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & _OUT_OF_MEMORY or re.search(r"CUDA.*out of memory", str(error)):
        return Failure("out_of_memory", {})
    if "OutOfResources" in names:
        details = {"what": error.name, "required": error.required, "limit": error.limit}
        return Failure("out_of_resources", details)
    message = clean(str(error))
    if names & _COMPILE or "PassManager::run failed" in message:
        return Failure("compile", {"message": message})
    if on_gpu and (_GPU_FAULT.search(str(error)) or "AcceleratorError" in names):
        return Failure("gpu_error", {"message": message}, replace=True)
    details = {"type": type(error).__name__, "message": message}
    return Failure("exception", details, replace=on_gpu and not _is_refusal(error))


def _is_refusal(error: BaseException) -> bool:
    """Whether a kernel's wrapper refused its arguments, before anything ran on the GPU."""
    return isinstance(error, TypeError | ValueError)


def clean(text: str) -> str:
    """Return the first line that says something, without paths and addresses, shortened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    # Triton's compile errors start with the place, "at 12:8:", and end with the reason.
    line = lines[-1] if re.match(r"at \d+:\d+:", lines[0]) else lines[0]
    return shorten(_ADDRESS.sub("…", _PATH.sub("…", line)), MESSAGE_LIMIT)
