"""Manifest: under a job's key, the records of what its compiles read and of the artifact that each made.

Stored as canonical JSON in <job>.lcs if some record has facts, else in <job>.json, so that a file ending in .lcs marks
a launch-config-sensitive job. A record names its artifact by a key that embeds the facts: a record lost to another
writer costs a compile, and no record can name a wrong artifact.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from gridjit.cache.errors import CacheError
from gridjit.cache.lock import Locks
from gridjit.cache.store import Store
from gridjit.values import dataclass, field

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"

SCHEMA = 1
MAX_RECORDS = 256
SENSITIVE_SUFFIX, PLAIN_SUFFIX = ".lcs", ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that a compile read: its label, the value it had, and where it was read (not part of equality)."""

    label: str
    value: Value
    where: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What one compile read of the launch (facts) and of the world (dependencies), and the key of its artifact."""

    facts: tuple[Fact, ...] = ()
    dependencies: tuple[Fact, ...] = ()
    artifact: str

    @classmethod
    def of(
        cls,
        artifact: str,
        facts: Mapping[str, object] | None = None,
        dependencies: Mapping[str, object] | None = None,
        where: Mapping[str, str] | None = None,
    ) -> Record:
        """Return the record of label -> value mappings; where says at which place a label was read.

        Values are None, bool, int, finite float, str, or lists and tuples of them; CacheError names any other.
        """
        places = where or {}
        return cls(
            facts=_facts(facts or {}, places), dependencies=_facts(dependencies or {}, places), artifact=artifact
        )

    @property
    def cause(self) -> str:
        """What the record depends on, as text: two records with one cause are the same compile."""
        return _json([[[f.label, f.value] for f in part] for part in (self.facts, self.dependencies)]).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The records of one job, the newest last, no two with one cause."""

    records: tuple[Record, ...] = ()

    @property
    def suffix(self) -> str:
        """The suffix to store it with: ".lcs" when some record has facts."""
        return SENSITIVE_SUFFIX if any(record.facts for record in self.records) else PLAIN_SUFFIX

    def match(self, predicate: Callable[[Record], bool]) -> Record | None:
        """Return the newest record that predicate accepts, or None."""
        return next((record for record in reversed(self.records) if predicate(record)), None)

    def with_record(self, record: Record, *, limit: int = MAX_RECORDS) -> Manifest:
        """Return the manifest with record as its newest, without any other of its cause and with at most limit."""
        return self.with_newer(Manifest(records=(record,)), limit=limit)

    def with_newer(self, newer: Manifest, *, limit: int = MAX_RECORDS) -> Manifest:
        """Return the manifest with another's records as its newest, those of one cause once, and at most limit."""
        replaced = {record.cause for record in newer.records}
        older = [record for record in self.records if record.cause not in replaced]
        return Manifest(records=(*older, *newer.records)[-limit:])

    def to_bytes(self) -> bytes:
        """Return canonical JSON: the same records are the same bytes."""
        records = [
            {
                "artifact": record.artifact,
                "dependencies": _plain(record.dependencies),
                "facts": _plain(record.facts),
            }
            for record in self.records
        ]
        return _json({"records": records, "schema": SCHEMA})

    @classmethod
    def from_bytes(cls, data: bytes | None) -> Manifest:
        """Return the manifest in data; an empty one if data is None, of another schema or not a manifest."""
        try:
            plain = json.loads(data or b"{}")
            if plain.get("schema") != SCHEMA:
                return cls()
            return cls(records=tuple(_record(item) for item in plain["records"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, CacheError):
            return cls()


def read_manifest(store: Store, job: str) -> Manifest:
    """Return what all layers of store have recorded under the job's key, the nearest layer's records as the newest."""
    layers = [Manifest.from_bytes(layer.get(job)) for layer in reversed(store.layers)]
    limit = MAX_RECORDS * len(layers)
    return functools.reduce(lambda older, newer: older.with_newer(newer, limit=limit), layers)


def add_record(store: Store, job: str, record: Record, locks: Locks, *, timeout: float = 1.0) -> Manifest:
    """Add record to what is stored under the job's key, in the top layer, and return the whole of that.

    Reads, merges and writes under the job's lock, which the calling thread may hold already. If the lock cannot be had
    within timeout seconds, the last writer wins, and what the other added is compiled again when it is next needed.
    Put the artifact first: a reader trusts that what a manifest names was there.
    """
    with locks.single_flight(job, timeout):
        manifest = read_manifest(store.layers[0], job).with_record(record)
        store.put(job, manifest.to_bytes(), suffix=manifest.suffix)
        return manifest


def promote_record(store: Store, job: str, record: Record, locks: Locks) -> None:
    """Copy a record that was of use into the top layer, if only a lower one has it, so that it outlives that.

    Where the job's lock is not free at once, the next to use the record will do it.
    """
    if len(store.layers) == 1 or record in read_manifest(store.layers[0], job).records:
        return
    with locks.single_flight(job, 0.0) as got:
        if got:
            add_record(store, job, record, locks)


def _facts(values: Mapping[str, object], places: Mapping[str, str]) -> tuple[Fact, ...]:
    return tuple(
        Fact(label=label, value=_frozen(label, values[label]), where=places.get(label, "")) for label in sorted(values)
    )


def _frozen(label: str, value: object) -> Value:
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(label, item) for item in value)
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise CacheError(f"fact {label!r} has the value {value!r}; give None, bool, int, float, str or tuples of them")


def _plain(facts: Iterable[Fact]) -> list[dict[str, object]]:
    return [
        {"label": f.label, "value": f.value, "where": f.where} if f.where else {"label": f.label, "value": f.value}
        for f in facts
    ]


def _record(plain: dict[str, object]) -> Record:
    artifact = plain["artifact"]
    if not isinstance(artifact, str):
        raise CacheError(f"artifact {artifact!r} is not a key")
    return Record(facts=_facts_of(plain["facts"]), dependencies=_facts_of(plain["dependencies"]), artifact=artifact)


def _facts_of(plain: object) -> tuple[Fact, ...]:
    if not isinstance(plain, list):
        raise CacheError(f"facts are a list, not {plain!r}")
    return tuple(
        Fact(label=str(item["label"]), value=_frozen(item["label"], item["value"]), where=str(item.get("where", "")))
        for item in plain
    )


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode("ascii")
