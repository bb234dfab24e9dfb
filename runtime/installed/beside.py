"""beside: modules of numba-cuda that make arrays or launch by themselves, used by a program beside gridjit.cuda.

If the machine has no GPU, and the host simulates one, their arrays and kernels are gridjit's, even if the program
imports these modules itself. If the machine has a GPU, they stay numba-cuda's own. The first call decides this, so that
importing them does not call the driver.
"""

from __future__ import annotations

import functools
import importlib
import math
import numbers
import sys
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from gridjit.compiler.values.errors import ArgumentError, shown
from gridjit.runtime.installed.watching import Then, Watching
from gridjit.runtime.process.session import session

# The classes that numba's vectorize and guvectorize look for -> gridjit's, in ufuncs.builders().
_BUILDERS = {"CUDAVectorize": "Vectorize", "CUDAGUFuncVectorize": "GUVectorize"}
_made: set[type[Any]] = set()
_REGISTRIES = ("numba.np.ufunc.decorators", "numba.cuda.np.ufunc.decorators")


def follow(cuda: ModuleType) -> Watching:
    """Make these modules follow the process's target; return the finder of later imports. cuda: gridjit's."""
    followed: dict[str, Then] = {
        "numba.cuda.random": functools.partial(_follow_states, cuda),
        "numba.cuda.vectorizers": _follow_builders,
    }
    for name, then in followed.items():
        if name in sys.modules:
            then(sys.modules[name])
    watching = Watching(followed.get)
    watching.begin()
    return watching


class _Cuda(ModuleType):
    """Such a module's `cuda`: gridjit.cuda if the host simulates a GPU, else the module's own."""

    def __init__(self, ours: ModuleType, own: ModuleType) -> None:
        super().__init__(own.__name__, own.__doc__)
        self._ours, self._own = ours, own

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ours if session().simulates else self._own, name)


def _follow_states(ours: ModuleType, module: ModuleType) -> None:
    """Make numba.cuda.random create its states' array where the process's kernels run."""
    known = vars(module)["cuda"]
    if known is not ours and not isinstance(known, _Cuda):
        vars(module)["cuda"] = _Cuda(ours, known)
    check_seeds(module)


def _follow_builders(module: ModuleType) -> None:
    """Make vectorize(target="cuda") create ufuncs that launch where the process's kernels run."""
    for name, ours in _BUILDERS.items():
        own = vars(module)[name]
        # Neither twice, nor in the copy of the module from which gridjit's own builders are made.
        if sys.modules.get(module.__name__) is module and own not in _made:
            vars(module)[name] = followed = _either(own, ours)
            _made.add(followed)
            _register(own, followed)


def _either(own: Any, ours: str) -> type[Any]:
    """Return numba-cuda's class, whose calls make gridjit's object if the host simulates a GPU."""

    def made(cls: Any, *args: Any, **options: Any) -> Any:
        if cls is followed and session().simulates:
            from gridjit.runtime.installed.ufuncs import builders

            return vars(builders())[ours](*args, **options)
        return super(followed, cls).__new__(cls)

    names = {"__new__": made, "__module__": own.__module__, "__qualname__": own.__qualname__, "__doc__": own.__doc__}
    followed: type[Any] = type(own.__name__, (own,), names)
    return followed


def _register(own: Any, followed: Any) -> None:
    """Replace a builder in the registries that have it already."""
    for package in _REGISTRIES:
        if package in sys.modules:
            decorators: Any = sys.modules[package]
            for kind in ("Vectorize", "GUVectorize"):
                # A package that is being imported may have none yet; it asks for the builder later.
                registry = vars(decorators)[kind].target_registry if kind in vars(decorators) else {}
                if "cuda" in registry and registry["cuda"] is own:
                    del registry["cuda"]  # numba's tables do not let an entry be replaced
                    registry["cuda"] = followed


_MOST = 1 << 64


@functools.cache
def random_of(cuda: ModuleType) -> ModuleType:
    """Return a copy of numba.cuda.random in which `cuda` makes the states' arrays; numba's own is unchanged."""
    module = importlib.import_module("numba.cuda.random")
    ours = ModuleType(module.__name__, module.__doc__)
    own = module.create_xoroshiro128p_states
    vars(ours).update(vars(module), cuda=cuda)
    made = FunctionType(own.__code__, vars(ours), own.__name__, own.__defaults__)
    vars(ours)[own.__name__] = functools.update_wrapper(made, own)
    return ours


def check_seeds(module: Any) -> None:
    """Make numba.cuda.random refuse seeds that are not numbers of 64 bits; its own error speaks of the compiler."""
    original = module.init_xoroshiro128p_states

    @functools.wraps(original)
    def init_xoroshiro128p_states(states: Any, seed: Any, subsequence_start: Any = 0, stream: Any = 0) -> None:
        way = "; of a text, zlib.crc32(text.encode()) is one" if isinstance(seed, str | bytes) else ""
        original(states, _number("seed", seed, way), _number("subsequence_start", subsequence_start, ""), stream)

    if not hasattr(original, "__wrapped__"):
        module.init_xoroshiro128p_states = init_xoroshiro128p_states


def _number(name: str, value: Any, way: str) -> np.uint64:
    """Return a whole number of 64 bits; a number with a fraction, such as a time, is cut at the point."""
    is_number = isinstance(value, numbers.Real) and math.isfinite(value)
    if not is_number or not -_MOST // 2 <= value < _MOST:
        raise ArgumentError(f"{name}={shown(value)}: give a whole number below 2**64{way}")
    return np.uint64(int(value) % _MOST)
