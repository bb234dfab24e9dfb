"""device: whether there is a GPU to measure on, what it is called, and the bare C loop on it."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

FLOOR_SOURCE = Path(__file__).parents[1] / "floor.cu"


def why_no_gpu() -> str:
    """Return why nothing can be measured on a GPU here; "" if it can."""
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no CUDA driver (libcuda.so.1 was not found)"
    count = ctypes.c_int(0)
    if code := library.cuInit(0):
        return f"the CUDA driver cannot be initialized (error {code})"
    if library.cuDeviceGetCount(ctypes.byref(count)) or not count.value:
        return "the CUDA driver sees no device (is CUDA_VISIBLE_DEVICES set?)"
    return ""


def refuse_without_gpu(program: str) -> None:
    """End the program with exit status 2 and the reason, if there is no GPU."""
    if reason := why_no_gpu():
        print(
            f"{program}: {reason}, and these are figures of a GPU's launches. "
            "--target host measures launches on the host target instead.",
            file=sys.stderr,
        )
        raise SystemExit(2)


def machine(target: str) -> dict[str, str]:
    """Return what was measured on, in words, and when."""
    found = {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
    }
    return found | ({} if target == "host" else {"gpu": _gpu()})


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _gpu() -> str:
    try:
        command = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "a GPU"


def build_floor(folder: Path) -> tuple[Path | None, str]:
    """Build the bare C loop into folder; return the library, or None and why there is none."""
    compiler = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if compiler is None:
        return None, "the floor (a bare C loop of cuLaunchKernel) is left out: nvcc was not found"
    library = folder / "libfloor.so"
    command = [compiler, "-O2", "-shared", "-Xcompiler", "-fPIC", "-o", str(library), str(FLOOR_SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None, f"the floor (a bare C loop of cuLaunchKernel) is left out: nvcc failed\n{done.stderr.strip()}"
    return library, ""


def floor_of(path: str | None) -> Callable[[int, int], None] | None:
    """Return what launches so many words of parameters, so many times, from the library at path; None without one."""
    if not path:
        return None
    function = ctypes.CDLL(path).floor_launches
    function.argtypes = [ctypes.c_int, ctypes.c_long]

    def launch(words: int, times: int) -> None:
        if code := function(words, times):
            raise SystemExit(f"the bare C loop failed with error {code} at {words} words")

    return launch
