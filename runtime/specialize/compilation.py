"""Compilation: the part of a kernel that has it compiled - ahead of a launch, for one, or anew - and loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.errors import ConfigError, LaunchNeededError
from gridjit.compiler.job import CompileJob, make_job
from gridjit.compiler.key.numba_settings import dumps
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.options import Options
from gridjit.compiler.phases import Phases, phase
from gridjit.compiler.signature import Signature
from gridjit.compiler.target import Target
from gridjit.runtime.devices.base import Device, LoadedKernel
from gridjit.runtime.session import Session, session
from gridjit.runtime.specialize.cold import Cold, in_memory, specialize
from gridjit.runtime.specialize.kernel_code import KernelCode
from gridjit.runtime.specialize.look import Launch
from gridjit.runtime.specialize.table import Displaced, Specialization

if TYPE_CHECKING:
    from gridjit.compiler.compiled import Compiled
    from gridjit.compiler.view.config import ConfigView
    from gridjit.runtime.accepted import LaunchShape, SignatureLike
    from gridjit.runtime.kernel import Kernel


class Compilation:
    """What a kernel is compiled by. `_code` keeps what came of it in this process."""

    py_func: Callable[..., Any]
    options: Options
    marks: tuple[str, ...]
    declared: tuple[Signature, ...]
    _target: str | None
    _cache: bool
    _code: KernelCode

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

        launch = Launch(config=_launch_config(self.py_func.__qualname__, config))
        return self._specialized(session(), parse_signature(signature), self.target_for(target), launch).artifact

    def declare(self, signature: SignatureLike) -> None:
        """Compile for a signature now, and convert the arguments of launches to it or to another declared one.

        Code that depends on its launch is compiled when there is one.
        """
        from gridjit.compiler.frontend.types import parse_signature

        wanted = parse_signature(signature)
        with contextlib.suppress(LaunchNeededError):
            self.compile(wanted)
        self.declared = (*self.declared, wanted)

    def recompile(self) -> None:
        """Compile every specialization again, with globals and callees as they are now."""
        for old in self._forget():
            if not any(fact.of_each_launch for fact in old.footprint.facts):
                self._specialized(session(), old.signature, old.target, Launch(config=old.config))

    def specialization_for(
        self, signature: Signature, config: LaunchConfig, args: tuple[Any, ...]
    ) -> tuple[Specialization, LoadedKernel]:
        """Return what a launch needs: the specialization that is right for it, loaded on the device."""
        here = session()
        wanted = (here, signature, here.target(self._target), Launch(config=config, args=args))
        found = self._specialized(*wanted)
        try:
            return found, self.loaded(found, here.device(self._target))
        except Exception:  # a device refuses in many ways; only what was compiled here is known to be right for it
            if found.origin != "disk":
                raise
            self._code.table.discard(found)
        found = self._specialized(*wanted, anew=True)
        return found, self.loaded(found, here.device(self._target))

    def is_loaded_for(self, signature: Signature, config: LaunchConfig, args: tuple[Any, ...]) -> bool:
        """Return whether a launch finds its specialization loaded."""
        here = session()
        found = self._code.table.match(signature, here.target(self._target), config, args)
        return found is not None and self._code.is_loaded(found, here.device(self._target))

    def loaded(self, found: Specialization, device: Device) -> LoadedKernel:
        """Return a specialization as it is launched on device, loading it if need be."""
        return self._code.load(found, device)

    @property
    def cached(self) -> bool:
        """Whether results may be kept on disk."""
        return self._cache

    @property
    def generation(self) -> int:
        """How often all that is known was forgotten: a launch that began before must not bring it back."""
        return self._code.generation

    def target_for(self, name: str | None) -> Target:
        """Return the target that a name stands for; None for the one that the kernel's launches have here."""
        return session().target(name or self._target)

    def job_for(self, signature: Signature, target: Target) -> CompileJob:
        """Return the job of compiling the kernel as it is now, with its globals and callees of this moment."""
        return make_job(self.py_func, signature, self.options, target, self.marks)

    def _specialized(
        self, here: Session, signature: Signature, target: Target, launch: Launch, *, anew: bool = False
    ) -> Specialization:
        """Return the specialization for a launch. anew: what is stored does not load, so it is compiled."""
        cold = Cold(
            here=here,
            store=here.store(self._cache),
            locks=here.locks(self._cache),
            kernel=cast("Kernel", self),
            code=self._code,
            generation=self._code.generation,
            compile=self._compile_for_args,
            let_go=self._let_go,
            anew=anew,
            apart=bool(dumps()),
        )
        if (found := in_memory(signature, target, launch, cold)) is not None:
            return found
        self._check_launchable()
        with Phases():
            with phase("key"):
                job = self.job_for(signature, target)
            return specialize(job, launch, cold)

    def _compile_for_args(self, job: CompileJob, view: ConfigView) -> Compiled:
        """Compile. Under numba-cuda's name, as programs put a function in its place to look into a compile."""
        with phase("import"):
            from gridjit.compiler.compile import compile_job

        return compile_job(job, view)

    def _check_launchable(self) -> None:
        """Raise ConfigError if the function can only be called by kernels."""
        raise NotImplementedError

    def _forget(self) -> tuple[Specialization, ...]:
        """Have launches ask for everything anew; return the specializations that there were."""
        raise NotImplementedError

    def _let_go(self, displaced: Displaced) -> None:
        """Have launches ask again for what is doubted, and let go of what was evicted."""
        raise NotImplementedError


def _launch_config(name: str, given: Any) -> LaunchConfig | None:
    if given is None or isinstance(given, LaunchConfig):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
        raise ConfigError(f"{name}.compile(config={given!r}): give (griddim, blockdim[, sharedmem])")
    return LaunchConfig.of(*given)
