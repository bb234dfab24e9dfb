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
from gridjit.runtime.session import Session, session
from gridjit.runtime.specialize.cold import Cold, add, in_memory, look_up, shown, specialize
from gridjit.runtime.specialize.kernel_code import KernelCode
from gridjit.runtime.specialize.look import Launch
from gridjit.runtime.specialize.table import Displaced, Specialization

if TYPE_CHECKING:
    from gridjit.compiler.compiled import Compiled
    from gridjit.compiler.view.config import ConfigView
    from gridjit.runtime.accepted import LaunchShape, SignatureLike
    from gridjit.runtime.devices.base import Device, LoadedKernel
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.pool.declared import Ahead


class Compilation:
    """What a kernel is compiled by. `_code` keeps what came of it in this process."""

    py_func: Callable[..., Any]
    options: Options
    marks: tuple[str, ...]
    declared: tuple[Signature, ...]
    background: bool | None
    _ahead: list[Ahead]
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
        launch = Launch(config=_launch_config(self.py_func.__qualname__, config))
        return self._specialized(session(), _signature(signature), self.target_for(target), launch).artifact

    def declare(self, signature: SignatureLike, config: LaunchConfig | LaunchShape | None = None) -> None:
        """Compile for a signature, and convert the arguments of launches to it or to another declared one.

        It is compiled now; of a kernel made with jit(background=True), in another process until it is used. config: the
        launch to compile for, (griddim, blockdim[, sharedmem]); code that depends on its launch is else compiled when
        there is one.
        """
        wanted = _signature(signature)
        launch = Launch(config=_launch_config(self.py_func.__qualname__, config))
        here = session()
        if here.compiles_declared and not self._hands_over(here, wanted, launch):
            with contextlib.suppress(LaunchNeededError):
                self._specialized(here, wanted, self.target_for(None), launch)
        self.declared = (*self.declared, wanted)

    def specialized_ahead(self, signature: Signature, target: Target, launch: Launch) -> Specialization:
        """Return the specialization for a launch that is not made now; it goes through the same cache."""
        return self._specialized(session(), signature, target, launch)

    def recompile(self) -> None:
        """Compile every specialization again, with globals and callees as they are now."""
        self._settle()
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
        if self._ahead and (found := self._made_ahead(here, signature, target, launch, cold)) is not None:
            return found
        with Phases():
            with phase("key"):
                job = self.job_for(signature, target)
            found = specialize(job, launch, cold)
        if self._ahead and found.origin == "compiled":
            for ahead in self._ahead:
                if ahead.serves(signature, target):
                    ahead.is_of_no_use(found.reason)
        return found

    def _hands_over(self, here: Session, signature: Signature, launch: Launch) -> bool:
        """Have another process compile a declared signature; return whether one does, or did."""
        if not (self.background or here.settings.processes_for(self.background)):
            return False
        from gridjit.runtime.pool.declared import hand_over

        self._check_launchable()
        ahead = hand_over(cast("Kernel", self), here, signature, launch)
        self._ahead.append(ahead)
        return not ahead.why

    def _made_ahead(
        self, here: Session, signature: Signature, target: Target, launch: Launch, cold: Cold
    ) -> Specialization | None:
        """Return what another process compiled of a declared signature, waiting for it; None if it does not serve."""
        from gridjit.compiler.view.config import current_view

        for ahead in self._ahead:
            if not ahead.serves(signature, target) or cold.anew:
                continue
            if current_view() is None:  # else that process may be waiting for the lock of what is being compiled
                ahead.wait(here)
            look = ahead.look_for(launch, cold.generation)
            if look is not None and (found := look_up(look, cold)) is not None:
                return add(found, cold)
        return None

    def _settle(self) -> None:
        """Have all declared signatures as if they had been compiled where they were declared; raises what that does."""
        for ahead in self._ahead:
            here = session()
            ahead.wait(here)
            if not ahead.is_settled:
                with contextlib.suppress(LaunchNeededError):
                    self._specialized(here, ahead.signature, ahead.target, ahead.launch)
                ahead.is_settled = True

    def _compile_for_args(self, job: CompileJob, view: ConfigView) -> Compiled:
        """Compile. Under numba-cuda's name, as programs put a function in its place to look into a compile."""
        with phase("import"):
            from gridjit.compiler.compile import compile_job

        before, view.dispatcher = view.dispatcher, shown(self)
        try:
            return compile_job(job, view)
        finally:
            view.dispatcher = before

    def _check_launchable(self) -> None:
        """Raise ConfigError if the function can only be called by kernels."""
        raise NotImplementedError

    def _forget(self) -> tuple[Specialization, ...]:
        """Have launches ask for everything anew; return the specializations that there were."""
        raise NotImplementedError

    def _let_go(self, displaced: Displaced) -> None:
        """Have launches ask again for what is doubted, and let go of what was evicted."""
        raise NotImplementedError


def _signature(given: Any) -> Signature:
    """Return the signature that is given in any form; what numba need not read does not import it."""
    # Imported here: most kernels declare nothing.
    if isinstance(given, str):
        from gridjit.compiler.plain_signature import plain_signature

        if (plain := plain_signature(given)) is not None:
            return plain
    from gridjit.compiler.frontend.types import parse_signature

    return parse_signature(given)


def _launch_config(name: str, given: Any) -> LaunchConfig | None:
    if given is None or isinstance(given, LaunchConfig):
        return given
    if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
        raise ConfigError(f"{name}.compile(config={given!r}): give (griddim, blockdim[, sharedmem])")
    return LaunchConfig.of(*given)
