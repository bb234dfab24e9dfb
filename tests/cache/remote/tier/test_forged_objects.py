"""Objects of a remote that nobody trusted wrote: not one of thousands is loaded, as an entry, a shape or in a pack."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

from gridjit.cache.bundle import DIGEST_BYTES, HEAD, MAGIC, bundle_bytes, import_bundle
from gridjit.cache.errors import CacheError
from gridjit.cache.lock import Locks
from gridjit.cache.memory import MemoryStore
from gridjit.cache.remote import sealing as sealing_module
from gridjit.cache.remote import writers as writers_module
from gridjit.cache.remote.layout import entry_name, pack_name
from gridjit.cache.remote.sealing import Sealing
from gridjit.cache.remote.tier import RemoteTier
from gridjit.cache.remote.trust_file import Writer
from gridjit.cache.remote.writers import TRAILER, Trust
from tests.cache.remote import test_writers
from tests.cache.remote.tier.objects import BY_BLOCK, SEALING, Clock, Objects, found, job_of, key_of, remote_at

MANY = 2500
PAUSE_S = 100.0  # in which every silence ends, and every miss is forgotten
JOB, OTHER_JOB = job_of(1), job_of(2)
KEY, OTHER_KEY = key_of(JOB, BY_BLOCK), key_of(OTHER_JOB, BY_BLOCK)
CODE, OTHER_CODE = bytes(range(256)) * 2, b"other code"

Forge = Callable[[random.Random], bytes]


def signed_by(name: str, prefix: str = "main", *trusted: Writer) -> Sealing:
    """Return the sealing of a writer whose key is always the same."""
    return Sealing(prefix=prefix, trust=Trust(*trusted), key=test_writers.key(name))


CI = signed_by("ci", "main", test_writers.writer(test_writers.CI, "main", "pr/*"), *test_writers.OTHERS)


def flipped(draw: random.Random, data: bytes) -> bytes:
    forged = bytearray(data)
    forged[draw.randrange(len(forged))] ^= 1 << draw.randrange(8)
    return bytes(forged)


def resized(draw: random.Random, data: bytes) -> bytes:
    cut = draw.randrange(1, len(data))
    more = draw.randbytes(draw.choice((1, 8, TRAILER.size)))
    return draw.choice((data[:-cut], data[cut:], data + more, more + data, data[:cut] + more + data[cut:]))


def of_others(draw: random.Random, name: str, key: str, data: bytes) -> bytes:
    """Return data sealed by a writer who is not trusted here, or as somebody without a key can seal it."""
    writer, prefix = draw.choice((("stranger", "main"), ("gone", "main"), ("other", "main"), ("ci", "pr/1")))
    nobody = Sealing(prefix="", trust=None, secret=draw.choice((None, b"a guess")))
    return draw.choice((signed_by(writer, prefix), nobody)).sealed(name, key, data)


def renamed(draw: random.Random, sealing: Sealing) -> bytes:
    """Return another object, as it was signed there; a secret seals an entry with its key only."""
    others = [(entry_name(OTHER_KEY), OTHER_KEY), (f"jobs/{JOB}/index", JOB)]
    name, key = draw.choice([*others, (pack_name("p"), KEY)] if sealing.trust else others)
    return sealing.sealed(name, key, OTHER_CODE)


def forged_entry(draw: random.Random, sealing: Sealing) -> bytes:
    right = sealing.sealed(entry_name(KEY), KEY, CODE)
    match draw.randrange(4):
        case 0:
            return flipped(draw, right)
        case 1:
            return resized(draw, right)
        case 2:
            return of_others(draw, entry_name(KEY), KEY, OTHER_CODE)
        case _:
            return renamed(draw, sealing)


@pytest.fixture(params=["signed", "with a secret"])
def sealing(request: pytest.FixtureRequest) -> Sealing:
    """What makes the entries of a remote trusted."""
    if request.param == "signed":
        pytest.importorskip("cryptography", reason="cryptography is not installed")
        return CI
    return SEALING


def test_a_look_up_does_not_wait_for_the_library_of_signatures(
    monkeypatch: pytest.MonkeyPatch, patience: Callable[[float], None]
) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    clock, imported = Clock(), writers_module.library

    def slow() -> Any:
        seconds.append(0.0)
        clock.now += seconds.pop(0)
        return imported()

    seconds = [7.0]
    remote = remote_at(Objects(lists=False), clock, CI)
    remote.write(JOB, BY_BLOCK, KEY, CODE)
    patience(5.0)
    for module in (sealing_module, writers_module):
        monkeypatch.setattr(module, "library", slow)
    assert [one.payload for one in found(remote, JOB)] == [CODE]


@pytest.mark.parametrize("seed", range(2))
def test_no_forged_entry_is_loaded(sealing: Sealing, seed: int) -> None:
    draw, clock, objects = random.Random(seed), Clock(), Objects()
    remote = remote_at(objects, clock, sealing)
    remote.write(JOB, BY_BLOCK, KEY, CODE)
    assert [one.payload for one in found(remote, JOB)] == [CODE]
    for _ in range(MANY):
        objects.objects[entry_name(KEY)] = forged_entry(draw, sealing)
        assert not found(remote, JOB)
        clock.now += PAUSE_S
    assert (remote.counts["refused"], remote.counts["hits"], remote.counts["failed"]) == (MANY, 1, 0)


def bundled(*entries: tuple[str, bytes], secret: bytes | None) -> bytes:
    """Return a pack of entries."""
    store = MemoryStore()
    for key, data in entries:
        store.put(key, data, suffix=".o")
    return bundle_bytes(store, store.entries(), secret)


def closed(body: bytes) -> bytes:
    """Return a bundle's bytes with the digest that anybody can work out."""
    return body + sha256(body).digest()


def forged_pack(draw: random.Random, sealing: Sealing) -> bytes:
    """Return a pack that holds no entry as somebody trusted sealed it under its key."""
    name, secret = pack_name("training"), sealing.folder_secret
    right = bundled((KEY, CODE), secret=secret)
    inside = len(MAGIC) + HEAD.size
    match draw.randrange(4):
        case 0:
            return flipped(draw, sealing.signed(name, right))
        case 1:
            return resized(draw, sealing.signed(name, right))
        case 2:  # an entry is changed where it stands, and the digest made right
            body = bytearray(right[:-DIGEST_BYTES])
            body[draw.randrange(inside, len(body) - HEAD.size)] ^= 1 << draw.randrange(8)
            return closed(bytes(body))
        case _:
            writer = signed_by(*draw.choice((("stranger", "main"), ("gone", "main"), ("ci", "pr/1"))))
            other = bundled((KEY, OTHER_CODE), secret=draw.choice((None, b"a guess")))
            return draw.choice((other, writer.signed(name, other), writer.signed(pack_name("others"), other)))


def loaded(tier: RemoteTier) -> dict[str, bytes | None]:
    """Return the entries that packs bring into an empty store."""
    store = MemoryStore()
    for remote, data in tier.packs():
        with contextlib.suppress(CacheError):
            import_bundle(data, store, Locks(), remote.sealing.folder_secret)
    return {info.key: store.get(info.key) for info in store.entries()}


def test_nothing_is_loaded_from_a_forged_pack(sealing: Sealing) -> None:
    draw, objects = random.Random(7), Objects()
    remote = remote_at(objects, Clock(), sealing, url="https://remote.example/cache?pack=training")
    remote.write_pack("training", bundled((KEY, CODE), secret=sealing.folder_secret))
    tier = RemoteTier([remote])
    assert loaded(tier) == {KEY: CODE}
    for _ in range(MANY):
        objects.objects[pack_name("training")] = forged_pack(draw, sealing)
        remote._asked_pack, remote.breaker._until = False, 0.0
        assert loaded(tier) == {}


def test_a_signed_pack_is_refused_under_another_name() -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    objects = Objects()
    remote = remote_at(objects, Clock(), CI, url="https://remote.example/cache?pack=training")
    remote.write_pack("others", bundled((KEY, CODE), secret=None))
    objects.objects[pack_name("training")] = objects.objects[pack_name("others")]
    assert RemoteTier([remote]).packs() == []
    assert remote.counts["refused"] == 1
