"""Manifest: under a job's key, the shapes of its compiles' footprints, and the keys of its newest artifacts.

A shape names the facts that were read, without values. An artifact is kept under a key of the job, its shape and the
values, so a look-up takes today's values of each shape and asks for that key: it costs the same for ten artifacts and
ten thousand.
Stored as canonical JSON in <job>.lcs if some shape has facts of the launch, else in <job>.json, so that a file ending
in .lcs marks a launch-config-sensitive job. A lost shape costs a compile; no shape can name a wrong artifact.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from gridjit.base import reading
from gridjit.base.digests import blake2b
from gridjit.base.values import dataclass
from gridjit.cache.errors import CacheError
from gridjit.cache.key import Key
from gridjit.cache.lock import Locks
from gridjit.cache.store import Store, is_key

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | None"
# Of a thing outside the launch that a compile depended on: its kind ("overload") and its name.
Identity: TypeAlias = "tuple[str, str]"

SCHEMA = 2
MAX_SHAPES = 128
# Kept for people; nothing is found through them.
MAX_RECENT = 32
SENSITIVE_SUFFIX, PLAIN_SUFFIX = ".lcs", ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A compile's footprint without values: labels of facts of the launch, and things of the world; both sorted."""

    facts: tuple[str, ...] = ()
    used: tuple[Identity, ...] = ()

    @classmethod
    def of(cls, facts: Iterable[str] = (), used: Iterable[Identity] = ()) -> Shape:
        """Return the shape of these, in any order."""
        return cls(facts=tuple(sorted(set(facts))), used=tuple(sorted(set(used))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The shapes of one job, and the keys of its artifacts that were made last; the newest last, none twice."""

    shapes: tuple[Shape, ...] = ()
    recent: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """The suffix to store it with: ".lcs" when some shape has facts."""
        return SENSITIVE_SUFFIX if any(shape.facts for shape in self.shapes) else PLAIN_SUFFIX

    def with_compile(self, shape: Shape, artifact: str, *, limit: int = MAX_SHAPES) -> Manifest:
        """Return the manifest with a compile of this shape, which made artifact, as its newest."""
        return self.with_newer(Manifest(shapes=(shape,), recent=(artifact,)), limit=limit)

    def with_newer(self, newer: Manifest, *, limit: int = MAX_SHAPES, layers: int = 1) -> Manifest:
        """Return the manifest with another's shapes and artifacts as its newest, each once, within the bounds.

        layers: how many manifests' bounds they are.
        """
        shapes = _bounded(_after(self.shapes, newer.shapes), limit * layers)
        return Manifest(shapes=shapes, recent=_after(self.recent, newer.recent)[-MAX_RECENT * layers :])

    def is_in_danger(self, shape: Shape, *, limit: int = MAX_SHAPES) -> bool:
        """Return whether shape is not there, or among the older half of as many shapes as are kept."""
        return shape not in self.shapes[-(limit // 2) :]

    def to_bytes(self) -> bytes:
        """Return canonical JSON: the same manifest is the same bytes."""
        shapes = [{"facts": shape.facts, "used": shape.used} for shape in self.shapes]
        return _json({"recent": self.recent, "schema": SCHEMA, "shapes": shapes}).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes | None) -> Manifest:
        """Return the manifest in data; an empty one if data is None, of another schema or not a manifest."""
        try:
            return _manifest(reading.parse(data)) if data else cls()
        except reading.Unreadable:
            return cls()


def artifact_key(job: str, facts: Mapping[str, object], used: Mapping[Identity, object]) -> str:
    """Return the key of a job's artifact for the values of its footprint: an entry's only name.

    Values are None, bool, int, finite float, str, or lists and tuples of them; CacheError names any other.
    """
    read = [(f"read {label}", value_text(label, facts[label])) for label in sorted(facts)]
    # A kind of thing has no colon in it.
    seen = [(f"used {kind}: {name}", value_text(name, used[kind, name])) for kind, name in sorted(used)]
    return Key.of((("entry", "artifact"), ("job", job), *read, *seen)).digest


def read_manifest(store: Store, job: str) -> Manifest:
    """Return the job's manifest, merged from all layers of store, with the nearest layer's as the newest."""
    if len(store.layers) == 1:
        return Manifest.from_bytes(store.get(job))
    layers = [Manifest.from_bytes(layer.get(job)) for layer in reversed(store.layers)]
    return functools.reduce(lambda older, newer: older.with_newer(newer, layers=len(layers)), layers)


def add_compile(store: Store, job: str, shape: Shape, artifact: str, locks: Locks, *, timeout: float = 1.0) -> Manifest:
    """Add a compile to the job's manifest in the top layer; return the manifest as it was before.

    Reads, merges and writes under the job's lock, which the calling thread may hold already. If the lock cannot be had
    within timeout seconds, the last writer wins; a shape that the other added is compiled again when it is next needed.
    Put the artifact first: a reader trusts that an artifact in a manifest was there.
    """
    with locks.single_flight(job, timeout):
        before = read_manifest(store.layers[0], job)
        manifest = before.with_compile(shape, artifact)
        if manifest != before:
            store.put(job, manifest.to_bytes(), suffix=manifest.suffix)
        return before


def note_use(store: Store, job: str, shape: Shape, artifact: str, known: Manifest, locks: Locks) -> None:
    """Keep a shape that was of use: put it in the top layer, among the newer half of the shapes.

    known: the result of read_manifest. So a shape in use is written down once in a long time, and is not dropped. Where
    the job's lock is not free at once, the next use will do it.
    """
    alone = len(store.layers) == 1
    top = known if alone else read_manifest(store.layers[0], job)
    if not top.is_in_danger(shape):
        return
    with locks.single_flight(job, 0.0) as got:
        if got:
            add_compile(store, job, shape, artifact, locks)


def value_text(label: str, value: object) -> str:
    """Return a value as text, equal for equal values only; raises CacheError for a value that has no text."""
    return _json(_frozen(label, value))


def _after(older: tuple[Any, ...], newer: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the items of older that are not in newer, then newer."""
    if older == newer:
        return newer
    again = set(newer)
    return (*(item for item in older if item not in again), *newer)


def _bounded(shapes: tuple[Shape, ...], limit: int) -> tuple[Shape, ...]:
    """Return at most limit shapes.

    Shapes of the older half go by lot: if the oldest went, a kernel that goes round one shape more than are kept would
    find none of them. The newest draws, so that any process drops the same shapes.
    """
    kept = list(shapes)
    while len(kept) > limit:
        lot = blake2b(f"{len(kept)} {kept[-1]!r}".encode("ascii", "backslashreplace"), digest_size=8).digest()
        del kept[int.from_bytes(lot, "little") % max(1, limit // 2)]
    return tuple(kept)


def _frozen(label: str, value: object) -> Value:
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(label, item) for item in value)
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise CacheError(f"fact {label!r} has the value {value!r}; give None, bool, int, float, str or tuples of them")


def _manifest(value: Any) -> Manifest:
    given = reading.fields(value, ("recent", "schema", "shapes"))
    reading.whole(given["schema"], least=SCHEMA, most=SCHEMA)
    shapes = reading.items(given["shapes"], _shape, most=MAX_SHAPES)
    recent = reading.items(given["recent"], _key, most=MAX_RECENT)
    if len(set(shapes)) != len(shapes) or len(set(recent)) != len(recent):
        raise reading.Unreadable("a shape or an artifact is there twice")
    return Manifest(shapes=shapes, recent=recent)


def _shape(value: Any) -> Shape:
    given = reading.fields(value, ("facts", "used"))
    return Shape(
        facts=reading.ordered(reading.items(given["facts"], reading.text)),
        used=reading.ordered(reading.items(given["used"], reading.pair)),
    )


def _key(value: Any) -> str:
    if not is_key(reading.text(value)):
        raise reading.Unreadable("a key is expected")
    return str(value)


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
