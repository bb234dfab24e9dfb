"""Overload: one compiled form of a kernel, under numba-cuda's names."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex, TextIO

from gridjit.compiler.job import CompileJob
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import ArgumentError, ConfigError, UnsupportedError, shown
from gridjit.compiler.values.launch_config import MAX_BLOCK_THREADS
from gridjit.runtime.devices.base import KernelAttributes, LoadedKernel
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations.table import Specialization

if TYPE_CHECKING:
    from gridjit.compiler.hooks.hook import Hook
    from gridjit.compiler.values.artifact import Artifact, ModuleCallbacks
    from gridjit.compiler.values.footprint import Footprint
    from gridjit.compiler.values.launch_config import LaunchConfig
    from gridjit.compiler.values.signature import Signature
    from gridjit.compiler.values.target import Target
    from gridjit.compiler.view.config import ConfigView
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.numba_names.code_library import CodeLibrary


class Overload:
    """A specialization and its kernel; attributes that it lacks are the specialization's."""

    objectmode = False
    entry_point = None
    lifted = ()

    def __init__(self, kernel: Kernel, specialization: Specialization) -> None:
        self.kernel = kernel
        self.specialization = specialization

    @property
    def cooperative(self) -> bool:
        """Whether the kernel synchronizes the grid, so that all its blocks must be resident at once."""
        return self.specialization.artifact.cooperative

    @property
    def launch_config_sensitive(self) -> bool:
        """Whether its compile depended on the launch configuration, or was marked as if it did."""
        return bool(self.specialization.metadata.get("launch_config_sensitive"))

    @property
    def entry_name(self) -> str:
        """The symbol that launches call."""
        return self.specialization.artifact.entry

    @property
    def argument_types(self) -> tuple[Any, ...]:
        """The argument types, as numba's."""
        from gridjit.compiler.frontend.bindings.types import numba_arguments

        return tuple(numba_arguments(self.specialization.signature))

    argtypes = argument_types

    @property
    def debug(self) -> bool:
        """Whether it checks for errors while it runs."""
        return bool(self.kernel.options.debug)

    @property
    def lineinfo(self) -> bool:
        """Whether the code knows its source lines."""
        return bool(self.kernel.options.lineinfo)

    @property
    def launch_bounds(self) -> tuple[int, ...] | None:
        """The kernel's launch bounds."""
        return self.kernel.options.launch_bounds

    @property
    def shared_memory_carveout(self) -> int | None:
        """How much of a multiprocessor's memory the kernel would have shared, in percent, or None."""
        return self.kernel.options.shared_memory_carveout

    @property
    def py_func(self) -> Callable[..., Any]:
        """The Python function."""
        return self.kernel.py_func

    @property
    def extensions(self) -> list[Any]:
        """Extensions for the arguments of the kernel's launches."""
        return self.kernel.extensions

    @property
    def library(self) -> CodeLibrary:
        """The code, under numba-cuda's names for it."""
        return self._codelibrary

    @property
    def regs_per_thread(self) -> int:
        """Registers of a thread."""
        return self.attributes().registers

    @property
    def shared_mem_per_block(self) -> int:
        """Static shared memory of a block, in bytes."""
        return self.attributes().shared_bytes

    @property
    def local_mem_per_thread(self) -> int:
        """Local memory of a thread, in bytes."""
        return self.attributes().local_bytes

    @property
    def const_mem_size(self) -> int:
        """Constant memory, in bytes."""
        return self.attributes().constant_bytes

    @property
    def max_threads_per_block(self) -> int:
        """Threads that a block may have."""
        return self.attributes().max_threads

    def attributes(self) -> KernelAttributes:
        """Return the kernel's resource use: for a GPU by the artifact, without a GPU; else by its device."""
        return held_attributes(self.specialization.artifact) or self._loaded().attributes()

    def max_cooperative_grid_blocks(self, blockdim: int | tuple[int, ...], dynsmemsize: int = 0) -> int:
        """Return how many blocks of a cooperative launch fit on the current device.

        blockdim: threads of a block. dynsmemsize: dynamic shared memory of a block, in bytes.
        """
        threads = 1
        for dim in (*(blockdim if isinstance(blockdim, tuple) else (blockdim,)), dynsmemsize):
            if not isinstance(dim, SupportsIndex):
                raise ArgumentError(
                    f"max_cooperative_grid_blocks({shown(blockdim)}, {shown(dynsmemsize)}): give a block's threads as "
                    "whole numbers, and its shared memory as a whole number of bytes"
                )
        for dim in blockdim if isinstance(blockdim, tuple) else (blockdim,):
            threads *= dim
        blocks = self._loaded().resident_blocks(threads, dynsmemsize)
        if blocks is None:
            raise ConfigError("with GRIDJIT_HOST_LIMITS=0, the host has no limit of blocks for a cooperative launch")
        return blocks

    def inspect_llvm(self) -> str:
        """Return the LLVM IR of the kernel and of its callees, made again from its source."""
        from gridjit.compiler.readable import llvm_ir

        return llvm_ir(self._job(), self._view())

    def inspect_asm(self, cc: Any = None) -> str:
        """Return the assembly text: PTX; the host's, made again from the source."""
        if found := self.specialization.artifact.assembly:
            return found
        from gridjit.compiler.readable import assembly

        return assembly(self._job(), self._view())

    def inspect_lto_ptx(self, cc: Any = None) -> str:
        """Return the PTX after link-time optimization with the linked files, made again from the source."""
        from gridjit.compiler.readable import lto_ptx

        self._refuse_for_the_host("PTX")
        return lto_ptx(self._job(), self._view())

    def inspect_sass(self) -> str:
        """Return the machine code with the known source lines."""
        return self._disassembled("-gi")

    def inspect_sass_cfg(self) -> str:
        """Return the control-flow graph of the machine code, in DOT."""
        return self._disassembled("-cfg")

    def inspect_types(self, file: TextIO | None = None) -> None:
        """Write the source with numba's IR and inferred types to file (default: standard output)."""
        out = file or sys.stdout
        print(self.entry_name, self.specialization.signature, file=out)
        print("-" * 80, self._type_annotation, "=" * 80, sep="\n", file=out)

    @property
    def _type_annotation(self) -> Any:
        from gridjit.compiler.readable import annotation

        return annotation(self._job(), self._view())

    @property
    def type_annotation(self) -> Any:
        """The source with numba's IR and inferred types."""
        return self._type_annotation

    def bind(self) -> None:
        """Load it on the current device."""
        self._loaded()

    @property
    def _codelibrary(self) -> CodeLibrary:
        """The code, under numba-cuda's names for it."""
        from gridjit.runtime.numba_names.code_library import CodeLibrary

        return CodeLibrary(self)

    def _disassembled(self, *flags: str) -> str:
        from gridjit.compiler.targets.ptx.toolkit import disassembled

        artifact = self.specialization.artifact
        self._refuse_for_the_host("SASS")
        return disassembled(artifact.image, *flags)

    def _refuse_for_the_host(self, what: str) -> None:
        artifact = self.specialization.artifact
        if artifact.target.kind != "ptx":
            raise UnsupportedError(
                f"{artifact.kernel}: code for {artifact.target} has no {what}; look at what "
                "compile(signature, target='sm_90') makes"
            )

    def _loaded(self) -> LoadedKernel:
        return self.kernel.loaded(self.specialization, session().device_for(self.specialization.target))

    def _job(self) -> CompileJob:
        return self.kernel.job_for(self.specialization.signature, self.specialization.target)

    def _view(self) -> ConfigView:
        from gridjit.compiler.view.config import ConfigView

        required = self.specialization.artifact.effects.sharedmem
        return ConfigView(self.specialization.config, None, self.kernel, required)

    if TYPE_CHECKING:  # checkers read the names; with __getattr__, an overload would have every name
        signature: Signature
        config: LaunchConfig | None
        artifact: Artifact
        origin: str
        milliseconds: float
        reason: str
        phases: Mapping[str, float]
        hooks: list[Hook]
        module: ModuleCallbacks
        footprint: Footprint
        target: Target
        metadata: dict[str, Any]
        reused: tuple[str, ...]
        tier: str
        serves = Specialization.serves
    else:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            try:
                return getattr(self.specialization, name)
            except AttributeError:
                raise AttributeError(f"a compiled form of {self.kernel!r} has no attribute {name!r}") from None

    def __repr__(self) -> str:
        return f"<{self.specialization} of {self.kernel!r}>"


class CompiledCode(Artifact):
    """An artifact in this process; names that it lacks are the kernel's overload's."""

    __slots__ = ("_overload",)
    __hash__ = Artifact.__hash__

    @classmethod
    def of(cls, artifact: Artifact, overload: Overload) -> CompiledCode:
        """Return a copy of an artifact with the names of an overload."""
        made = cls(**_parts(artifact))
        object.__setattr__(made, "_overload", overload)
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Artifact) and _parts(self) == _parts(other)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle it as the artifact alone."""
        return _artifact, (_parts(self),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._overload, name)


def _parts(artifact: Artifact) -> dict[str, Any]:
    return {part.name: getattr(artifact, part.name) for part in dataclasses.fields(Artifact)}


def _artifact(parts: dict[str, Any]) -> Artifact:
    return Artifact(**parts)


_WARP = 32
# "Compute capabilities" in the CUDA programming guide: registers that a block may have, and four schedulers share.
# Warps get them in such steps.
_REGISTERS, _FEWER_REGISTERS = 1 << 16, 1 << 15
_WITH_FEWER = ("sm_53", "sm_62")
_SCHEDULERS, _STEP = 4, 256


def held_attributes(artifact: Artifact) -> KernelAttributes | None:
    """Return the resource use in an artifact; None for code whose device must be asked."""
    known = artifact.resources
    if artifact.target.kind != "ptx" or "registers" not in known:
        return None
    return KernelAttributes(
        registers=known["registers"],
        shared_bytes=known.get("shared_bytes", 0),
        local_bytes=known.get("local_bytes", 0),
        constant_bytes=known.get("constant_bytes", 0),
        max_threads=min(known.get("max_threads", MAX_BLOCK_THREADS), _threads_of(known["registers"], artifact)),
    )


def _threads_of(registers: int, artifact: Artifact) -> int:
    """Return how many threads of so many registers each a block of the artifact's GPU has room for."""
    room = _FEWER_REGISTERS if artifact.target.arch in _WITH_FEWER else _REGISTERS
    of_a_warp = max(_STEP, -(-registers * _WARP // _STEP) * _STEP)
    warps = room // _SCHEDULERS // of_a_warp * _SCHEDULERS
    return min(MAX_BLOCK_THREADS, warps * _WARP)
