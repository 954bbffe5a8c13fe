"""What runs the kernels, decided from facts that are made up, so that any machine can test it."""

from __future__ import annotations

import os
import stat

import pytest

from benchmarks import device
from benchmarks.device import Driver, Facts, decide

H200 = Driver((13, 0), "580.65.06", "NVIDIA H200", (9, 0))
GOOD = {"driver": H200, "torch_cuda": "13.0", "torch_sees_gpu": True}


def test_a_good_gpu_is_used():
    found = decide(Facts(**GOOD, versions={"torch": "2.13.0"}))
    assert (found.kind, found.name, found.capability) == ("gpu", "NVIDIA H200", (9, 0))
    assert found.reason == "" and found.versions == {"torch": "2.13.0"}


@pytest.mark.parametrize(
    ("changed", "reason", "details"),
    [
        ({"driver": None}, "no_driver", {}),
        ({"driver": Driver((13, 0), "580.1")}, "no_gpu", {}),
        ({"torch_cuda": "", "torch_sees_gpu": False}, "cpu_torch", {"name": "NVIDIA H200"}),
        (
            {"driver": Driver((13, 0), "580.1", "Tesla T4", (7, 5))},
            "old_gpu",
            {"name": "Tesla T4", "capability": "7.5", "wanted": "8.0"},
        ),
        (
            {"driver": Driver((11, 8), "520.61.05", "NVIDIA A100", (8, 0))},
            "old_driver",
            {"driver": "520.61.05", "cuda": "11.8", "wanted": "13.0"},
        ),
        ({"has_compiler": False}, "no_compiler", {}),
        ({"self_test": "RuntimeError: boom"}, "self_test", {"message": "RuntimeError: boom"}),
        ({"torch_sees_gpu": False}, "self_test", {"message": "torch does not see the GPU"}),
        ({"wanted": "cpu"}, "asked", {}),
        ({"interpret": True}, "asked", {}),
    ],
)
def test_what_stands_in_the_way_is_named_and_the_interpreter_runs(changed, reason, details):
    found = decide(Facts(**{**GOOD, **changed}))
    assert (found.kind, found.name, found.capability) == ("interpreter", "CPU", None)
    assert found.reason == reason
    assert dict(found.details) == details


def test_an_old_gpu_is_named_before_an_old_driver():
    """Nothing helps an old GPU, so its driver need not be updated first."""
    both = Driver((11, 0), "450.80.02", "Tesla T4", (7, 5))
    assert decide(Facts(**{**GOOD, "driver": both})).reason == "old_gpu"


def test_a_driver_of_the_same_major_version_is_new_enough():
    older = Driver((12, 0), "525.60.13", "NVIDIA L4", (8, 9))
    assert decide(Facts(driver=older, torch_cuda="12.8", torch_sees_gpu=True)).kind == "gpu"


def test_without_triton_or_torch_there_is_no_device():
    assert decide(Facts(has_triton=False)).kind == "none"
    assert decide(Facts(has_triton=False)).reason == "no_triton"
    assert decide(Facts(has_torch=False)).reason == "no_torch"


def test_who_requires_a_gpu_never_gets_the_interpreter():
    found = decide(Facts(wanted="gpu", interpret=True))
    assert (found.kind, found.reason) == ("none", "no_driver")
    assert decide(Facts(**GOOD, wanted="gpu", interpret=True)).kind == "gpu"


def test_an_unwritable_cache_is_replaced_by_a_private_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(device.tempfile, "tempdir", str(tmp_path))
    environ = {"TRITON_HOME": "/proc/none"}
    device.use_writable_cache(environ)
    ours = os.path.dirname(environ["TRITON_CACHE_DIR"])
    assert os.path.dirname(environ["TORCHINDUCTOR_CACHE_DIR"]) == ours
    assert os.path.dirname(ours) == str(tmp_path)
    assert stat.S_IMODE(os.stat(ours).st_mode) == 0o700
    assert device.is_writable(environ["TRITON_CACHE_DIR"])


def test_a_writable_cache_is_left_alone(tmp_path):
    for environ in ({"TRITON_HOME": str(tmp_path)}, {"TRITON_CACHE_DIR": str(tmp_path / "c")}):
        before = dict(environ)
        device.use_writable_cache(environ)
        assert environ == before


def test_a_directory_that_others_can_write_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(device.tempfile, "tempdir", str(tmp_path))
    planted = tmp_path / f"blockwise-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    assert device.private_directory() != str(planted)
    planted.rmdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    planted.symlink_to(elsewhere)
    assert device.private_directory() != str(planted)


def test_a_missing_driver_library_is_no_driver(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(device.ctypes, "CDLL", missing)
    assert device.read_driver() is None


class FakeCuda:
    """libcuda with one GPU, or with none visible."""

    def __init__(self, n_gpus: int) -> None:
        self.n_gpus = n_gpus

    def cuDriverGetVersion(self, version):
        version._obj.value = 12080
        return 0

    def cuInit(self, flags):
        return 0 if self.n_gpus else 100

    def cuDeviceGetCount(self, count):
        count._obj.value = self.n_gpus
        return 0

    def cuDeviceGet(self, device_, ordinal):
        device_._obj.value = ordinal
        return 0

    def cuDeviceGetName(self, name, size, device_):
        name.value = b"NVIDIA L4"
        return 0

    def cuDeviceGetAttribute(self, value, attribute, device_):
        value._obj.value = {75: 8, 76: 9}[attribute]
        return 0


@pytest.mark.parametrize(
    ("n_gpus", "name", "capability"), [(1, "NVIDIA L4", (8, 9)), (0, "", None)]
)
def test_the_driver_is_asked_without_torch(monkeypatch, n_gpus, name, capability):
    monkeypatch.setattr(device.ctypes, "CDLL", lambda _: FakeCuda(n_gpus))
    found = device.read_driver()
    assert (found.cuda, found.gpu_name, found.capability) == ((12, 8), name, capability)


def test_a_compiler_that_cc_names_is_the_only_one_that_counts(monkeypatch):
    monkeypatch.setattr(device.shutil, "which", lambda name: name == "gcc" or None)
    assert device._has_compiler(None) and device._has_compiler("gcc")
    assert not device._has_compiler("missing-cc")
