"""CompileRequest: a request to compile a signature of a kernel in another process, with the kernel.

A kernel is sent as module and name if another process can import it, else as a pickle of its code and globals.
"""

from __future__ import annotations

import pickle
import sys
import warnings
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.launch.indexing import Indexable
from gridjit.runtime.numba_names.pickling import look_of, named, pickled_for_others

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel

# A kernel with larger arrays in it is compiled in less time than it is sent.
MOST_BYTES = 16 << 20
# In another process, this name is another module's, or unknown.
_MAIN = ("__main__", "__mp_main__")


class CannotBeHandedOverError(Exception):
    """A kernel cannot be handed to other processes; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFunction:
    """A function by its module and name. look: differs from other functions of this name."""

    module: str
    qualname: str
    look: tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRequest:
    """A request for a signature of a kernel. kernel: its function's name, or the kernel as a pickle."""

    kernel: NamedFunction | bytes
    options: Options
    marks: tuple[str, ...]
    signature: Signature
    config: LaunchConfig | None
    target: Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """A warning, and its place in the program. pickled: its class may be of any module."""

    pickled: bytes
    file: str
    line: int

    def warn_again(self) -> None:
        """Give the warning in this process, unless its class cannot be imported here, or made again."""
        try:
            message = pickle.loads(self.pickled)
        except Exception as error:
            let_through(error)
            return
        warnings.warn_explicit(message, type(message), self.file, self.line)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A request's outcome. job: the key that it was compiled under; origin: "compiled" or "disk".

    why: why the cache does not have it; needs_launch: it depends on its launch; unkept: the cache keeps nothing;
    private: it stays in each process's memory; differs: the other process has another function, or cannot import it;
    is_lost: there was no result at all. warned: its compile's warnings.
    """

    job: str = ""
    origin: str = ""
    milliseconds: float = 0.0
    why: str = ""
    needs_launch: bool = False
    unkept: bool = False
    private: bool = False
    differs: bool = False
    is_lost: bool = False
    warned: tuple[Warned, ...] = ()

    def warn_again(self) -> None:
        """Give the warnings in this process, whose filters count."""
        for one in self.warned:
            one.warn_again()


def request_of(kernel: Kernel, signature: Signature, config: LaunchConfig | None, target: Target) -> CompileRequest:
    """Return the request for a signature of a kernel; raises CannotBeHandedOverError."""
    return CompileRequest(
        kernel=_name(kernel.py_func) or _pickle(kernel),
        options=kernel.options,
        marks=kernel.marks,
        signature=signature,
        config=config,
        target=target,
    )


def _name(function: Callable[..., Any]) -> NamedFunction | None:
    """Return a function by name; None if another process would find none, or another function."""
    module, qualname = function.__module__, function.__qualname__
    assert isinstance(function, FunctionType)
    if "<" in qualname or not _is_importable(module) or function.__globals__ is not vars(sys.modules[module]):
        return None
    # Nothing while it is decorated, then a kernel. Anything else is not this function.
    found = named(module, qualname)
    if found is None or function is (cast("Kernel", found).py_func if isinstance(found, Indexable) else found):
        return NamedFunction(module=module, qualname=qualname, look=look_of(function))
    return None


def _is_importable(module: str) -> bool:
    """Return whether another process that imports a module of this name gets the same file."""
    here = getattr(sys.modules.get(module), "__spec__", None)
    if here is None or here.name != module or module in _MAIN:
        return False
    above, _, _ = module.rpartition(".")
    path = getattr(sys.modules.get(above), "__path__", None) if above else None
    try:
        found = next(filter(None, (finder.find_spec(module, path) for finder in sys.meta_path)), None)
    except Exception as error:  # finders may be anyone's
        let_through(error)
        return False
    return found is not None and found.origin == here.origin


def _pickle(kernel: Kernel) -> bytes:
    try:
        data = pickled_for_others(kernel, _MAIN)
    except Exception as error:  # any error of a value that the kernel refers to
        let_through(error)
        raise CannotBeHandedOverError(f"it cannot be pickled: {type(error).__name__}: {error}") from error
    if len(data) > MOST_BYTES:
        raise CannotBeHandedOverError(f"it and what it refers to are {len(data)} bytes, more than {MOST_BYTES}")
    return data


def to_send(request: CompileRequest) -> CompileRequest:
    """Return a request if it can be pickled; raises CannotBeHandedOverError."""
    try:
        pickle.dumps(request)
    except Exception as error:  # an option or a type that holds an object of this process
        let_through(error)
        raise CannotBeHandedOverError(f"it cannot be pickled: {type(error).__name__}: {error}") from error
    return request
