"""Processors by name: for tests that look at what LLVM made.

Code for each of them can be made and looked at anywhere; it runs where the processor has the features.
"""

from __future__ import annotations

from gridjit.compiler.target import Target

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
