"""nvptx: LLVM IR texts in, PTX out, by the NVPTX back end of the LLVM that llvmlite holds.

LLVM ends the process where it has no instruction for something, so it is only given what why_not knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import llvmlite.binding as binding

from gridjit.compiler.errors import CompileError
from gridjit.compiler.options import Options
from gridjit.compiler.targets.joining import joined
from gridjit.compiler.targets.ptx.atomics import define_atomics
from gridjit.compiler.targets.ptx.dialect import defined_here, in_llvms_words, unknown_names
from gridjit.compiler.targets.ptx.libdevice import functions_for
from gridjit.compiler.targets.ptx.toolkit import linker_version
from gridjit.compiler.targets.refusals import of_code
from gridjit.interrupts import uninterrupted
from gridjit.regexes import regex

_TRIPLE = "nvptx64-nvidia-cuda"
# The LLVM whose code was compared with NVVM's, the architectures that it knows, and the newest PTX that it writes.
_OLDEST = (22,)
_ARCH = regex(r"sm_(?:75|8[0679]|90a?|(?:100|103|110|120|121)[af]?)")
_NEWEST = (13, 0), "+ptx90"
# LLVM numbers calls in comments, on and on in a process.
_NUMBERED = regex(r" // callseq \d+(?:, \d+)?$", re.MULTILINE)

_machines: dict[tuple[str, int], Any] = {}


def why_not(modules: Sequence[str], arch: str) -> str:
    """Return why modules are not compiled by LLVM, in words; empty if they can be."""
    if binding.llvm_version_info < _OLDEST:
        return f"llvmlite's LLVM is {'.'.join(map(str, binding.llvm_version_info))}"
    if not _ARCH.fullmatch(arch):
        return f"it does not know {arch}"
    return unknown_names(modules)


def compile_ptx(modules: Sequence[str], arch: str, options: Options) -> bytes:
    """Return PTX of modules, linked into one; raises CompileError."""
    level = 3 if options.opt and not options.debug else 0
    machine = _machine(arch, level)
    texts = [define_atomics(text) for text in modules]
    texts += functions_for(texts, arch, options)
    texts = [in_llvms_words(text, options) for text in texts]
    whole = _parsed([*texts, *defined_here(texts)])
    whole.triple, whole.data_layout = _TRIPLE, str(machine.target_data)
    tuning = binding.create_pipeline_tuning_options(speed_level=level)
    tuning.loop_vectorization = tuning.slp_vectorization = False
    builder = binding.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(whole, builder)
    return _NUMBERED.sub("", str(machine.emit_assembly(whole))).encode()


def _parsed(texts: Sequence[str]) -> Any:
    """Return the module of all texts."""
    try:
        return joined(map(binding.parse_assembly, texts))
    except RuntimeError as error:
        raise CompileError(of_code(str(error)) or f"LLVM does not accept the code: {error}") from error


def _machine(arch: str, level: int) -> Any:
    key = (arch, level)
    if key not in _machines:
        newest, feature = _NEWEST
        features = feature if linker_version() >= newest else ""
        uninterrupted(lambda: _machines.setdefault(key, _made(arch, features, level)))
    return _machines[key]


def _made(arch: str, features: str, level: int) -> Any:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    target = binding.Target.from_triple(_TRIPLE)
    return target.create_target_machine(cpu=arch, features=features, opt=level)
