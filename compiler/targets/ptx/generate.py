"""The CUDA target: LLVM IR to PTX by LLVM or NVVM, PTX and linked files to a cubin by nvJitLink.

Needs no driver and no GPU. In tiered code the GPU computes approximations, whose results differ in the last bit from
the assembler's: the assembler computes ex2.approx and its like itself where it knows the argument, and more exactly. So
arguments pass through an operation with a zero that it does not know: a variable that programs could write to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gridjit.base.regexes import regex
from gridjit.compiler.targets.contraction import contracted
from gridjit.compiler.targets.exactness import inexact
from gridjit.compiler.targets.ptx.cubin import fits, read_resources
from gridjit.compiler.targets.ptx.link import Linked, link, uses_lto
from gridjit.compiler.targets.ptx.nvvm import accelerated, check_arch, compile_ltoir, compile_ptx
from gridjit.compiler.values.errors import CompileError
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.phases import phase
from gridjit.compiler.values.target import LinkedFile, Lowered, ObjectCode, Target

_Pieces = tuple[LinkedFile, ...]

# Of a kernel's PTX.
_BOUNDS = regex(rb"^\.maxntid (\d+)[^\n]*\n", re.MULTILINE)
# Functions that NVVM computes more exactly than the GPU, as the assembler does approximations.
_APPROXIMATED = regex(r'call [^\n]*@"?(__nv_exp2f|llvm\.nvvm\.[\w.]+\.approx\.[\w.]+)')


def generate(lowered: Lowered, target: Target, options: Options) -> ObjectCode:
    """Return the cubin of lowered for target.arch, linked with lowered.linked; raises CompileError.

    The assembly is the kernel's PTX; with link-time optimization no PTX is made on the way, and it is empty.
    """
    try:
        check_arch(target.arch)
        arch = accelerated(target.arch)
        with phase("PTX"):
            pieces, generator = _compile(lowered, arch, options)
        with phase("link"):
            pieces, linked, resources = _assembled(pieces, lowered, arch, options)
    except CompileError as error:
        raise type(error)(f"{_place(lowered)} for {target.arch}: {error}") from error
    return ObjectCode(
        image=linked.image,
        suffix=".cubin",
        entry=lowered.entry,
        resources=resources,
        assembly="\n".join(piece.data.decode().strip() for piece in pieces if piece.kind == "ptx"),
        consumed=linked.consumed,
        inexact=_inexact(lowered, arch, options) if options.tiered else "",
        generator=generator,
    )


def _assembled(
    pieces: _Pieces, lowered: Lowered, arch: str, options: Options
) -> tuple[_Pieces, Linked, dict[str, int]]:
    """Return the kernel's files as they were assembled, the cubin and its resources.

    Launch bounds that only a folded block gave stay out if the block fits without: told how many threads there are, the
    assembler unrolls loops until they fill the registers, and fewer blocks run at once.
    """

    def assembled(code: _Pieces) -> tuple[_Pieces, Linked, dict[str, int]]:
        linked = link(code, lowered.linked, arch, options, cooperative=lowered.cooperative)
        return code, linked, read_resources(linked.image, lowered.entry)

    if options.launch_bounds is None and (folded := _BOUNDS.search(pieces[0].data)):
        found = assembled(tuple(replace(piece, data=_BOUNDS.sub(b"", piece.data)) for piece in pieces))
        if fits(int(folded[1]), found[2]["registers"]):
            return found
    return assembled(pieces)


def _inexact(lowered: Lowered, arch: str, options: Options) -> str:
    """Return why the code may compute something else once more is folded into it; empty if it does not."""
    if lowered.linked and uses_lto(lowered.linked, arch, options):
        return "it is optimized together with linked files, whose arithmetic may be inexact"
    if found := next(filter(None, map(_APPROXIMATED.search, lowered.modules)), None):
        return f"it calls {found[1]}, which NVVM computes itself where it knows the argument"
    return inexact(lowered.modules)


def _compile(lowered: Lowered, arch: str, options: Options) -> tuple[tuple[LinkedFile, ...], str]:
    """Return the kernel's files for the linker, and the code generator, in words."""
    modules = tuple(map(contracted, lowered.modules)) if options.tiered else lowered.modules
    if uses_lto(lowered.linked, arch, options):
        data = compile_ltoir(modules, arch, options)
        return (LinkedFile(name=lowered.entry, kind="ltoir", data=data),), "NVVM: only it writes LTO-IR"
    texts, generator = _ptx(modules, arch, options, lowered)
    if options.tiered:
        texts = tuple(map(left_to_the_gpu, texts))
    return tuple(LinkedFile(name=lowered.entry, kind="ptx", data=text) for text in texts), generator


def _ptx(modules: Sequence[str], arch: str, options: Options, lowered: Lowered) -> tuple[tuple[bytes, ...], str]:
    """Return the PTX of modules, and the code generator, in words: LLVM where it is asked for and able."""
    if options.codegen == "nvvm":
        return compile_ptx(modules, arch, options), "NVVM"
    from gridjit.compiler.targets.ptx import nvptx  # which imports llvmlite

    ptx, why = b"", nvptx.why_not(modules, arch, options)
    if not why:
        try:
            kernels = None if lowered.linked or options.lineinfo else lowered.signature
            ptx = nvptx.compile_ptx(modules, arch, options, lowered.shelf, (lowered.entry, kernels))
            why = nvptx.why_not_assembled(ptx)
        except CompileError as error:
            why = str(error)
    return (compile_ptx(modules, arch, options), f"NVVM: {why}") if why else ((ptx,), nvptx.name())


def _place(lowered: Lowered) -> str:
    file, line = lowered.source
    name = lowered.kernel or lowered.entry
    return f"{name} ({file}:{line})" if file else name


_ZERO = "gridjit_zero"
_DECLARED = f".weak .const .align 8 .b64 {_ZERO};"
_HEADER = regex(r"^\.address_size \d+$", re.MULTILINE)
# The last argument is the divisor of a division, which multiplies by an approximation of its reciprocal.
_APPROXIMATION = regex(
    r"((?:@!?%\w+\s+)?\b[a-z]\w*\.(?:approx|full)[\w.]*\.b?f(16|32|64)(x2)?\s[^;\n]*,\s*)([^\s,;]+)\s*;",
    needs=(".approx", ".full"),
)


def left_to_the_gpu(ptx: bytes) -> bytes:
    """Return the PTX with approximations that the assembler cannot compute."""
    text = ptx.decode()
    changed = _APPROXIMATION.sub(_hidden, text)
    return ptx if changed == text else _HEADER.sub(rf"\g<0>\n{_DECLARED}", changed, count=1).encode()


def _hidden(found: re.Match[str]) -> str:
    head, bits, pair, argument = found.groups()
    kind, own = f"b{int(bits) * (2 if pair else 1)}", "%gridjit"
    hiding = f".reg .{kind} {own}; ld.const.{kind} {own}, [{_ZERO}]; xor.{kind} {own}, {argument}, {own};"
    return f"{{ {hiding} {head}{own}; }}"
