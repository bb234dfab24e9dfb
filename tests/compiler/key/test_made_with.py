"""What installed code was made with tells one registration of a library from another; the library's state does not."""

from __future__ import annotations

import importlib
import operator
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gridjit.compiler.key.extensions import sources_fingerprint
from gridjit.compiler.key.fingerprint import fingerprint_values
from gridjit.compiler.key.installed import owner_of
from gridjit.compiler.key.made_with import settled_text
from gridjit.compiler.key.registration import Registration

LIBRARY = """
    import enum

    made = 0
    NOTES = []

    def plus(a, b):
        return a + b

    def times(a, b):
        return a * b

    class Small:
        SIZE = 1

    class Large:
        SIZE = 2

    class Order(enum.Enum):
        UP = 1
        DOWN = 2

    class Operation:
        def __init__(self, function):
            self.function, self.used = function, 0

    PLUS, TIMES = Operation(plus), Operation(times)

    def function_over(n):
        return lambda: n

    def class_over(n):
        class Made:
            SIZE = n
        return Made

    def class_whose_method_holds(n):
        class Made:
            @staticmethod
            def size():
                return n
        return Made

    def named_class(n):
        return type("Named", (), {"SIZE": n, "__module__": __name__})

    def register(given):
        def implement(x):
            tile = [x]
            tile[0] = made
            return given
        return implement

    def register_with_memo(given):
        memo = {}
        deep = {"a": {}}
        def implement(x):
            memo[x] = given
            deep["a"][x] = given
            return memo[x], deep
        return implement, memo, deep

    class Base:
        def __init__(self):
            pass

    class Rewrite(Base):
        def __init__(self):
            global made
            super().__init__()
            made += 1
            NOTES.append(made)
"""


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A loaded module of a distribution that was installed before this process began."""
    monkeypatch.setattr("gridjit.compiler.key.installed.began", lambda: 1 << 63)
    info = tmp_path / "makes-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: makes\nVersion: 1.0\n")
    (info / "RECORD").write_text("makes.py,,\n")
    (tmp_path / "makes.py").write_text(textwrap.dedent(LIBRARY))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("makes")
    del sys.modules["makes"]


def registered(source: object) -> str:
    """Return the text of something that the library registered."""
    found = Registration(kind="implementation", about="all", sources=(source,), owner=owner_of(source))
    assert found.owner is not None
    fingerprint = sources_fingerprint([found])
    assert fingerprint.opaque == ()
    return fingerprint.digest


DIFFERENT = [
    ("plus", "times"),
    ("PLUS", "TIMES"),
    ("Small", "Large"),
    ("Order.UP", "Order.DOWN"),
    ("(plus, Small)", "(plus, Large)"),
    ("[plus]", "[times]"),
    ("{'n': 4}", "{'n': 5}"),
    ("Operation(plus)", "Operation(times)"),
    ("function_over(4)", "function_over(5)"),
    ("[function_over(4)]", "[function_over(5)]"),
    ("(function_over(4),)", "(function_over(5),)"),
    ("class_over(4)", "class_over(5)"),
    ("class_over(4)()", "class_over(5)()"),
    ("class_over(Small)", "class_over(Large)"),
    ("class_whose_method_holds(4)", "class_whose_method_holds(5)"),
    ("class_whose_method_holds(4)()", "class_whose_method_holds(5)()"),
    ("named_class(4)", "named_class(5)"),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_of_its_own_a_library_is_told_to_register_counts(library: ModuleType, one: str, other: str) -> None:
    texts = [registered(library.register(eval(given, vars(library)))) for given in (one, one, other)]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_the_users_registered_code_has_of_a_library_counts(library: ModuleType, one: str, other: str) -> None:
    texts = []
    for given in (one, one, other):
        found = fingerprint_values([("given", eval(given, vars(library)))], running=True)
        assert found.opaque == ()
        texts.append(found.digest)
    assert texts[0] == texts[1] != texts[2]


def test_what_a_library_counts_and_keeps_decides_nothing(library: ModuleType) -> None:
    sources = library.Rewrite, library.register(library.PLUS)
    before = [registered(source) for source in sources]
    library.Rewrite()
    library.PLUS.used += 1
    vars(library)["EXTRA"] = library.Operation(library.plus)
    # Another process, in which all that came before the first look.
    again = type(library.Rewrite)(
        "Rewrite", (library.Base,), {**vars(library.Rewrite), "__module__": "makes", "__qualname__": "Rewrite"}
    )
    assert [registered(again), registered(library.register(library.PLUS))] == before


def test_a_table_that_a_librarys_code_writes_to_decides_nothing(library: ModuleType) -> None:
    texts = []
    for entries in ({}, {1: 2}):
        source, memo, deep = library.register_with_memo(4)
        memo.update(entries)
        deep["a"].update(entries)
        texts.append(registered(source))
    assert texts[0] == texts[1] != registered(library.register_with_memo(5)[0])


def test_a_function_in_c_that_is_found_under_its_name_stays_what_it_is() -> None:
    assert [settled_text(one) for one in (operator.add, len)] == ["function _operator.add", "function builtins.len"]
    assert settled_text([].append) is None
