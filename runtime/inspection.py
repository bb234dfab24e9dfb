"""Inspection: the part of a kernel that shows what was compiled - types, resources, code, reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.compiler.errors import ConfigError
from gridjit.compiler.signature import Signature
from gridjit.runtime import explain
from gridjit.runtime.devices.base import KernelAttributes
from gridjit.runtime.session import session
from gridjit.runtime.specializations import Specialization, Specializations
from gridjit.runtime.statistics import Statistics


class Inspection:
    """What can be asked of a kernel. Where a signature may be given, None asks for all, by signature."""

    py_func: Callable[..., Any]
    stats: Statistics
    _known: Specializations

    @property
    def name(self) -> str:
        """The function's qualified name."""
        return self.py_func.__qualname__

    @property
    def specializations(self) -> tuple[Specialization, ...]:
        """The specializations in use in this process, oldest first within a signature."""
        return self._known.all()

    @property
    def overloads(self) -> dict[Signature, Specialization]:
        """The newest specialization of each signature."""
        return {found.signature: found for found in self._known.all()}

    @property
    def signatures(self) -> list[Signature]:
        """The argument types the kernel was specialized for."""
        return list(self.overloads)

    def explain(self) -> str:
        """Return, in words, what was compiled, why, and on what each specialization depends."""
        return explain.story(f"{self.py_func.__module__}.{self.name}", self.stats, self._known.all())

    def inspect_asm(self, signature: Any = None) -> Any:
        """Return the assembly text: PTX, or the host's."""
        return self._by_signature(signature, lambda found: found.artifact.assembly)

    def get_metadata(self, signature: Any = None) -> Any:
        """Return the compile's metadata: whether it is launch-config sensitive, how long it took."""
        return self._by_signature(signature, lambda found: found.metadata)

    def get_regs_per_thread(self, signature: Any = None) -> Any:
        """Return the registers that a thread uses."""
        return self._by_signature(signature, lambda found: self._attributes(found).registers)

    def get_shared_mem_per_block(self, signature: Any = None) -> Any:
        """Return the static shared memory of a block, in bytes."""
        return self._by_signature(signature, lambda found: self._attributes(found).shared_bytes)

    def get_local_mem_per_thread(self, signature: Any = None) -> Any:
        """Return the local memory of a thread, in bytes."""
        return self._by_signature(signature, lambda found: self._attributes(found).local_bytes)

    def get_const_mem_size(self, signature: Any = None) -> Any:
        """Return the constant memory of the kernel, in bytes."""
        return self._by_signature(signature, lambda found: self._attributes(found).constant_bytes)

    def get_max_threads_per_block(self, signature: Any = None) -> Any:
        """Return how many threads a block of the kernel may have."""
        return self._by_signature(signature, lambda found: self._attributes(found).max_threads)

    def _attributes(self, found: Specialization) -> KernelAttributes:
        return session().device_for(found.target).load(found.artifact).attributes()

    def _by_signature(self, signature: Any, value: Callable[[Specialization], Any]) -> Any:
        if signature is None:
            return {wanted: value(found) for wanted, found in self.overloads.items()}
        if not isinstance(signature, Signature):
            from gridjit.compiler.frontend.numba_types import parse_signature

            signature = parse_signature(signature)
        if signature not in self.overloads:
            known = ", ".join(map(str, self.signatures)) or "none yet"
            raise ConfigError(f"{self.name} is not compiled for {signature}; it is for: {known}")
        return value(self.overloads[signature])
