"""host_target: this computer's processor as a Target, the same text in every process that runs on it."""

from __future__ import annotations

import ctypes

from gridjit.compiler.target import Target
from gridjit.compiler.targets.host.llvm.libllvm import cpu_features, cpu_name
from gridjit.interrupts import let_through

# A pseudo-feature besides LLVM's own: which of glibc's vector functions the code may call, so that code that calls
# them is not loaded where they are missing. 1: since glibc 2.22, 2: since glibc 2.35.
_LIBMVEC = "libmvec"
_LIBMVEC_SYMBOLS = {2: "_ZGVbN2v_tan", 1: "_ZGVbN2v_sin"}
# Processors that lower their frequency to run vectors of 512 bits.
_SLOWED_DOWN = frozenset(("knl", "knm", "skylake-avx512", "cascadelake", "cooperlake", "cannonlake"))


def host_target() -> Target:
    """Return the processor this process runs on, its name and features as LLVM knows them."""
    features = [name for name in cpu_features().split(",") if name]
    if level := _libmvec_level():
        features.append(f"{_LIBMVEC}={level}")
    return Target(kind="host", arch=cpu_name(), features=",".join(sorted(features)))


def llvm_features(target: Target) -> str:
    """Return the features of target that LLVM knows, in its own syntax."""
    return ",".join(name for name in target.features.split(",") if name[:1] in "+-")


def has_feature(target: Target, name: str) -> bool:
    """Return whether target's processor has a feature ("avx2")."""
    return f"+{name}" in target.features.split(",")


def runs_widest_vectors_well(target: Target) -> bool:
    """Return whether target's processor has vectors of 512 bits that cost it no speed; LLVM avoids them on most."""
    return has_feature(target, "avx512f") and target.arch not in _SLOWED_DOWN


def libmvec_level(target: Target) -> int:
    """Return which vector functions code for target may call: 0 none, 1 the oldest, 2 all."""
    return next((int(name.partition("=")[2]) for name in target.features.split(",") if name.startswith(_LIBMVEC)), 0)


def _libmvec_level() -> int:
    try:
        library = ctypes.CDLL("libmvec.so.1")
    except OSError as error:
        let_through(error)
        return 0
    return next((level for level, symbol in _LIBMVEC_SYMBOLS.items() if hasattr(library, symbol)), 0)
