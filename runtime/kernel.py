"""Kernel: a Python function and its options; the result of gridjit.jit."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

import gridjit.compiler.process.locks  # noqa: F401  # they are freed in a forked child from here on
from gridjit.base.forking import cached_property
from gridjit.compiler.values.errors import ConfigError, GridjitError, LimitError, not_called, shown, switch
from gridjit.compiler.values.footprint import MARKABLE, Markable
from gridjit.compiler.values.launch_config import DimLike, LaunchConfig, way_on
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.device_function import DeviceFunction
from gridjit.runtime.environment.tracebacks import for_users
from gridjit.runtime.environment.warnings import warn_of_few_blocks
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.indexing import Indexable
from gridjit.runtime.launch.launcher import Launcher, launcher_for
from gridjit.runtime.launch.ready import Extensions
from gridjit.runtime.process.session import session
from gridjit.runtime.queues.streams import Timeline
from gridjit.runtime.specializations.statistics import Statistics
from gridjit.runtime.specializations.table import DEFAULT_LIMIT, Displaced, KernelCode, Specialization
from gridjit.runtime.specialize.compilation import Compilation

if TYPE_CHECKING:
    from gridjit.runtime.accepted import StreamLike
    from gridjit.runtime.launch.forall import ForAll
    from gridjit.runtime.launch.launched_kernel import LaunchedKernel
    from gridjit.runtime.numba_names.pickling import Reduced
    from gridjit.runtime.specializations.display import SpecializationList


class _Asked:
    """A name of numba-cuda's that kernels have: their Inspection answers to it, which is imported then.

    If kernels had __getattr__ for this, reading any attribute of them would be slower.
    """

    __slots__ = ("_name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Kernel | None, owner: type | None = None) -> Any:
        from gridjit.runtime.numba_names.inspection import Inspection  # launches do without

        return getattr(Inspection if instance is None else Inspection(instance), self._name)


class _Replaced(_Asked):
    """A name of numba-cuda's that kernels do not have: reading it raises an AttributeError with the way on."""

    __slots__ = ()

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        from gridjit.runtime.numba_names.replacements import refuse_of_kernel  # programs seldom ask

        refuse_of_kernel(self._name)


if TYPE_CHECKING:
    from gridjit.runtime.numba_names.inspection import Inspection as _NumbasNames
else:

    class _NumbasNames:
        """numba-cuda's names on a kernel: those that its Inspection answers to, and those that are refused."""

        typeof_pyval, targetoptions, overloads, signatures, nopython_signatures = (_Asked() for _ in range(5))
        get_overload, get_compile_result, enable_caching, inspect_llvm, inspect_asm = (_Asked() for _ in range(5))
        inspect_lto_ptx, inspect_sass, inspect_sass_cfg, inspect_types, get_metadata = (_Asked() for _ in range(5))
        (
            get_regs_per_thread,
            get_shared_mem_per_block,
            get_local_mem_per_thread,
            get_const_mem_size,
            get_max_threads_per_block,
        ) = (_Asked() for _ in range(5))
        add_overload, bind, call, compile_device, doc, launch = (_Replaced() for _ in range(6))
        dump, fold_argument_types, get_annotation_info, get_call_template, get_function_type = (
            _Replaced() for _ in range(5)
        )
        inspect_cfg, inspect_disasm_cfg, inspect_ptx, ptx, targetctx = (_Replaced() for _ in range(5))
        targetdescr, typingctx = (_Replaced() for _ in range(2))


class Kernel(Compilation, _NumbasNames, Indexable):
    """A kernel: configure it with `kernel[grid, block, stream, sharedmem]`, then call that with the arguments.

    It is compiled on the first launch of each combination of argument types and of the facts of the launch
    configuration that its compilation read; results are kept on disk for the next process.
    """

    __name__: str
    specialized: bool = False
    may_compile: bool = True

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        options: Options | None = None,
        *,
        target: str | None = None,
        cache: bool = True,
        max_specializations: int = DEFAULT_LIMIT,
        hold_gil: bool = False,
        extensions: Sequence[Any] = (),
        background: bool | None = None,
    ) -> None:
        if function is None or options is None:
            raise not_called("Kernel", "@gridjit.jit above a function makes a kernel of it")
        Indexable.__init__(self)
        functools.update_wrapper(self, function)
        self.py_func = function
        self.options = options
        self.stats = Statistics()
        self.marks: tuple[str, ...] = ()
        self.parameter_names = _parameter_names(function)
        self._why_not_launchable = _why_not_launchable(function)
        self._specialized_kernels: dict[Signature, Kernel] = {}
        self.declared: tuple[Signature, ...] = ()
        self.hold_gil = hold_gil
        self.background = background
        self._ahead = []
        self._target = target
        self._cache = cache
        self._code = KernelCode(max_specializations)
        self._warned_of_copies = False
        self.extensions = extensions
        if options.debug:
            from gridjit.runtime.memory import unwritten  # few kernels check memory

            unwritten.track()

    @property
    def extensions(self) -> list[Any]:
        """The extensions that prepare a launch's arguments, as in numba-cuda; a change counts from the next launch."""
        return self._extensions

    @extensions.setter
    def extensions(self, extensions: Sequence[Any]) -> None:
        self._extensions = Extensions(extensions, self._ready.relearn)
        self._ready.relearn()

    # -- launching ---------------------------------------------------------------------------------------------------

    def _configure(self, launch: Any) -> ConfiguredKernel:
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            raise ConfigError(
                f"{self.name}[{shown(launch)}]: give [griddim, blockdim], then stream and sharedmem if needed"
            )
        return self.configure(*launch)

    @for_users
    def configure(
        self,
        griddim: DimLike,
        blockdim: DimLike,
        stream: StreamLike = 0,
        sharedmem: SupportsIndex = 0,
        *,
        cluster: DimLike | None = None,
        cooperative: bool = False,
        programmatic: bool = False,
        preferred_cluster: DimLike | None = None,
    ) -> ConfiguredKernel:
        """Return the kernel with the shape of its launch.

        griddim, blockdim: an int or one to three ints. stream: where to launch (0: the default stream).
        sharedmem: dynamic shared memory of a block, in bytes. cluster: blocks of a thread-block cluster.
        cooperative: have all blocks resident at once (set automatically if the kernel synchronizes the grid).
        programmatic: let it begin before the previous grid in its stream has ended; the kernel waits for that grid with
        gridjit.griddepcontrol.wait(). preferred_cluster: blocks of larger clusters, to be used where they fit.
        Raises ConfigError naming what is out of range.

            scale.configure(8, (16, 16), sharedmem=4096)(x, 2.0)
        """
        self._check_launchable()
        try:
            config = LaunchConfig.of(
                griddim,
                blockdim,
                sharedmem,
                cluster=cluster,
                cooperative=cooperative,
                programmatic=programmatic,
                preferred_cluster=preferred_cluster,
            )
        except LimitError as error:
            raise LimitError(f"{self.name}: {error.args[0]}{way_on(self.name, griddim, blockdim)}") from None
        if config not in self._ready:
            warn_of_few_blocks(self.name, config)
        return self._configured(config, stream)

    @for_users
    def forall(self, ntasks: int, tpb: int = 0, stream: StreamLike = 0, sharedmem: int = 0) -> ForAll:
        """Return a callable that launches at least ntasks threads, tpb in a block (0: what suits the device).

        stream, sharedmem: as for configure.

            scale.forall(x.size)(x, 2.0)
        """
        from gridjit.runtime.launch.forall import ForAll  # few kernels are launched so

        return ForAll(self, ntasks, tpb, stream, sharedmem)

    @for_users
    def __call__(self, *args: Any) -> Any:
        """Raise an error that says how to launch: a kernel needs a configuration first."""
        raise ConfigError(f"{self.name}'s launch configuration was not specified: {self.name}[griddim, blockdim](...)")

    def _configured(self, config: LaunchConfig, stream: Any) -> ConfiguredKernel:
        return ConfiguredKernel.of(launcher_for(self._ready, self, config, stream))

    def _configured_by(self, launcher: Launcher) -> ConfiguredKernel:
        return ConfiguredKernel.of(launcher)

    def _launched_as(self, found: Specialization) -> LaunchedKernel:
        """Return the argument of hooks before a launch of found."""
        from gridjit.runtime.launch.launched_kernel import LaunchedKernel  # few kernels have hooks

        return LaunchedKernel(self, found)

    @for_users
    def specialize(self, *args: Any) -> Kernel:
        """Return a kernel for one signature only: for arguments like args, or of numba's types.

        It is compiled already, unless its code depends on the launch.
        """
        from gridjit.runtime.numba_names.for_one_signature import kernel_for

        return kernel_for(self, args)

    # -- what is ready -----------------------------------------------------------------------------------------------

    @property
    def timeline(self) -> Timeline:
        """The streams and events of the device that launches go to."""
        return session().device(self._target).timeline

    def _forget(self) -> tuple[Specialization, ...]:
        forgotten = self._code.forget()
        self._drop()
        return forgotten

    def _let_go(self, displaced: Displaced) -> None:
        """Make launches look up doubted code again, and drop evicted code."""
        self._drop(self._code.unload(displaced))
        if displaced.evicted:
            from gridjit.runtime.specializations.explain import warn_of_crowding  # few kernels have so many

            warn_of_crowding(self.name, self._code)

    # -- sensitivity -------------------------------------------------------------------------------------------------

    def mark_launch_config_sensitive(self, *fields: Markable) -> None:
        """Declare that the kernel depends on fields of its launch; compiled code is looked up again.

        fields: "griddim", "blockdim", "sharedmem", "cluster", "cooperative". Without names: all of them, or, if called
        while the kernel is compiled, the fields that the compile reads. Raises ConfigError for another name.
        """
        from gridjit.compiler.view.config import current_view

        view = current_view()
        if view is not None and view.dispatcher == self:
            view.mark_kernel_as_launch_config_sensitive(*fields)
            return
        if unknown := set(fields) - set(MARKABLE):
            raise ConfigError(f"mark {sorted(unknown)}: fields are {', '.join(MARKABLE)}")
        self.marks = tuple(sorted({*self.marks, *(fields or MARKABLE)}))
        self._forget()

    # -- reports -----------------------------------------------------------------------------------------------------

    def __dir__(self) -> list[str]:
        """Return the names of the attributes, without the names of numba-cuda's that are refused."""
        return [name for name in super().__dir__() if type(vars(_NumbasNames).get(name)) is not _Replaced]

    @property
    def name(self) -> str:
        """The function's qualified name."""
        return self.py_func.__qualname__

    @property
    @for_users
    def specializations(self) -> SpecializationList:
        """The specializations in use in this process, oldest first within a signature; then those of specialize()."""
        from gridjit.runtime.specializations.display import SpecializationList

        made = tuple(self._specialized_kernels.values())
        found = (*self._all(), *(found for kernel in made for found in kernel.specializations))
        return SpecializationList(found, of=self.name)

    def disable_compile(self, val: bool = True) -> None:
        """Have launches use only what is compiled, in memory or in the cache.

        val: False allows compiles again. A launch that needs more raises CompileDisabledError.
        """
        self.may_compile = not switch("disable_compile: val", val)

    @property
    def is_compiling(self) -> bool:
        """Whether this thread is compiling the kernel."""
        from gridjit.compiler.view.config import current_view

        view = current_view()
        return view is not None and bool(view.dispatcher == self)

    def explain(self) -> str:
        """Return, in words, what was compiled, why, and on what each specialization depends."""
        from gridjit.runtime.specializations import explain
        from gridjit.runtime.specializations.display import Story

        told = []
        try:
            self._settle()
        except GridjitError as error:
            told = [f"what it declares does not compile: {error}"]
        told += self._told()
        return Story(explain.story(f"{self.py_func.__module__}.{self.name}", self.stats, self.in_memory(), told))

    def _told(self) -> list[str]:
        """Return what people are told besides: of launches that are needed, other processes, and remote caches."""
        ahead = (said for one in self._ahead if (said := one.told()))
        return [*self._code.needs_launch.values(), *ahead, *session().told_of_remotes()]

    def in_memory(self) -> tuple[Specialization, ...]:
        """Return the specializations that are in use now."""
        return self._code.table.all()

    def _all(self) -> tuple[Specialization, ...]:
        """Return the specializations, with those that are declared and compiled in other processes."""
        self._settle()
        return self.in_memory()

    def _repr_html_(self) -> str:
        """Return the kernel as notebooks show it."""
        from gridjit.runtime.specializations.display import kernel_page

        return kernel_page(self)

    @property
    def func_code(self) -> CodeType:
        """The Python function's code object."""
        return self.py_func.__code__

    def _check_launchable(self) -> None:
        if self._why_not_launchable:
            raise ConfigError(self._why_not_launchable)

    @cached_property
    def _device_function(self) -> DeviceFunction[..., Any]:
        return DeviceFunction(self.py_func, self.options)

    @property
    def _numba_type_(self) -> Any:
        """Its type for kernels that call it: a function, compiled as part of them."""
        return self._device_function._numba_type_

    def __reduce__(self) -> Reduced:
        """Pickle by module and name, or else by its code and globals."""
        from gridjit.runtime.numba_names.pickling import reduced_kernel

        return reduced_kernel(self)

    @property
    def _settings(self) -> dict[str, Any]:
        """The arguments of jit besides the options, by jit's names."""
        return {
            "target": self._target,
            "cache": self._cache,
            "max_specializations": self._code.table.limit,
            "hold_gil": self.hold_gil,
            "extensions": list(self.extensions),
            "background": self.background,
        }

    def __repr__(self) -> str:
        return f"<gridjit kernel {self.py_func.__module__}.{self.name}>"


def _parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function, follow_wrapped=False).parameters)


def _why_not_launchable(function: Callable[..., Any]) -> str:
    """Return why a function cannot be launched, only called by kernels; empty if it can."""
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    odd = [p.name for p in parameters if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not odd:
        return ""
    return (
        f"{function.__qualname__}: a kernel takes positional parameters only, not {', '.join(odd)}; "
        "give each argument a parameter of its own, or pass several as one tuple"
    )
