"""features: the features of a target's processor, asked by name."""

from __future__ import annotations

from gridjit.compiler.targets.host.llvm.libllvm import LIBMVEC
from gridjit.compiler.values.target import Target

# Processors that lower their frequency to run vectors of 512 bits.
_SLOWED_DOWN = frozenset(("knl", "knm", "skylake-avx512", "cascadelake", "cooperlake", "cannonlake"))


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
    return next((int(name.partition("=")[2]) for name in target.features.split(",") if name.startswith(LIBMVEC)), 0)
