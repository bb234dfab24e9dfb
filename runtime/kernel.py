"""Kernel: a Python function and its options; what gridjit.jit returns."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, SupportsIndex

import gridjit.compiler.frontend.locks  # noqa: F401  # they are freed in a forked child from here on
from gridjit.cache.memory import MemoryStore
from gridjit.cache.store import Store
from gridjit.compiler.artifact import Artifact
from gridjit.compiler.errors import CompileDisabledError, ConfigError, LaunchNeededError
from gridjit.compiler.footprint import MARKABLE, is_very_object
from gridjit.compiler.job import CompileJob, make_job
from gridjit.compiler.key.numba_settings import dumps
from gridjit.compiler.launch_config import DimLike, LaunchConfig
from gridjit.compiler.options import Options
from gridjit.compiler.signature import Signature
from gridjit.compiler.target import Target
from gridjit.forking import cached_property, lock, section
from gridjit.messages import warn_or_log
from gridjit.runtime.device_function import DeviceFunction
from gridjit.runtime.devices.base import Device, LoadedKernel
from gridjit.runtime.launch.argument_extensions import Extensions
from gridjit.runtime.launch.arguments import signature_of
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.forall import ForAll
from gridjit.runtime.launch.indexing import Indexable
from gridjit.runtime.launch.launcher import Launcher, launcher_for
from gridjit.runtime.numba_names.inspection import Inspection
from gridjit.runtime.numba_names.pickling import Reduced, reduced
from gridjit.runtime.session import Session, session
from gridjit.runtime.specialize.capture import note_compile
from gridjit.runtime.specialize.cold import Cold, Launch, specialize
from gridjit.runtime.specialize.statistics import Statistics
from gridjit.runtime.specialize.table import (
    DEFAULT_LIMIT,
    Letting,
    Specialization,
    Specializations,
    SpecializationWarning,
)
from gridjit.runtime.streams import Timeline
from gridjit.runtime.warnings import warn_of_few_blocks

if TYPE_CHECKING:
    from gridjit.compiler.view.config import ConfigView
    from gridjit.runtime.accepted import LaunchShape, SignatureLike, StreamLike
    from gridjit.runtime.launch.launched_kernel import LaunchedKernel
    from gridjit.runtime.specialize.needs import Need


class AlreadySpecializedError(ConfigError, RuntimeError):
    """A kernel for one signature was asked to specialize once more."""


class Kernel(Inspection, Indexable):
    """A kernel: configure it with `kernel[grid, block, stream, sharedmem]`, then call that with the arguments.

    It is compiled on the first launch of each combination of argument types and of those facts of the launch
    configuration that its compilation read; results are kept on disk for the next process.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        options: Options,
        *,
        target: str | None = None,
        cache: bool = True,
        max_specializations: int = DEFAULT_LIMIT,
        hold_gil: bool = False,
        extensions: Sequence[Any] = (),
    ) -> None:
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
        # Raised when what is known is forgotten: a launch that began before must not bring it back.
        self.generation = 0
        self._target = target
        self._cache = cache
        self._known = Specializations(max_specializations)
        self._crowded = False
        self._warned_of_copies = False
        self._loaded: dict[tuple[Specialization, Device], LoadedKernel] = {}
        self._loading = lock()
        self.extensions = extensions

    @property
    def extensions(self) -> list[Any]:
        """What prepares the arguments of launches, in numba-cuda's sense; a change counts from the next launch on."""
        return self._extensions

    @extensions.setter
    def extensions(self, extensions: Sequence[Any]) -> None:
        self._extensions = Extensions(extensions, self._ready.relearn)
        self._ready.relearn()

    # -- launching ---------------------------------------------------------------------------------------------------

    def _configure(self, launch: Any) -> ConfiguredKernel:
        if not isinstance(launch, tuple) or not 2 <= len(launch) <= 4:
            raise ConfigError(f"{self.name}[{launch!r}]: give [griddim, blockdim], then stream and sharedmem if needed")
        return self.configure(*launch)

    def configure(
        self,
        griddim: DimLike,
        blockdim: DimLike,
        stream: StreamLike = 0,
        sharedmem: SupportsIndex = 0,
        *,
        cluster: DimLike | None = None,
        cooperative: bool = False,
    ) -> ConfiguredKernel:
        """Return the kernel with the shape of its launch.

        griddim, blockdim: an int or one to three ints. stream: where to launch (0: the default stream).
        sharedmem: dynamic shared memory of a block, in bytes. cluster: blocks of a thread-block cluster.
        cooperative: have all blocks resident at once (set by itself where the kernel synchronizes the grid).
        Raises ConfigError naming what is out of range.
        """
        self._check_launchable()
        config = LaunchConfig.of(griddim, blockdim, sharedmem, cluster=cluster, cooperative=cooperative)
        if config not in self._ready:
            warn_of_few_blocks(self.name, config)
        return self._configured(config, stream)

    def forall(self, ntasks: int, tpb: int = 0, stream: StreamLike = 0, sharedmem: int = 0) -> ForAll:
        """Return a callable that launches at least ntasks threads, tpb in a block (0: what suits the device)."""
        return ForAll(self, ntasks, tpb, stream, sharedmem)

    def __call__(self, *args: Any) -> Any:
        """Say how to launch: a kernel needs a configuration first."""
        raise ConfigError(f"{self.name}'s launch configuration was not specified: {self.name}[griddim, blockdim](...)")

    def _configured(self, config: LaunchConfig, stream: Any) -> ConfiguredKernel:
        return ConfiguredKernel.of(launcher_for(self._ready, self, config, stream))

    def _configured_by(self, launcher: Launcher) -> ConfiguredKernel:
        return ConfiguredKernel.of(launcher)

    def _launched_as(self, found: Specialization) -> LaunchedKernel:
        """Return what hooks are called with before a launch of found."""
        from gridjit.runtime.launch.launched_kernel import LaunchedKernel  # few kernels have hooks

        return LaunchedKernel(self, found)

    def specialize(self, *args: Any) -> Kernel:
        """Return a kernel for one signature only: for arguments like args, or of numba's types.

        It is compiled already, unless its code depends on the launch.
        """
        from gridjit.compiler.frontend.types import parse_signature

        if self.specialized:
            raise AlreadySpecializedError(f"{self.name}: Dispatcher already specialized, for {self.declared[0]}")
        signature = parse_signature(args) if _are_types(args) else signature_of(self, args)
        if (found := self._specialized_kernels.get(signature)) is None:
            made = Kernel(
                self.py_func,
                self.options,
                target=self._target,
                cache=self._cache,
                max_specializations=self._known.limit,
                hold_gil=self.hold_gil,
                extensions=self.extensions,
            )
            made.declare(signature)
            made.specialized = True
            found = self._specialized_kernels.setdefault(signature, made)
        return found

    # -- compiling ---------------------------------------------------------------------------------------------------

    def specialization_for(
        self, signature: Signature, config: LaunchConfig, args: tuple[Any, ...]
    ) -> tuple[Specialization, LoadedKernel]:
        """Return what a launch needs: the specialization that is right for it, loaded on the device."""
        here = session()
        wanted = (here, signature, here.target(self._target), config, args)
        found = self._specialized(*wanted)
        try:
            return found, self.loaded(found, here.device(self._target))
        except Exception:  # a device refuses in many ways; only what was compiled here is known to be right for it
            if found.origin != "disk":
                raise
            self._known.discard(found)
        found = self._specialized(*wanted, anew=True)
        return found, self.loaded(found, here.device(self._target))

    def is_loaded_for(self, signature: Signature, config: LaunchConfig, args: tuple[Any, ...]) -> bool:
        """Return whether a launch finds its specialization loaded."""
        here = session()
        found = self._known.match(signature, here.target(self._target), config, args)
        return found is not None and (found, here.device(self._target)) in self._loaded

    @property
    def timeline(self) -> Timeline:
        """The streams and events of the device that launches go to."""
        return session().device(self._target).timeline

    def loaded(self, found: Specialization, device: Device) -> LoadedKernel:
        """Return a specialization as it is launched on device, loading it if need be."""
        with section(), self._loading:
            if (loaded := self._loaded.get((found, device))) is None:
                loaded = self._loaded[found, device] = device.load(found.artifact, found.module)
        return loaded

    def compile(
        self, signature: SignatureLike, config: LaunchConfig | LaunchShape | None = None, target: str | None = None
    ) -> Artifact:
        """Compile ahead of any launch and return the artifact; it goes through the same cache.

        signature: argument types, as numba.cuda.jit takes them ("void(float32[::1], int64)").
        config: the launch to compile for, (griddim, blockdim[, sharedmem]); None if the kernel reads none.
        target: "host", an architecture like "sm_90", or None for this machine's own.
        Raises ConfigError or CompileError.
        """
        from gridjit.compiler.frontend.types import parse_signature

        here = session()
        wanted = _launch_config(self.name, config)
        return self._specialized(here, parse_signature(signature), self.target_for(target), wanted, None).artifact

    def declare(self, signature: SignatureLike) -> None:
        """Compile for a signature now, and convert the arguments of launches to it or to another declared one.

        Code that depends on its launch is compiled when there is one.
        """
        from gridjit.compiler.frontend.types import parse_signature

        wanted = parse_signature(signature)
        with contextlib.suppress(LaunchNeededError):
            self.compile(wanted)
        self.declared = (*self.declared, wanted)

    @property
    def cached(self) -> bool:
        """Whether results may be kept on disk."""
        return self._cache

    def target_for(self, name: str | None) -> Target:
        """Return the target that a name stands for; None for the one that the kernel's launches have here."""
        return session().target(name or self._target)

    def job_for(self, signature: Signature, target: Target) -> CompileJob:
        """Return the job of compiling the kernel as it is now, with its globals and callees of this moment."""
        return make_job(self.py_func, signature, self.options, target, self.marks)

    def recompile(self) -> None:
        """Compile every specialization again, with globals and callees as they are now."""
        for old in self._forget():
            if not any(fact.of_each_launch for fact in old.footprint.facts):
                self._specialized(session(), old.signature, old.target, old.config, None)

    def _forget(self) -> tuple[Specialization, ...]:
        self.generation += 1
        forgotten = self._known.clear()
        self._drop()
        with section(), self._loading:
            self._loaded.clear()
        return forgotten

    def _specialized(
        self,
        here: Session,
        signature: Signature,
        target: Target,
        config: LaunchConfig | None,
        args: tuple[Any, ...] | None,
        *,
        anew: bool = False,
    ) -> Specialization:
        """Return the specialization for a launch. anew: what is stored does not load, so it is compiled."""

        def in_memory() -> Specialization | None:
            found = self._known.match(signature, target, config, args)
            return None if anew and found is not None and found.origin == "disk" else found

        if (found := in_memory()) is not None:
            return found
        self._check_launchable()
        job = self.job_for(signature, target)
        generation = self.generation
        cold = Cold(
            # What is to be printed while the kernel is compiled is not printed by one that was compiled before.
            store=MemoryStore() if dumps() else here.store(self._cache),
            locks=here.locks(self._cache),
            in_memory=in_memory,
            add=lambda found: self._add(found, generation),
            why=lambda job, key: self._why(here.store(self._cache), job, key, config, args),
            compile=lambda job, view, why: self._compile(here, job, view, config, why),
            anew=anew,
        )
        return specialize(job, Launch(config=config, args=args, dispatcher=self), cold)

    def _why(self, store: Store, job: CompileJob, key: str, *launch: Any) -> str:
        from gridjit.runtime.specialize import explain

        return explain.reason(self._known, store, job, key, *launch)

    def _compile(
        self, here: Session, job: CompileJob, view: ConfigView, config: LaunchConfig | None, why: str
    ) -> Artifact:
        if here.settings.assert_no_compile:
            raise CompileDisabledError(
                f"{job.kernel}{job.signature} for {job.target} is not in the cache ({why}), "
                "and GRIDJIT_ASSERT_NO_COMPILE forbids compiling it"
            )
        from gridjit.compiler.view.config import while_current

        try:
            artifact = while_current(view, lambda: self._compile_for_args(job, view))
        finally:
            note_compile(self, config)  # not before: a capture that is open could be read while compiling
        self.stats.count("compiles")
        return artifact

    def _compile_for_args(self, job: CompileJob, view: ConfigView) -> Artifact:
        """Compile. Under numba-cuda's name, as programs put a function in its place to look into a compile."""
        from gridjit.compiler.compile import compile_job

        return compile_job(job, view)

    def _add(self, found: Specialization, generation: int) -> Specialization:
        self.stats.note(found.origin, found.signature)
        if generation != self.generation:
            return found
        letting = self._known.add(found)
        here = session()
        here.report(f"{found.origin} {self.name}{found} in {found.milliseconds} ms: {found.reason}")
        if here.recorder is not None and not found.signature.foreign:
            here.recorder.note(self._need(found))
        if letting.evicted or letting.doubted:
            self._let_go(letting)
        return found

    def _need(self, found: Specialization) -> Need:
        from gridjit.runtime.specialize.needs import Need

        return Need(
            kernel=f"{self.py_func.__module__}:{self.name}",
            signature=found.signature,
            config=found.config,
            target=str(found.target),
            facts=tuple((fact.field, fact.value) for fact in found.footprint.facts if not is_very_object(fact.field)),
        )

    def _let_go(self, letting: Letting) -> None:
        """Have launches ask again for what is doubted, and unload what was evicted."""
        with section(), self._loading:
            gone = [loaded for (old, _), loaded in self._loaded.items() if old in letting.doubted]
            # Whatever is loaded and not known: another thread may have loaded it just when it was evicted.
            gone += [self._loaded.pop(key) for key in list(self._loaded) if key[0] not in self._known]
        self._drop(gone)
        if letting.evicted and not self._crowded:
            from gridjit.runtime.specialize import explain

            self._crowded = True
            crowded = SpecializationWarning(explain.crowding(self.name, self._known))
            warn_or_log(crowded, logger="gridjit", stacklevel=2)

    # -- sensitivity -------------------------------------------------------------------------------------------------

    def mark_launch_config_sensitive(self, *fields: str) -> None:
        """Declare that the kernel depends on the named launch fields; with none named, see below.

        Called while the kernel is compiled, it means what the compile reads. Called at any other time it means all,
        and what is compiled already is looked up anew.
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
        """What it is to kernels that call it: a function, compiled as part of them."""
        return self._device_function._numba_type_

    def __reduce__(self) -> Reduced:
        """Pickle by module and name; by its code and what that refers to if it is not found there."""
        settings = {
            "target": self._target,
            "cache": self._cache,
            "max_specializations": self._known.limit,
            "hold_gil": self.hold_gil,
            "extensions": list(self.extensions),
        }
        state = {"marks": self.marks, "declared": self.declared, "specialized": self.specialized}
        return reduced(self, self.py_func, _kernel, self.options, settings, state)

    def __repr__(self) -> str:
        return f"<gridjit kernel {self.py_func.__module__}.{self.name}>"


def _kernel(function: Callable[..., Any], options: Options, settings: dict[str, Any], state: dict[str, Any]) -> Kernel:
    """Return a kernel that was pickled with its code."""
    made = Kernel(function, options, **settings)
    vars(made).update(state)
    return made


def _are_types(args: tuple[Any, ...]) -> bool:
    """Return whether args are numba's types rather than values."""
    return bool(args) and all(type(arg).__module__.startswith(("numba.core.types", "numba.cuda.types")) for arg in args)


def _launch_config(name: str, given: Any) -> LaunchConfig | None:
    if given is None or isinstance(given, LaunchConfig):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
        raise ConfigError(f"{name}.compile(config={given!r}): give (griddim, blockdim[, sharedmem])")
    return LaunchConfig.of(*given)


def _parameter_names(function: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(function, follow_wrapped=False).parameters)


def _why_not_launchable(function: Callable[..., Any]) -> str:
    """Return why a function can be called by kernels, but not launched; empty if it can."""
    parameters = inspect.signature(function, follow_wrapped=False).parameters.values()
    odd = [p.name for p in parameters if p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return f"{function.__qualname__}: a kernel takes positional parameters only, not {', '.join(odd)}" if odd else ""
