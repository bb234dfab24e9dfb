"""History: under a kernel's name, the labelled fields of its recent jobs, so that a compile can say what changed.

Stored as canonical JSON in <digest of the name>.json. Nothing that runs is found through it: it is read when something
is compiled, and by people. One that is lost or damaged costs explanations, never results.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable

from gridjit.cache.key import Key
from gridjit.cache.lock import Locks
from gridjit.cache.store import Store
from gridjit.digests import blake2b
from gridjit.values import dataclass

SCHEMA = 1
MAX_JOBS = 32
SUFFIX = ".json"
_LONGEST = 120

Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job of a kernel: its key, and its labelled fields as they are shown to people."""

    key: str
    fields: Fields

    @classmethod
    def of(cls, key: str, fields: Iterable[tuple[str, str]]) -> Job:
        """Return the job with these fields; a long value is cut, and a digest of it added."""
        return cls(key=key, fields=tuple((label, shown(value)) for label, value in fields))

    def field(self, label: str) -> str | None:
        """Return the value of a field, or None if there is none of that label."""
        return next((value for name, value in self.fields if name == label), None)

    def differences(self, fields: Fields) -> tuple[tuple[str, str | None, str | None], ...]:
        """Return (label, value here, value in fields) of what is not the same; None where there is no such label."""
        mine, theirs = dict(self.fields), dict(fields)
        labels = dict.fromkeys((*theirs, *mine))
        return tuple((n, mine.get(n), theirs.get(n)) for n in labels if mine.get(n) != theirs.get(n))


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The jobs of one kernel, the newest last, no two with one key."""

    kernel: str
    jobs: tuple[Job, ...] = ()

    def with_job(self, job: Job, *, limit: int = MAX_JOBS) -> History:
        """Return the history with job as its newest and at most limit jobs."""
        return self.with_newer(History(kernel=self.kernel, jobs=(job,)), limit=limit)

    def with_newer(self, newer: History, *, limit: int = MAX_JOBS) -> History:
        """Return the history with another's jobs as its newest, those of one key once, and at most limit."""
        replaced = {job.key for job in newer.jobs}
        older = [job for job in self.jobs if job.key not in replaced]
        return History(kernel=self.kernel, jobs=(*older, *newer.jobs)[-limit:])

    def nearest(self, job: Job) -> Job | None:
        """Return the job that differs from job in the fewest fields, the newest of those; None if there is no other."""
        others = [other for other in reversed(self.jobs) if other.key != job.key]
        return min(others, key=lambda other: len(other.differences(job.fields)), default=None)

    def to_bytes(self) -> bytes:
        """Return canonical JSON: the same jobs are the same bytes."""
        jobs = [{"fields": [list(field) for field in job.fields], "key": job.key} for job in self.jobs]
        plain = {"jobs": jobs, "kernel": self.kernel, "schema": SCHEMA}
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes | None) -> History | None:
        """Return the history in data, or None if it holds none of this schema."""
        try:
            plain = json.loads(data or b"{}")
            if plain.get("schema") != SCHEMA:
                return None
            return cls(kernel=str(plain["kernel"]), jobs=tuple(_job(item) for item in plain["jobs"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None


def history_key(kernel: str) -> str:
    """Return the key of a kernel's history."""
    return Key.of((("entry", "history"), ("kernel", kernel))).digest


def read_history(store: Store, kernel: str) -> History:
    """Return what all layers of store have of a kernel, the nearest layer's jobs as the newest."""
    key, empty = history_key(kernel), History(kernel=kernel)
    layers = [History.from_bytes(layer.get(key)) or empty for layer in reversed(store.layers)]
    limit = MAX_JOBS * len(layers)
    return functools.reduce(lambda older, newer: older.with_newer(newer, limit=limit), layers, empty)


def add_job(store: Store, kernel: str, job: Job, locks: Locks, *, timeout: float = 1.0) -> None:
    """Add job to what the top layer has of its kernel; without the lock the last writer wins, and some are lost."""
    key = history_key(kernel)
    with locks.single_flight(key, timeout):
        store.put(key, read_history(store.layers[0], kernel).with_job(job).to_bytes(), suffix=SUFFIX)


def shown(value: str) -> str:
    """Return value, or the beginning of a long one and a digest that tells it from others that begin alike."""
    if len(value) <= _LONGEST:
        return value
    return f"{value[: _LONGEST // 2]}... {blake2b(value.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"


def _job(plain: dict[str, object]) -> Job:
    fields = plain["fields"]
    if not isinstance(fields, list):
        raise TypeError("fields are a list")
    return Job(key=str(plain["key"]), fields=tuple((str(label), str(value)) for label, value in fields))
