"""CodeLibrary: a specialization's code under numba-cuda's names for it, `kernel.overloads[types]._codelibrary`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gridjit.compiler.values.dependency import LINKED_FILE
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.options import options_of

if TYPE_CHECKING:
    from gridjit.runtime.devices.base import Device, LoadedKernel
    from gridjit.runtime.numba_names.overload import Overload


class FunctionAttributes(NamedTuple):
    """A kernel's use: registers and local bytes of a thread, shared bytes of a block, constant bytes, threads."""

    regs: int
    shared: int
    local: int
    const: int
    maxthreads: int


class Function:
    """A kernel as loaded on the current device. handle: the driver's CUkernel."""

    def __init__(self, name: str, handle: int, loaded: LoadedKernel) -> None:
        self.name = name
        self.handle = handle
        self._loaded = loaded

    @property
    def device(self) -> Device:
        """The current device, on which it is loaded: its id, compute_capability, handle."""
        return self._loaded.here()

    @property
    def attrs(self) -> FunctionAttributes:
        """The kernel's use of the current device."""
        uses = self._loaded.attributes()
        return FunctionAttributes(
            regs=uses.registers,
            shared=uses.shared_bytes,
            local=uses.local_bytes,
            const=uses.constant_bytes,
            maxthreads=uses.max_threads,
        )

    def cache_config(self, prefer_equal: bool = False, prefer_cache: bool = False, prefer_shared: bool = False) -> None:
        """Set how later launches would split a multiprocessor's memory: cache, or shared memory."""
        if prefer_equal or (prefer_cache and prefer_shared):
            preference = "EQUAL"
        elif prefer_cache:
            preference = "L1"
        else:
            preference = "SHARED" if prefer_shared else "NONE"
        self._loaded.prefer_cache(preference)

    def set_shared_memory_carveout(self, carveout: int | str) -> None:
        """Set how much of a multiprocessor's memory later launches would have shared, in percent; -1: any.

        Raises ConfigError, a ValueError, for anything but -1 to 100 and the names that jit takes.
        """
        percent = options_of({"shared_memory_carveout": carveout}).shared_memory_carveout
        self._loaded.prefer_shared(-1 if percent is None else percent)


class CodeLibrary:
    """The code of an overload, and its linked files."""

    def __init__(self, overload: Overload) -> None:
        self._overload = overload

    def get_cufunc(self) -> Function:
        """Return the kernel, loaded on the current device, as its launches run it."""
        loaded = self._overload._loaded()
        if loaded.handle is None:
            raise ConfigError(f"{self._overload.entry_name} is compiled for the host, which has no CUDA function")
        return Function(self._overload.entry_name, loaded.handle, loaded)

    def get_asm_str(self, cc: Any = None) -> str:
        """Return the PTX."""
        return self._overload.inspect_asm()

    def get_llvm_str(self) -> str:
        """Return the LLVM IR, made again from the source."""
        return self._overload.inspect_llvm()

    def get_sass(self, cc: Any = None) -> str:
        """Return the machine code as text."""
        return self._overload.inspect_sass()

    @property
    def _linking_files(self) -> tuple[str, ...]:
        """The names of the files that the kernel is linked with."""
        artifact = self._overload.specialization.artifact
        given = (file.name for file in self._overload._job().linked)
        found = (one.name for one in artifact.dependencies if one.kind == LINKED_FILE)
        return (*given, *found, *(("cudadevrt",) if artifact.cooperative else ()))
