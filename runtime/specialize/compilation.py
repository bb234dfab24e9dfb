"""Compilation: the part of a kernel that compiles and loads it, ahead of a launch, for a launch, or again."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

from gridjit.base.interrupts import let_through
from gridjit.base.stacks import with_room_for_frames
from gridjit.compiler.job import CompileJob, make_job
from gridjit.compiler.key.numba_settings import dumps
from gridjit.compiler.values.errors import ConfigError, GridjitError, LaunchNeededError
from gridjit.compiler.values.launch_config import LaunchConfig, as_launch_config
from gridjit.compiler.values.options import PLAIN, Options
from gridjit.compiler.values.phases import phase
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.environment.settings import settings
from gridjit.runtime.environment.tracebacks import for_users
from gridjit.runtime.process.session import Session, session
from gridjit.runtime.specializations.look import Launch, Look
from gridjit.runtime.specializations.table import Displaced, KernelCode, Specialization
from gridjit.runtime.specialize.cold import Cold, add, fetch, in_memory, look_up, note_needed, shown, specialize

if TYPE_CHECKING:
    from gridjit.compiler.values.artifact import Artifact, Compiled
    from gridjit.compiler.view.config import ConfigView
    from gridjit.runtime.accepted import LaunchShape, SignatureLike
    from gridjit.runtime.devices.base import Device, LoadedKernel
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.specialize.declared import Ahead


class Compilation:
    """Compiles a kernel. `_code` keeps the results in this process."""

    py_func: Callable[..., Any]
    options: Options
    parameter_names: tuple[str, ...]
    marks: tuple[str, ...]
    declared: tuple[Signature, ...]
    launches: tuple[LaunchConfig, ...] = ()
    background: bool | None
    _ahead: list[Ahead]
    _target: str | None
    _cache: bool
    _code: KernelCode

    @for_users
    def compile(
        self,
        sig: SignatureLike | None = None,
        config: LaunchConfig | LaunchShape | None = None,
        target: str | None = None,
    ) -> Artifact:
        """Compile ahead of any launch and return the artifact; it goes through the same cache.

        sig: argument types, as numba.cuda.jit takes them ("void(float32[::1], int64)").
        config: the launch to compile for, (griddim, blockdim[, sharedmem]); None if the compile does not read it.
        target: "host", an architecture like "sm_90", or None for this machine's own.
        Raises ConfigError or CompileError.

            scale.compile("void(float32[::1], float32)", config=(8, 128), target="sm_90").image
        """
        if sig is None:
            raise ConfigError(
                f"{self.py_func.__qualname__}.compile(): give the types of its arguments "
                f"({', '.join(self.parameter_names)}), as in "
                'compile("void(float32[::1], int64)"), or launch it: that compiles it for what it is given'
            )
        launch = Launch(config=as_launch_config(self.py_func.__qualname__, config))
        found = self._specialized(session(), _signature(sig), self.target_for(target), launch)
        from gridjit.runtime.numba_names.overload import (
            CompiledCode,
            Overload,  # launches do without
        )

        return CompiledCode.of(found.artifact, Overload(self.form_of(found), found))

    def form_for(self, config: object) -> Kernel:
        """Return the specialization for a configuration, or for none (None)."""
        return cast("Kernel", self)

    def form_of(self, found: Specialization) -> Kernel:
        """Return the form that compiled and loads a specialization."""
        return cast("Kernel", self)

    def declare(self, signature: SignatureLike, config: LaunchConfig | LaunchShape | None = None) -> None:
        """Compile for a signature, and convert launches' arguments to this or another declared signature.

        It is compiled now; with jit(background=True), another process compiles it until it is used.
        signature: as for compile. config: the launch to compile for, (griddim, blockdim[, sharedmem]); without it, code
        that depends on its launch is compiled at a launch.
        """
        wanted = _signature(signature)
        launch = Launch(config=as_launch_config(self.py_func.__qualname__, config))
        here = session()
        if here.compiles_declared and not self._hands_over(here, wanted, launch):
            with contextlib.suppress(LaunchNeededError):
                self._specialized(here, wanted, self.target_for(None), launch)
        self.declared = (*self.declared, wanted)

    def specialized_ahead(self, signature: Signature, target: Target, launch: Launch) -> Specialization:
        """Return the specialization for a later launch; it goes through the same cache."""
        return self._specialized(session(), signature, target, launch)

    @for_users
    def recompile(self) -> None:
        """Compile every specialization again, with the current globals and callees."""
        self._settle()
        self._compile_again(self._forget())

    def _compile_again(self, forgotten: Iterable[Specialization]) -> None:
        """Compile forgotten specializations that do not need a launch."""
        for old in forgotten:
            if not any(fact.of_each_launch for fact in old.footprint.facts):
                self._specialized(session(), old.signature, old.target, Launch(config=old.config))

    def specialization_for(
        self, signature: Signature, config: LaunchConfig, args: tuple[Any, ...], stream: Any = 0
    ) -> tuple[Specialization, LoadedKernel]:
        """Return the right specialization for a launch in a stream, and its kernel loaded on the device."""
        here = session()
        wanted = (here, signature, here.target(self._target), Launch(config=config, args=args))
        found = self._specialized(*wanted)
        try:
            return found, self.loaded(found, here.device(self._target))
        except Exception as error:
            let_through(error)
            # A device refuses in many ways; only code compiled here is known to be right for it.
            if found.origin == "compiled":
                raise
            self._code.table.discard(found)
        found = self._specialized(*wanted, anew=True)
        return found, self.loaded(found, here.device(self._target))

    def loaded(self, found: Specialization, device: Device) -> LoadedKernel:
        """Return a specialization, loaded on device if need be."""
        return self._code.load(found, device)

    @property
    def cached(self) -> bool:
        """Whether results may be kept on disk."""
        return self._cache

    @property
    def generation(self) -> int:
        """The number of times that all was forgotten: a launch that began earlier must not bring it back."""
        return self._code.generation

    def target_for(self, name: str | None) -> Target:
        """Return the target of a name; None for the target of the kernel's launches here."""
        return session().target(self._target if name is None else name)

    @property
    def target_here(self) -> Target | None:
        """The target of the kernel's launches here; None without a device for them."""
        with contextlib.suppress(GridjitError):
            return self.target_for(None)
        return None

    def job_for(self, signature: Signature, target: Target) -> CompileJob:
        """Return the job of compiling the kernel with its current globals and callees."""
        if "numba.cuda" in sys.modules:
            _bring_registrations_into_view()
        answers = session().store(self._cache)
        return make_job(self.py_func, signature, self._options_for(target), target, self.marks, answers=answers)

    def _options_for(self, target: Target) -> Options:
        """Return the options, changed by settings: debug, the code generator, a debug kernel's checks."""
        options = self.options
        if settings().debug and not options.debug:
            options = dataclasses.replace(options, debug=True, lineinfo=False)
        if target.kind == "ptx":
            codegen = settings().codegen
            return options if codegen == options.codegen else dataclasses.replace(options, codegen=codegen)
        if settings().host_plain:
            options = dataclasses.replace(options, codegen=PLAIN)
        return dataclasses.replace(options, checks=settings().host_checks) if options.debug else options

    def found(
        self, here: Session, signature: Signature, target: Target, launch: Launch
    ) -> tuple[Specialization | None, Look | None]:
        """Return the specialization for a launch, in memory or in a cache, and the look at the cache."""
        cold = self._cold(here)
        if (found := in_memory(signature, target, launch, cold)) is not None:
            return found, None
        with here.phases(self.py_func):
            with phase("key"):
                job = self.job_for(signature, target)
            look = Look.at(cold.store, job, launch)
            found = look_up(look, cold) or fetch(look, cold)
        return None if found is None else add(found, cold), look

    def made_elsewhere(self, here: Session, ahead: Ahead, launch: Launch) -> Specialization | None:
        """Return another process's code for a declared signature, if it serves a launch."""
        with here.phases(self.py_func):
            return self._found_by(ahead, launch, self._cold(here))

    def asks_again(self, found: Specialization, config: LaunchConfig) -> bool:
        """Return whether each later launch of config has to look up its code again."""
        return False

    def wait_for_compiles(self) -> None:
        """Wait for other processes' compiles for this kernel; the next launch uses them."""
        for ahead in self._ahead:
            ahead.wait(session())

    @property
    def _known_as(self) -> Kernel:
        """The kernel that programs know: compiles see it, and it counts them."""
        return cast("Kernel", self)

    def _cold(self, here: Session, *, anew: bool = False) -> Cold:
        """Return the inputs of the cold path."""
        return Cold(
            here=here,
            store=here.store(self._cache),
            locks=here.locks(self._cache),
            kernel=self._known_as,
            form=cast("Kernel", self),
            code=self._code,
            generation=self._code.generation,
            compile=self._compile_for_args,
            let_go=self._let_go,
            anew=anew,
            apart=bool(dumps()),
        )

    def _specialized(
        self, here: Session, signature: Signature, target: Target, launch: Launch, *, anew: bool = False
    ) -> Specialization:
        """Return the specialization for a launch. anew: stored code does not load, so it is compiled."""
        cold = self._cold(here, anew=anew)
        try:
            return self._found_or_made(here, signature, target, launch, cold)
        except LaunchNeededError as error:
            note_needed(error, signature, target, cold)
            raise

    def _found_or_made(
        self, here: Session, signature: Signature, target: Target, launch: Launch, cold: Cold
    ) -> Specialization:
        if (found := in_memory(signature, target, launch, cold)) is not None:
            return found
        self._check_launchable()
        if self._ahead and (found := self._made_ahead(here, signature, target, launch, cold)) is not None:
            return found
        with here.phases(self.py_func):
            found = with_room_for_frames(lambda: self._looked_up(signature, target, launch, cold))
        if self._ahead and found.origin == "compiled":
            for ahead in self._ahead:
                if ahead.serves(signature, target):
                    ahead.is_of_no_use(found.reason)
        return found

    def _looked_up(self, signature: Signature, target: Target, launch: Launch, cold: Cold) -> Specialization:
        with phase("key"):
            job = self.job_for(signature, target)
        return specialize(job, launch, cold)

    def _hands_over(self, here: Session, signature: Signature, launch: Launch) -> bool:
        """Let another process compile a declared signature; return whether it does, or did."""
        if not (self.background or here.settings.processes_for(self.background)):
            return False
        from gridjit.runtime.specialize.declared import hand_over

        self._check_launchable()
        ahead = hand_over(cast("Kernel", self), here, signature, launch, lambda look: fetch(look, self._cold(here)))
        self._ahead.append(ahead)
        return not ahead.why or ahead.is_settled

    def _made_ahead(
        self, here: Session, signature: Signature, target: Target, launch: Launch, cold: Cold
    ) -> Specialization | None:
        """Return another process's code for a declared signature, waiting for it; None if it does not serve."""
        from gridjit.compiler.view.config import current_view

        for ahead in self._ahead:
            if not ahead.serves(signature, target) or cold.anew:
                continue
            if current_view() is None:  # else that process may be waiting for the current compile's lock
                ahead.wait(here)
            if (found := self._found_by(ahead, launch, cold)) is not None:
                return found
        return None

    def _found_by(self, ahead: Ahead, launch: Launch, cold: Cold) -> Specialization | None:
        look = ahead.look_for(launch, cold.generation)
        found = None if look is None else look_up(look, cold)
        return None if found is None else add(found, cold)

    def _settle(self) -> None:
        """Compile declared signatures as at their declaration; raises its errors."""
        for ahead in self._ahead:
            here = session()
            ahead.wait(here)
            if not ahead.is_settled:
                with contextlib.suppress(LaunchNeededError):
                    self._specialized(here, ahead.signature, ahead.target, ahead.launch)
                ahead.is_settled = True

    def _compile_for_args(self, job: CompileJob, view: ConfigView) -> Compiled:
        """Compile. The name is numba-cuda's: programs replace it to look into a compile."""
        with phase("import"):
            from gridjit.compiler.compile import compile_job

        if job.target.kind == "host" and settings().host_passes:
            from gridjit.compiler.targets.host.pipeline import print_passes

            print_passes()
        before, view.dispatcher = view.dispatcher, shown(self)
        try:
            return compile_job(job, view)
        finally:
            view.dispatcher = before

    def _check_launchable(self) -> None:
        """Raise ConfigError if only kernels can call the function."""
        raise NotImplementedError

    def _forget(self) -> tuple[Specialization, ...]:
        """Make launches look up everything anew; return the specializations so far."""
        raise NotImplementedError

    def _let_go(self, displaced: Displaced) -> None:
        """Make launches look up doubted code again, and drop evicted code."""
        raise NotImplementedError


def _bring_registrations_into_view() -> None:
    """Make numba-cuda's contexts read libraries' own registries before a key is made, if a library registered anything.

    Else a key would say less in a process that has not compiled yet.
    """
    from gridjit.compiler.key.extensions import all_registrations

    if all_registrations():
        from gridjit.compiler.frontend.isolated.isolation import read_registries

        read_registries()


def _signature(given: Any) -> Signature:
    """Return the signature given in any form; plain forms do not import numba."""
    # Imported here: most kernels declare nothing.
    if isinstance(given, str):
        from gridjit.compiler.values.signature import plain_signature

        if (plain := plain_signature(given)) is not None:
            return plain
    from gridjit.compiler.frontend.bindings.types import parse_signature

    return parse_signature(given)
