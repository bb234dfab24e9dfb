"""written: which arguments a kernel may write, by what LLVM proves of its code; what is not proven may be written.

It looks at the code before any target changes it, so the answer is that of all targets.
"""

from __future__ import annotations

from collections.abc import Sequence

from gridjit.compiler.target import Lowered
from gridjit.compiler.targets.host import llvm
from gridjit.compiler.targets.host.processor import host_target
from gridjit.compiler.targets.host.recursion import recursive


def maybe_written(lowered: Lowered, names: Sequence[str]) -> frozenset[str]:
    """Return those of a kernel's arguments, by their names, through which it may write memory; pair.0 is in a tuple.

    A pointer that is stored, or passed to code that is not there, may be written through. Raises CompileError where
    LLVM does not take the code.
    """
    module = llvm.link([llvm.parse(text) for text in lowered.modules])
    llvm.keep_only(module, lowered.entry, recursive(lowered.modules))
    llvm.clean(module, host_target())
    llvm.infer_attributes(module, host_target())
    pointers = llvm.written_pointers(module, lowered.entry)
    return frozenset(name for name in names if any(one == name or one.startswith(f"{name}.") for one in pointers))
