"""A stand-in for a kernel: as much of one as launching needs, on a device that notes every launch and runs nothing."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gridjit.cache.memory import MemoryStore
from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import ConfigError
from gridjit.compiler.values.footprint import Effects, Footprint
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target
from gridjit.runtime.devices.base import LoadedKernel
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.indexing import Indexable
from gridjit.runtime.launch.launched_kernel import LaunchedKernel
from gridjit.runtime.launch.launcher import Launcher, launcher_for
from gridjit.runtime.launch.ready import ReadyTable
from gridjit.runtime.native.function import NativeFunction, native_function
from gridjit.runtime.native.operation import Operation
from gridjit.runtime.native.table import KernelHandle, LaunchTable
from gridjit.runtime.specializations.table import LaunchHook, Specialization
from tests.runtime.recording_device import Contexts as Contexts
from tests.runtime.recording_device import Launched as Launched
from tests.runtime.recording_device import Recorder as Recorder
from tests.runtime.recording_device import RecordingDevice

_TARGET = Target(kind="host", arch="none")


def standin() -> None:
    """What errors call the function of the stand-in."""


@dataclass(slots=True, kw_only=True, eq=False)
class StandInKernel:
    """As much of a Kernel as launching needs."""

    arity: int
    recorder: Recorder = field(default_factory=Recorder)
    hooks: tuple[LaunchHook, ...] = ()
    declared: tuple[Signature, ...] = ()
    cooperative: bool = False
    effects: Effects = field(default_factory=Effects)
    hold_gil: bool = False
    extensions: tuple[Any, ...] = ()
    cached: bool = True
    on_launch: Callable[[StandInKernel], Any] | None = None
    apart: bool = False
    contexts: Contexts | None = None
    name: str = "standin"
    py_func: Callable[..., Any] = standin
    copies: list[str] = field(default_factory=list)
    device: RecordingDevice = field(init=False)
    signatures: list[Signature] = field(default_factory=list)
    ready: ReadyTable = field(default_factory=ReadyTable)
    _target: str | None = "host"
    _warned_of_copies: bool = False
    _hide: Any = lambda made: None

    def __post_init__(self) -> None:
        self.device = RecordingDevice(
            self.recorder,
            self.copies,
            target=_TARGET,
            apart=self.apart,
            ordinal=0 if self.apart else None,
            contexts=self.contexts,
            on_launch=lambda: self.on_launch and self.on_launch(self),
        )

    @property
    def parameter_names(self) -> Sequence[str]:
        return [f"a{index}" for index in range(self.arity)]

    def asks_again(self, found: Specialization, config: LaunchConfig) -> bool:
        return False

    def specialization_for(
        self, signature: Signature, config: LaunchConfig, args: Any, stream: Any = 0
    ) -> tuple[Specialization, LoadedKernel]:
        self.signatures.append(signature)
        artifact = Artifact(
            target=_TARGET,
            image=b"",
            suffix=".o",
            entry="standin",
            kernel=self.name,
            signature=str(signature),
            parameters=signature.codes,
            resources={},
            exceptions={},
            footprint=Footprint(),
            effects=self.effects,
            cooperative=self.cooperative,
        )
        found = Specialization(
            signature=signature,
            config=config,
            artifact=artifact,
            origin="memory",
            milliseconds=0,
            reason="",
            hooks=list(self.hooks),
        )
        return found, self.device.load(artifact)

    def _configured_by(self, launcher: Launcher) -> ConfiguredKernel:
        return ConfiguredKernel.of(launcher)

    def _launched_as(self, found: Specialization) -> LaunchedKernel:
        return LaunchedKernel(self, found)  # type: ignore[arg-type]

    def configured(self, griddim: Any = 1, blockdim: Any = 32, stream: Any = 0, sharedmem: int = 0) -> ConfiguredKernel:
        config = LaunchConfig.of(griddim, blockdim, sharedmem)
        return ConfiguredKernel.of(launcher_for(self.ready, self, config, stream))  # type: ignore[arg-type]


class IndexedKernel(Indexable):
    """A kernel of the stand-in that can be indexed. asked: for what machine code came to Python."""

    def __init__(self, arity: int = 0) -> None:
        super().__init__()
        self.kernel = StandInKernel(arity=arity, ready=self._ready, _hide=self._hide)
        self.asked: list[Any] = []

    def _show(self, launch: Any, made: ConfiguredKernel) -> None:
        self.asked.append(launch)
        super()._show(launch, made)

    def _configure(self, launch: Any) -> ConfiguredKernel:
        if not isinstance(launch, tuple):
            raise ConfigError(f"{launch!r}: no configuration")
        return self.kernel.configured(*launch)


def calcsize(signature: Signature) -> int:
    return struct.calcsize(signature.codes)


def told_to_read(operation: Operation, recorder: Recorder, surprised: list[Any]) -> NativeFunction:
    """Return a native function that launches through recorder if it can read its one argument, else notes it."""
    function = native_function(
        MemoryStore(), lambda *args: surprised.append(args), lambda *args: surprised.append(args)
    )
    assert function is not None
    function.add(
        LaunchTable(
            launch=recorder.address,
            entry=KernelHandle(handle=1),
            config=LaunchConfig.of(1, 1),
            sharedmem=0,
            stream=0,
            operations=(operation,),
        )
    )
    return function
