"""A stand-in for a device: it records every launch, from Python and from machine code, and runs nothing."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gridjit.compiler.artifact import Artifact
from gridjit.compiler.footprint import Effects, Footprint
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.signature import Signature
from gridjit.compiler.targets.base import Target
from gridjit.runtime.configured import ConfiguredKernel
from gridjit.runtime.dispatch import ReadyTables
from gridjit.runtime.native.table import Entry
from gridjit.runtime.specializations import Hook, Specialization
from gridjit.runtime.streams import stream_handle

_PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """One launch. way: "python" or "native"."""

    way: str
    config: LaunchConfig
    sharedmem: int
    stream: int
    handle: int
    parameters: bytes


class Recorder:
    """A function like cuLaunchKernel that notes its arguments. code: what it returns."""

    def __init__(self) -> None:
        self.launches: list[Launched] = []
        self.code = 0
        self._callback = _PROTOTYPE(self._call)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    @property
    def last(self) -> Launched:
        return self.launches[-1]

    @property
    def ways(self) -> list[str]:
        return [launched.way for launched in self.launches]

    def _call(self, handle: int, *rest: Any) -> int:
        *dims, shared, stream, params, extra = rest
        assert params is None
        self.launches.append(
            Launched(
                way="native",
                config=LaunchConfig.of(tuple(dims[:3]), tuple(dims[3:]), shared),
                sharedmem=shared,
                stream=stream or 0,
                handle=handle,
                parameters=_buffer(extra),
            )
        )
        return self.code


def _buffer(extra: int | None) -> bytes:
    """Return what CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE say."""
    if extra is None:
        return b""
    pointer, buffer, size, length, end = (ctypes.c_void_p * 5).from_address(extra)
    assert (pointer, size, end) == (1, 2, None)
    assert buffer is not None and length is not None
    return ctypes.string_at(buffer, ctypes.c_size_t.from_address(length).value)


class Contexts:
    """A function like cuCtxGetId. current: the number of the context that is; code: what it returns."""

    FUNCTION = 0x1000

    def __init__(self) -> None:
        self.current = 1
        self.code = 0
        prototype = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64))
        self._callback = prototype(self._call)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def entry(self, context: int) -> Entry:
        return Entry(handle=self.FUNCTION + context, ask=self.address, context=context)

    def _call(self, context: int | None, number: Any) -> int:
        assert context is None
        if not self.code:
            number[0] = self.current
        return self.code


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordingKernel:
    """A loaded kernel of the stand-in."""

    artifact: Artifact
    recorder: Recorder
    handle: int = 0x77
    device: Any = None
    kernel: Any = None

    @property
    def address(self) -> int:
        return self.recorder.address

    @property
    def context(self) -> int:
        return 0 if self.kernel is None or self.kernel.contexts is None else self.kernel.contexts.current

    def entry(self, context: int) -> Entry:
        return self.kernel.contexts.entry(context)

    def launch(self, config: LaunchConfig, stream: Any, sharedmem: int, parameters: bytes) -> None:
        if self.recorder.code:
            raise RuntimeError(f"the driver says {self.recorder.code}")
        self.recorder.launches.append(
            Launched(
                way="python",
                config=LaunchConfig.of(config.griddim, config.blockdim, sharedmem),
                sharedmem=sharedmem,
                stream=stream_handle(stream),
                handle=self.handle,
                parameters=parameters,
            )
        )
        if self.kernel is not None and self.kernel.on_launch is not None:
            self.kernel.on_launch(self.kernel)


@dataclass(slots=True, kw_only=True, eq=False)
class StandInKernel:
    """As much of a Kernel as launching needs."""

    arity: int
    recorder: Recorder = field(default_factory=Recorder)
    hooks: tuple[Hook, ...] = ()
    declared: tuple[Signature, ...] = ()
    cooperative: bool = False
    effects: Effects = field(default_factory=Effects)
    hold_gil: bool = False
    extensions: tuple[Any, ...] = ()
    generation: int = 0
    cached: bool = True
    on_launch: Any = None
    device: Any = None
    contexts: Contexts | None = None
    name: str = "standin"
    signatures: list[Signature] = field(default_factory=list)
    ready: ReadyTables = field(default_factory=ReadyTables)
    _target: str | None = "host"
    _warned_of_copies: bool = False
    _hide: Any = lambda made: None

    @property
    def parameter_names(self) -> Sequence[str]:
        return [f"a{index}" for index in range(self.arity)]

    def is_loaded_for(self, signature: Signature, config: LaunchConfig, args: Any) -> bool:
        return True

    def specialization_for(self, signature: Signature, config: LaunchConfig, args: Any) -> tuple[Specialization, Any]:
        self.signatures.append(signature)
        artifact = Artifact(
            target=Target(kind="host", arch="none"),
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
        return found, RecordingKernel(artifact=artifact, recorder=self.recorder, device=self.device, kernel=self)

    def configured(self, griddim: Any = 1, blockdim: Any = 32, stream: Any = 0, sharedmem: int = 0) -> ConfiguredKernel:
        config = LaunchConfig.of(griddim, blockdim, sharedmem)
        return ConfiguredKernel.of(self.ready.of(config).launcher(self, config, stream))  # type: ignore[arg-type]


def calcsize(signature: Signature) -> int:
    return struct.calcsize(signature.codes)
