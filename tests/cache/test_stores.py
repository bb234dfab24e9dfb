"""What every kind of store does."""

from __future__ import annotations

import threading

import pytest

from gridjit.cache.errors import CacheError
from gridjit.cache.store import SUFFIXES


def test_a_key_never_put_is_a_miss(store, key_of):
    assert store.get(key_of(1)) is None
    assert store.find(key_of(1)) is None
    assert list(store.entries()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 1000])
def test_what_was_put_comes_back(store, key_of, suffix, data):
    store.put(key_of(1), data, suffix=suffix)
    assert store.get(key_of(1)) == data
    assert store.get(key_of(2)) is None


def test_a_second_put_replaces_the_first_whatever_its_suffix(store, key_of):
    for data, suffix in [(b"plain", ".json"), (b"sensitive", ".lcs"), (b"plain again", ".json"), (b"same", ".json")]:
        store.put(key_of(1), data, suffix=suffix)
        assert store.get(key_of(1)) == data
        assert [info.suffix for info in store.entries()] == [suffix]


def test_entries_and_find_tell_key_suffix_and_size(store, key_of):
    store.put(key_of(1), b"data", suffix=".o")
    store.put(key_of(2), b"more data", suffix=".cubin")
    infos = {info.key: info for info in store.entries()}
    assert {key: info.suffix for key, info in infos.items()} == {key_of(1): ".o", key_of(2): ".cubin"}
    assert infos[key_of(1)].size >= 4
    assert infos[key_of(1)].stored > 1.5e9
    assert store.find(key_of(1)) == infos[key_of(1)]


def test_what_was_removed_is_a_miss_and_removing_twice_is_fine(store, key_of):
    store.put(key_of(1), b"data", suffix=".o")
    store.put(key_of(2), b"data", suffix=".o")
    store.remove(key_of(1))
    store.remove(key_of(1))
    assert (store.get(key_of(1)), store.get(key_of(2))) == (None, b"data")


def test_a_closed_store_can_be_used_again(store, key_of):
    store.put(key_of(1), b"data", suffix=".o")
    store.close()
    assert store.get(key_of(1)) == b"data"
    store.put(key_of(2), b"data", suffix=".o")
    assert store.get(key_of(2)) == b"data"


@pytest.mark.parametrize("key", ["", "ABCDEF0123", "../../../etc/passwd", "abcdef0123\n", "abcdef/0123", "x" * 64])
def test_a_name_that_is_not_a_digest_is_refused(store, key):
    for act in (store.get, store.find, store.remove, lambda key: store.put(key, b"", suffix=".o")):
        with pytest.raises(CacheError, match="hexadecimal"):
            act(key)


@pytest.mark.parametrize("suffix", ["", ".py", "o", "/../x.o"])
def test_a_suffix_that_readers_do_not_look_for_is_refused(store, key_of, suffix):
    with pytest.raises(CacheError, match=r"give one of \.cubin"):
        store.put(key_of(1), b"", suffix=suffix)


@pytest.mark.some(3)
def test_threads_see_only_whole_entries_of_their_key(store, key_of):
    together = threading.Barrier(8)
    wrong: list[object] = []

    def work(me: int) -> None:
        together.wait()
        for round_ in range(20):
            number = (me + round_) % 5
            store.put(key_of(number), str(number).encode() * 1000, suffix=".o")
            data = store.get(key_of(number))
            if data != str(number).encode() * 1000:
                wrong.append((number, data))

    threads = [threading.Thread(target=work, args=(me,)) for me in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_was_put_together_comes_back_one_by_one(store, key_of):
    store.put(key_of(1), b"old", suffix=".json")
    store.put_all({key_of(number): b"data %d" % number for number in range(1, 4)}, suffix=".unit")
    assert [store.get(key_of(number)) for number in range(1, 4)] == [b"data 1", b"data 2", b"data 3"]
    assert sorted(info.key for info in store.entries()) == sorted(map(key_of, range(1, 4)))
    store.put_all({}, suffix=".unit")


def test_names_are_checked_before_anything_of_what_is_put_together_is_kept(store, key_of):
    with pytest.raises(CacheError, match="hexadecimal"):
        store.put_all({key_of(1): b"data", "../../../etc/passwd": b"data"}, suffix=".unit")
    with pytest.raises(CacheError, match=r"give one of \.cubin"):
        store.put_all({key_of(1): b"data"}, suffix=".py")
    assert list(store.entries()) == []


def test_what_a_piece_of_work_puts_is_there_when_it_reads_it(store, key_of):
    def work() -> bytes | None:
        store.put(key_of(1), b"data", suffix=".o")
        return store.get(key_of(1))

    assert store.together(work) == b"data"
    assert [info.key for info in store.entries()] == [key_of(1)]
