"""taken: finds names that programs of this process imported from numba.cuda before they became gridjit's."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from gridjit.compiler.source.libraries import is_module, name_of_module, namespace_of
from gridjit.runtime.installed.replaced import Replaced

_LIBRARIES = ("numba.", "numba_cuda.", "gridjit.")
# Modules of numba-cuda that are programs, not the library.
_TESTS = "numba.cuda.tests."


def kernels_made() -> list[str]:
    """Return the names of programs' kernels that numba-cuda's own jit made."""
    if "numba.cuda.dispatcher" not in sys.modules:
        return []
    dispatcher: Any = sys.modules["numba.cuda.dispatcher"].CUDADispatcher
    made = [found for found in _finalized() if type(found) is dispatcher]
    options = [(found, vars(found).get("targetoptions")) for found in made]  # a kernel that is being made has none yet
    return [
        name_of(k.py_func) for k, given in options if given is not None and not given.get("device") and _is_programs(k)
    ]


def replace_taken(originals: Mapping[str, Any], ours: Mapping[str, Any], replaced: Replaced) -> None:
    """Replace numba.cuda's values in programs' modules, under whatever names, by ours of the same name."""
    by_identity = {id(value): ours[name] for name, value in originals.items() if name in ours}
    for module in programs():
        for name, held in list(namespace_of(module).items()):
            if id(held) in by_identity and by_identity[id(held)] is not held:
                replaced.replace(module, name, by_identity[id(held)])


def holders_of(value: Any) -> list[str]:
    """Return the names of programs' modules that hold a value."""
    return [
        name_of_module(module)
        for module in programs()
        if any(held is value for held in list(namespace_of(module).values()))
    ]


def programs() -> Iterator[ModuleType]:
    """Yield the modules of this process that are not of numba, numba-cuda or gridjit."""
    for name, module in list(sys.modules.items()):
        if is_module(module) and not f"{name}.".startswith(_LIBRARIES):
            yield module


def name_of(function: Any) -> str:
    """Return a function's name and line."""
    return f"{function.__module__}.{function.__qualname__}:{function.__code__.co_firstlineno}"


def _finalized() -> Iterator[Any]:
    """Yield the objects that have finalizers, as all of numba-cuda's dispatchers do.

    The collector does not list objects that the program froze.
    """
    finalizers: Any = vars(weakref.finalize)["_registry"]
    for finalizer in list(finalizers):
        if (found := finalizer.peek()) is not None:
            yield found[0]


def _is_programs(kernel: Any) -> bool:
    module = str(getattr(kernel.py_func, "__module__", ""))
    return module.startswith(_TESTS) or not f"{module}.".startswith(_LIBRARIES)
