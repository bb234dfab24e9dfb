"""RemoteTier: entries on other machines, asked after a miss in the cache's folders, for a limited time.

A remote that is gone, slow or wrong costs a process a tenth of a second, and nothing for a minute after it. Entries
are checked before anybody sees them. They are written behind the program, and dropped rather than waited for.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gridjit.base.forking import lock, section
from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.cache.errors import CacheError, warn
from gridjit.cache.manifest import MAX_SHAPES, Manifest, Shape
from gridjit.cache.remote.address import RemoteAddress
from gridjit.cache.remote.askers import Askers, Behind
from gridjit.cache.remote.breaker import Breaker, Recent
from gridjit.cache.remote.layout import (
    ENTRIES,
    entry_name,
    index_name,
    is_in_object,
    job_folder,
    merged,
    pack_name,
    shape_object,
    shape_of_name,
)
from gridjit.cache.remote.sealing import Sealing
from gridjit.cache.remote.transport import Limits, RemoteError, Transport
from gridjit.cache.remote.writers import Refused
from gridjit.cache.store import Store

# Seconds of a whole look-up, and for which a miss is remembered.
LOOK_UP_S, MISS_S = 0.3, 10.0
# Of importing a library, and opening.
OPEN_S = 10.0
# For which the end of a program waits for entries to be written.
EXIT_S = 1.0
# For which entries that were found wait to be put into the cache's own folder: by then a program has started.
KEPT_S = 1.0
# Of requests: in a look-up, for a program's pack, and behind the program or for a command.
ASKING, PACKS = Limits(whole=LOOK_UP_S), Limits(whole=5.0)
WORKING = Limits(connect=2.0, silence=10.0, whole=120.0)
MOST_MISSES = 4096
# Bytes that are read of an entry, of a job's shapes, and of a pack.
MOST_ENTRY, MOST_SHAPES, MOST_PACK = 256 << 20, 4 << 20, 2 << 30
# How many objects of shapes are read for a job; most shapes are in names.
_MOST_OBJECTS = 16
COUNTS = ("hits", "misses", "remembered", "silent", "refused", "failed", "packs", "written", "dropped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An entry that a remote had: the shape, the key and the payload of an artifact, and where it was found."""

    shape: Shape
    key: str
    payload: bytes
    remote: str


class Remote:
    """One remote of a process, with its counts.

    COUNTS are look-ups that found an entry, that did not, that were a miss moments ago, and during which the remote is
    not asked; entries refused; failures; packs read; objects written and dropped. received, sent: bytes. seconds: that
    look-ups waited.
    """

    def __init__(
        self,
        address: RemoteAddress,
        sealing: Sealing,
        opened: Callable[[Limits], Transport],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.address = address
        self.sealing = sealing
        self.breaker, self.writing, self.leasing = Breaker(clock), Breaker(clock), Breaker(clock)
        self.counts = dict.fromkeys(COUNTS, 0)
        self.received = self.sent = 0
        self.seconds = 0.0
        self._opened = opened
        self._clock = clock
        self._known: dict[Limits, Transport] = {}
        # The shapes of jobs, and the keys that were not there.
        self._shapes: Recent[tuple[Shape, ...]] = Recent(MISS_S, MOST_MISSES, clock)
        self._misses: Recent[bool] = Recent(MISS_S, MOST_MISSES, clock)
        self._askers = Askers()
        self._lock = lock()
        self._asked_pack = self._has_warned = False
        # Objects that were replaced, with the reasons.
        self.replaced: list[str] = []

    @property
    def writes(self) -> bool:
        """Whether entries are written to it."""
        return not self.address.read_only and self.sealing.writes

    def find(self, job: str, key_of: Callable[[Shape], str | None]) -> Iterator[Found]:
        """Yield the job's entries for the launch, the newest shapes first; key_of: returns a shape's key of today."""
        if self._is_silent() or not self._is_open():
            return
        deadline, asked = self._clock() + LOOK_UP_S, False
        if (shapes := self._shapes.get(job)) is None:
            asked, shapes = True, self._asked(lambda: self._read_shapes(job), deadline) or ()
        for shape in reversed(shapes):
            if self.breaker.is_open:
                break
            if (key := _today(key_of, shape)) is None or self._misses.get(key):
                continue
            asked, payload = True, self._asked(lambda key=key: self._entry(key), deadline)  # type: ignore[misc]
            if payload is not None:
                self._count("hits")
                yield Found(shape=shape, key=key, payload=payload, remote=self.address.shown)
                return
            self._misses.put(key, True)
        self._count("misses" if asked else "remembered")
        if asked and not self.breaker.is_open:
            self._shapes.put(job, shapes)

    def forget_misses(self, job: str) -> None:
        """Ask for a job again though it was a miss moments ago."""
        self._shapes.drop(job)
        self._misses.clear()

    def pack(self) -> bytes | None:
        """Return the bundle of the program's entries, the first time that it is asked for."""
        name = self.address.pack
        if not name or self._asked_pack or self._is_silent() or not self._is_open():
            return None
        self._asked_pack = True
        found: bytes | None = self._asked(lambda: self.read_pack(name, PACKS), self._clock() + PACKS.whole)
        self._count("packs", found is not None)
        return found

    def read_pack(self, name: str, limits: Limits = WORKING) -> bytes | None:
        """Return the bundle of a name, or None; raises OSError and Refused."""
        full = pack_name(name)
        data = self.transport(limits).get(full, MOST_PACK)
        if data is None:
            return None
        self.received += len(data)
        return self.sealing.checked(full, data)

    def write_pack(self, name: str, data: bytes) -> None:
        """Put a bundle under a name, in the place of an older one; raises OSError."""
        full = pack_name(name)
        self.transport(WORKING).put(full, self.sealing.signed(full, data), new=False)

    def all_keys(self) -> list[str]:
        """Return the keys of all entries; raises OSError, also where names cannot be listed."""
        transport = self.transport(WORKING)
        if not transport.lists:
            raise OSError("its names cannot be listed: name a pack, with --pack or ?pack=NAME")
        return transport.names(ENTRIES)

    def read(self, key: str) -> bytes | None:
        """Return an entry's payload, or None; raises OSError and Refused."""
        return self._entry(key, WORKING)

    def write(self, job: str, shape: Shape, key: str, payload: bytes) -> bool:
        """Put an artifact, then its shape, unless they are there and open here; return whether the artifact was put.

        Raises OSError. So a writer replaces what is damaged, or signed by somebody who is no longer trusted.
        """
        name = entry_name(key)
        data = self.sealing.sealed(name, key, payload)
        transport = self.transport(WORKING)
        is_new = self._put(transport, name, key, data)
        shaped, text = shape_object(job, shape)
        if transport.lists:
            self._put(transport, shaped, job, self.sealing.sealed(shaped, job, text))
        else:
            self._add_to_index(job, shape)
        self._shapes.drop(job)
        self._misses.drop(key)
        self.sent += len(data) * is_new
        self._count("written", is_new)
        return is_new

    def _put(self, transport: Transport, name: str, key: str, data: bytes) -> bool:
        """Put an object unless one that opens here is there; return whether it was put."""
        if transport.put(name, data, new=True):
            return True
        there = transport.get(name, MOST_ENTRY)
        try:
            if there is not None and self.sealing.opened(name, key, there):
                return False
        except Refused as refused:
            self.replaced.append(f"{name} {refused.reason}")
        transport.put(name, data, new=False)
        return True

    def write_quietly(self, job: str, shape: Shape, key: str, payload: bytes) -> None:
        """Put an entry as write() does; a failure is noted."""
        if self.writing.is_open:
            self.drop()
            return
        try:
            self.write(job, shape, key, payload)
        except Exception as error:  # of any library
            let_through(error)
            self.drop()
            self.writing.failed(_said(error))

    def transport(self, limits: Limits) -> Transport:
        """Return the way to it, for requests of these limits; raises OSError if there is none."""
        if limits not in self._known:
            with section(), self._lock:
                if limits not in self._known:
                    self._known[limits] = self._opened(limits)
        return self._known[limits]

    def drop(self, entries: int = 1) -> None:
        """Count entries that are not written."""
        self._count("dropped", entries)

    def hit(self) -> None:
        """Count a look-up that found its entry in the program's pack."""
        self._count("hits")

    def story(self) -> str:
        """Return the counts in words, with the last failures."""
        head = f"remote cache {self.address.shown}: "
        counts = ", ".join(f"{name} {number}" for name, number in self.counts.items() if number)
        why = "".join(f"; {one.why.removeprefix(head)}" for one in (self.breaker, self.writing) if one.why)
        left = ", left alone now" if self.breaker.is_open else ""
        return f"remote cache {self.address.told}: {counts}, waited {self.seconds * 1e3:.0f} ms{left}{why}"

    def told(self) -> dict[str, Any]:
        """Return the counts, as plain values."""
        sums = {"received": self.received, "sent": self.sent, "seconds": round(self.seconds, 6)}
        whys = {"why": self.breaker.why, "why_not_written": self.writing.why}
        return {"remote": self.address.shown, **whys, **self.counts, **sums}

    def _is_open(self) -> bool:
        """Open the way to it, which may import libraries, before time limits begin; return whether that went well."""
        if ASKING not in self._known:
            why = self._asked(self._why_closed, self._clock() + OPEN_S)
            if why:
                self.breaker.failed(why)
            if why and not self._has_warned:
                self._has_warned = True
                warn(f"{why}. Nothing is read from it meanwhile")
        return ASKING in self._known

    def _why_closed(self) -> str:
        """Open the way to it, and return why that cannot be done: a file or a library that somebody has to provide."""
        try:
            self.open()
        except (RemoteError, CacheError) as error:
            let_through(error)
            self._count("failed")
            return str(error)
        return ""

    def open(self) -> None:
        """Read credentials and import libraries, but send nothing; raises OSError and CacheError."""
        self.sealing.prepare()
        self.transport(ASKING)

    def _read_shapes(self, job: str) -> tuple[Shape, ...]:
        """Return the shapes that the remote has for a job."""
        transport = self.transport(ASKING)
        if not transport.lists:
            return self._sealed_shapes(transport, job, index_name(job))
        names = transport.names(job_folder(job))[: 2 * MAX_SHAPES]
        known = [shape for name in names if (shape := shape_of_name(name)) is not None]
        objects = [f"{job_folder(job)}/{name}" for name in names if is_in_object(name)][:_MOST_OBJECTS]
        return (*known, *(shape for name in objects for shape in self._sealed_shapes(transport, job, name)))

    def _sealed_shapes(self, transport: Transport, job: str, name: str) -> tuple[Shape, ...]:
        """Return the shapes in an object; none of an object that is refused."""
        if (data := transport.get(name, MOST_SHAPES)) is None:
            return ()
        try:
            return Manifest.from_bytes(self.sealing.opened(name, job, data)).shapes
        except Refused as refused:
            self._refused(refused)
            return ()

    def _add_to_index(self, job: str, shape: Shape) -> None:
        """Add a shape to the job's index. Of two writers at once, one may lose its shape: a compile more."""
        name, transport = index_name(job), self.transport(WORKING)
        before = self._sealed_shapes(transport, job, name)
        if shape not in before:
            transport.put(name, self.sealing.sealed(name, job, merged((*before, shape))), new=False)

    def _entry(self, key: str, limits: Limits | None = None) -> bytes | None:
        name = entry_name(key)
        data = self.transport(limits or ASKING).get(name, MOST_ENTRY)
        if data is None:
            return None
        self.received += len(data)
        payload = self.sealing.opened(name, key, data)
        self.breaker.served()
        return payload

    def _asked(self, work: Callable[[], Any], deadline: float) -> Any:
        """Return work(), done by a thread; None after a failure, which the remote is left alone for."""
        started = self._clock()
        try:
            return self._askers.ask(work, deadline - started)
        except Refused as refused:
            self._refused(refused)
        except Exception as error:  # of any library
            let_through(error)
            self._failed(error)
        finally:
            self.seconds += self._clock() - started
        return None

    def _refused(self, refused: Refused) -> None:
        self._count("refused")
        self.breaker.refused(f"an entry {refused.reason}")

    def _failed(self, error: Exception) -> None:
        self._count("failed")
        self.breaker.failed(_said(error))

    def _is_silent(self) -> bool:
        is_open = self.breaker.is_open
        self._count("silent", is_open)
        return is_open

    def _count(self, name: str, by: int = 1) -> None:
        with section(), self._lock:
            self.counts[name] += by


class RemoteTier:
    """The remotes of a process, in the order in which they are asked.

    packed: remotes with the entries of programs' packs, as far as memory is spent on them. save: is given the counts of
    the remotes that were used, at the end of the process, which waits for a second until entries are written.
    """

    def __init__(self, remotes: Sequence[Remote], save: Callable[[list[dict[str, Any]]], object] = list) -> None:
        self.remotes = tuple(remotes)
        self.packed: list[tuple[Remote, Store]] = []
        # A remote that takes long keeps no other waiting.
        self._keeping, self._behind = Behind(MOST_PACK, KEPT_S), [Behind() for _ in self.remotes]
        weakref.finalize(self, _end, self._keeping, self._behind, self.remotes, save, os.getpid())

    def find(self, job: str, key_of: Callable[[Shape], str | None]) -> Iterator[Found]:
        """Yield the entries that remotes have for a job and a launch; see Remote.find."""
        for remote in self.remotes:
            yield from remote.find(job, key_of)

    def packs(self) -> Iterable[tuple[Remote, bytes]]:
        """Return the remotes that name a bundle, with it, in the first call."""
        return [(remote, data) for remote in self.remotes if (data := remote.pack()) is not None]

    def offer(self, job: str, shape: Shape, key: str, payload: bytes) -> None:
        """Write an entry behind the program to all remotes that are written to."""
        for remote, behind in zip(self.remotes, self._behind, strict=True):
            write = _Write(remote=remote, job=job, shape=shape, key=key, payload=payload)
            if remote.writes and not behind.put(len(payload), write):
                remote.drop()

    def behind(self, remote: Remote, work: Callable[[], object]) -> None:
        """Do work, which may not raise, after the entries that are being written to a remote."""
        self._behind[self.remotes.index(remote)].put(0, work)

    def keep(self, size: int, work: Callable[[], object]) -> None:
        """Do work behind the program that keeps so many bytes in the cache's own folder, unless too many wait."""
        self._keeping.put(size, work)

    def keep_now(self, seconds: float) -> bool:
        """Put what was found into the cache's own folder at once; return whether all of it is there."""
        return self._keeping.flush(seconds)

    def flush(self, seconds: float) -> bool:
        """Wait for entries that are being written, here and to remotes; return whether all are."""
        return _flush((self._keeping, *self._behind), seconds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Write:
    """An entry to be written."""

    remote: Remote
    job: str
    shape: Shape
    key: str
    payload: bytes

    def __call__(self) -> None:
        self.remote.write_quietly(self.job, self.shape, self.key, self.payload)


def _end(
    keeping: Behind,
    writing: Sequence[Behind],
    remotes: Sequence[Remote],
    save: Callable[[list[dict[str, Any]]], object],
    process: int,
) -> None:
    _flush((keeping, *writing), EXIT_S)
    if process != os.getpid():
        return
    for remote, behind in zip(remotes, writing, strict=True):
        remote.drop(behind.give_up())
    if used := [remote.told() for remote in remotes if any(remote.counts.values())]:
        save(used)


def _flush(works: Iterable[Behind], seconds: float) -> bool:
    end = time.monotonic() + seconds
    return all(one.flush(max(0.0, end - time.monotonic())) for one in works)


def _today(key_of: Callable[[Shape], str | None], shape: Shape) -> str | None:
    """Return a shape's key of today; None for a shape that makes no sense here, as anybody may have named it."""
    try:
        return key_of(shape)
    except Exception as error:
        let_through(error)
        return None


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
