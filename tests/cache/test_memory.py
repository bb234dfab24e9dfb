"""MemoryStore's bounds."""

from __future__ import annotations

from gridjit.cache.memory import MemoryStore


def test_the_least_recently_used_entry_goes_first(key_of):
    store = MemoryStore(max_entries=2)
    store.put(key_of(1), b"1", suffix=".o")
    store.put(key_of(2), b"2", suffix=".o")
    store.get(key_of(1))
    store.put(key_of(3), b"3", suffix=".o")
    assert [info.key for info in store.entries()] == [key_of(1), key_of(3)]


def test_the_bytes_held_stay_within_the_bound(key_of):
    store = MemoryStore(max_bytes=100)
    for number in range(20):
        store.put(key_of(number), bytes(30), suffix=".o")
        assert sum(info.size for info in store.entries()) <= 100
    assert len(list(store.entries())) == 3


def test_data_larger_than_the_store_is_not_kept_and_drops_nothing_else(key_of):
    store = MemoryStore(max_bytes=100)
    store.put(key_of(1), bytes(50), suffix=".o")
    store.put(key_of(2), bytes(101), suffix=".o")
    assert [info.key for info in store.entries()] == [key_of(1)]


def test_replacing_an_entry_counts_its_bytes_once(key_of):
    store = MemoryStore(max_bytes=100)
    store.put(key_of(1), bytes(40), suffix=".o")
    for _ in range(10):
        store.put(key_of(2), bytes(60), suffix=".o")
    assert store.get(key_of(1)) == bytes(40)
