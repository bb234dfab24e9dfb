"""Processors by name: for tests that look at what LLVM made, and for a whole run that is to be as on another computer.

Code for each of them can be made and looked at anywhere; it runs where the processor has the features.
"""

from __future__ import annotations

import os
from pathlib import Path

from gridjit.compiler.targets.host.llvm import libllvm
from gridjit.compiler.values.target import Target

# The variables that name the processor for which a run's code is made, in place of this computer's, and its features.
PROCESSOR, _FEATURES = "TESTS_PROCESSOR", "TESTS_PROCESSOR_FEATURES"

_V1 = ("+64bit", "+cmov", "+cx8", "+fxsr", "+mmx", "+sse", "+sse2")
_V2 = (*_V1, "+crc32", "+cx16", "+popcnt", "+sahf", "+sse3", "+sse4.1", "+sse4.2", "+ssse3")
_V3 = (*_V2, "+avx", "+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe", "+xsave")
_V4 = (*_V3, "+avx512bw", "+avx512cd", "+avx512dq", "+avx512f", "+avx512vl")
# Without the instructions that only AMD's processors have.
_ZEN = (*_V3, "-clzero", "-mwaitx", "-sse4a")
# Of these, LLVM takes only the fourth level to gather quickly: to load items that are apart at once.
FEATURES = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4, "znver2": _ZEN, "znver3": _ZEN}


def named(name: str) -> Target:
    """Return the processor of a name, with the newest glibc."""
    return Target(kind="host", arch=name, features=",".join(sorted([*FEATURES[name], "libmvec=2"])))


def use_named_processor() -> None:
    """Have this process, and interpreters that it starts, make code for the processor that a variable names, if any."""
    if not (name := os.environ.get(PROCESSOR)):
        return
    features = os.environ[_FEATURES] = ",".join(FEATURES[name])
    vars(libllvm).update(cpu_name=lambda: name, cpu_features=lambda: features)
    started = str(Path(__file__).parent / "as_elsewhere")
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if started not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([started, *filter(None, paths)])
