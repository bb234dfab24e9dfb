"""fold: puts the launch's own dimensions into the code as constants, for the fields that jit(specialize=...) names.

It works on the LLVM text, where cuda.blockDim, cuda.grid() and everything built on them have become reads of the same
special registers, in device functions too.
"""

from __future__ import annotations

import re

from gridjit.compiler.errors import LaunchNeededError
from gridjit.compiler.footprint import as_dim3
from gridjit.compiler.view.config import ConfigView

_REGISTERS = {"blockdim": "ntid", "griddim": "nctaid"}
_REGISTER_READ = r'call i32 @"?llvm\.nvvm\.read\.ptx\.sreg\.{register}\.{axis}"?\(\)'
_SHARED_SIZE_READ = re.compile(r'call i32 asm (?:sideeffect )?"mov\.u32 \$0, %dynamic_smem_size;", "=r"\s*\(\s*\)')


def folded(modules: tuple[str, ...], fields: tuple[str, ...], view: ConfigView) -> tuple[str, ...]:
    """Return modules with the named launch fields as constants; each is read, so the result depends on it.

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
            continue
        for axis, extent in zip("xyz", as_dim3(value), strict=True):
            read = re.compile(_REGISTER_READ.format(register=_REGISTERS[name], axis=axis))
            modules = tuple(read.sub(f"add i32 0, {extent}", module) for module in modules)
    return modules


def launch_bounds(given: tuple[int, ...] | None, fields: tuple[str, ...], view: ConfigView) -> tuple[int, ...] | None:
    """Return the kernel's launch bounds: as given, else the block's threads where blockdim is folded."""
    if given is not None or "blockdim" not in fields or view.ahead_of_launch:
        return given
    x, y, z = as_dim3(view.read("blockdim", where="jit(specialize=...)"))
    return (x * y * z,)
