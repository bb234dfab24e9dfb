"""A regular expression that is compiled when it is first used does what a compiled one does."""

from __future__ import annotations

import importlib
import pkgutil
import re
import threading

import pytest

from gridjit.base.regexes import Postponed, regex
from gridjit.compiler import targets

TEXT = "one, two,  three"


def test_a_postponed_expression_answers_like_a_compiled_one() -> None:
    postponed, compiled = regex(r",\s*(T\w+)", re.IGNORECASE), re.compile(r",\s*(T\w+)", re.IGNORECASE)
    assert postponed.findall(TEXT) == compiled.findall(TEXT) == ["two", "three"]
    assert [found.span() for found in postponed.finditer(TEXT)] == [found.span() for found in compiled.finditer(TEXT)]
    assert postponed.sub("-", TEXT) == compiled.sub("-", TEXT)
    assert postponed.split(TEXT) == compiled.split(TEXT)
    assert (postponed.pattern, postponed.flags, postponed.groups) == (compiled.pattern, compiled.flags, 1)
    assert postponed.match(TEXT) is postponed.fullmatch(TEXT) is None


def test_a_fault_is_told_at_the_first_use_and_again() -> None:
    broken = regex("(")
    for _ in range(2):
        with pytest.raises(re.error, match="unterminated"):
            broken.search("")


def test_threads_that_use_an_expression_first_at_the_same_time_find_the_same() -> None:
    postponed, ready, found = regex(r"t(\w+)"), threading.Barrier(4), []

    def use() -> None:
        ready.wait()
        found.append(postponed.findall(TEXT))

    threads = [threading.Thread(target=use) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["wo", "hree"]] * 4


def test_an_expression_with_needs_is_not_compiled_for_strings_that_have_none_of_them() -> None:
    broken = regex("(one|two", needs=("one", "two"))
    assert broken.match("three") is broken.search("three") is None
    assert list(broken.finditer("three")) == []
    assert broken.sub("-", "three") == "three"
    for name in ("match", "search", "finditer", "fullmatch", "findall"):
        with pytest.raises(re.error, match="missing"):
            getattr(broken, name)("two")


@pytest.mark.parametrize("needs", [(), ("one", "two"), ("t",)])
def test_needs_do_not_change_what_is_found(needs: tuple[str, ...]) -> None:
    for text in (TEXT, "three", "onetwo"):
        expression, compiled = regex("one|t(w)o", needs=needs), re.compile("one|t(w)o")
        spans = [found.span() for found in compiled.finditer(text)]
        for _ in range(2):
            assert [found.span() for found in expression.finditer(text)] == spans
            assert bool(expression.search(text, 1)) == bool(compiled.search(text, 1))
            assert bool(expression.match(text)) == bool(compiled.match(text))
            assert expression.sub(r"<\1>", text, 1) == compiled.sub(r"<\1>", text, 1)
            assert expression.findall(text) == compiled.findall(text)


def test_what_a_compiled_expression_does_not_have_is_missing() -> None:
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = regex("a").colour  # type: ignore[attr-defined]


def test_every_expression_of_the_targets_can_be_compiled() -> None:
    found = pkgutil.walk_packages(targets.__path__, f"{targets.__name__}.")
    names = [vars(importlib.import_module(module.name)) for module in found]
    postponed = [value for one in names for value in one.values() if isinstance(value, Postponed)]
    assert len(postponed) > 100
    assert all(one.groups >= 0 for one in postponed)  # which compiles it
