"""TieredKernel: a kernel whose launches never wait for specialized code; Generic: its form without folded fields.

Both are one kernel to programs, to libraries that take part in their compiles, and to its statistics.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.compiler.job import CompileJob
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.process.session import session
from gridjit.runtime.specializations.look import Launch
from gridjit.runtime.specializations.table import Specialization
from gridjit.runtime.tiered.tiers import Tiers, Wanted

if TYPE_CHECKING:
    from gridjit.compiler.values.artifact import Artifact, Compiled
    from gridjit.compiler.view.config import ConfigView
    from gridjit.runtime.accepted import LaunchShape, SignatureLike
    from gridjit.runtime.devices.base import Device, LoadedKernel
    from gridjit.runtime.numba_names.pickling import Reduced


class TieredKernel(Kernel):
    """A kernel that is launched with generic code until its specialized code is there."""

    def __init__(self, function: Callable[..., Any], options: Options, **settings: Any) -> None:
        super().__init__(function, options, **settings)
        self._generic = Generic(self, function, options, settings)
        self._tiers = Tiers(self, self._generic)

    def form_for(self, config: object) -> Kernel:
        """Return the form for a configuration: without one, the generic form."""
        return self if config is not None else self._generic

    def form_of(self, found: Specialization) -> Kernel:
        """Return the form that compiled and loads a specialization."""
        return self._generic if found.tier == "generic" else self

    def compile(
        self,
        sig: SignatureLike | None = None,
        config: LaunchConfig | LaunchShape | None = None,
        target: str | None = None,
    ) -> Artifact:
        """Compile ahead of any launch: the specialized code for a configuration, the generic code without one."""
        return super().compile(sig, config, target) if config else self._generic.compile(sig, None, target)

    def declare(self, signature: SignatureLike, config: LaunchConfig | LaunchShape | None = None) -> None:
        """Compile for a signature: the specialized code for a configuration, the generic code without one."""
        if config is not None:
            super().declare(signature, config)
            return
        self._generic.declare(signature)
        self.declared = (*self.declared, self._generic.declared[-1])

    def specialization_for(
        self, signature: Signature, config: LaunchConfig, args: tuple[Any, ...], stream: Any = 0
    ) -> tuple[Specialization, LoadedKernel]:
        """Return a launch's specialization for now, loaded on the device."""
        launch = Launch(config=config, args=args)
        wanted = Wanted(here=session(), signature=signature, target=self.target_for(None), launch=launch, stream=stream)
        if self._tiers.generic_serves(wanted):
            return self._generic.specialization_for(signature, config, args, stream)
        return super().specialization_for(signature, config, args, stream)

    def asks_again(self, found: Specialization, config: LaunchConfig) -> bool:
        """Return whether later launches of config have to look up their code again."""
        return self._tiers.may_change(found, config)

    def loaded(self, found: Specialization, device: Device) -> LoadedKernel:
        """Return a specialization's kernel on device, loading it if need be."""
        form = self.form_of(found)
        return super().loaded(found, device) if form is self else form.loaded(found, device)

    def wait_for_compiles(self) -> None:
        """Wait for other processes' compiles for this kernel; the next launch uses them."""
        super().wait_for_compiles()
        self._generic.wait_for_compiles()
        self._tiers.wait(session())

    def recompile(self) -> None:
        """Compile every specialization again, with the current globals and callees."""
        generic = self._generic._all()
        super().recompile()
        self._generic._compile_again(generic)

    def in_memory(self) -> tuple[Specialization, ...]:
        """Return the specializations in use, generic code first."""
        return (*self._generic.in_memory(), *super().in_memory())

    def _told(self) -> list[str]:
        return [*super()._told(), *self._generic._told(), *self._tiers.told()]

    def _settle(self) -> None:
        super()._settle()
        self._generic._settle()

    def _forget(self) -> tuple[Specialization, ...]:
        self._generic._forget()
        self._tiers.forget()
        return super()._forget()


class Generic(Kernel):
    """The code of a tiered kernel without the fields that jit(specialize=...) names; never launched by itself."""

    def __init__(
        self, of: TieredKernel, function: Callable[..., Any], options: Options, settings: dict[str, Any]
    ) -> None:
        self._of = of
        super().__init__(function, dataclasses.replace(options, specialize=()), **settings)
        self.stats = of.stats

    @property
    def marks(self) -> tuple[str, ...]:
        """The fields that the tiered kernel is marked to depend on."""
        return self._of.marks

    @marks.setter
    def marks(self, marks: tuple[str, ...]) -> None:
        """Leave them to the tiered kernel."""

    @property
    def _known_as(self) -> Kernel:
        return self._of

    def _compile_for_args(self, job: CompileJob, view: ConfigView) -> Compiled:
        replaced: Callable[[CompileJob, ConfigView], Compiled] | None = vars(self._of).get("_compile_for_args")
        return (replaced or super()._compile_for_args)(job, view)

    def _drop(self, gone: Sequence[LoadedKernel] | None = None) -> None:
        super()._drop(gone)
        self._of._drop(gone)

    def __reduce__(self) -> Reduced:
        """Pickle as a kernel without tiers; no name leads to it."""
        from gridjit.runtime.numba_names.pickling import reduced_as

        return reduced_as(self, Kernel)
