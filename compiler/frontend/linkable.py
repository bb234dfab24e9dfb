"""linkable: what a kernel is linked with besides the files that its author named: functions' files, and numba-cuda's.

numba-cuda's files are CUDA C++: what array reshaping calls, and its runtime, which allocates and counts references.
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
from gridjit.compiler.key.linked_files import KINDS, callback_text, for_the_host, read_linked
from gridjit.compiler.target import LinkedFile

# The function of numba-cuda's reshape_funcs.cu that array reshaping calls.
_RESHAPE = "numba_attempt_nocopy_reshape"
_ON_HOST = ("ll", "bc", "o", "a", "c")
_RUNTIME_CALL = re.compile(r'\bcall [^\n]*@"?NRT_\w+')
_BESIDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


def discovered_files(library: Any, known: Iterable[LinkedFile], kind: str = "ptx") -> tuple[LinkedFile, ...]:
    """Return the files to link with one of numba-cuda's code libraries, in a fixed order, without the known ones.

    A file whose path is known is used as it was read then, whatever it holds by now. kind: of the target. For the host
    only what it can run: functions of other files are refused where they are called.
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
