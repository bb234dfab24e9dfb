"""callbacks: a module's callbacks from linked code, called once in each context where the module is launched.

Setup callbacks end before the first launch of the module in a context begins, whichever threads launch it. Each setup
has one teardown, in its context, before the module is unloaded: when the kernel goes, when the program resets the
context through numba-cuda, or when the interpreter exits. A context that ended by itself took the module along, without
callbacks.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import lock
from gridjit.compiler.values.artifact import ModuleCallbacks
from gridjit.runtime.devices.errors import DriverError

if TYPE_CHECKING:
    from gridjit.runtime.devices.cuda.api.driver import Driver
    from gridjit.runtime.devices.cuda.device import CudaDevice


def module_of(image: bytes) -> Any:
    """Return a cubin, loaded, as the cuda.core.ObjectCode that callbacks are called with; it unloads itself."""
    module: Any = importlib.import_module("cuda.core").ObjectCode.from_cubin(image)
    return module


class Module:
    """A loaded module and its callbacks. handle: its CUlibrary."""

    def __init__(self, device: CudaDevice, code: Any, callbacks: ModuleCallbacks) -> None:
        self.handle = int(code.handle)
        self._device = device
        self._code = code
        self._callbacks = callbacks
        self._process = os.getpid()
        # A callback may launch kernels of the module, so that its thread comes here again.
        self._calling = lock()
        self._contexts: dict[int, _Context] = {}

    def set_up(self) -> None:
        """Call the setup callbacks in the calling thread's context, if they were not yet; raises their exceptions."""
        driver = self._device.driver
        number = driver.context_id(0)
        if (known := self._contexts.get(number)) is not None and known.ready:
            return
        with self._calling:
            if number in self._contexts:
                return
            here = self._contexts[number] = _Context(driver.current_context())
            try:
                for call in self._callbacks.setup:
                    call(self._code)
            except BaseException:
                del self._contexts[number]
                raise
            here.reset = on_reset(weakref.WeakMethod(self.tear_down), number)
            here.ready = True

    def tear_down(self, only: int | None = None) -> None:
        """Call the teardown callbacks in each context that was set up; only: the number of a single context.

        All of them are called; the first exception is raised after.
        """
        with self._calling:
            numbers = [number for number in self._contexts if only in (None, number)]
            raised = [error for number in numbers for error in self._end(number, self._contexts.pop(number))]
        if raised:
            raise raised[0]

    def _end(self, number: int, context: _Context) -> list[BaseException]:
        """Return the exceptions of the teardown callbacks in one context; a context that is gone has none."""
        context.reset()
        driver = self._device.driver
        try:
            if os.getpid() != self._process or driver.context_id(context.handle) != number:
                return []
            with _in_context(driver, context.handle):
                return [error for call in self._callbacks.teardown if (error := _raised(call, self._code)) is not None]
        except DriverError:
            return []


@contextlib.contextmanager
def _in_context(driver: Driver, context: int) -> Iterator[None]:
    before = driver.current_context()
    driver.set_context(context)
    try:
        yield
    finally:
        driver.set_context(before)


def _raised(call: Callable[[Any], Any], code: Any) -> BaseException | None:
    try:
        call(code)
    except BaseException as error:
        return error
    return None


class _Context:
    """A context that a module is in use in. reset: stops waiting for its reset."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.ready = False
        self.reset: Callable[[], None] = _nothing


def _nothing() -> None:
    pass


class _Token:
    """Stands for one of our modules among those of a numba-cuda context; it goes when that context is reset."""


def on_reset(function: weakref.WeakMethod[Callable[[int], None]], number: int) -> Callable[[], None]:
    """Call function with a number when the program resets the current context through numba-cuda.

    Returns the undo function.
    """
    modules = _numba_modules()
    if modules is None:
        return _nothing

    def cleared() -> None:
        if (found := function()) is not None:
            found(number)

    key, token = object(), _Token()
    watch = weakref.finalize(token, cleared)
    watch.atexit = False
    modules[key] = token

    def undo() -> None:
        watch.detach()
        modules.pop(key, None)

    return undo


def _numba_modules() -> Any:
    """Return numba-cuda's table of modules of the current context; None without it, or of a foreign context."""
    devices: Any = sys.modules.get("numba.cuda.cudadrv.devices")
    try:
        return None if devices is None else devices.get_context().modules
    except Exception:  # numba-cuda only works in primary contexts, and its driver may be missing
        return None
