"""Inspection: the part of a kernel that shows its compiled code - types, resources, code, reasons."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TextIO, cast, overload

from gridjit.compiler.errors import ConfigError, GridjitError, switch
from gridjit.compiler.launch_config import as_launch_config
from gridjit.compiler.options import Options
from gridjit.compiler.signature import Signature
from gridjit.runtime.numba_names.by_signature import BySignature, as_signature
from gridjit.runtime.specialize.kernel_code import KernelCode
from gridjit.runtime.specialize.statistics import Statistics
from gridjit.runtime.specialize.table import Specialization
from gridjit.runtime.tracebacks import for_users

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from gridjit.runtime.accepted import CodeLike, SignatureLike, WhichCode
    from gridjit.runtime.display import SpecializationList
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.numba_names.overload import Overload


class _Replaced:
    """An attribute of numba-cuda's that kernels do not have: reading it raises an AttributeError with advice.

    If kernels had __getattr__ for this, reading any attribute of them would be slower.
    """

    __slots__ = ("_name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        from gridjit.runtime.numba_names.replacements import refuse_of_kernel  # programs seldom ask

        refuse_of_kernel(self._name)


class Inspection:
    """Users' queries of a kernel. In place of a signature, None asks for all specializations.

    They come by signature: first the one for launches here, then, under keys with the target and the launch, the
    others. Such a key, or one of `specializations`, may be given as the signature. `target` ("host", "cuda", "sm_90")
    and `config` (a LaunchConfig, or (griddim, blockdim[, sharedmem])) select specializations for them. Of a kernel for
    one signature only (`specialized`), None asks for that signature where a number is the answer.
    """

    __name__: str
    py_func: Callable[..., Any]
    options: Options
    stats: Statistics
    specialized: bool = False
    may_compile: bool = True

    def __dir__(self) -> list[str]:
        """Return the names of its attributes, without numba-cuda's names that only raise advice."""
        return [name for name in super().__dir__() if type(vars(Inspection).get(name)) is not _Replaced]

    if not TYPE_CHECKING:  # type checkers must find missing attributes
        add_overload, bind, call, compile_device, doc, dump = (_Replaced() for _ in range(6))
        fold_argument_types, get_annotation_info, get_call_template = (_Replaced() for _ in range(3))
        get_function_type, inspect_cfg, inspect_disasm_cfg, inspect_ptx = (_Replaced() for _ in range(4))
        ptx, targetctx, targetdescr, typingctx = (_Replaced() for _ in range(4))
    _code: KernelCode
    _specialized_kernels: dict[Signature, Kernel]

    @property
    def name(self) -> str:
        """The function's qualified name."""
        return self.py_func.__qualname__

    @for_users
    def typeof_pyval(self, val: Any) -> Any:
        """Return numba's type of a value that is an argument of the kernel; raises ArgumentError if it cannot be."""
        from gridjit.compiler.frontend.types import numba_arguments
        from gridjit.runtime.args.handler import handler_of
        from gridjit.runtime.launch.arguments import place_of

        kind = handler_of(val).type_of(val, place_of(cast("Kernel", self)))
        return numba_arguments(Signature(arguments=(kind,)))[0]

    @property
    def targetoptions(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        return self.options.changed()

    @property
    @for_users
    def specializations(self) -> SpecializationList:
        """The specializations in use in this process, oldest first within a signature; then those of specialize()."""
        from gridjit.runtime.display import SpecializationList

        made = tuple(self._specialized_kernels.values())
        found = (*self._all(), *(found for kernel in made for found in kernel.specializations))
        return SpecializationList(found, of=self.name)

    @property
    @for_users
    def overloads(self) -> BySignature[Overload]:
        """All specializations, with numba-cuda's names: by signature, also as numba's types, or by their own keys."""
        return self._overloads()

    @property
    def signatures(self) -> list[Signature]:
        """The argument types the kernel was specialized for."""
        return list(dict.fromkeys(found.signature for found in self._all()))

    @property
    def nopython_signatures(self) -> list[Any]:
        """The argument types, as numba's signatures."""
        from gridjit.compiler.frontend.types import numba_signature

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
        cast("Kernel", self).compile(sig)
        return self.get_overload(sig)

    def disable_compile(self, val: bool = True) -> None:
        """Restrict launches to code in memory or in the cache.

        val: False allows compiles again. A launch that needs more raises CompileDisabledError.
        """
        self.may_compile = not switch("disable_compile: val", val)

    def enable_caching(self) -> None:
        """Keep results on disk from now on, as jit(cache=True) does, which is the default."""
        cast("Kernel", self)._cache = True

    @property
    def is_compiling(self) -> bool:
        """Whether this thread is compiling the kernel."""
        from gridjit.compiler.view.config import current_view

        view = current_view()
        return view is not None and bool(view.dispatcher == self)

    def explain(self) -> str:
        """Return, in words, which code was compiled, why, and its dependences."""
        from gridjit.runtime.display import Story
        from gridjit.runtime.specialize import explain

        kernel = cast("Kernel", self)
        told = []
        try:
            kernel._settle()
        except GridjitError as error:
            told = [f"what it declares does not compile: {error}"]
        told += self._told()
        return Story(explain.story(f"{self.py_func.__module__}.{self.name}", self.stats, self.in_memory(), told))

    def _told(self) -> list[str]:
        """Return further lines: on signatures that need a launch, and on other processes' compiles."""
        kernel = cast("Kernel", self)
        return [*kernel._code.needs_launch.values(), *(said for ahead in kernel._ahead if (said := ahead.told()))]

    def in_memory(self) -> tuple[Specialization, ...]:
        """Return the specializations in use now."""
        return self._code.table.all()

    def _all(self) -> tuple[Specialization, ...]:
        """Return the specializations, with declared signatures compiled in other processes."""
        cast("Kernel", self)._settle()
        return self.in_memory()

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
        return next(iter(found.values())) if signature is None and self.specialized and found else found

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

        return Overload(cast("Kernel", self).form_of(found), found)

    def _overloads(
        self, *, config: Any = None, target: str | None = None, of_gpus: bool = False
    ) -> BySignature[Overload]:
        """Return the specializations by their keys: for a target and a launch, and for GPUs if there are any."""
        from gridjit.runtime.numba_names.specialized_signature import by_key, chosen

        found = chosen(self._all(), config=as_launch_config(self.name, config), target=target)
        if of_gpus:
            found = chosen(found, target="cuda") or found
        several = len({one.target for one in found}) > 1  # else no device is needed
        keyed = by_key(found, cast("Kernel", self).target_here if several else None)
        return BySignature({key: self._overload_of(one) for key, one in keyed.items()})

    def _not_compiled(
        self, wanted: Any, *, config: Any = None, target: str | None = None, of_gpus: bool = False
    ) -> str:
        known = "; ".join(map(str, self._all())) or "none yet"
        where = (f" for {target}" if target else "") + (f" and a launch of {config}" if config is not None else "")
        return f"{self.name} is not compiled for {wanted}{where}; it is for: {known}"

    def _repr_html_(self) -> str:
        """Return the kernel for notebooks."""
        from gridjit.runtime.display import kernel_page

        return kernel_page(cast("Kernel", self))
