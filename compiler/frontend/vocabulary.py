"""Lets kernels use the module gridjit.cuda, and functions made by gridjit.jit, where numba-cuda expects its own."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.options import Options


@functools.cache
def install() -> None:
    """Register gridjit.cuda as another name of numba.cuda; once per process."""
    cuda = numba_cuda()
    from numba.cuda import types
    from numba.cuda.descriptor import cuda_target

    ours = importlib.import_module("gridjit.cuda")
    cuda_target.typing_context.insert_global(ours, types.Module(cuda))


def device_dispatcher(function: Callable[..., Any], options: Options) -> Any:
    """Return numba-cuda's dispatcher for a device function; its numba type lives only as long as it does."""
    numba_cuda()
    from numba.cuda.dispatcher import CUDADispatcher

    return CUDADispatcher(
        function,
        targetoptions={
            "device": True,
            "debug": options.debug,
            "lineinfo": options.lineinfo,
            "opt": options.opt,
            "fastmath": options.fastmath,
            "inline": options.inline,
            "forceinline": options.forceinline,
            "extensions": [],
            "link": (),
        },
    )
