"""Inspection: a kernel under numba-cuda's names: types, resources and code of its specializations."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO, cast, overload

from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.launch_config import as_launch_config
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.environment.tracebacks import for_users
from gridjit.runtime.specializations.statistics import BySignature, as_signature
from gridjit.runtime.specializations.table import Specialization

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gridjit.runtime.accepted import CodeLike, SignatureLike, WhichCode
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.numba_names.overload import Overload


class Inspection:
    """Users' queries of a kernel. In place of a signature, None asks for all specializations.

    They come by signature: first the one for launches here, then, under keys with the target and the launch, the
    others. Such a key, or one of `specializations`, may be given as the signature. `target` ("host", "cuda", "sm_90")
    and `config` (a LaunchConfig, or (griddim, blockdim[, sharedmem])) select specializations for them. Of a kernel for
    one signature only (`specialized`), None asks for that signature where a number is the answer.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    @for_users
    def typeof_pyval(self, val: Any) -> Any:
        """Return numba's type of a value that is an argument of the kernel; raises ArgumentError if it cannot be."""
        from gridjit.compiler.frontend.bindings.types import numba_arguments
        from gridjit.runtime.args.handler import handler_of
        from gridjit.runtime.process.arguments import place_of

        kind = handler_of(val).type_of(val, place_of(self._kernel))
        return numba_arguments(Signature(arguments=(kind,)))[0]

    @property
    def targetoptions(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return self._kernel.options.changed()

    @property
    @for_users
    def overloads(self) -> BySignature[Overload]:
        """All specializations, with numba-cuda's names: by signature, also as numba's types, or by their own keys."""
        return self._overloads()

    @property
    def signatures(self) -> list[Signature]:
        """The argument types the kernel was specialized for."""
        return list(dict.fromkeys(found.signature for found in self._kernel._all()))

    @property
    def nopython_signatures(self) -> list[Any]:
        """The argument types, as numba's signatures."""
        from gridjit.compiler.frontend.bindings.types import numba_signature

        return [numba_signature(signature) for signature in self.signatures]

    @for_users
    def get_overload(self, sig: CodeLike, **which: Unpack[WhichCode]) -> Overload:
        """Return the specialization of a signature, as an Overload; raises ConfigError if it is not compiled.

        sig: a signature in any form, a key of `overloads`, or one of `specializations`.
        which: config= and target= leave only the code for that launch, and for that target.
        """
        return cast("Overload", self._by_signature(sig, lambda found: found, **which))

    @for_users
    def get_compile_result(self, sig: SignatureLike) -> Overload:
        """Return the specialization of a signature that launches here use, compiled if need be."""
        self._kernel.compile(sig)
        return self.get_overload(sig)

    def enable_caching(self) -> None:
        """Keep results on disk from now on, as jit(cache=True) does, which is the default."""
        self._kernel._cache = True

    @overload
    def inspect_llvm(self, signature: None = None, **which: Unpack[WhichCode]) -> BySignature[str]: ...
    @overload
    def inspect_llvm(self, signature: CodeLike, **which: Unpack[WhichCode]) -> str: ...
    @for_users
    def inspect_llvm(self, signature: Any = None, **which: Any) -> Any:
        """Return the LLVM IR of the kernel and of its callees, made again from its source.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._by_signature(signature, lambda found: found.inspect_llvm(), **which)

    @overload
    def inspect_asm(self, signature: None = None, **which: Unpack[WhichCode]) -> BySignature[str]: ...
    @overload
    def inspect_asm(self, signature: CodeLike, **which: Unpack[WhichCode]) -> str: ...
    @for_users
    def inspect_asm(self, signature: Any = None, **which: Any) -> Any:
        """Return the assembly text: PTX, or the host's.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._by_signature(signature, lambda found: found.inspect_asm(), **which)

    @overload
    def inspect_lto_ptx(self, signature: None = None, **which: Unpack[WhichCode]) -> BySignature[str]: ...
    @overload
    def inspect_lto_ptx(self, signature: CodeLike, **which: Unpack[WhichCode]) -> str: ...
    @for_users
    def inspect_lto_ptx(self, signature: Any = None, **which: Any) -> Any:
        """Return the PTX after link-time optimization with the linked files.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._by_signature(signature, lambda found: found.inspect_lto_ptx(), of_gpus=True, **which)

    @overload
    def inspect_sass(self, signature: None = None, **which: Unpack[WhichCode]) -> BySignature[str]: ...
    @overload
    def inspect_sass(self, signature: CodeLike, **which: Unpack[WhichCode]) -> str: ...
    @for_users
    def inspect_sass(self, signature: Any = None, **which: Any) -> Any:
        """Return the GPU's machine code as text; needs nvdisasm.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._by_signature(signature, lambda found: found.inspect_sass(), of_gpus=True, **which)

    @overload
    def inspect_sass_cfg(self, signature: None = None, **which: Unpack[WhichCode]) -> BySignature[str]: ...
    @overload
    def inspect_sass_cfg(self, signature: CodeLike, **which: Unpack[WhichCode]) -> str: ...
    @for_users
    def inspect_sass_cfg(self, signature: Any = None, **which: Any) -> Any:
        """Return the control-flow graph of the machine code, in DOT; needs nvdisasm.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._by_signature(signature, lambda found: found.inspect_sass_cfg(), of_gpus=True, **which)

    @for_users
    def inspect_types(self, file: TextIO | None = None, **which: Unpack[WhichCode]) -> None:
        """Write the source with numba's IR and inferred types to file (default: standard output).

        which: config= and target= leave only the code for that launch, and for that target.
        """
        for found in self._overloads(**which).values():
            found.inspect_types(file or sys.stdout)

    @overload
    def get_metadata(self, signature: None = None, **which: Unpack[WhichCode]) -> BySignature[dict[str, Any]]: ...
    @overload
    def get_metadata(self, signature: CodeLike, **which: Unpack[WhichCode]) -> dict[str, Any]: ...
    @for_users
    def get_metadata(self, signature: Any = None, **which: Any) -> Any:
        """Return the compile's metadata: whether it is launch-config sensitive, how long it took.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._by_signature(signature, lambda found: found.metadata, **which)

    @overload
    def get_regs_per_thread(self, signature: None = None, **which: Unpack[WhichCode]) -> BySignature[int] | Any: ...
    @overload
    def get_regs_per_thread(self, signature: CodeLike, **which: Unpack[WhichCode]) -> int: ...
    @for_users
    def get_regs_per_thread(self, signature: Any = None, **which: Any) -> Any:
        """Return the registers that a thread uses.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._number(signature, lambda found: found.regs_per_thread, **which)

    @overload
    def get_shared_mem_per_block(
        self, signature: None = None, **which: Unpack[WhichCode]
    ) -> BySignature[int] | Any: ...
    @overload
    def get_shared_mem_per_block(self, signature: CodeLike, **which: Unpack[WhichCode]) -> int: ...
    @for_users
    def get_shared_mem_per_block(self, signature: Any = None, **which: Any) -> Any:
        """Return the static shared memory of a block, in bytes.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._number(signature, lambda found: found.shared_mem_per_block, **which)

    @overload
    def get_local_mem_per_thread(
        self, signature: None = None, **which: Unpack[WhichCode]
    ) -> BySignature[int] | Any: ...
    @overload
    def get_local_mem_per_thread(self, signature: CodeLike, **which: Unpack[WhichCode]) -> int: ...
    @for_users
    def get_local_mem_per_thread(self, signature: Any = None, **which: Any) -> Any:
        """Return the local memory of a thread, in bytes.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._number(signature, lambda found: found.local_mem_per_thread, **which)

    @overload
    def get_const_mem_size(self, signature: None = None, **which: Unpack[WhichCode]) -> BySignature[int] | Any: ...
    @overload
    def get_const_mem_size(self, signature: CodeLike, **which: Unpack[WhichCode]) -> int: ...
    @for_users
    def get_const_mem_size(self, signature: Any = None, **which: Any) -> Any:
        """Return the constant memory of the kernel, in bytes.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._number(signature, lambda found: found.const_mem_size, **which)

    @overload
    def get_max_threads_per_block(
        self, signature: None = None, **which: Unpack[WhichCode]
    ) -> BySignature[int] | Any: ...
    @overload
    def get_max_threads_per_block(self, signature: CodeLike, **which: Unpack[WhichCode]) -> int: ...
    @for_users
    def get_max_threads_per_block(self, signature: Any = None, **which: Any) -> Any:
        """Return how many threads a block of the kernel may have.

        which: config= and target= leave only the code for that launch, and for that target.
        """
        return self._number(signature, lambda found: found.max_threads_per_block, **which)

    def _number(self, signature: Any, value: Callable[[Overload], int], **which: Any) -> Any:
        found = self._by_signature(signature, value, **which)
        return next(iter(found.values())) if signature is None and self._kernel.specialized and found else found

    def _by_signature(self, signature: Any, value: Callable[[Overload], Any], **which: Any) -> Any:
        if isinstance(signature, Specialization):
            return value(self._overload_of(signature))
        if signature is None:
            return BySignature({key: value(found) for key, found in self._overloads(**which).items()})
        wanted = as_signature(signature)
        # A specialization's key is its key among all specializations.
        overloads = self._overloads(**which) if wanted is None or type(wanted) is Signature else self._overloads()
        if wanted is None or wanted not in overloads:
            raise ConfigError(self._not_compiled(wanted or signature, **which))
        return value(overloads[wanted])

    def _overload_of(self, found: Specialization) -> Overload:
        from gridjit.runtime.numba_names.overload import Overload

        return Overload(self._kernel.form_of(found), found)

    def _overloads(
        self, *, config: Any = None, target: str | None = None, of_gpus: bool = False
    ) -> BySignature[Overload]:
        """Return the specializations by their keys: for a target and a launch, and for GPUs if there are any."""
        from gridjit.runtime.numba_names.specialized_signature import by_key, chosen

        found = chosen(self._kernel._all(), config=as_launch_config(self._kernel.name, config), target=target)
        if of_gpus:
            found = chosen(found, target="cuda") or found
        several = len({one.target for one in found}) > 1  # else there is nothing to ask a device for
        keyed = by_key(found, self._kernel.target_here if several else None)
        return BySignature({key: self._overload_of(one) for key, one in keyed.items()})

    def _not_compiled(
        self, wanted: Any, *, config: Any = None, target: str | None = None, of_gpus: bool = False
    ) -> str:
        known = "; ".join(map(str, self._kernel._all())) or "none yet; launch it, or call its compile(signature)"
        where = (f" for {target}" if target else "") + (f" and a launch of {config}" if config is not None else "")
        return f"{self._kernel.name} is not compiled for {wanted}{where}; it is for: {known}"
