"""sass: the machine code of a cubin as text, made by the CUDA toolkit's nvdisasm."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from gridjit.compiler.errors import ConfigError


def disassembled(image: bytes, *flags: str) -> str:
    """Return a cubin's machine code as text; raises ConfigError if nvdisasm is missing, or refuses it."""
    tool = _nvdisasm()
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(image)
        file.flush()
        done = subprocess.run([tool, *flags, file.name], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ConfigError(f"nvdisasm failed: {done.stderr.strip()}")
    return done.stdout


def _nvdisasm() -> str:
    if (on_path := shutil.which("nvdisasm")) is not None:
        return on_path
    from cuda import pathfinder

    found: str | None = pathfinder.find_nvidia_binary_utility("nvdisasm")
    if found is None or not Path(found).exists():
        raise ConfigError("nvdisasm, which shows machine code, is not installed here; install the CUDA toolkit")
    return found
