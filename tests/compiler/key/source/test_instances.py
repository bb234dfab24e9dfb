"""An object of an installed class counts by what it is made of, and by what was registered for it."""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.key import instances as source_instance
from gridjit.compiler.key import made_with
from gridjit.compiler.key.instances import instance_text
from gridjit.compiler.key.values import Visit
from gridjit.compiler.source.objects import OpaqueValue

LIBRARY = """
import tempfile
import threading
from itertools import count
from numba.cuda.extending import overload

serial = count()

class Part:
    __slots__ = ("kind",)
    def __init__(self, kind):
        self.kind = kind

class Algorithm:
    def __init__(self, files=(), **state):
        self.lock = threading.Lock()
        self.number = serial
        self.files = list(files)
        vars(self).update(state)
    def __call__(self, x):
        raise NotImplementedError

def make(threads):
    made = Algorithm()
    @overload(made, target="cuda")
    def implement(x):
        return lambda x: x * threads
    return made
"""


class Owner:
    """A distribution, as far as it is asked for."""

    identity = "library 1.0"
    overtaken = False


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of installed code; what it registers is gone after the test."""
    numba_cuda()
    registry = sys.modules["numba.cuda.typing.templates"].builtin_registry
    before = {name: list(entries) for name, entries in vars(registry).items()}
    module = ModuleType("library_of_instances")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(LIBRARY, "library.py", "exec"), vars(module))

    def owner_of(value: Any) -> Owner | None:
        home = getattr(value, "__module__", None) or type(value).__module__
        return Owner() if home == module.__name__ else None

    for asking in (source_instance, made_with):
        monkeypatch.setattr(asking, "owner_of", owner_of)
    yield module
    for name, entries in before.items():
        getattr(registry, name)[:] = entries


visit = Visit()


def text(value: object) -> str:
    found = instance_text(value, visit)
    assert found is not None
    return found


CHANGES: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "a number": lambda lib: (lib.Algorithm(tile=3), lib.Algorithm(tile=4)),
    "a text": lambda lib: (lib.Algorithm(name="a"), lib.Algorithm(name="b")),
    "what a container holds": lambda lib: (
        lib.Algorithm(sizes=[1, {"a": (2,)}]),
        lib.Algorithm(sizes=[1, {"a": (3,)}]),
    ),
    "an object inside, with slots": lambda lib: (lib.Algorithm(p=lib.Part(1)), lib.Algorithm(p=lib.Part(2))),
    "the closure of what is registered": lambda lib: (lib.make(128), lib.make(256)),
    "the name of an attribute": lambda lib: (lib.Algorithm(a=1), lib.Algorithm(b=1)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_tells_objects_apart_counts(library: Any, change: str) -> None:
    first, second = CHANGES[change](library)
    assert text(first) != text(second)


def test_locks_counters_and_the_names_of_files_do_not_count(library: Any) -> None:
    def algorithm() -> Any:
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(b"code")
        next(library.serial)
        return library.Algorithm([file.name], guard=threading.RLock(), turns=count(7))

    assert text(algorithm()) == text(algorithm())


def test_the_bytes_of_a_file_that_is_named_count(library: Any, tmp_path: Path) -> None:
    (tmp_path / "first").write_bytes(b"one")
    (tmp_path / "second").write_bytes(b"two")
    assert text(library.Algorithm([str(tmp_path / "first")])) != text(library.Algorithm([str(tmp_path / "second")]))


def test_an_object_that_holds_itself_has_a_text(library: Any) -> None:
    def algorithm() -> Any:
        made = library.Algorithm()
        made.me = [made]
        return made

    assert text(algorithm()) == text(algorithm())


def test_equal_objects_made_anew_have_one_text(library: Any) -> None:
    assert text(library.Algorithm(tile=3, part=library.Part("x"))) == text(
        library.Algorithm(part=library.Part("x"), tile=3)
    )
    assert text(library.make(128)) == text(library.make(128))


def test_what_cannot_be_seen_in_it_is_refused(library: Any) -> None:
    with pytest.raises(OpaqueValue):
        instance_text(library.Algorithm(hidden=object()), visit)


def test_an_object_of_the_users_own_class_is_none_of_these(library: Any) -> None:
    assert instance_text(Owner(), visit) is None
