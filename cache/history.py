"""History: the labelled fields of a kernel's recent jobs, so that a compile can name the changed fields.

Each job is an entry of its own, canonical JSON under one of a fixed number of keys made from the kernel's name. A new
job takes a free key, or the oldest job's, and rewrites nothing else. Histories are read when something is compiled, and
by people, and never to find code. A lost or damaged one costs explanations, never results.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from gridjit.base import reading
from gridjit.base.digests import blake2b, utf8
from gridjit.base.values import dataclass, field
from gridjit.cache.key import digest
from gridjit.cache.store import EntryInfo, Store, is_key

SCHEMA = 2
MAX_JOBS = 32
SUFFIX = ".json"
_LONGEST = 120
_MOST_FIELDS = 100_000

Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastJob:
    """One job of a kernel: its key, its labelled fields as they are shown to people, and when it was first compiled.

    made: seconds since 1970.
    """

    key: str
    fields: Fields
    made: float = field(default=0.0, compare=False)

    @classmethod
    def of(cls, key: str, fields: Iterable[tuple[str, str]], made: float | None = None) -> PastJob:
        """Return the job with these fields, made now; a long value is cut, and a digest of it added."""
        moment = round(time.time(), 3) if made is None else made
        return cls(key=key, fields=tuple((label, shown(value)) for label, value in fields), made=moment)

    def field(self, label: str) -> str | None:
        """Return the value of a field, or None if there is none of that label."""
        return next((value for name, value in self.fields if name == label), None)

    def differences(self, fields: Fields) -> tuple[tuple[str, str | None, str | None], ...]:
        """Return (label, value here, value in fields) of each difference; the value of a missing label is None."""
        mine, theirs = dict(self.fields), dict(fields)
        labels = dict.fromkeys((*theirs, *mine))
        return tuple((n, mine.get(n), theirs.get(n)) for n in labels if mine.get(n) != theirs.get(n))


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Jobs of one kernel, the newest last, no two with one key. An entry holds one."""

    kernel: str
    jobs: tuple[PastJob, ...] = ()

    def nearest(self, job: PastJob) -> PastJob | None:
        """Return the newest job that differs from job in the fewest fields; None without other jobs."""
        others = [other for other in reversed(self.jobs) if other.key != job.key]
        return min(others, key=lambda other: len(other.differences(job.fields)), default=None)

    def to_bytes(self) -> bytes:
        """Return canonical JSON: the same jobs are the same bytes."""
        jobs = [{"fields": job.fields, "key": job.key, "made": job.made} for job in self.jobs]
        plain = {"jobs": jobs, "kernel": self.kernel, "schema": SCHEMA}
        return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes | None) -> History | None:
        """Return the history in data, or None if it holds none of this schema."""
        try:
            return _history(reading.parse(data)) if data else None
        except reading.Unreadable:
            return None


@lru_cache(maxsize=16 * MAX_JOBS)
def history_key(kernel: str, place: int) -> str:
    """Return the key of one of the MAX_JOBS places for jobs of a kernel."""
    return digest((("entry", "history"), ("kernel", kernel), ("place", place)))


def read_history(store: Store, kernel: str) -> History:
    """Return a kernel's jobs in all layers of store, the newest last; of two with one key, the nearest layer's."""
    jobs: dict[str, PastJob] = {}
    for layer in store.layers:
        for place in range(MAX_JOBS):
            for job in _jobs_at(layer, kernel, place):
                jobs.setdefault(job.key, job)
    return History(kernel=kernel, jobs=tuple(sorted(jobs.values(), key=lambda job: (job.made, job.key))))


def job_entry(store: Store, kernel: str, job: str) -> EntryInfo | None:
    """Return the entry of the job of a key, where add_job puts it if it meets no other; None if it is not there."""
    for step in range(MAX_JOBS):
        key = history_key(kernel, (int(job[:8], 16) + step) % MAX_JOBS)
        found = History.from_bytes(store.get(key))
        if found is None or any(known.key == job for known in found.jobs):
            return None if found is None else store.find(key)
    return None


def add_job(store: Store, kernel: str, job: PastJob) -> bool:
    """Put job into a free place of the top layer, else into the one stored first; return whether it was kept.

    Takes no lock and reads no other job: of two processes that add at once, one may replace the other's.
    """
    top = store.layers[0]
    key = _place_for(top, kernel, job.key)
    top.put(key, History(kernel=kernel, jobs=(job,)).to_bytes(), suffix=SUFFIX)
    return top.find(key) is not None


def _place_for(top: Store, kernel: str, job: str) -> str:
    """Return the key of the place that a job takes. The search begins where its own key says, so that two that are
    added at once seldom meet."""
    oldest: tuple[float, str] | None = None
    for step in range(MAX_JOBS):
        key = history_key(kernel, (int(job[:8], 16) + step) % MAX_JOBS)
        found = top.find(key)
        if found is None:
            return key
        oldest = min(oldest or (found.stored, key), (found.stored, key))
    assert oldest is not None
    return oldest[1]


def _jobs_at(layer: Store, kernel: str, place: int) -> Iterator[PastJob]:
    found = History.from_bytes(layer.get(history_key(kernel, place)))
    if found is not None and found.kernel == kernel:
        yield from found.jobs


def shown(value: str) -> str:
    """Return value, or the beginning of a long one and a digest that tells it from others that begin alike."""
    if len(value) <= _LONGEST:
        return value
    return f"{value[: _LONGEST // 2]}... {blake2b(utf8(value), digest_size=8).hexdigest()}"


def _history(value: Any) -> History:
    given = reading.fields(value, ("jobs", "kernel", "schema"))
    reading.whole(given["schema"], least=SCHEMA, most=SCHEMA)
    return History(kernel=reading.text(given["kernel"]), jobs=reading.items(given["jobs"], _job, most=MAX_JOBS))


def _job(value: Any) -> PastJob:
    given = reading.fields(value, ("fields", "key", "made"))
    if not is_key(reading.text(given["key"])):
        raise reading.Unreadable("a key is expected")
    return PastJob(key=given["key"], fields=_fields(given["fields"]), made=reading.number(given["made"]))


def _fields(value: Any) -> Fields:
    """Return value, a list of pairs of texts; proved all at once, as a history has thousands."""
    if type(value) is not list or len(value) > _MOST_FIELDS or {type(row) for row in value} - {list}:
        raise reading.Unreadable("a list of pairs is expected")
    if {len(row) for row in value} - {2} or {type(text) for row in value for text in row} - {str}:
        raise reading.Unreadable("pairs of texts are expected")
    return tuple(map(tuple, value))
