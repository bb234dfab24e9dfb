"""Keys: no two lists of fields share a digest, and a key says how it differs."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridjit.cache.errors import CacheError
from gridjit.cache.key import Key, digest

FIELDS = st.lists(
    st.tuples(st.text(max_size=4), st.one_of(st.text(max_size=4), st.binary(max_size=4), st.integers())), max_size=4
)


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
    encoded = b"gridjit key 1" + b"\x06\0\0\0\0\0\0\0target" + b"s\x05\0\0\0\0\0\0\0sm_90"
    assert digest([("target", "sm_90")]) == blake2b(encoded, digest_size=32).hexdigest()


def test_differences_name_the_label_and_both_values():
    mine = Key.of([("target", "sm_90"), ("fastmath", 1), ("only mine", b"x")])
    assert mine.differences([("target", "sm_80"), ("fastmath", 1), ("only theirs", "y")]) == (
        ("target", "sm_90", "sm_80"),
        ("only mine", b"x", None),
        ("only theirs", None, "y"),
    )


def test_a_key_has_no_differences_to_its_own_fields():
    key = Key.of([("target", "sm_90"), ("text", b"\0")])
    assert key.differences(key.fields) == ()


def test_a_label_given_twice_is_refused():
    with pytest.raises(CacheError, match="'target' is given twice"):
        Key.of([("target", "a"), ("target", "b")])


def test_a_value_that_has_no_bytes_of_its_own_is_refused():
    with pytest.raises(CacheError, match="'options' is a dict"):
        Key.of([("options", {})])  # type: ignore[list-item]
