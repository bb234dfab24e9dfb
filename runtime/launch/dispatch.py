"""dispatch: from a call to a launch. The first call of a kind finds or makes its specialization; the rest use it."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.compiler.values.artifact import Artifact
from gridjit.compiler.values.errors import ArgumentError, ConfigError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import Signature
from gridjit.runtime.args.handler import ArgumentHandler
from gridjit.runtime.launch.ready import Ready, ReadyKey
from gridjit.runtime.memory.staging import Transfer
from gridjit.runtime.process.arguments import (
    conversions,
    handlers_of,
    in_bytes,
    kinds_of,
    nearest_declared,
    parameters_of,
    signature_of,
    types_of,
)
from gridjit.runtime.process.session import session
from gridjit.runtime.queues import attention
from gridjit.runtime.queues.attention import recorder_of, recorders, watchers
from gridjit.runtime.queues.streams import LEGACY, stream_handle

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.configured import ConfiguredKernel
    from gridjit.runtime.launch.launched_kernel import LaunchedKernel
    from gridjit.runtime.launch.launcher import Launcher
    from gridjit.runtime.queues.attention import Recorder


def launch(
    launcher: Launcher, given: tuple[Any, ...], configured: ConfiguredKernel | None = None, hooks: bool = True
) -> None:
    """Launch from Python. configured: the object that was called, if it has callbacks of its own; hooks: run them."""
    if (tracer := session().tracer) is None:
        _launch_now(launcher, given, configured, hooks)
        return
    from gridjit.runtime.launch.why import traced

    hooked = hooks and configured is not None and bool(configured.own_callbacks)
    traced(tracer, launcher, given, lambda: _launch_now(launcher, given, configured, hooks), hooked=hooked)


def _launch_now(
    launcher: Launcher, given: tuple[Any, ...], configured: ConfiguredKernel | None, hooks: bool
) -> Ready | None:
    """Launch; return the Ready that was launched, None for plain Python."""
    kernel = launcher.kernel
    if attention.chosen() and (here := launcher.here()) is not launcher:
        launcher = here
        if launcher.fast is not None and configured is None:
            launcher.fast(*given)
            return None
    handlers = handlers_of(kernel, given)
    if session().steps(kernel._target):
        _step(launcher, given, configured if hooks else None)
        return None
    key = (launcher.config_key, session().ordinal(kernel._target), *kinds_of(kernel, handlers, given))
    ready = launcher.ready.get(key) or prepare(launcher, given, handlers, key)
    if hooks and (ready.hooks or (configured is not None and configured.watched and configured._callbacks)):
        from gridjit.runtime.launch.under_way import call_all, launching

        who = configured or kernel._configured_by(launcher)
        with launching(who, given, ready.hooks):
            call_all(_shown(kernel, ready), who, ready.hooks)
            _launch(launcher, ready, handlers, key, given)
    else:
        _launch(launcher, ready, handlers, key, given)
    return ready


def _step(launcher: Launcher, given: tuple[Any, ...], configured: ConfiguredKernel | None) -> None:
    """Run the kernel as plain Python, for debuggers."""
    from gridjit.runtime.stepping.launch import step

    if (handle := stream_handle(launcher.stream)) > LEGACY or attention.busy():
        session().device("host").timeline.synchronize(handle)

    if configured is not None:
        from gridjit.runtime.launch.under_way import callable_one

        for callback in configured.own_callbacks:
            callable_one(callback)(launcher.kernel, configured)
    step(launcher.kernel, launcher.config, given)


def _launch(
    launcher: Launcher, ready: Ready, handlers: Sequence[ArgumentHandler], key: ReadyKey, given: tuple[Any, ...]
) -> None:
    kernel = launcher.kernel
    args = given
    after: Sequence[Callable[[], Any]] = ()
    if kernel.extensions:  # after the hooks: what they did to an extension or an argument counts
        from gridjit.runtime.launch.argument_extensions import prepared  # few kernels have any

        args, after = prepared(kernel, given, launcher.stream)
        handlers = handlers_of(kernel, args)
        ready = _packed(kernel, ready, handlers, args)
    recorder = recorders and recorder_of(ready.loaded.device.timeline, stream_handle(launcher.stream))
    if recorder:
        _record(recorder, launcher, ready, handlers, args, after)
        return
    transfer = Transfer(ready.loaded.device.staging, launcher.stream, kernel, ready.loaded.device)
    transfer.expect(args)
    parameters = parameters_of(kernel, ready, handlers, args, transfer)
    packed = in_bytes(kernel, ready, args, parameters)
    for watcher in watchers:
        watcher.launch(launcher, ready, packed, args)
    ready.loaded.launch(launcher.config, launcher.stream, ready.sharedmem, packed, (args, transfer.kept))
    transfer.finish()
    if watchers and transfer.is_in_place:
        watchers[0].returned(launcher, ready)
    for call in after:
        call()
    if ready.launchable and not kernel.extensions:
        launcher.learn(ready, key, args)


def _record(
    recorder: Recorder,
    launcher: Launcher,
    ready: Ready,
    handlers: Sequence[ArgumentHandler],
    args: tuple[Any, ...],
    after: Sequence[Callable[[], Any]],
) -> None:
    """Record a launch for a graph. Machine code learns nothing: it would make such launches."""
    from gridjit.runtime.launch.recording import refuse_what_follows

    kernel = launcher.kernel
    refuse_what_follows(kernel.name, after)
    transfer = recorder.transfer(launcher, ready)
    transfer.expect(args)
    parameters = parameters_of(kernel, ready, handlers, args, transfer)
    recorder.launch(launcher, ready, args, in_bytes(kernel, ready, args, parameters), transfer)


def prepare(launcher: Launcher, args: tuple[Any, ...], handlers: Sequence[ArgumentHandler], key: ReadyKey) -> Ready:
    """Return what is Ready for args, finding or making its specialization first."""
    kernel, config_key, table = launcher.kernel, launcher.config_key, launcher.ready
    drops = table.drops
    own = signature_of(kernel, args)
    signature = nearest_declared(kernel, own)
    found, loaded = kernel.specialization_for(signature, config_key.config, args, launcher.stream)
    converters, codes = conversions(own, signature)
    ready = Ready(
        loaded=loaded,
        declared=signature.arguments,
        converters=converters,
        pack=struct.Struct(codes).pack,
        sharedmem=max(config_key.config.sharedmem, found.artifact.effects.sharedmem),
        hooks=found.hooks,
        found=found,
    )
    if config_key.config.programmatic:
        refuse_without_wait(found.artifact, config_key.config)
    config_key.required = max(config_key.required, found.artifact.effects.sharedmem)
    asks_again = kernel.asks_again(found, config_key.config)
    if (tracer := session().tracer) is not None:
        from gridjit.runtime.launch import why

        tracer.note_why(why.first(found, again=asks_again))
    if not asks_again and not any(fact.of_each_launch for fact in found.footprint.facts):
        table.put(key, ready, drops)
    return ready


def _packed(kernel: Kernel, ready: Ready, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...]) -> Ready:
    """Return ready for the arguments that extensions prepared; its code is for the original arguments."""
    kinds = kinds_of(kernel, handlers, args)
    if (found := ready.packed.get(kinds)) is None:
        found = ready.packed[kinds] = _repacked(kernel, ready, handlers, args)
    return found


def _repacked(kernel: Kernel, ready: Ready, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...]) -> Ready:
    from gridjit.runtime.args.conversion import conversion

    own = types_of(kernel, handlers, args)
    for name, made, wanted in zip(kernel.parameter_names, own.arguments, ready.declared, strict=True):
        if conversion(made, wanted) is None:
            raise ArgumentError(
                f"argument '{name}' of {kernel.name}: the kernel takes {wanted}, and an extension prepared {made}"
            )
    converters, codes = conversions(own, Signature(arguments=ready.declared))
    return dataclasses.replace(ready, pack=struct.Struct(codes).pack, converters=converters, packed={})


def _shown(kernel: Kernel, ready: Ready) -> LaunchedKernel:
    if not ready.shown:
        ready.shown.append(kernel._launched_as(ready.found))
    return ready.shown[0]


def refuse_without_wait(artifact: Artifact, config: LaunchConfig) -> None:
    """Raise ConfigError for code without a wait for grids: it could read too early what the previous grid writes."""
    if not artifact.metadata.get("waits_for_grids"):
        raise ConfigError(
            f"{artifact.kernel} [{config}]: with programmatic=True it may begin before the previous grid has ended, "
            "and it does not wait for it: call gridjit.griddepcontrol.wait() in the kernel, before it reads what "
            "others write, or launch it without programmatic"
        )
