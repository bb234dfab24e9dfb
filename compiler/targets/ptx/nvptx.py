"""nvptx: LLVM IR texts in, PTX out, by the NVPTX back end of the LLVM that llvmlite holds.

LLVM ends the process where it has no instruction for something, so it is only given IR that why_not knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as binding

from gridjit.base.regexes import regex
from gridjit.compiler.targets.joining import joined
from gridjit.compiler.targets.ptx.atomics import define_atomics
from gridjit.compiler.targets.ptx.dialect import defined_here, in_llvms_words
from gridjit.compiler.targets.ptx.disjoint import in_one_kernel, with_second_body, written
from gridjit.compiler.targets.ptx.known import unknown_names
from gridjit.compiler.targets.ptx.libdevice import functions_for
from gridjit.compiler.targets.ptx.machine import machine_for, optimize
from gridjit.compiler.targets.ptx.versions import with_versions
from gridjit.compiler.targets.refusals import of_code
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import Signature

# The LLVM whose code was compared with NVVM's, and the architectures that it knows.
_OLDEST = (22,)
_ARCH = regex(r"sm_(?:75|8[0679]|90a?|(?:100|103|110|120|121)[af]?)")
# The mark of modules whose functions debuggers step through, also of device functions with debug=True.
_FULL = "emissionKind: FullDebug"
_NONE = ("", None)
# LLVM numbers calls on and on in a process, in comments and in the names of the types of functions called by address.
_NUMBERED = regex(r" // callseq \d+(?:, \d+)?$", re.MULTILINE)
# Optimized, LLVM knows that an array is local; of its atomic operations, it makes plain ones except compare and swap.
_LOCAL_ATOMIC = regex(rb"\tatom\.[\w.:]*\.local\.")
_PROTOTYPE = regex(r"(?<=^\tprototype_)\d+(?= : \.callprototype)|(?<=\), prototype_)\d+(?=;$)", re.MULTILINE)


def name() -> str:
    """Return the name of the code generator, LLVM, with its version."""
    return f"LLVM {'.'.join(map(str, binding.llvm_version_info))}"


def why_not(modules: Sequence[str], arch: str, options: Options) -> str:
    """Return why modules are not compiled by LLVM, in words; empty if they can be."""
    if options.debug or any(_FULL in text for text in modules):
        return "code for a debugger"
    if binding.llvm_version_info < _OLDEST:
        return f"llvmlite holds {name()}"
    if not _ARCH.fullmatch(arch):
        return f"{name()} does not know {arch}"
    unknown = unknown_names(modules)
    return unknown and f"only it is known to have {unknown}"


def compile_ptx(
    modules: Sequence[str], arch: str, options: Options, shelf: Any = None, kernel: tuple[str, Signature | None] = _NONE
) -> bytes:
    """Return PTX of modules, linked into one; shelf: where libdevice is kept. Raises CompileError.

    kernel: its name, and its signature if it may have a second body for arrays that do not overlap.
    """
    level = 3 if options.opt else 0
    machine = machine_for(arch, level)
    told = {"fastmath": bool(options.fastmath), "fused": not options.tiered}
    texts = [in_llvms_words(define_atomics(text), **told) for text in modules]
    if options.opt:
        texts = list(map(with_versions, texts))
    second = with_second_body(texts, *kernel) if options.opt else None
    if second is not None:
        texts[0] = second[0]
    whole = _parsed([*texts, *functions_for(texts, arch, options, shelf), *defined_here(texts)])
    optimize(whole, machine, level)
    ptx = str(machine.emit_assembly(whole))
    if second is not None:
        ptx = in_one_kernel(ptx, second[1], written(whole, second[1]))
    return _renumbered(ptx).encode()


def why_not_assembled(ptx: bytes) -> str:
    """Return why PTX is not for the assembler, in words; empty if it is."""
    return "only it swaps items of local arrays by plain loads and stores" if _LOCAL_ATOMIC.search(ptx) else ""


def _renumbered(ptx: str) -> str:
    """Return PTX with the calls that LLVM numbered in this process numbered from 0."""
    numbers: dict[str, int] = {}
    return _PROTOTYPE.sub(lambda found: str(numbers.setdefault(found[0], len(numbers))), _NUMBERED.sub("", ptx))


def _parsed(texts: Sequence[str]) -> Any:
    """Return the module of all texts."""
    try:
        return joined(map(binding.parse_assembly, texts))
    except RuntimeError as error:
        raise CompileError(of_code(str(error)) or f"LLVM does not accept the code: {error}") from error
