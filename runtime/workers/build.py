"""build: a worker takes the kernel from a request, and compiles or finds it on the usual cold path."""

from __future__ import annotations

import contextlib
import importlib
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.base.stacks import start_with_room
from gridjit.cache.manifest import read_manifest
from gridjit.compiler.values.errors import WITHOUT_LAUNCH, GridjitError, LaunchNeededError
from gridjit.runtime.devices import presence
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.numba_names.pickling import look_of
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations.look import Launch
from gridjit.runtime.specialize.request import CannotBeHandedOverError, CompileRequest, NamedFunction, Outcome, Warned

_MOST_TEXT = 4000
# How many bytes of warnings go back: an outcome is a single packet.
_MOST_WARNED = 16 << 10


def build(request: CompileRequest) -> Outcome:
    """Return a request's outcome; on success the cache has the code."""
    try:
        kernel = _kernel(request)
        if request.target.kind == "ptx" and presence.has_to_start():
            _start_driver()
        return _built(kernel, request)
    except LaunchNeededError:
        return Outcome(why=WITHOUT_LAUNCH, needs_launch=True)
    except (GridjitError, CannotBeHandedOverError) as error:
        # One line: if it is an error in the program's process too, it is raised in full there.
        why = f"{type(error).__name__}: {error}".splitlines()[0][:_MOST_TEXT]
        return Outcome(why=why, differs=isinstance(error, CannotBeHandedOverError))


def _start_driver() -> None:
    """Start the driver beside the front end: nvJitLink starts it, and would wait for it."""
    with contextlib.suppress(RuntimeError):  # there are no more threads
        start_with_room(presence.device_count)


def _built(kernel: Kernel, request: CompileRequest) -> Outcome:
    with _noting() as warned:
        made = kernel.specialized_ahead(request.signature, request.target, Launch(config=request.config))
    job = str(made.metadata.get("job", ""))
    if made.artifact.private:
        why = f"its code stays in each process's memory: {'; '.join(made.artifact.private)}"[:_MOST_TEXT]
        return Outcome(why=why, private=True)
    if made.origin == "compiled" and not _is_kept(job):
        return Outcome(why=f"the cache folder {session().settings.cache_dir} did not keep it", unkept=kernel.cached)
    return Outcome(job=job, origin=made.origin, milliseconds=made.milliseconds, warned=tuple(warned))


@contextlib.contextmanager
def _noting() -> Iterator[list[Warned]]:
    """Note warnings in place of showing them; only warnings that mean something in another process."""
    noted: list[Warned] = []

    def note(message: Warning, category: object, file: str, line: int, *_: object) -> None:
        with contextlib.suppress(Exception):  # a warning may hold anything
            one = Warned(pickled=pickle.dumps(message), file=file, line=line)
            if sum(len(other.pickled) for other in (*noted, one)) <= _MOST_WARNED:
                noted.append(one)

    shown = warnings.showwarning
    warnings.showwarning = note  # type: ignore[assignment]
    try:
        yield noted
    finally:
        warnings.showwarning = shown


def _is_kept(job: str) -> bool:
    """Return whether the cache has the code just compiled for a job."""
    store = session().store()
    return any(store.find(name) is not None for name in read_manifest(store, job).recent)


def _kernel(request: CompileRequest) -> Kernel:
    if isinstance(request.kernel, NamedFunction):
        return _imported(request.kernel, request)
    try:
        kernel: Kernel = pickle.loads(request.kernel)
    except Exception as error:  # its modules may differ here, and raise anything
        let_through(error)
        raise CannotBeHandedOverError(
            f"what it refers to cannot be imported: {type(error).__name__}: {error}"
        ) from error
    return kernel


def _imported(name: NamedFunction, request: CompileRequest) -> Kernel:
    """Return the kernel of a name from its module; made anew if the module has the bare function there."""
    found = _found(name)
    function = found.py_func if isinstance(found, Kernel) else found
    if getattr(function, "__code__", None) is None or look_of(function) != name.look:
        raise CannotBeHandedOverError(f"{name.module}.{name.qualname} is another function where it is imported")
    if isinstance(found, Kernel) and found.options == request.options:
        return found
    kernel = Kernel(function, request.options)
    kernel.marks = request.marks
    return kernel


def _found(name: NamedFunction) -> Any:
    try:
        found: Any = importlib.import_module(name.module)
    except Exception as error:  # a user's module may raise anything
        raise CannotBeHandedOverError(
            f"module {name.module} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for part in name.qualname.split("."):
        found = getattr(found, part, None)
    return found
