"""Keys: no two lists of fields share a digest."""

from __future__ import annotations

import struct
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridjit.cache.errors import CacheError
from gridjit.cache.key import Key, digest

TEXT = st.text(st.characters(exclude_categories=()), max_size=4)
FIELDS = st.lists(st.tuples(TEXT, st.one_of(TEXT, st.binary(max_size=4), st.integers())), max_size=4)


@given(FIELDS, FIELDS)
def test_two_lists_of_fields_share_a_digest_only_if_they_are_the_same(one, other):
    assert (digest(one) == digest(other)) == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("ab", "c")], [("a", "bc")]),
        ([("a", "b"), ("c", "d")], [("a", "bc"), ("", "d")]),
        ([("a", "1")], [("a", 1)]),
        ([("a", b"1")], [("a", "1")]),
        ([("a", "b"), ("c", "d")], [("c", "d"), ("a", "b")]),
    ],
)
def test_fields_that_join_to_the_same_text_have_different_digests(one, other):
    assert digest(one) != digest(other)


def test_a_digest_is_the_documented_bytes():
    encoded = b"gridjit key 2" + struct.pack("<Q", 1) + b"s" + struct.pack("<QQ", 6, 5) + b"targetsm_90"
    assert digest([("target", "sm_90")]) == blake2b(encoded, digest_size=32).hexdigest()
    mixed = b"gridjit key 2" + struct.pack("<Q", 2) + b"bi" + struct.pack("<4Q", 1, 1, 2, 3) + "abÿ\0-12".encode()
    assert digest([("a", b"\xff\0"), ("b", -12)]) == blake2b(mixed, digest_size=32).hexdigest()


def test_names_that_are_not_utf8_have_digests_of_their_own():
    names = ["caf\udce9", "caf\udcea", "café", "\ud83d\ude00", "\U0001f600"]
    assert len({digest([(name, "x")]) for name in names} | {digest([("x", name)]) for name in names}) == 2 * len(names)


def test_a_label_given_twice_is_refused():
    with pytest.raises(CacheError, match="'target' is given twice"):
        Key.of([("target", "a"), ("target", "b")])


def test_a_value_that_has_no_bytes_of_its_own_is_refused():
    with pytest.raises(CacheError, match="'options' is a dict"):
        Key.of([("options", {})])  # type: ignore[list-item]
