"""ReadyTable: all that is ready for a kernel's launches, in one place, so that dropped code is never launched.

A launch is known by its configuration, its stream and its arguments, and is looked up in two steps. The index as it
was written, or configuration and stream, gives its Launcher. The Launcher's ConfigKey and the kinds of the arguments
give what is Ready. What machine code has a table for is ready here too, as long as it may be launched. A change of the
kernel's Extensions ends all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import WeakList, lock, section
from gridjit.base.values import dataclass, field
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.compiler.values.signature import ArgType
from gridjit.runtime.specializations.table import LaunchHook, Specialization

if TYPE_CHECKING:
    from gridjit.runtime.args.conversion import Converter
    from gridjit.runtime.devices.base import LoadedKernel
    from gridjit.runtime.launch.launched_kernel import LaunchedKernel
    from gridjit.runtime.launch.launcher import Launcher

# A ConfigKey, the device's number, and the kind of each argument.
ReadyKey = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ready:
    """A launch's needs, worked out once for a configuration and kinds of arguments.

    declared: the types that the code takes, one an argument. converters: convert the arguments' values to them. found:
    the code. packed: the same for arguments as prepared by extensions, by their kinds.
    """

    loaded: LoadedKernel
    declared: tuple[ArgType, ...]
    converters: tuple[Converter | None, ...]
    pack: Callable[..., bytes]
    sharedmem: int
    hooks: list[LaunchHook]
    found: Specialization
    packed: dict[Hashable, Ready] = field(default_factory=dict)
    # The kernel that hooks see, once a hook ran.
    shown: list[LaunchedKernel] = field(default_factory=list)

    @property
    def launchable(self) -> bool:
        """Whether the native function may launch it: it has a function for that by now, and no hooks."""
        loaded = self.loaded
        return not self.hooks and (loaded.grid_function is not None or loaded.driver_function is not None)


class ConfigKey:
    """A configuration as the key to its Ready: an object that is compared without calling Python.

    required: the dynamic shared memory that code launched with this configuration requires, in bytes.
    """

    __slots__ = ("config", "required")

    def __init__(self, config: LaunchConfig) -> None:
        self.config = config
        self.required = 0


class ReadyTable:
    """All that is ready for the launches of one kernel; bounded, as dropped entries can be looked up again.

    get: returns the Ready under a ReadyKey, or None. launchers: by launch_key, each with grid and block as given.
    drops: how often all was dropped.
    """

    CONFIGS = 1024
    # An index is a key of its launch, and so are its configuration and stream.
    LAUNCHERS = 2 * CONFIGS

    def __init__(self) -> None:
        self._rows: dict[ReadyKey, Ready] = {}
        # The dictionary's own method, which does not call Python: it stays for the table's whole life.
        self.get: Callable[[ReadyKey], Ready | None] = self._rows.get
        self._config_keys: dict[LaunchConfig, ConfigKey] = {}
        self.launchers: dict[Hashable, tuple[Launcher, Any, Any]] = {}
        # With launchers that only a program's configured kernel keeps.
        self._all: WeakList[Launcher] = WeakList()
        self.drops = 0
        self._changing = lock()

    def __contains__(self, config: LaunchConfig) -> bool:
        return config in self._config_keys

    def put(self, key: ReadyKey, ready: Ready, drops: int) -> None:
        """Keep ready under key, unless all was dropped since `drops` was read."""
        with section(), self._changing:
            if self.drops == drops:
                self._rows[key] = ready

    def drop(self, gone: Sequence[LoadedKernel] | None = None) -> None:
        """Let launches be looked up anew: all, or the launches whose configuration a gone kernel is ready for."""
        with section(), self._changing:
            self.drops += gone is None
            # Kept until the lock is free again: unloading may run anyone's code.
            stale = [(key, self._rows.pop(key)) for key, ready in list(self._rows.items()) if _is_of(ready, gone)]
        if gone is None:
            self._config_keys, self.launchers = {}, {}
        stale_keys = {key[0] for key, _ in stale}
        for launcher in self._all.list():
            if gone is None:
                launcher.config_key.required = 0
            if gone is None or launcher.config_key in stale_keys:
                launcher.forget()
        # A launcher keeps all code that it has launched: later indexings get new launchers.
        launchers = list(self.launchers.items())
        self.launchers = {key: found for key, found in launchers if found[0].config_key not in stale_keys}

    def launcher(self, config: LaunchConfig, stream: Any, make: Callable[[ConfigKey], Launcher]) -> Launcher:
        """Return the launcher of all indexings with this configuration and stream, made if there is none yet."""
        config_key = self._config_keys.get(config) or self._new_config_key(config)
        key = launch_key(config_key, None, stream)
        found = self.launchers.get(key)
        if found is None:
            found = self._roomy().setdefault(key, (make(config_key), None, None))
            self._all.add(found[0])
        return found[0]

    def remember(self, key: Hashable, launcher: Launcher, grid: Any, block: Any) -> None:
        """Keep launcher under key, for the very grid and block."""
        self._roomy()[key] = launcher, grid, block

    def relearn(self) -> None:
        """Let every launch come through Python, until it is known anew whether the native function may make it."""
        for launcher in self._all.list():
            launcher.forget()

    def _roomy(self) -> dict[Hashable, tuple[Launcher, Any, Any]]:
        if len(self.launchers) >= self.LAUNCHERS:
            self.launchers = {}
        return self.launchers

    def _new_config_key(self, config: LaunchConfig) -> ConfigKey:
        if len(self._config_keys) >= self.CONFIGS:
            self._let_go()
        return self._config_keys.setdefault(config, ConfigKey(config))

    def _let_go(self) -> None:
        """Keep only entries of configured kernels that a program still has."""
        self._config_keys, self.launchers = {}, {}
        held = {launcher.config_key for launcher in self._all.list()}
        with section(), self._changing:
            _freed_later = [self._rows.pop(key) for key in list(self._rows) if key[0] not in held]


def launch_key(grid: Any, block: Any, stream: Any) -> tuple[Any, ...]:
    """Return the key of a launch in a stream.

    A stream is known by its identity: its equality is its own affair. A launcher keeps its stream alive, so that the
    identity stays its own; the table's bounds let go of both.
    """
    return (grid, block, 0, stream) if type(stream) is int else (grid, block, id(stream))


def _is_of(ready: Ready, gone: Sequence[LoadedKernel] | None) -> bool:
    return gone is None or any(ready.loaded is one for one in gone)


class Extensions(list[Any]):
    """A kernel's extensions. changed: called after each change, as what launches without them has to end."""

    def __init__(self, extensions: Iterable[Any], changed: Callable[[], None]) -> None:
        super().__init__(extensions)
        self._changed = changed

    def __reduce__(self) -> tuple[type, tuple[list[Any]]]:
        return list, (list(self),)


def _told(name: str) -> Callable[..., Any]:
    method = getattr(list, name)

    def change(self: Extensions, *args: Any, **keywords: Any) -> Any:
        try:
            return method(self, *args, **keywords)
        finally:
            self._changed()

    return change


for _name in (
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse",
    "__setitem__", "__delitem__", "__iadd__", "__imul__",
):  # fmt: skip
    setattr(Extensions, _name, _told(_name))
