"""fold: puts the launch's own dimensions into the code as constants, for the fields that jit(specialize=...) names.

It works on the LLVM text, where cuda.blockDim, cuda.grid() and everything built on them have become reads of the same
special registers, in device functions too.

With specialize="auto", the block is folded into a GPU's code if half of its loops go away by it: loops over a block, or
in steps of it, then run a number of times that is known. Where they stay, the code without the block is kept, which
serves launches with any block.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable

from gridjit.base.regexes import regex
from gridjit.compiler.values.errors import LaunchNeededError
from gridjit.compiler.values.footprint import PRESENCE, as_dim3
from gridjit.compiler.values.launch_config import Dim3
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.target import Lowered, ObjectCode
from gridjit.compiler.view.config import ConfigView
from gridjit.compiler.view.recording import recording_of

_REGISTERS = {"blockdim": "ntid", "griddim": "nctaid"}
_REGISTER_READ = r'call i32 @"?llvm\.nvvm\.read\.ptx\.sreg\.{register}\.{axis}"?\(\)'
# A number that no other metadata of a module has.
_BOUNDS = 800001
_SHARED_SIZE_READ = re.compile(r'call i32 asm (?:sideeffect )?"mov\.u32 \$0, %dynamic_smem_size;", "=r"\s*\(\s*\)')
_JUMP = regex(r"^(?P<label>\$L\w+):|\bbra(?:\.uni)?\s+(?P<to>\$L\w+);", re.MULTILINE)
_NO_LOOP = "nothing is folded: the code has no loop"
_WHERE = "jit(specialize='auto')"


def folded(modules: tuple[str, ...], entry: str, fields: tuple[str, ...], view: ConfigView) -> tuple[str, ...]:
    """Return a kernel's modules with the named launch fields as constants; each is read, so the result depends on it.

    Raises LaunchNeededError if there is no launch whose values could be folded.
    """
    if fields and view.ahead_of_launch:
        raise LaunchNeededError(
            f"specialize={fields!r} folds the launch's own values into the code: launch the kernel, "
            "or pass compile(..., config=...)"
        )
    for name in fields:
        value = view.read(name, where="jit(specialize=...)")
        if name == "sharedmem":
            modules = tuple(_SHARED_SIZE_READ.sub(f"add i32 0, {view.sharedmem}", module) for module in modules)
        elif name == "blockdim":
            modules = _with_block(modules, entry, as_dim3(value))
        else:
            modules = _with_extents(modules, name, as_dim3(value))
    return modules


def _with_block(modules: tuple[str, ...], entry: str, block: Dim3) -> tuple[str, ...]:
    """Return a kernel's modules with the block as a constant and, for a GPU, its threads as launch bounds."""
    kernel, *others = _with_extents(modules, "blockdim", block)
    marked = re.search(rf'^!\d+ = (!{{ [^\n]*@"{re.escape(entry)}"), !"kernel", i32 1 }}', kernel, re.MULTILINE)
    if marked is not None and '!"maxntidx"' not in kernel:
        kernel = kernel.replace("!nvvm.annotations = !{ ", f"!nvvm.annotations = !{{ !{_BOUNDS}, ", 1)
        kernel += f'\n!{_BOUNDS} = {marked[1]}, !"maxntidx", i32 {math.prod(block)} }}\n'
    return kernel, *others


def _reads_block(modules: tuple[str, ...]) -> bool:
    """Return whether modules read the block's size."""
    return any(f".sreg.{_REGISTERS['blockdim']}." in module for module in modules)


def _with_extents(modules: tuple[str, ...], name: str, extents: Dim3) -> tuple[str, ...]:
    for axis, extent in zip("xyz", extents, strict=True):
        read = re.compile(_REGISTER_READ.format(register=_REGISTERS[name], axis=axis))
        modules = tuple(read.sub(f"add i32 0, {extent}", module) for module in modules)
    return modules


def chosen(
    options: Options, kind: str, lowered: Lowered, view: ConfigView, generate: Callable[[Lowered], ObjectCode]
) -> tuple[ObjectCode, str]:
    """Return code for a kind of target, and a sentence on the folded block; an empty one if none was to be chosen.

    If the block is folded, view records that it was read.
    """
    code = generate(lowered)
    if not options.chooses:
        return code, ""
    if view.ahead_of_launch:
        view.read(PRESENCE, where=_WHERE)  # so that launches choose for themselves
        return code, "nothing is folded without a launch"
    if kind != "ptx" or not code.assembly:
        return code, "nothing is folded on the host" if kind == "host" else "nothing is folded in LTO-IR"
    recording = recording_of(view)
    if not recording.may_fold:
        return code, "nothing is folded: as many blocks as may be have code of their own"
    if not _reads_block(lowered.modules):
        return code, "nothing is folded: the code does not depend on the block"
    assert recording.config is not None
    modules = _with_block(lowered.modules, lowered.entry, recording.config.blockdim)
    other = generate(dataclasses.replace(lowered, modules=modules))
    before, after = loops(code.assembly), loops(other.assembly)
    if 2 * after > before or not before:
        return code, f"nothing is folded: {after} of {before} loops would remain" if before else _NO_LOOP
    view.read("blockdim", where=_WHERE)
    return other, f"the block is folded: {after} of {before} loops remain"


def loops(assembly: str) -> int:
    """Return how many loops PTX has: labels to which branches behind them go."""
    labels, heads = set[str](), set[str]()
    for found in _JUMP.finditer(assembly):
        if found["label"]:
            labels.add(found["label"])
        elif found["to"] in labels:
            heads.add(found["to"])
    return len(heads)
