"""The GPUs that a kernel can be exported for: what each allows a launch, and holds of programs."""

from __future__ import annotations

from dataclasses import dataclass

from kernels.errors import InputError, shorten


@dataclass(frozen=True)
class Gpu:
    """One compute capability, times ten, as its binaries are called: ``sm_90``.

    names       GPUs that have it
    max_shared  bytes of shared memory that one block may ask for
    n_sms       multiprocessors of the first of ``names``: what a grid that fits the GPU counts
    sm_warps, sm_programs, sm_shared    warps, programs and bytes of shared memory that one
                multiprocessor holds at once
    """

    sm: int
    names: tuple[str, ...]
    max_shared: int
    n_sms: int
    sm_warps: int
    sm_programs: int
    sm_shared: int

    @property
    def label(self) -> str:
        """What it is called in a list: "H200, H100 (sm_90)"."""
        return f"{', '.join(self.names)} (sm_{self.sm})"


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
GPUS = (
    Gpu(80, ("A100",), 163 * 1024, 108, 64, 32, 164 * 1024),
    Gpu(86, ("A10", "RTX 3090"), 99 * 1024, 72, 48, 16, 100 * 1024),
    Gpu(89, ("L4", "L40S", "RTX 4090"), 99 * 1024, 58, 48, 24, 100 * 1024),
    Gpu(90, ("H200", "H100"), 227 * 1024, 132, 64, 32, 228 * 1024),
    Gpu(100, ("B200",), 227 * 1024, 148, 64, 32, 228 * 1024),
    Gpu(120, ("RTX 5090",), 99 * 1024, 170, 48, 24, 100 * 1024),
)


def choose_gpu(name: object) -> Gpu:
    """Return the GPU called ``name``: "sm_90", "H200" or "H200 (sm_90)", in any case and spacing.

    Raise InputError for any other.
    """
    asked = _squeezed(name) if isinstance(name, str) else ""
    for gpu in GPUS:
        target = f"sm_{gpu.sm}"
        known = {target, gpu.label, *gpu.names, *(f"{each} ({target})" for each in gpu.names)}
        if asked in map(_squeezed, known):
            return gpu
    raise InputError(
        "one_of",
        "{name} must be one of {choices}, got {got}.",
        name="gpu",
        choices=", ".join(f"sm_{gpu.sm}" for gpu in GPUS),
        got=shorten(name),
    )


def _squeezed(name: str) -> str:
    """Return a name without spaces, in small letters."""
    return "".join(name.lower().split())
