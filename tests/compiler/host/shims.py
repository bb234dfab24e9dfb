"""shims: the functions of CUDA's C++ types, called as kernels call them: by pointers to buffers."""

# mypy: ignore-errors
from __future__ import annotations

import ctypes

import numpy as np

from gridjit.compiler.targets.host.library import maths
from gridjit.compiler.targets.host.library.narrow_floats import table
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.runtime.devices.host.load import load

_POINTERS = (ctypes.c_void_p,) * 4


def named(name, types):
    return f"_ZL{len(name)}{name}{types}_nbst"


def function(symbol):
    """Return a function of buffers: of what the symbol's function writes, and of its arguments."""
    target = host_target()
    text = table.definitions([symbol])
    module = llvm.parse(llvm.header(target) + text.replace(f'define i32 @"{symbol}"(', "define i32 @tested("))
    library = llvm.parse(llvm.header(target) + maths.definitions(table.maths_of([symbol]), target))
    module = llvm.link([module, library])
    llvm.optimize(module, target, 3)
    loaded = load(llvm.emit(module, target), "tested")
    called = ctypes.CFUNCTYPE(ctypes.c_int32, *_POINTERS)(loaded.address)

    def call(result, *arguments):
        buffers = [np.zeros(1, result), *(np.atleast_1d(a) for a in arguments)]
        pointers = [b.ctypes.data for b in buffers]
        called(*pointers, *[0] * (4 - len(pointers)))
        return buffers[0][0]

    call.keeps = loaded
    return call
