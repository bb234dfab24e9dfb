"""names: the values of the names in a kernel that is stepped through: numba.cuda's, and its own functions."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from gridjit.compiler.process.refusing import refuses
from gridjit.runtime.stepping import operations
from gridjit.runtime.stepping.atomics import Atomics
from gridjit.runtime.stepping.block import WARP, lane
from gridjit.runtime.stepping.operations import Const, Dimensions, Local, Shared, Word

_PLAIN = (
    "grid", "gridsize", "syncthreads", "syncthreads_count", "syncthreads_and", "syncthreads_or", "threadfence",
    "nanosleep", "syncwarp", "shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync", "all_sync", "any_sync",
    "eq_sync", "ballot_sync", "match_any_sync", "match_all_sync", "activemask", "lanemask_lt", "popc", "brev", "clz",
    "ffs", "selp", "fma", "cbrt",
)  # fmt: skip
_DEVICE_FUNCTIONS = ("gridjit.runtime.device_function", "numba.cuda.dispatcher")
# gridjit's own words, which do nothing if a launch begins after the end of the previous grid.
_ORDER = ("wait", "launch_dependents")
_OWN_WORDS = "gridjit.compiler.frontend.bindings.vocabulary"
_REFUSED = ("cg", "libdevice", "bf16", "fp16", "fp8", "random")
# Accesses with a hint for caches.
_LOADS, _STORES = ("ldca", "ldcg", "ldcs", "ldlu", "ldcv"), ("stcg", "stcs", "stwb", "stwt")


class StandIn:
    """A module with some names replaced."""

    def __init__(self, module: ModuleType, names: dict[str, Any], asked: dict[str, Callable[[], Any]]) -> None:
        self._module, self._names, self._asked = module, names, asked

    def __getattr__(self, name: str) -> Any:
        if name in self._asked:
            return self._asked[name]()
        return self._names[name] if name in self._names else getattr(self._module, name)


class Names:
    """The stand-ins for names in a launch's kernel; functions are made anew from their code, with these names."""

    def __init__(self) -> None:
        vocabulary = {name: getattr(operations, name) for name in _PLAIN}
        vocabulary |= dict.fromkeys(("threadfence_block", "threadfence_system"), operations.threadfence)
        vocabulary |= dict.fromkeys(_LOADS, operations.load) | dict.fromkeys(_STORES, operations.store)
        vocabulary |= {"shared": Shared(), "local": Local(), "const": Const(), "atomic": Atomics()}
        vocabulary["warpsize"] = Word(WARP)
        vocabulary |= {
            "threadIdx": Dimensions(lambda: lane().position),
            "blockIdx": Dimensions(lambda: lane().block.position),
            "blockDim": Dimensions(lambda: lane().block.config.blockdim),
            "gridDim": Dimensions(lambda: lane().block.config.griddim),
        }
        asked: dict[str, Callable[[], Any]] = {
            name: functools.partial(operations.unsupported, name) for name in _REFUSED
        }
        asked["laneid"] = operations.laneid
        static = SimpleNamespace(
            blockDim=Dimensions(lambda: lane().block.config.blockdim, int),
            gridDim=Dimensions(lambda: lane().block.config.griddim, int),
        )
        self._modules: dict[str, StandIn] = {
            name: StandIn(sys.modules[name], vocabulary, asked)
            for name in ("gridjit.cuda", "numba.cuda")
            if name in sys.modules
        }
        self._modules["gridjit.static"] = StandIn(
            sys.modules.get("gridjit.static", sys), vars(static), {"sharedmem": lambda: lane().block.dynamic.size}
        )
        self._modules["gridjit.griddepcontrol"] = StandIn(sys, dict.fromkeys(_ORDER, operations.in_order), {})
        own = ("cuda", "static", "griddepcontrol")
        ours = {name: self._modules.get(f"gridjit.{name}") for name in own}
        self._modules["gridjit"] = StandIn(sys.modules["gridjit"], ours, {})
        self._vocabulary = vocabulary
        self._functions: dict[int, tuple[Any, Any]] = {}

    def function(self, given: Any) -> Any:
        """Return a function for a kernel that is stepped through."""
        if (found := self._functions.get(id(given))) is not None:
            return found[1]
        names = dict(given.__globals__)
        cells = tuple(CellType() for _ in given.__closure__ or ())
        made = FunctionType(given.__code__, names, given.__name__, given.__defaults__, cells or None)
        made.__kwdefaults__ = given.__kwdefaults__
        made.__qualname__, made.__module__ = given.__qualname__, given.__module__
        self._functions[id(given)] = given, made
        # After the function is known, as it may call itself.
        names.update({name: self.value(name, names[name]) for name in _mentioned(given.__code__) if name in names})
        for cell, name, old in zip(cells, given.__code__.co_freevars, given.__closure__ or (), strict=True):
            cell.cell_contents = self.value(name, old.cell_contents)
        return made

    def value(self, name: str, given: Any) -> Any:
        """Return the stand-in for a value that a kernel refers to by name."""
        if isinstance(given, ModuleType):
            return self._modules.get(given.__name__, given)
        if (plain := _plain(given)) is not None:
            return self.function(plain)
        if isinstance(given, FunctionType) and refuses(given) and name not in self._vocabulary:
            return functools.partial(operations.unsupported, given.__name__)
        module = str(getattr(given, "__module__", None))
        if isinstance(given, FunctionType) and not module.startswith(("numba.", "numpy.")):
            return self.function(given)
        if module == _OWN_WORDS:
            return operations.in_order
        if name in self._vocabulary and module.startswith("numba"):
            return self._vocabulary[name]
        return array_of(given)


def _plain(given: Any) -> Any:
    """Return the Python function of a device function, gridjit's or numba-cuda's; None for any other value."""
    # By its type's module: gridjit's own imports this.
    return vars(given).get("py_func") if type(given).__module__ in _DEVICE_FUNCTIONS else None


def array_of(value: Any) -> Any:
    """Return a device array in host memory as a NumPy array over the same memory; any other value unchanged."""
    from gridjit.runtime.memory.device_array import DeviceArray

    return operations.items(value._ghost) if isinstance(value, DeviceArray) else value


def _mentioned(code: Any) -> set[str]:
    """Return the names that code, and code defined in it, refers to."""
    inner = (const for const in code.co_consts if hasattr(const, "co_names"))
    return set(code.co_names).union(*map(_mentioned, inner))
