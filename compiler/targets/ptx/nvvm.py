"""NVVM: LLVM IR texts in, PTX or LTO-IR out."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from gridjit.base.regexes import regex
from gridjit.compiler.targets.ptx.atomics import define_atomics
from gridjit.compiler.targets.ptx.toolkit import ARCH_NAMES, filled, libdevice, library, log_of
from gridjit.compiler.targets.refusals import of_code
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.options import Options

# Lines that are looked for, each after the end of the one before: a text of many lines is searched for that at once.
_DECLARED = regex(r"\ndeclare [^\n]*")
_ATTRIBUTES = regex(r"\nattributes #[^\n]*")
# Parameter attributes of newer LLVMs that NVVM's reader (LLVM 7) does not know.
_UNKNOWN_ATTRIBUTES = regex(r" immarg\b")
_UNKNOWN_GROUP_ATTRIBUTES = regex(r"\b(willreturn|nofree|nosync|mustprogress|nocallback) ?")
_LIBDEVICE_CALL = regex(r'\ndeclare [^\n]*@"?__nv_')
# From here on, an architecture has instructions that its successors lack; naming it with an "a" allows them.
_FIRST_ACCELERATED = 90
# Lets NVVM keep variables of generated code apart in debug information; not every release has it.
_NUMBA_DEBUG = "-numba-debug"


class NvvmError(CompileError):
    """NVVM refused a program; the message is its log."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it
    also = ("numba.cuda.cudadrv.error:NvvmError",)


def prepare(module: str) -> str:
    """Return a module of numba-cuda's dialect as NVVM reads it: atomics defined, unknown attributes dropped."""
    text = f"\n{define_atomics(module)}"
    text = _DECLARED.sub(lambda line: _UNKNOWN_ATTRIBUTES.sub("", line[0]), text)
    text = _ATTRIBUTES.sub(lambda line: _UNKNOWN_GROUP_ATTRIBUTES.sub("", line[0]), text)
    return text[1:].removesuffix("\n") + "\n"


def compile_ptx(modules: Sequence[str], arch: str, options: Options) -> tuple[bytes, ...]:
    """Return PTX for modules: one text, or one for each module with debug on (NVVM merges no debug information)."""
    flags = nvvm_flags(arch, options)
    if options.debug:
        return tuple(_compile([_keep(module)], flags).rstrip(b"\0") for module in modules)
    return (_compile(modules, flags).rstrip(b"\0"),)


def _keep(module: str) -> str:
    """Return module with its functions kept for the linker: alone, a module does not show that others call them."""
    return module.replace("define linkonce_odr ", "define weak_odr ")


def compile_ltoir(modules: Sequence[str], arch: str, options: Options) -> bytes:
    """Return one LTO-IR image for modules."""
    return _compile(modules, (*nvvm_flags(arch, options), "-gen-lto"))


def nvvm_flags(arch: str, options: Options) -> tuple[str, ...]:
    """Return NVVM's command-line flags. Full debug information rules out optimization, even with opt."""
    flags = [f"-arch={arch.replace('sm_', 'compute_')}"]
    flags.append("-opt=3" if options.opt and not options.debug else "-opt=0")
    if options.fastmath:
        flags += ["-ftz=1", "-fma=1", "-prec-div=0", "-prec-sqrt=0"]
    if options.tiered:  # what is to be fused is fused: see contraction
        flags.append("-fma=0")
    if options.debug:
        flags += ["-g", _NUMBA_DEBUG]
    return tuple(flags)


def check_arch(arch: str) -> None:
    """Raise CompileError with the known architectures if NVVM does not know arch ("sm_90")."""
    if arch not in ARCH_NAMES or not _knows(library("nvvm"), arch):
        raise CompileError(
            f"architecture {arch!r} is not known to the installed NVVM; known are {', '.join(known_archs())}"
        )


@functools.cache
def accelerated(arch: str) -> str:
    """Return the name under which code may use all that arch has: "sm_90a" for "sm_90", and "sm_80" for itself.

    gridjit runs a cubin on exactly the architecture it was made for, so nothing is lost by it.
    """
    plain = re.fullmatch(r"sm_(\d+)", arch)
    newer = plain is not None and int(plain[1]) >= _FIRST_ACCELERATED
    return f"{arch}a" if newer and _knows(library("nvvm"), f"{arch}a") else arch


def known_archs() -> tuple[str, ...]:
    """Return the architectures that the installed NVVM compiles for, oldest first."""
    nvvm = library("nvvm")
    return tuple(name for name in ARCH_NAMES if _knows(nvvm, name))


@functools.cache
def _knows(nvvm: Any, arch: str) -> bool:
    try:
        nvvm.llvm_version(arch.replace("sm_", "compute_"))
    except nvvm.nvvmError:
        return False
    except (AttributeError, RuntimeError):
        # cuda-bindings, or NVVM itself (CUDA 13.0 and older), cannot be asked; NVRTC of the same toolkit can answer.
        return int(re.sub(r"\D", "", arch)) in library("nvrtc").nvrtcGetSupportedArchs()[1]
    return True


def _compile(modules: Sequence[str], flags: Sequence[str]) -> bytes:
    nvvm = library("nvvm")
    texts = [prepare(module) for module in modules]
    with _program(nvvm) as program:
        for index, text in enumerate(texts):
            data = text.encode()
            nvvm.add_module_to_program(program, data, len(data), f"module{index}")
        flags = _verify(nvvm, program, flags)
        # After the check, because libdevice does not pass it; only if called, because reading it takes time.
        if any(_LIBDEVICE_CALL.search(f"\n{text}") for text in texts):
            nvvm.lazy_add_module_to_program(program, libdevice(), len(libdevice()), "libdevice")
        _call(nvvm, program, nvvm.compile_program, flags)
        return filled(nvvm, "compiled_result", program)


def _verify(nvvm: Any, program: int, flags: Sequence[str]) -> Sequence[str]:
    """Check the program and return the flags that this NVVM accepts."""
    try:
        _call(nvvm, program, nvvm.verify_program, flags)
    except NvvmError as error:
        if f"{_NUMBA_DEBUG} is an unsupported option" not in str(error):
            raise
        flags = [flag for flag in flags if flag != _NUMBA_DEBUG]
        _call(nvvm, program, nvvm.verify_program, flags)
    return flags


def _call(nvvm: Any, program: int, step: Any, flags: Sequence[str]) -> None:
    try:
        step(program, len(flags), list(flags))
    except nvvm.nvvmError as error:
        words = log_of(nvvm, "program_log", program) or str(error)
        raise NvvmError(of_code(words) or f"NVVM: {words}") from error


@contextmanager
def _program(nvvm: Any) -> Iterator[int]:
    program: int = nvvm.create_program()
    try:
        yield program
    finally:
        nvvm.destroy_program(program)
