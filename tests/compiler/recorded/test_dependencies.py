"""A dependency holds as long as a compile today would find the same registered, or the same file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.job import make_job
from gridjit.compiler.key.linked_files import read_linked
from gridjit.compiler.key.registrations import registrations
from gridjit.compiler.recorded.dependencies import Discovered, discovered, file_dependencies, holds
from gridjit.compiler.values.dependency import Dependency
from gridjit.compiler.values.options import Options
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import LinkedFile, Target


def kernel(x):
    x[0] = 1


JOB = make_job(kernel, Signature(arguments=()), Options(), Target(kind="host", arch="any"))
EXTENSION = """
import extension_part
from numba.cuda.extending import intrinsic, overload

FACTOR = 2

def scale(x):
    raise NotImplementedError

def other(x):
    raise NotImplementedError

def register(stub, offset=1, **options):
    @overload(stub, target="cuda", **options)
    def implement(x):
        def implementation(x):
            return extension_part.shift(x) * FACTOR + offset
        return implementation
    return implement

class Opaque:
    pass

opaque = Opaque()

def register_hidden(stub):
    @overload(stub, target="cuda")
    def hidden(x):
        return opaque
    return hidden
"""


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module "extension" to register with; what it registers is gone after the test."""
    (tmp_path / "extension.py").write_text(EXTENSION)
    (tmp_path / "extension_part.py").write_text("def shift(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    numba_cuda()
    registry = sys.modules["numba.cuda.typing.templates"].builtin_registry
    before = {name: list(entries) for name, entries in vars(registry).items()}
    import extension  # type: ignore[import-not-found]

    yield extension
    for name, entries in before.items():
        getattr(registry, name)[:] = entries
    for module in ("extension", "extension_part"):
        sys.modules.pop(module)


def depend(*functions: object) -> Discovered:
    return discovered(functions, registrations(), frozenset(sys.modules))  # type: ignore[arg-type]


def test_a_dependency_is_on_all_that_is_registered_for_a_function(extension: ModuleType) -> None:
    used, _ = extension.register(extension.scale), extension.register(extension.scale)
    (dependency,) = depend(used).dependencies
    assert (dependency.kind, dependency.name) == ("overload", "extension.scale")
    assert [name for name, _ in dependency.parts] == [
        "extension.register.<locals>.implement",
        "extension.register.<locals>.implement (2)",
    ]


def test_a_dependency_is_the_same_after_json(extension: ModuleType) -> None:
    (dependency,) = depend(extension.register(extension.scale)).dependencies
    assert dependency.label == "extension.scale by extension.register.<locals>.implement"
    assert Dependency.from_dict(json.loads(json.dumps(dependency.as_dict()))) == dependency


@pytest.mark.parametrize(
    "values", [{}, {"kind": "overload", "name": 3, "parts": []}, {"kind": "other", "name": "f", "parts": []}]
)
def test_what_is_not_a_dependency_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"is expected|not a kind"):
        Dependency.from_dict(values)


def test_it_holds_while_the_same_is_registered_whatever_else_is(extension: ModuleType) -> None:
    (dependency,) = depend(extension.register(extension.scale)).dependencies
    assert holds(dependency, JOB)
    extension.register(extension.other)
    assert holds(dependency, JOB)


def test_another_implementation_of_the_same_function_breaks_it(extension: ModuleType) -> None:
    (dependency,) = depend(extension.register(extension.scale)).dependencies
    extension.register(extension.scale)
    assert not holds(dependency, JOB)


@pytest.mark.parametrize("change", ["offset", "options"])
def test_one_made_by_the_same_code_from_another_value_breaks_it(extension: ModuleType, change: str) -> None:
    registry = sys.modules["numba.cuda.typing.templates"].builtin_registry
    before = {name: list(entries) for name, entries in vars(registry).items()}
    (dependency,) = depend(extension.register(extension.scale, 1)).dependencies
    for name, entries in before.items():
        getattr(registry, name)[:] = entries
    assert not holds(dependency, JOB)
    extension.register(extension.scale, 2) if change == "offset" else extension.register(
        extension.scale, 1, inline="always"
    )
    assert not holds(dependency, JOB)
    for name, entries in before.items():
        getattr(registry, name)[:] = entries
    extension.register(extension.scale, 1)
    assert holds(dependency, JOB)


def test_a_changed_global_or_callee_breaks_it(extension: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    (dependency,) = depend(extension.register(extension.scale)).dependencies
    with monkeypatch.context() as patch:
        patch.setattr(extension, "FACTOR", 3)
        assert not holds(dependency, JOB)
    assert holds(dependency, JOB)
    monkeypatch.setattr(sys.modules["extension_part"], "shift", len)
    assert not holds(dependency, JOB)


def test_nothing_holds_where_the_extension_is_not_imported() -> None:
    assert not holds(Dependency(kind="overload", name="nowhere.f", parts=(("nowhere.implement", "1"),)), JOB)
    assert not holds(Dependency(kind="overload", name="nowhere.f", parts=()), JOB)


def test_what_reaches_hidden_things_keeps_the_artifact_private(extension: ModuleType) -> None:
    (reason,) = depend(extension.register_hidden(extension.scale)).private
    assert "opaque" in reason and "hidden is an Opaque object" in reason


def test_what_was_registered_during_the_compile_keeps_the_artifact_private(extension: ModuleType) -> None:
    before = registrations()
    used = extension.register(extension.scale)
    (reason,) = discovered([used], before, frozenset(sys.modules)).private
    assert reason == "extension.register.<locals>.implement was registered while the kernel was compiled"
    newer = extension.register(extension.scale)
    assert discovered([used], [one for one in registrations() if one.sources[0] is not newer], ()).private


def test_an_implementation_of_a_librarys_function_is_in_the_key_and_no_dependency(extension: ModuleType) -> None:
    assert depend(extension.register(len)) == Discovered()


def test_a_linked_file_counts_with_its_headers(tmp_path: Path) -> None:
    source, header, other = tmp_path / "f.cu", tmp_path / "f.h", tmp_path / "other.ptx"
    other.write_text("")
    source.write_text('#include "f.h"\n')
    header.write_text("1")
    known, memory = read_linked(str(other)), LinkedFile(name="memory", kind="cu", data=b"")
    (dependency,) = file_dependencies([known, read_linked(str(source)), memory], [known])
    assert (dependency.kind, dependency.name) == ("linked file", str(source))
    assert holds(dependency, JOB)
    header.write_text("2")
    assert not holds(dependency, JOB)
    header.write_text("1")
    assert holds(dependency, JOB)
    source.unlink()
    assert not holds(dependency, JOB)
