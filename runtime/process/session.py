"""Session: the shared objects of a process's kernels - settings, the device, the cache - each made on first use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gridjit.base.forking import cached_property, lock, section
from gridjit.base.messages import INFO, report
from gridjit.cache.disk import DiskStore
from gridjit.cache.errors import warn
from gridjit.cache.lock import Locks
from gridjit.cache.store import Store
from gridjit.compiler.values.errors import ConfigError, DeviceError, shown
from gridjit.compiler.values.phases import Phases
from gridjit.compiler.values.target import Target
from gridjit.runtime.environment.settings import Settings, settings, use_settings
from gridjit.runtime.queues.attention import watchers

if TYPE_CHECKING:
    from gridjit.cache.remote.tier import RemoteTier
    from gridjit.runtime.devices.base import Device
    from gridjit.runtime.devices.cuda.device import Devices
    from gridjit.runtime.pool.pool import ProcessPool
    from gridjit.runtime.specializations.certificate import Certificate
    from gridjit.runtime.specializations.needs import NeedLog
    from gridjit.runtime.traced.tracer import Tracer


class Session:
    """The process's settings, stores, locks and device.

    compiles_declared: whether declared signatures are compiled before they are used; not if a pool's parent decides.
    asks_remotes: whether remote caches are asked; not in a pool, whose parent asks them.
    no_pool: why no other processes compile for this process any more, if so; no_server: why the compile server does
    not. in_vain: for how many kernels in a row the server did not make the needed code. private_jobs: keys of jobs
    whose code was found to stay in each process's memory.
    """

    def __init__(self, settings: Settings, *, compiles_declared: bool = True) -> None:
        self.settings = settings
        self.compiles_declared = self.asks_remotes = compiles_declared
        self.noting = lock()  # outcomes of other processes' compiles
        self.no_pool = self.no_server = ""
        self.in_vain = 0
        self.private_jobs: set[str] = set()
        self._pool: ProcessPool | None = None
        self._served: ProcessPool | None = None
        self._memory_locks = Locks()
        if settings.check_streams:
            from gridjit.runtime.hazards.attached import begin

            begin()
        if settings.debug:
            from gridjit.runtime.memory import unwritten

            unwritten.track()

    @cached_property
    def _memory(self) -> Store:
        from gridjit.cache.memory import MemoryStore  # most processes keep compiled code on disk

        return MemoryStore()

    def store(self, cache: bool = True) -> Store:
        """Return the store of artifacts: on disk, or in memory for kernels (or a process) without a cache."""
        return self._memory if not cache or self._disk is None else self._disk

    def locks(self, cache: bool = True) -> Locks:
        """Return the locks of that store."""
        return self._memory_locks if not cache or self._disk is None else self._disk_locks

    def open_disk(self, folder: Path | None = None) -> DiskStore:
        """Return the store of the cache folder (or another), without bases.

        Raises ConfigError if the file of the signing key is refused.
        """
        wanted = self.settings
        return DiskStore(
            folder or wanted.cache_dir,
            max_bytes=wanted.cache_bytes,
            max_entries=wanted.cache_entries,
            allow_shared=wanted.cache_allow_shared,
            secret=self.secret,
        )

    def open_bases(self) -> tuple[DiskStore, ...]:
        """Return the stores of the base folders, in the order of look-ups."""
        shared = self.settings.cache_allow_shared
        return tuple(
            DiskStore(base, read_only=True, allow_shared=shared, secret=self.secret)
            for base in self.settings.cache_bases
        )

    def steps(self, target: str | None) -> bool:
        """Return whether kernels made with jit(target=...) are run as plain Python."""
        return self.settings.host_step and (target or self.settings.target or self._default) == "host"

    def device(self, target: str | None) -> Device:
        """Return the device that kernels made with jit(target=...) run on; raises DeviceError if there is none."""
        wanted = target or self.settings.target or self._default
        if wanted == "host":
            return self._host
        if wanted != "cuda":
            raise DeviceError(f"target {wanted!r} is not a device; give 'cuda' or 'host', or to compile() also 'sm_90'")
        return self._gpus.current()

    @property
    def is_host(self) -> bool:
        """Whether kernels that name no target run on the host; nothing is imported for it."""
        return (self.settings.target or self._default) == "host"

    @property
    def simulates(self) -> bool:
        """Whether the host simulates a missing GPU: a present GPU keeps its own driver."""
        return self.is_host and self._default == "host"

    def ordinal(self, target: str | None) -> int | None:
        """Return the number of such kernels' device for this thread; None if it is always the same."""
        if (target or self.settings.target or self._default) == "host" or not self._has_several_devices:
            return None
        return self.device(target).ordinal

    def device_for(self, target: Target) -> Device:
        """Return the device that runs code made for target; raises DeviceError if it is not here."""
        device = self.device("host" if target.kind == "host" else "cuda")
        if device.target != target:
            raise DeviceError(f"code for {target} does not run here: the device is {device.target}")
        return device

    def target(self, name: str | None) -> Target:
        """Return the target of "host", an architecture like "sm_90", or None for this process's device."""
        if name is not None and (not isinstance(name, str) or not name):
            raise ConfigError(f"target {shown(name)}: give 'host', 'cuda', or an architecture such as 'sm_90'")
        if name is not None and name.startswith("sm_"):
            return Target(kind="ptx", arch=name)
        return self.device(name).target

    def report(self, message: Callable[[], str], *, level: int = INFO) -> None:
        """Log an event; print it on standard error if GRIDJIT_LOG asks. Only then is the message made."""
        report(message, level=level, shown="compiles" in self.settings.log)

    def pool(self, processes: int, target: Target) -> ProcessPool:
        """Return the processes that compile for this process; the first call decides how many, and the target."""
        from gridjit.runtime.pool.pool import ProcessPool

        with section(), _making:
            if self._pool is None:
                self._pool = ProcessPool(self.settings, processes, target.kind)
            return self._pool

    def server(self, target: Target) -> ProcessPool:
        """Return the compile server's processes for this process; the first call decides the target."""
        from gridjit.runtime.pool.pool import ProcessPool

        with section(), _making:
            if self._served is None:
                self._served = ProcessPool(self.settings, self.settings.processes_that_serve, target.kind, starts=False)
            return self._served

    def call_server(self, target: Target) -> None:
        """Let the compile server get ready for requests, unless it had requests before."""
        if self._served is None:
            self.server(target).call()

    def renew_server(self) -> None:
        """Use new processes of the compile server for later requests; the old processes end after their tasks."""
        with section(), _making:
            before, self._served = self._served, None
        if before is not None:
            before.end_when_done()

    def without_pool(self, why: str) -> None:
        """Stop compiling in other processes: they are of no use."""
        self.no_pool = self.no_pool or why
        self.end()

    def end(self) -> None:
        """End the processes that compile for this one."""
        for pool in (self._pool, self._served):
            if pool is not None:
                pool.end()

    @cached_property
    def remote(self) -> RemoteTier | None:
        """The remote caches, if settings name some; not for a process that compiles for another, which asks them."""
        if not (self.settings.cache_remotes and self.settings.cache and self.asks_remotes):
            return None
        from gridjit.runtime.process.remote import open_tier

        return open_tier(self.settings, self.secret)

    def told_of_remotes(self) -> list[str]:
        """Return, in words, how the remote caches answered this process, as far as it asked them."""
        asked = () if self.settings.cache_remotes == () or self.remote is None else self.remote.remotes
        return [remote.story() for remote in asked if any(remote.counts.values())]

    @cached_property
    def recorder(self) -> NeedLog | None:
        """The log of specializations that this process needs, if a setting asks for it."""
        if self.settings.record is None:
            return None
        from gridjit.runtime.specializations.needs import NeedLog

        return NeedLog(self.settings.record)

    @cached_property
    def certificate(self) -> Certificate | None:
        """The certificate that launches are compared with after a miss, if settings forbid a compile and name one."""
        if self.settings.certificate is None or not self.settings.assert_no_compile:
            return None
        from gridjit.runtime.specializations.certificate import Certificate

        return Certificate.at(self.settings.certificate)

    @cached_property
    def tracer(self) -> Tracer | None:
        """The tracer of compiles and launches, if a setting asks for it."""
        if self.settings.trace is None:
            return None
        from gridjit.runtime.traced.tracer import Tracer

        return Tracer(self.settings.trace)

    def phases(self, function: Callable[..., Any]) -> Phases:
        """Return phases for a find or a compile of a kernel's function."""
        return Phases() if self.tracer is None else self.tracer.phases(function)

    @cached_property
    def _disk(self) -> Store | None:
        """The store on disk; None if nothing is to be read or written there."""
        if not self.settings.cache:
            return None
        try:
            overlay, bases = self.open_disk(), self.open_bases()
        except ConfigError as error:
            # Not even unsigned entries are used: a user of signatures does not trust the folder without them.
            warn(f"{error}. Nothing is cached on disk")
            return None
        if not bases:
            return overlay
        from gridjit.cache.chain import ChainStore

        return ChainStore(overlay, *bases)

    @cached_property
    def secret(self) -> bytes | None:
        """The key that signs entries, if any; raises ConfigError if its file is refused."""
        if self.settings.cache_key_file is None:
            return None
        from gridjit.runtime.process.secret import read_secret

        return read_secret(self.settings.cache_key_file)

    @cached_property
    def _disk_locks(self) -> Locks:
        return Locks(self.settings.cache_dir, allow_shared=self.settings.cache_allow_shared)

    @cached_property
    def _default(self) -> str:
        """The target of kernels that name none: CUDA if a driver and a device answer."""
        from gridjit.runtime.devices import presence

        _import_ahead()
        return "cuda" if presence.device_count() else "host"

    @cached_property
    def _gpus(self) -> Devices:
        _import_ahead()
        from gridjit.runtime.devices.cuda.device import devices

        found = devices()
        found.store = self.store if self.settings.native_launch else None
        return found

    @cached_property
    def _has_several_devices(self) -> bool:
        from gridjit.runtime.devices import presence

        return presence.device_count() > 1

    @cached_property
    def _host(self) -> Device:
        from gridjit.runtime.devices.host.device import HostDevice

        wanted = self.settings
        return HostDevice(
            threads=wanted.host_threads,
            store=self.store if wanted.native_launch else None,
            symbols=wanted.host_symbols,
            patience=round(wanted.host_patience * 1e9),
        )


def _import_ahead() -> None:
    """Import later needs while the driver starts, if it has to start."""
    from gridjit.runtime.devices import presence

    if presence.has_to_start():
        from gridjit.runtime.process.ahead import import_ahead

        import_ahead()


_sessions: list[Session] = []
_making = lock()


def session() -> Session:
    """Return this process's session, made on the first call."""
    return _sessions[0] if _sessions else _make_session()


def end_session() -> None:
    """Forget the session and the settings: the next call reads all sources again."""
    use_settings(None)
    for ended in _sessions:
        ended.end()
    if watchers:
        from gridjit.runtime.hazards.attached import end

        end()
    _sessions.clear()


def begin_session(wanted: Settings, *, compiles_declared: bool) -> Session:
    """Return a new session of these settings, which another program gave, and which are the process's from now on."""
    end_session()
    use_settings(wanted, owner="program")
    _sessions.append(Session(wanted, compiles_declared=compiles_declared))
    return _sessions[0]


def use_in_session(wanted: Settings) -> None:
    """Use settings from now on that differ only in settings which are read at each use."""
    use_settings(wanted)
    for there in _sessions:
        there.settings = wanted


def _make_session() -> Session:
    with section(), _making:
        if not _sessions:
            _sessions.append(Session(settings()))
        return _sessions[0]
