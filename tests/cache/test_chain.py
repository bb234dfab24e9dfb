"""ChainStore: bases answer, the overlay remembers."""

from __future__ import annotations

from gridjit.cache.chain import ChainStore
from gridjit.cache.disk import DiskStore
from gridjit.cache.memory import MemoryStore


def test_a_hit_in_a_base_is_copied_into_the_overlay_with_its_suffix(key_of):
    overlay, base = MemoryStore(), MemoryStore()
    base.put(key_of(1), b"baked", suffix=".lcs")
    assert ChainStore(overlay, base).get(key_of(1)) == b"baked"
    assert overlay.get(key_of(1)) == b"baked"
    assert overlay.find(key_of(1)).suffix == ".lcs"


def test_a_put_goes_to_the_overlay_and_hides_the_base(key_of):
    overlay, base = MemoryStore(), MemoryStore()
    base.put(key_of(1), b"old", suffix=".o")
    chain = ChainStore(overlay, base)
    chain.put(key_of(1), b"new", suffix=".cubin")
    assert (chain.get(key_of(1)), base.get(key_of(1))) == (b"new", b"old")
    assert [(info.key, info.suffix) for info in chain.entries()] == [(key_of(1), ".cubin")]


def test_the_first_base_that_has_a_key_answers(key_of):
    first, second = MemoryStore(), MemoryStore()
    first.put(key_of(1), b"first", suffix=".o")
    second.put(key_of(1), b"second", suffix=".o")
    second.put(key_of(2), b"second", suffix=".o")
    chain = ChainStore(MemoryStore(), first, second)
    assert (chain.get(key_of(1)), chain.get(key_of(2))) == (b"first", b"second")


def test_a_damaged_base_entry_is_passed_over(tmp_path, key_of):
    key = key_of(1)
    damaged, good = DiskStore(tmp_path / "damaged"), MemoryStore()
    damaged.put(key, b"data", suffix=".o")
    (tmp_path / "damaged" / key[:2] / f"{key}.o").write_bytes(b"cut short")
    good.put(key, b"data", suffix=".o")
    overlay = MemoryStore()
    assert ChainStore(overlay, damaged, good).get(key) == b"data"
    assert overlay.get(key) == b"data"


def test_a_read_only_base_is_not_written(tmp_path, key_of):
    DiskStore(tmp_path / "base").put(key_of(1), b"baked", suffix=".o")
    before = sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "base").rglob("*"))
    chain = ChainStore(DiskStore(tmp_path / "mine"), DiskStore(tmp_path / "base", read_only=True))
    assert chain.get(key_of(1)) == b"baked"
    chain.put(key_of(2), b"mine", suffix=".o")
    chain.remove(key_of(1))
    assert sorted((path, path.stat().st_mtime_ns) for path in (tmp_path / "base").rglob("*")) == before
    assert chain.get(key_of(1)) == b"baked"
