"""dispatch: from a call to a launch. The first call of a kind finds or makes its specialization; the rest reuse it.

A Launcher's `fast` is the native launch function where there is one. It knows the kinds of arguments it was told of;
every other call comes here, is launched from Python, and is told to the native function for the next time.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.compiler.errors import ArgumentError, GridjitError
from gridjit.compiler.launch_config import LaunchConfig
from gridjit.compiler.signature import ArgType, Signature
from gridjit.forking import WeakList, lock, section
from gridjit.runtime.args.handler import ArgumentHandler, Place, handler_of, unreadable
from gridjit.runtime.args.staging import Transfer
from gridjit.runtime.devices.base import LoadedKernel
from gridjit.runtime.launch.argument_extensions import prepared
from gridjit.runtime.launch.graph_capture import refuse_to_load
from gridjit.runtime.launch.native_table import place_on, table_of
from gridjit.runtime.native.function import KEYWORDS_GIVEN, MAX_TABLES, NativeFunction, native_function
from gridjit.runtime.session import session
from gridjit.runtime.specialize.table import Hook, Specialization
from gridjit.values import dataclass, field

if TYPE_CHECKING:
    from gridjit.runtime.args.conversion import Converter
    from gridjit.runtime.kernel import Kernel
    from gridjit.runtime.launch.configured import ConfiguredKernel
    from gridjit.runtime.launch.launched_kernel import LaunchedKernel

Kinds = tuple[Hashable, ...]
# What is the same each time that it is looked at.
_CONSTANT = (bool, int, float, complex)
_making = lock()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """What a launch needs, worked out once for a configuration and kinds of arguments.

    declared: the types that the code takes, one an argument. converters: what makes them of the arguments' own.
    launchable: whether the native function may launch it: it has an address, and no hooks. found: the code.
    packed: the same for arguments as extensions prepare them, by their kinds.
    """

    loaded: LoadedKernel
    declared: tuple[ArgType, ...]
    converters: tuple[Converter | None, ...]
    pack: Callable[..., bytes]
    sharedmem: int
    hooks: list[Hook]
    launchable: bool
    found: Specialization
    packed: dict[Kinds, Ready] = field(default_factory=dict)
    # What hooks see it as, once there were any.
    shown: list[LaunchedKernel] = field(default_factory=list)


class Launcher:
    """A kernel with its configuration and stream: what all equal indexings share.

    fast: the native function, once it knows a kind of arguments, so that it is worth calling first; until then None.
    """

    __slots__ = ("__weakref__", "_known", "config", "fast", "kernel", "native", "ready", "stream")

    # Tables made in a launcher's life; they are never freed, so a call that keeps needing new ones stays in Python.
    LIMIT = 64

    def __init__(self, kernel: Kernel, config: LaunchConfig, stream: Any, ready: ReadyTable) -> None:
        self.kernel = kernel
        self.config = config
        self.stream = stream
        self.ready = ready
        self.native: NativeFunction | None = None
        self.fast: Callable[..., None] | None = None
        self._known: list[Kinds] = []

    def slow(self, *args: Any) -> None:
        """Launch from Python, for the kinds of arguments that the native function was not told of."""
        launch(self, args)

    def failed(self, code: int, *args: Any) -> None:
        """Launch from Python after the native function could not: it raises what is wrong, or mends it."""
        if code == KEYWORDS_GIVEN:
            raise ArgumentError(f"{self.kernel.name} takes its arguments by position, not by keyword")
        launch(self, args)

    def learn(self, ready: Ready, kinds: Kinds, args: tuple[Any, ...]) -> None:
        """Have the native function launch such arguments from now on, if it can."""
        if len(self._known) >= self.LIMIT:
            return
        context = ready.loaded.context
        known = (context, *kinds)
        if known in self._known[-MAX_TABLES:]:
            return
        table = table_of(self, ready, args, context)
        if table is not None and (native := self._native()) is not None:
            native.add(table)
            self.fast = native.call
        # Last: what an interrupt kept from being told is told the next time.
        self._known.append(known)

    def _native(self) -> NativeFunction | None:
        """Return the native function, made when the first table is; None if launches go through Python."""
        # Objects that are launched know it by its address, so there is one, for the launcher's whole life.
        with section(), _making:
            if self.native is None:
                self.native = native_function(session().store(self.kernel.cached), self.slow, self.failed)
        return self.native

    def forget(self) -> None:
        """Let the next launch look up its specialization again."""
        self.fast = None
        if self.native is not None:
            self.native.clear()
        self._known.clear()


class ReadyTable:
    """What is ready for one configuration, by kinds of arguments; and its launchers, by stream.

    required: the dynamic shared memory that code launched with this configuration requires, in bytes.
    """

    STREAMS = 64

    def __init__(self, launchers: WeakList[Launcher]) -> None:
        self.by_kinds: dict[Kinds, Ready] = {}
        self.required = 0
        self._launchers: dict[Hashable, Launcher] = {}
        self._all = launchers

    def launcher(self, kernel: Kernel, config: LaunchConfig, stream: Any) -> Launcher:
        """Return what all indexings with this configuration and stream share."""
        # A stream is known by its identity: what it compares equal to is its own affair. A launcher keeps its stream
        # alive, so that the identity stays its own; the bound lets go of both.
        key = (int, stream) if type(stream) is int else (object, id(stream))
        found = self._launchers.get(key)
        if found is None:
            if len(self._launchers) >= self.STREAMS:
                self._launchers = {}
            found = self._launchers.setdefault(key, Launcher(kernel, config, stream, self))
            self._all.add(found)
        return found

    def renew(self) -> None:
        """Give new launchers to the indexings to come, so that what only the older ones launched can be unloaded."""
        self._launchers = {}


class ReadyTables:
    """A kernel's tables, one a configuration; bounded, as what is forgotten can be looked up again."""

    LIMIT = 1024

    def __init__(self) -> None:
        self._tables: dict[LaunchConfig, ReadyTable] = {}
        self._launchers: WeakList[Launcher] = WeakList()

    def __contains__(self, config: LaunchConfig) -> bool:
        return config in self._tables

    def of(self, config: LaunchConfig) -> ReadyTable:
        """Return the table that all indexings of one configuration share."""
        table = self._tables.get(config)
        if table is None:
            if len(self._tables) >= self.LIMIT:
                self._tables = {}
            table = self._tables.setdefault(config, ReadyTable(self._launchers))
        return table

    def forget(self, gone: Sequence[LoadedKernel]) -> None:
        """Let launches that use the code of one of these look up their specialization again."""
        for launcher in self._launchers.list():
            by_kinds = launcher.ready.by_kinds
            stale = [kinds for kinds, ready in list(by_kinds.items()) if any(ready.loaded is one for one in gone)]
            for kinds in stale:
                by_kinds.pop(kinds, None)
            if stale:
                launcher.forget()
                launcher.ready.renew()
        # Launchers keep the code that they have launched: no table of nothing may keep them.
        self._tables = {config: table for config, table in list(self._tables.items()) if table.by_kinds}

    def relearn(self) -> None:
        """Have every launch come through Python again, until the native function is known to be able to."""
        for launcher in self._launchers.list():
            launcher.forget()

    def clear(self) -> None:
        """Forget every table's content, also of configured kernels that exist already."""
        self._tables = {}
        for launcher in self._launchers.list():
            launcher.ready.by_kinds.clear()
            launcher.ready.required = 0
            launcher.forget()


def launch(
    launcher: Launcher, given: tuple[Any, ...], configured: ConfiguredKernel | None = None, hooks: bool = True
) -> None:
    """Launch from Python. configured: the object that was called, if it has callbacks of its own; hooks: run them."""
    kernel = launcher.kernel
    handlers = _handlers(kernel, given)
    kinds = (session().ordinal(kernel._target), *_kinds(kernel, handlers, given))
    ready = launcher.ready.by_kinds.get(kinds) or prepare(launcher, given, handlers, kinds)
    if hooks and (ready.hooks or (configured is not None and configured.watched and configured._callbacks)):
        from gridjit.runtime.launch.under_way import call_all, launching

        who = configured or kernel._configured_by(launcher)
        with launching(who, given, ready.hooks):
            call_all(_shown(kernel, ready), who, ready.hooks)
            _launch(launcher, ready, handlers, kinds, given)
    else:
        _launch(launcher, ready, handlers, kinds, given)


def _launch(
    launcher: Launcher, ready: Ready, handlers: Sequence[ArgumentHandler], kinds: Kinds, given: tuple[Any, ...]
) -> None:
    kernel = launcher.kernel
    args = given
    after: Sequence[Callable[[], Any]] = ()
    if kernel.extensions:  # after the hooks: what they did to an extension or an argument counts
        args, after = prepared(kernel.extensions, given, launcher.stream)
        handlers = _handlers(kernel, args)
        ready = _packed(kernel, ready, handlers, args)
    transfer = Transfer(ready.loaded.device.staging, launcher.stream, kernel)
    transfer.expect(args)
    parameters = _parameters(kernel, ready, handlers, args, transfer)
    ready.loaded.launch(launcher.config, launcher.stream, ready.sharedmem, _in_bytes(kernel, ready, args, parameters))
    transfer.finish()
    for call in after:
        call()
    if ready.launchable and not kernel.extensions and kinds in launcher.ready.by_kinds:
        launcher.learn(ready, kinds, args)


def prepare(launcher: Launcher, args: tuple[Any, ...], handlers: Sequence[ArgumentHandler], kinds: Kinds) -> Ready:
    """Return what a launch with args needs, finding or making its specialization first."""
    kernel = launcher.kernel
    generation = kernel.generation
    own = signature_of(kernel, args)
    signature = _declared(kernel, own)
    if not kernel.is_loaded_for(signature, launcher.config, args):
        refuse_to_load(kernel.timeline, launcher.stream, kernel.name, signature)
    found, loaded = kernel.specialization_for(signature, launcher.config, args)
    converters, codes = _conversions(own, signature)
    ready = Ready(
        loaded=loaded,
        declared=signature.arguments,
        converters=converters,
        pack=struct.Struct(codes).pack,
        sharedmem=max(launcher.config.sharedmem, found.artifact.effects.sharedmem),
        hooks=found.hooks,
        launchable=loaded.address is not None and not found.hooks,
        found=found,
    )
    launcher.ready.required = max(launcher.ready.required, found.artifact.effects.sharedmem)
    if generation == kernel.generation and not any(fact.of_each_launch for fact in found.footprint.facts):
        launcher.ready.by_kinds[kinds] = ready
    return ready


def _packed(kernel: Kernel, ready: Ready, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...]) -> Ready:
    """Return ready for arguments as the extensions prepared them; the code is for those that were given."""
    kinds = _kinds(kernel, handlers, args)
    if (found := ready.packed.get(kinds)) is None:
        found = ready.packed[kinds] = _repacked(kernel, ready, handlers, args)
    return found


def _repacked(kernel: Kernel, ready: Ready, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...]) -> Ready:
    from gridjit.runtime.args.conversion import conversion

    own = _signature(kernel, handlers, args)
    for name, made, wanted in zip(kernel.parameter_names, own.arguments, ready.declared, strict=True):
        if conversion(made, wanted) is None:
            raise ArgumentError(
                f"argument '{name}' of {kernel.name}: the kernel takes {wanted}, and an extension prepared {made}"
            )
    converters, codes = _conversions(own, Signature(arguments=ready.declared))
    return dataclasses.replace(ready, pack=struct.Struct(codes).pack, converters=converters, packed={})


def _conversions(given: Signature, declared: Signature) -> tuple[tuple[Converter | None, ...], str]:
    """Return what makes the declared types of the given ones, and the struct codes of what is then passed.

    The codes are of this launch: an artifact says how an extension passed its values when it was made.
    """
    if given == declared:
        return (None,) * len(given.arguments), given.codes
    from gridjit.runtime.args.conversion import codes_of, converter

    pairs = list(zip(given.arguments, declared.arguments, strict=True))
    return tuple(converter(*pair) for pair in pairs), "@" + "".join(codes_of(*pair) for pair in pairs)


def place_of(kernel: Kernel) -> Place:
    """Return where a kernel runs."""
    return place_on(session().device(kernel._target))


def signature_of(kernel: Kernel, args: tuple[Any, ...]) -> Signature:
    """Return the types of args; raises ArgumentError naming the argument that does not fit."""
    return _signature(kernel, _handlers(kernel, args), args)


def _signature(kernel: Kernel, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...]) -> Signature:
    place = place_of(kernel)
    typed = zip(kernel.parameter_names, handlers, args, strict=True)
    return Signature(arguments=tuple(_named(kernel, name, handler.type_of, arg, place) for name, handler, arg in typed))


def _handlers(kernel: Kernel, args: tuple[Any, ...]) -> list[ArgumentHandler]:
    names = kernel.parameter_names
    if len(args) != len(names):
        expected = f"{len(names)} ({', '.join(names)})" if names else "none"
        raise ArgumentError(f"{kernel.name} takes {expected} argument{'s' * (len(names) != 1)}; {len(args)} given")
    return [_named(kernel, name, handler_of, arg) for name, arg in zip(names, args, strict=True)]


def _kinds(kernel: Kernel, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...]) -> Kinds:
    try:
        return tuple([handler.kind(arg) for handler, arg in zip(handlers, args, strict=True)])
    except Exception:
        for name, handler, arg in zip(kernel.parameter_names, handlers, args, strict=True):
            _named(kernel, name, handler.kind, arg)
        raise


def _parameters(
    kernel: Kernel, ready: Ready, handlers: Sequence[ArgumentHandler], args: tuple[Any, ...], transfer: Transfer
) -> list[Any]:
    parameters: list[Any] = []
    for name, handler, arg, convert in zip(kernel.parameter_names, handlers, args, ready.converters, strict=True):
        own = _named(kernel, name, handler.parameters, arg, transfer)
        parameters += own if convert is None else _named(kernel, name, convert, own)
    return parameters


def _in_bytes(kernel: Kernel, ready: Ready, args: tuple[Any, ...], parameters: list[Any]) -> bytes:
    """Return a launch's parameters packed; an argument may have said one thing of itself, and then another."""
    try:
        return ready.pack(*parameters)
    except (struct.error, TypeError) as error:
        names = ", ".join(
            f"'{name}'" for name, arg in zip(kernel.parameter_names, args, strict=True) if type(arg) not in _CONSTANT
        )
        raise ArgumentError(f"argument {names} of {kernel.name}: it changed while it was inspected: {error}") from None


def _named(kernel: Kernel, name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Return what function returns; an ArgumentError says which argument of which kernel it is about.

    So does whatever the argument itself raises when it is looked at: proxies, mocks and the like run code of their own.
    """
    try:
        return function(*given)
    except ArgumentError as error:
        raise ArgumentError(f"argument '{name}' of {kernel.name}: {error}") from None
    except (GridjitError, MemoryError):
        raise
    except Exception as error:
        raise ArgumentError(f"argument '{name}' of {kernel.name}: {unreadable(given[0], error)}") from error


def _declared(kernel: Kernel, given: Signature) -> Signature:
    if not kernel.declared:
        return given
    from gridjit.runtime.args.conversion import resolve

    try:
        return resolve(given, kernel.declared, kernel.parameter_names, kernel.py_func)
    except ArgumentError as error:
        raise ArgumentError(f"{kernel.name}: {error}") from None


def _shown(kernel: Kernel, ready: Ready) -> LaunchedKernel:
    if not ready.shown:
        ready.shown.append(kernel._launched_as(ready.found))
    return ready.shown[0]
