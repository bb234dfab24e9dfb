"""linkable: what a kernel is linked with beyond what its author named: the files of functions, and numba-cuda's own.

The latter are CUDA C++: what array reshaping calls, and its runtime, which allocates and counts references.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gridjit.compiler.frontend.allocations import count, counting
from gridjit.compiler.frontend.bootstrap import numba_cuda
from gridjit.compiler.key.linked_files import callback_text, read_linked
from gridjit.compiler.target import LinkedFile

# The function of numba-cuda's reshape_funcs.cu that array reshaping calls.
_RESHAPE = "numba_attempt_nocopy_reshape"
_RUNTIME_CALL = re.compile(r'\bcall [^\n]*@"?NRT_\w+')
_BESIDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


def discovered_files(library: Any, known: Iterable[LinkedFile]) -> tuple[LinkedFile, ...]:
    """Return the files to link with one of numba-cuda's code libraries, in a fixed order, less those that are known.

    A file that is known by its path is taken as it was read then, whatever it is by now.
    """
    files = list(known)
    paths = {file.name for file in files if os.path.isabs(file.name)}
    given = (one for one in library._linking_files if not (isinstance(one, str) and os.path.abspath(one) in paths))
    return tuple(sorted({read_linked(one) for one in given} - set(files), key=_order))


def _order(file: LinkedFile) -> tuple[Any, ...]:
    callbacks = (callback_text(callback) for callback in (file.setup, file.teardown) if callback is not None)
    return (file.name, file.kind, file.data, *callbacks)


def numba_files(modules: Sequence[str], linked: Iterable[LinkedFile]) -> tuple[LinkedFile, ...]:
    """Return numba-cuda's own CUDA C++ that the modules, or the files linked with them, call."""
    reshape = any(_RESHAPE in module for module in modules)
    runtime = any(file.nrt for file in linked) or any(
        "NRT_" in module and _RUNTIME_CALL.search(module) for module in modules
    )
    return (*((_numba_file("reshape_funcs.cu"),) if reshape else ()), *((nrt_file(),) if runtime else ()))


def nrt_file() -> LinkedFile:
    """Return numba-cuda's runtime for kernels; it counts if the program asked for statistics."""
    return replace(_numba_file("memory_management/nrt.cu"), setup=count if counting() else None)


@functools.cache
def _numba_file(path: str) -> LinkedFile:
    """Return a file of numba-cuda's with the headers beside it written out: it has no folder, wherever it is."""
    file = Path(numba_cuda().__file__ or "").parent / path
    text = _BESIDE.sub(lambda match: (file.parent / match[1]).read_text(), file.read_text())
    return LinkedFile(name=file.name, kind="cu", data=text.encode(), toolkit=True)
