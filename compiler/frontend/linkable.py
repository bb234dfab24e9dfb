"""linkable: files that a kernel is linked with besides its author's: functions' files, and numba-cuda's.

numba-cuda's files are CUDA C++: its functions for array reshaping, and its runtime, which allocates and counts
references.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from gridjit.base.messages import warn
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.key.linked_files import KINDS, callback_text, for_the_host, read_linked
from gridjit.compiler.values.target import LinkedFile

# The function of numba-cuda's reshape_funcs.cu that array reshaping calls.
_RESHAPE = "numba_attempt_nocopy_reshape"
_ON_HOST = ("ll", "bc", "o", "a", "c")
_RUNTIME_CALL = re.compile(r'\bcall [^\n]*@"?NRT_\w+')
_BESIDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


def discovered_files(library: Any, known: Iterable[LinkedFile], kind: str = "ptx") -> tuple[LinkedFile, ...]:
    """Return the files to link with one of numba-cuda's code libraries, in a fixed order, without the known ones.

    A file whose path is known is used as it was read then, even if it has changed. kind: of the target. For the host
    only files that it can run: functions of other files are refused where they are called.
    """
    files = list(known)
    paths = {file.name for file in files if os.path.isabs(file.name)}
    found = library._linking_files
    if kind != "ptx":
        found = [one for one in map(for_the_host, found) if _runs_on_host(one)]
    given = (one for one in found if not (isinstance(one, str) and os.path.abspath(one) in paths))
    return tuple(sorted({read_linked(one) for one in given} - set(files), key=_order))


def _runs_on_host(given: Any) -> bool:
    return isinstance(given, str) and KINDS.get(Path(given).suffix) in _ON_HOST


def _order(file: LinkedFile) -> tuple[Any, ...]:
    callbacks = (callback_text(callback) for callback in (file.setup, file.teardown) if callback is not None)
    return (file.name, file.kind, file.data, *callbacks)


def numba_files(modules: Sequence[str], linked: Iterable[LinkedFile]) -> tuple[LinkedFile, ...]:
    """Return numba-cuda's own CUDA C++ that the modules, or the files linked with them, call."""
    reshape = any(_RESHAPE in module for module in modules)
    # Looked for at each call only where the name is anywhere: the texts of long kernels have megabytes.
    named = [module for module in modules if "NRT_" in module]
    runtime = any(file.nrt for file in linked) or any(_RUNTIME_CALL.search(module) for module in named)
    return (*((_numba_file("reshape_funcs.cu"),) if reshape else ()), *((nrt_file(),) if runtime else ()))


def nrt_file() -> LinkedFile:
    """Return numba-cuda's runtime for kernels; it counts if the program asked for statistics."""
    return replace(_numba_file("memory_management/nrt.cu"), setup=count if counting() else None)


@functools.cache
def _numba_file(path: str) -> LinkedFile:
    """Return a file of numba-cuda's with the headers beside it written into it, so that it depends on no folder."""
    file = Path(numba_cuda().__file__ or "").parent / path
    text = _BESIDE.sub(lambda match: (file.parent / match[1]).read_text(), file.read_text())
    return LinkedFile(name=file.name, kind="cu", data=text.encode(), toolkit=True)


# The counters that modules write to, by identity. numba-cuda makes new ones when a context is reset. A module that is
# still loaded must not write to freed memory, so these few bytes stay. It is the only device memory that the compiler
# keeps: artifacts name count() by this module, and other processes look for it here.
_counters: dict[int, Any] = {}


def counting() -> bool:
    """Return whether the program asked for statistics."""
    numba_cuda()
    from numba.cuda import config

    return bool(config.CUDA_NRT_STATS)


def count(module: Any) -> None:
    """Let a module's kernels count in the current context: the setup callback of kernels compiled while counting().

    On a device other than the counters' nothing is counted, and a warning says so: it may not reach their memory.
    """
    numba_cuda()
    from numba.cuda.cudadrv.devices import get_context
    from numba.cuda.memory_management.nrt import rtsys

    rtsys.ensure_initialized()
    theirs, here = _device_of(rtsys._memsys), get_context().device.id
    if theirs != here:
        text = f"allocations on device {here} are not counted: numba-cuda's counters are on device {theirs}"
        warn(RuntimeWarning(text))
        return
    rtsys.set_memsys_to_module(SimpleNamespace(get_function=partial(_function, module)))
    # The kernel must find the counters in any stream.
    get_context().synchronize()
    _counters[id(rtsys._memsys)] = rtsys._memsys


def _function(module: Any, name: str) -> Any:
    """Return a kernel of a module as numba-cuda's modules have it."""
    return SimpleNamespace(kernel=module.get_kernel(name))


def _device_of(counters: Any) -> int:
    """Return the device whose memory the counters are in."""
    from numba.cuda.cudadrv.driver import binding, driver

    ordinal = binding.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    address = binding.CUdeviceptr(counters.device_ctypes_pointer.value)
    return int(driver.cuPointerGetAttribute(ordinal, address))
