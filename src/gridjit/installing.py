"""install: makes numba.cuda's names gridjit's, for programs and packages that import numba.cuda themselves."""

from __future__ import annotations

import sys
from types import ModuleType

import gridjit.cuda
import gridjit.launchconfig
from gridjit.base.forking import lock, section
from gridjit.base.messages import warn
from gridjit.compiler.frontend.bindings.bootstrap import runtime_version_answered
from gridjit.runtime.installed.replaced import Replaced
from gridjit.runtime.installed.watching import Watching

# Names of numba.cuda that become gridjit's. Its contexts and devices stay its own: on the host, of a simulated driver.
NAMES = (
    "In",
    "InOut",
    "Out",
    "Reduce",
    "as_cuda_array",
    "default_stream",
    "device_array",
    "device_array_like",
    "event",
    "event_elapsed_time",
    "external_stream",
    "guvectorize",
    "is_available",
    "is_cuda_array",
    "jit",
    "managed_array",
    "mapped_array",
    "mapped_array_like",
    "per_thread_default_stream",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "reduce",
    "stream",
    "synchronize",
    "to_device",
    "vectorize",
)
_PACKAGE = "numba.cuda"
_changing = lock()
# Those who asked for it last, while it is in place.
_installed: list[Installed] = []


class InstallWarning(UserWarning):
    """Something was made by numba-cuda before gridjit.install(), and stays numba-cuda's."""

    __module__ = "gridjit"  # as users, tracebacks and pickles name it


class Installed:
    """That numba.cuda's names are gridjit's. A `with` block gives them back at its end, if its install() took them."""

    def __init__(self, *, device_functions: bool = True) -> None:
        self._device_functions = device_functions
        self._replaced: Replaced | None = None
        self._watching = Watching(
            lambda name: self._begin_with if name == _PACKAGE else None, around=runtime_version_answered
        )

    def begin(self) -> None:
        """Replace the names now if numba.cuda is imported, else as soon as it is."""
        if _PACKAGE in sys.modules:
            self._begin_with(sys.modules[_PACKAGE])
        else:
            self._watching.begin()

    def end(self) -> None:
        """Give the names back; more than once does no harm."""
        self._watching.end()
        if self._replaced is not None:
            self._replaced.undo()
            self._replaced = None

    def _begin_with(self, cuda: ModuleType) -> None:
        from gridjit.runtime.installed import names, taken

        self.end()  # an import of numba.cuda that an import of one of its modules causes is told of twice
        originals = {name: vars(cuda)[name] for name in NAMES if name in vars(cuda)}
        ours = {name: getattr(gridjit.cuda, name) for name in NAMES}
        before = taken.kernels_made()
        # numba-cuda's other functions of this module answer for both already, and know when it is itself that asks.
        configs = {"capture_compile_config": gridjit.launchconfig.capture_compile_config}
        self._replaced = names.replace_names(ours, configs, device_functions=self._device_functions)
        taken.replace_taken(originals, {**ours, "jit": vars(cuda)["jit"]}, self._replaced)
        if before:
            warn(InstallWarning(_late(before)))

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *_: object) -> None:
        if _installed == [self]:
            uninstall()


def install() -> Installed:
    """Make numba.cuda's names gridjit's in this process: jit, arrays, streams, events, launch configurations.

    Programs and packages that import numba.cuda, before or after, then run on gridjit unchanged, on a GPU or the host.
    Names that their modules imported from numba.cuda before are replaced there. Kernels that numba-cuda's jit made
    before stay its own, and a warning names them. Calling install again does nothing.

        import gridjit
        gridjit.install()
        import a_package_that_imports_numba_cuda

    Returns a context manager that restores the names at the end of a `with` block; uninstall() does so, too.
    """
    return _install(Installed())


def uninstall() -> None:
    """Restore numba.cuda's own names; names imported and kernels made in between stay gridjit's."""
    with section(), _changing:
        if _installed:
            _installed.pop().end()


def install_kernels_only() -> None:
    """Do as install() does, but leave jit(device=True) numba-cuda's, for tests that look into its dispatchers."""
    _install(Installed(device_functions=False))


def original() -> ModuleType:
    """Return numba.cuda as it was before its names were replaced."""
    from gridjit.runtime.installed import names

    return names.original()


def _install(wanted: Installed) -> Installed:
    with section(), _changing:
        if not _installed:
            wanted.begin()
            _installed.append(wanted)
    return wanted


def _late(kernels: list[str]) -> str:
    return (
        f"gridjit.install() was called too late for these kernels, which numba-cuda made: {', '.join(kernels[:5])}"
        f"{' and more' * (len(kernels) > 5)}; call it before the modules that define them are imported"
    )
