"""What runs the kernels here: a GPU, Triton's CPU interpreter, or nothing, and why.

`probe` runs in the worker, before Triton is imported: a kernel becomes interpreted or compiled when
its decorator runs, so the choice comes first. Reading facts and deciding on them are kept apart:
`decide` is a pure function, and what a machine with an old GPU gets can be tested on any machine.

Environment variables:
BLOCKWISE_DEVICE        "auto" (default); "cpu" for the interpreter even where there is a GPU; "gpu"
                        to run nothing rather than the interpreter
TRITON_INTERPRET=1      the interpreter, as everywhere in Triton
CUDA_VISIBLE_DEVICES    which GPU; the first visible one is used
CC                      the C compiler that Triton builds its launcher with
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.results import Device

MIN_CAPABILITY = (8, 0)  # Triton's own minimum
_TRUE = {"1", "true", "on", "yes", "y"}
_CAPABILITY_MAJOR, _CAPABILITY_MINOR = 75, 76  # CUdevice_attribute


class SelfTestFailed(Exception):
    """The copy kernel did not copy: no number that this device gives can be trusted."""


@dataclass(frozen=True)
class Driver:
    """What the NVIDIA driver says of itself and of the first visible GPU.

    cuda        the newest CUDA it supports, (major, minor)
    release     the driver's own release, "570.86.15", or ""
    gpu_name    "" where no GPU is visible
    """

    cuda: tuple[int, int]
    release: str = ""
    gpu_name: str = ""
    capability: tuple[int, int] | None = None


@dataclass(frozen=True)
class Facts:
    """Everything that decides what runs the kernels."""

    wanted: str = "auto"
    interpret: bool = False
    has_triton: bool = True
    has_torch: bool = True
    driver: Driver | None = None
    torch_cuda: str = ""  # the CUDA that torch was built for; "" for a CPU build
    torch_sees_gpu: bool = False
    has_compiler: bool = True
    self_test: str = ""  # how the self-test failed on the GPU
    versions: Mapping[str, str] = field(default_factory=dict)


def decide(facts: Facts) -> Device:
    """Return the Device that ``facts`` allow: the GPU, or the interpreter and why."""
    for missing, reason in ((not facts.has_triton, "no_triton"), (not facts.has_torch, "no_torch")):
        if missing:
            return Device("none", "", reason=reason, versions=facts.versions)
    reason, details = _obstacle(facts)
    if reason:
        kind, name = ("none", "") if facts.wanted == "gpu" else ("interpreter", "CPU")
        return Device(kind, name, reason=reason, details=details, versions=facts.versions)
    driver = facts.driver
    return Device("gpu", driver.gpu_name, driver.capability, versions=facts.versions)


def _obstacle(facts: Facts) -> tuple[str, dict[str, str]]:
    """Return why the GPU cannot be used and what that sentence names; ("", {}) if it can."""
    driver = facts.driver
    if facts.wanted == "cpu" or (facts.interpret and facts.wanted != "gpu"):
        return "asked", {}
    if driver is None:
        return "no_driver", {}
    if not driver.gpu_name:
        return "no_gpu", {}
    if driver.capability < MIN_CAPABILITY:
        got, wanted = (".".join(map(str, c)) for c in (driver.capability, MIN_CAPABILITY))
        return "old_gpu", {"name": driver.gpu_name, "capability": got, "wanted": wanted}
    if not facts.torch_cuda:
        return "cpu_torch", {"name": driver.gpu_name}
    # A driver runs every minor version of the CUDA major version it knows, and nothing newer.
    if driver.cuda[0] < int(facts.torch_cuda.split(".")[0]):
        cuda = ".".join(map(str, driver.cuda))
        needs = {"driver": driver.release or "?", "cuda": cuda, "wanted": facts.torch_cuda}
        return "old_driver", needs
    if not facts.has_compiler:
        return "no_compiler", {}
    if facts.self_test or not facts.torch_sees_gpu:
        return "self_test", {"message": facts.self_test or "torch does not see the GPU"}
    return "", {}


_here: Device | None = None  # once found out: it cannot change while the process lives


def probe(self_test: str = "") -> Device:
    """Find out what runs the kernels, make it so for this process, and test it; once a process.

    ``self_test`` says how an earlier process failed the test on the GPU, so that this one takes the
    interpreter. Raise SelfTestFailed if the copy kernel fails here.
    """
    global _here
    if _here is None:
        _here = _probe(self_test)
    return _here


def _probe(self_test: str) -> Device:
    """Do what `probe` says."""
    if not _has("triton") or not _has("torch"):
        return decide(read_facts(self_test))
    use_writable_cache(os.environ)
    device = decide(read_facts(self_test))
    if device.kind == "interpreter":
        os.environ["TRITON_INTERPRET"] = "1"
    else:
        os.environ.pop("TRITON_INTERPRET", None)
    if device.kind != "none":
        copy_test("cuda" if device.kind == "gpu" else "cpu")
    return device


def read_facts(self_test: str = "") -> Facts:
    """Return the facts of this machine. Imports torch where it is installed, and never Triton."""
    has_triton, has_torch = _has("triton"), _has("torch")
    if not (has_triton and has_torch):
        return Facts(has_triton=has_triton, has_torch=has_torch, versions=_versions())
    import torch

    driver = read_driver()
    torch_cuda = torch.version.cuda or ""
    versions = _versions()
    if torch_cuda:
        versions["cuda"] = torch_cuda
    if driver and driver.release:
        versions["driver"] = driver.release
    return Facts(
        wanted=os.environ.get("BLOCKWISE_DEVICE", "auto").strip().lower(),
        interpret=os.environ.get("TRITON_INTERPRET", "").strip().lower() in _TRUE,
        driver=driver,
        torch_cuda=torch_cuda,
        torch_sees_gpu=torch.cuda.is_available(),
        has_compiler=_has_compiler(os.environ.get("CC")),
        self_test=self_test,
        versions=versions,
    )


def _has(package: str) -> bool:
    """Whether a package is installed, without importing it."""
    return importlib.util.find_spec(package) is not None


def _has_compiler(cc: str | None) -> bool:
    """Whether there is a C compiler where Triton looks for one: ``CC``, else gcc or clang."""
    return any(map(shutil.which, (cc,) if cc else ("gcc", "clang")))


def _versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    versions = {"python": platform.python_version()}
    for package in ("torch", "triton", "numpy"):
        if _has(package):
            versions[package] = importlib.metadata.version(package)
    return versions


def read_driver() -> Driver | None:
    """Return what the NVIDIA driver says, or None where there is none.

    Asked directly, since a torch that is a CPU build, or newer than the driver, cannot tell.
    """
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None
    version = ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(version)) != 0:
        return None
    supported = (version.value // 1000, version.value % 1000 // 10)
    count, device = ctypes.c_int(), ctypes.c_int()
    if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(count)) != 0 or not count.value:
        return Driver(supported, _driver_release())
    name = ctypes.create_string_buffer(256)
    major, minor = ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceGetAttribute(ctypes.byref(major), _CAPABILITY_MAJOR, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), _CAPABILITY_MINOR, device)
    gpu_name = name.value.decode("utf-8", "replace")
    return Driver(supported, _driver_release(), gpu_name, (major.value, minor.value))


def _driver_release() -> str:
    """Return the driver's release, such as "570.86.15", or ""."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text("utf-8")
    except OSError:
        return ""
    words = text.split("\n")[0].split()
    return next((word for word in words if word[:1].isdigit() and "." in word), "")


def use_writable_cache(environ: dict[str, str]) -> None:
    """Point Triton's and torch's caches to a directory of our own where theirs cannot be written.

    Triton writes to ~/.triton/cache: a container's user often has no home, or cannot write to it.
    """
    home = environ.get("TRITON_HOME") or os.path.expanduser("~")
    triton_cache = environ.get("TRITON_CACHE_DIR") or os.path.join(home, ".triton", "cache")
    if is_writable(triton_cache):
        return
    ours = private_directory()
    environ["TRITON_CACHE_DIR"] = os.path.join(ours, "triton")
    environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(ours, "torchinductor")


def is_writable(directory: str) -> bool:
    """Whether files can be made in ``directory``, which is made if it can be."""
    try:
        os.makedirs(directory, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return True
    except OSError:
        return False


def private_directory() -> str:
    """Return a directory in the temporary one that only this user can write, kept between runs."""
    user = os.getuid() if hasattr(os, "getuid") else 0
    path = os.path.join(tempfile.gettempdir(), f"blockwise-{user}")
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        # Compiled code is loaded from here: another user's directory, or a link, will not do.
        status = os.lstat(path)
        if os.path.islink(path) or status.st_uid != user or status.st_mode & 0o022:
            return tempfile.mkdtemp(prefix="blockwise-")
    except OSError:
        return tempfile.mkdtemp(prefix="blockwise-")
    return path


def copy_test(where: str) -> None:
    """Copy 13 numbers with a Triton kernel and look. Raise SelfTestFailed if they are not there."""
    # A kernel finds its names among its module's globals, and Triton is not imported before now.
    global triton, tl
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def copy_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
        offs = tl.arange(0, BLOCK)
        mask = offs < n
        tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=mask), mask=mask)

    try:
        x = torch.arange(1.0, 17.0, device=where)
        y = torch.full((16,), -1.0, device=where)
        copy_kernel[(1,)](x, y, 13, BLOCK=16)
        copied = y.tolist()
    except Exception as error:
        raise SelfTestFailed(f"{type(error).__name__}: {error}") from error
    if copied != [*range(1, 14), -1, -1, -1]:
        raise SelfTestFailed(f"a copy of 13 numbers gave {copied}")
