"""Imports numba-cuda and its extensions, even on a machine without a GPU, a driver or any CUDA library."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NoReturn

from gridjit.base.forking import held, lock, section
from gridjit.base.interrupts import uninterrupted
from gridjit.base.messages import warn
from gridjit.compiler.key.entry_points import note_loaded
from gridjit.compiler.process.collecting import making_what_stays
from gridjit.compiler.process.refusing import refuse_call, refuse_calls
from gridjit.compiler.values.errors import CompileError, OutsideKernelError
from gridjit.compiler.values.phases import phase
from gridjit.compiler.view.recording import while_current

# The version that numba-cuda is told on its import where there is no CUDA runtime library to ask: CUDA 13.0.
_CUDA_VERSION = 13000
# numba-cuda's own module that has the import system find it under numba.cuda.
_REDIRECTOR = "_numba_cuda_redirector"
# Seconds to wait for another thread that loads extensions: their code may wait for this thread.
_PATIENCE = 60.0


@functools.cache
def numba_cuda() -> ModuleType:
    """Return the module numba.cuda, imported on the first call; raises CompileError if it is the simulator."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        raise CompileError(
            "NUMBA_ENABLE_CUDASIM replaces numba-cuda's compiler with its simulator; unset it: gridjit compiles "
            "kernels for the host if there is no GPU"
        )
    is_new = "numba" not in sys.modules
    with phase("import"):
        if _is_being_imported() or held(section()):
            _import()
        else:
            uninterrupted(lambda: making_what_stays(_import))
    if is_new:
        _look_at_it()
    return sys.modules["numba.cuda"]


def _look_at_it() -> None:
    """Look at numba before anybody has changed it, so that every later change is seen."""
    from gridjit.compiler.numba_state.changes import changes

    with phase("key"):
        changes()


def _import() -> None:
    with section(), runtime_version_answered():
        _redirect()
        import numba.cuda  # noqa: F401
    # gridjit's installation looks here before the package has it as an attribute.
    if "numba_cuda" not in str(sys.modules["numba.cuda"].__file__):
        raise CompileError(
            "numba.cuda is numba's own here, which was imported before numba-cuda could take its place: import "
            "_numba_cuda_redirector first, as the start-up files of site-packages do, or from gridjit import cuda"
        )
    _refuse_outside_kernels()


def _redirect() -> None:
    """Put numba-cuda in numba.cuda's place if a start-up file has not done so.

    Python only runs start-up files in site-packages: not with -S, nor in other folders, such as pip --target's.
    """
    if "numba.cuda" not in sys.modules and importlib.util.find_spec(_REDIRECTOR) is not None:
        importlib.import_module(_REDIRECTOR)


# The items that cuda.atomic.add and sub take.
_ADDED = "int32, uint32, int64, uint64, float32 and float64"


def _refuse_outside_kernels() -> None:
    """Have numba-cuda's names for kernels raise OutsideKernelError in plain Python.

    They remain the objects by which its compiler knows them.
    """
    from numba.cuda import cache_hints, cg, extending, libdevice, stubs

    stubs.Stub.__new__ = staticmethod(_raising(lambda cls, *_: cls.__qualname__))
    extending._Intrinsic.__call__ = _raising(_name_of_intrinsic)
    for axis in "xyz":
        setattr(stubs.Dim3, axis, _Axis(axis))
    for owner, name in ((stubs.shared, "array"), (stubs.local, "array"), (stubs.const, "array_like")):
        # numba-cuda's wrapper makes a text of the function that it wraps for its error; ours is raised there.
        vars(owner)[name].__closure__[0].cell_contents = _Untold(f"{owner.__name__}.{name}")
    for update in (stubs.atomic.add, stubs.atomic.sub):  # numba-cuda's text names three of the types
        head, _, rest = str(update.__doc__).partition("Supported on")
        update.__doc__ = f"{head}Supported on {_ADDED} operands only{rest.partition('operands only')[2]}"
    refuse_calls(cache_hints, "")
    refuse_calls(libdevice, "libdevice.")
    refuse_call(cg.this_grid, "cg.this_grid")


def _raising(name: Callable[..., str]) -> Callable[..., NoReturn]:
    """Return a function that raises the error for the name of its arguments, with the user's frames alone."""

    def raised(*arguments: Any, **_keywords: Any) -> NoReturn:
        from gridjit.compiler.process.refusing import outside

        try:
            raise outside(name(*arguments))
        except OutsideKernelError as error:
            error.__traceback__ = None
            raise

    return raised


def _name_of_intrinsic(intrinsic: Any, *_arguments: Any) -> str:
    module, name = str(intrinsic._defn.__module__), str(intrinsic._name)
    home = "" if module.startswith("numba.") else "griddepcontrol." if module.startswith("gridjit.") else "."
    return f"{home}{name}"


class _Axis(property):
    """An axis of a position or a shape, which kernels read: x, y or z."""

    def __init__(self, axis: str) -> None:
        super().__init__()
        self._axis = axis

    __get__ = _raising(lambda self, _, owner: f"{owner.__name__}.{self._axis}")


class _Untold:
    """A function's name that raises the error as soon as a text is made of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    __str__ = _raising(lambda self: self._name)


def _is_being_imported() -> bool:
    """Return whether a thread is importing numba now. If it is this thread, no other may be made to wait."""
    modules = (sys.modules.get(name) for name in ("numba", "numba.cuda"))
    return any(getattr(getattr(module, "__spec__", None), "_initializing", False) for module in modules)


@contextlib.contextmanager
def runtime_version_answered() -> Iterator[None]:
    """While numba-cuda is imported, let the version query succeed where libcudart is missing."""
    from cuda.bindings import runtime

    original = runtime.getLocalRuntimeVersion

    def answered() -> Any:
        try:
            return original()
        except Exception:  # cuda.pathfinder raises a type of its own for a missing library
            return runtime.cudaError_t.cudaSuccess, _CUDA_VERSION

    runtime.getLocalRuntimeVersion = answered
    try:
        yield
    finally:
        runtime.getLocalRuntimeVersion = original


# Held while extensions are loaded, and whether that is done. Their code may wait for other threads' compiles.
_loading = lock()
_begun: list[bool] = []
_loaded: list[bool] = []


def load_installed_extensions() -> None:
    """Make numba load the installed extensions, unless this process has done so.

    If one fails, a warning names it, as in numba. While they are loaded they see no launch, and their reads do not
    count as read by the kernel about to be compiled. Their registrations for everybody are in the key of every
    kernel, in processes that do not load them too (see everybody).
    """
    if _loaded:
        return
    got = _loading.acquire(timeout=_PATIENCE)
    try:
        if not _begun:  # their code may compile a kernel: then they are being loaded
            _load()
        if not got:  # once is long enough
            _loaded[:] = [True]
    finally:
        if got:
            _loading.release()


def _load() -> None:
    _begun[:] = [True]
    try:
        if note_loaded():
            _load_all()
        _loaded[:] = [True]
    except BaseException:
        _begun.clear()
        raise


def _load_all() -> None:
    numba_cuda()
    from numba.cuda.core import entrypoints

    from gridjit.compiler.recorded.loading import Loading

    loading = Loading()
    try:
        with loading.reading():
            while_current(None, entrypoints.init_all)
    except Exception as error:  # a description that nobody can read, of any distribution
        warn(UserWarning(f"numba cannot look for extensions to load: {error!r}"))
    loading.end()
