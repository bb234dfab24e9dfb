"""Inspection: the part of a kernel that shows what was compiled - types, resources, code, reasons."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, cast, overload

from gridjit.compiler.errors import ConfigError, GridjitError
from gridjit.compiler.options import Options
from gridjit.compiler.signature import Signature
from gridjit.runtime.numba_names.by_signature import BySignature, as_signature
from gridjit.runtime.specialize.kernel_code import KernelCode
from gridjit.runtime.specialize.statistics import Statistics
from gridjit.runtime.specialize.table import Specialization
from gridjit.runtime.tracebacks import for_users

if TYPE_CHECKING:
    from gridjit.runtime.accepted import SignatureLike
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.numba_names.overload import Overload


class Inspection:
    """What can be asked of a kernel. Where a signature may be given, None asks for all, by signature.

    Of a kernel for one signature only (`specialized`), None asks for that one where a number is the answer.
    """

    __name__: str
    py_func: Callable[..., Any]
    options: Options
    stats: Statistics
    specialized: bool = False
    _code: KernelCode
    _specialized_kernels: dict[Signature, Kernel]

    @property
    def name(self) -> str:
        """The function's qualified name."""
        return self.py_func.__qualname__

    @property
    def targetoptions(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return self.options.changed()

    @property
    @for_users
    def specializations(self) -> tuple[Specialization, ...]:
        """The specializations in use in this process, oldest first within a signature; then those of specialize()."""
        made = tuple(self._specialized_kernels.values())
        return (*self._all(), *(found for kernel in made for found in kernel.specializations))

    @property
    @for_users
    def overloads(self) -> BySignature[Overload]:
        """The newest specialization of each signature, with numba-cuda's names; by Signature or by numba's types."""
        from gridjit.runtime.numba_names.overload import Overload

        kernel = cast("Kernel", self)
        return BySignature({found.signature: Overload(kernel.form_of(found), found) for found in self._all()})

    @property
    def signatures(self) -> list[Signature]:
        """The argument types the kernel was specialized for."""
        return list(self.overloads)

    def explain(self) -> str:
        """Return, in words, what was compiled, why, and on what each specialization depends."""
        from gridjit.runtime.specialize import explain

        kernel = cast("Kernel", self)
        told = []
        try:
            kernel._settle()
        except GridjitError as error:
            told = [f"what it declares does not compile: {error}"]
        told += self._told()
        return explain.story(f"{self.py_func.__module__}.{self.name}", self.stats, self.in_memory(), told)

    def _told(self) -> list[str]:
        """Return what people are told besides: of what other processes compile."""
        return [said for ahead in cast("Kernel", self)._ahead if (said := ahead.told())]

    def in_memory(self) -> tuple[Specialization, ...]:
        """Return the specializations that are in use now."""
        return self._code.table.all()

    def _all(self) -> tuple[Specialization, ...]:
        """Return the specializations, with those that are declared and compiled in other processes."""
        cast("Kernel", self)._settle()
        return self.in_memory()

    @overload
    def inspect_llvm(self, signature: None = None) -> BySignature[str]: ...
    @overload
    def inspect_llvm(self, signature: SignatureLike) -> str: ...
    def inspect_llvm(self, signature: Any = None) -> Any:
        """Return the LLVM IR of the kernel and of what it calls, made again from its source."""
        return self._by_signature(signature, lambda found: found.inspect_llvm())

    @overload
    def inspect_asm(self, signature: None = None) -> BySignature[str]: ...
    @overload
    def inspect_asm(self, signature: SignatureLike) -> str: ...
    def inspect_asm(self, signature: Any = None) -> Any:
        """Return the assembly text: PTX, or the host's."""
        return self._by_signature(signature, lambda found: found.inspect_asm())

    @overload
    def inspect_lto_ptx(self, signature: None = None) -> BySignature[str]: ...
    @overload
    def inspect_lto_ptx(self, signature: SignatureLike) -> str: ...
    def inspect_lto_ptx(self, signature: Any = None) -> Any:
        """Return the PTX after link-time optimization with the linked files."""
        return self._by_signature(signature, lambda found: found.inspect_lto_ptx())

    @overload
    def inspect_sass(self, signature: None = None) -> BySignature[str]: ...
    @overload
    def inspect_sass(self, signature: SignatureLike) -> str: ...
    def inspect_sass(self, signature: Any = None) -> Any:
        """Return the GPU's machine code as text; needs nvdisasm."""
        return self._by_signature(signature, lambda found: found.inspect_sass())

    @overload
    def inspect_sass_cfg(self, signature: None = None) -> BySignature[str]: ...
    @overload
    def inspect_sass_cfg(self, signature: SignatureLike) -> str: ...
    def inspect_sass_cfg(self, signature: Any = None) -> Any:
        """Return the control-flow graph of the machine code, in DOT; needs nvdisasm."""
        return self._by_signature(signature, lambda found: found.inspect_sass_cfg())

    def inspect_types(self, file: TextIO | None = None) -> None:
        """Write the source with numba's IR and inferred types to file (default: standard output)."""
        for found in self.overloads.values():
            found.inspect_types(file or sys.stdout)

    @overload
    def get_metadata(self, signature: None = None) -> BySignature[dict[str, Any]]: ...
    @overload
    def get_metadata(self, signature: SignatureLike) -> dict[str, Any]: ...
    def get_metadata(self, signature: Any = None) -> Any:
        """Return the compile's metadata: whether it is launch-config sensitive, how long it took."""
        return self._by_signature(signature, lambda found: found.metadata)

    @overload
    def get_regs_per_thread(self, signature: None = None) -> BySignature[int] | Any: ...
    @overload
    def get_regs_per_thread(self, signature: SignatureLike) -> int: ...
    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Return the registers that a thread uses."""
        return self._number(signature, lambda found: found.regs_per_thread)

    @overload
    def get_shared_mem_per_block(self, signature: None = None) -> BySignature[int] | Any: ...
    @overload
    def get_shared_mem_per_block(self, signature: SignatureLike) -> int: ...
    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Return the static shared memory of a block, in bytes."""
        return self._number(signature, lambda found: found.shared_mem_per_block)

    @overload
    def get_local_mem_per_thread(self, signature: None = None) -> BySignature[int] | Any: ...
    @overload
    def get_local_mem_per_thread(self, signature: SignatureLike) -> int: ...
    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Return the local memory of a thread, in bytes."""
        return self._number(signature, lambda found: found.local_mem_per_thread)

    @overload
    def get_const_mem_size(self, signature: None = None) -> BySignature[int] | Any: ...
    @overload
    def get_const_mem_size(self, signature: SignatureLike) -> int: ...
    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Return the constant memory of the kernel, in bytes."""
        return self._number(signature, lambda found: found.const_mem_size)

    @overload
    def get_max_threads_per_block(self, signature: None = None) -> BySignature[int] | Any: ...
    @overload
    def get_max_threads_per_block(self, signature: SignatureLike) -> int: ...
    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Return how many threads a block of the kernel may have."""
        return self._number(signature, lambda found: found.max_threads_per_block)

    def _number(self, signature: Any, value: Callable[[Overload], int]) -> Any:
        found = self._by_signature(signature, value)
        return next(iter(found.values())) if signature is None and self.specialized and found else found

    def _by_signature(self, signature: Any, value: Callable[[Overload], Any]) -> Any:
        overloads = self.overloads
        if signature is None:
            return BySignature({wanted: value(found) for wanted, found in overloads.items()})
        wanted = as_signature(signature)
        if wanted is None or wanted not in overloads:
            known = ", ".join(map(str, self.signatures)) or "none yet"
            raise ConfigError(f"{self.name} is not compiled for {wanted or signature}; it is for: {known}")
        return value(overloads[wanted])
