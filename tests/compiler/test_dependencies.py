"""A dependency holds as long as a compile today would find the same function."""

from __future__ import annotations

import importlib
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridjit.compiler.dependencies import Dependency, dependency_of, holds
from gridjit.compiler.errors import CompileError

EXTENSION = """
import extension_part
FACTOR = 2

def overload(x):
    def implementation(x):
        return x * FACTOR
    return implementation

def scale(x):
    return extension_part.shift(x) * FACTOR

class Opaque:
    pass

opaque = Opaque()

def hidden(x):
    return opaque
"""
PART = "def shift(x):\n    return x + 1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on sys.path with the package "extension_pkg" and the module "extension_part"."""
    package = tmp_path / "extension_pkg"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "lower.py").write_text(EXTENSION)
    (tmp_path / "extension.py").write_text(EXTENSION)
    (tmp_path / "extension_part.py").write_text(PART)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path
    forget()


def forget() -> None:
    for name in ("extension", "extension_part", "extension_pkg", "extension_pkg.lower"):
        sys.modules.pop(name, None)


def load(name: str = "scale") -> Dependency:
    return dependency_of(getattr(importlib.import_module("extension"), name))


def test_a_dependency_names_its_place_and_every_file_it_reaches(folder: Path) -> None:
    dependency = load()
    assert (dependency.module, dependency.qualname) == ("extension", "scale")
    assert dependency.digest
    assert [module for module, _ in dependency.files] == ["extension", "extension_part"]


def test_it_survives_json(folder: Path) -> None:
    dependency = load()
    assert Dependency.from_dict(json.loads(json.dumps(dependency.as_dict()))) == dependency


@pytest.mark.parametrize("values", [{}, {"module": "a", "qualname": "b", "digest": 3, "files": []}, {"files": 3}])
def test_what_is_no_dependency_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="describes no dependency"):
        Dependency.from_dict(values)


def test_what_is_no_function_is_refused() -> None:
    with pytest.raises(CompileError, match="no Python function"):
        dependency_of(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["scale", "overload", "hidden"])
def test_it_holds_while_nothing_changes(folder: Path, name: str) -> None:
    dependency = load(name)
    assert holds(dependency)
    forget()
    assert holds(dependency)
    assert "extension" not in sys.modules and "extension_part" not in sys.modules


def test_a_changed_global_of_an_imported_module_breaks_it(folder: Path) -> None:
    dependency = load()
    sys.modules["extension"].FACTOR = 3  # type: ignore[attr-defined]
    assert not holds(dependency)


def test_a_changed_callee_in_another_imported_module_breaks_it(folder: Path) -> None:
    dependency = load()
    sys.modules["extension_part"].shift = len  # type: ignore[attr-defined]
    assert not holds(dependency)


def test_a_name_that_is_gone_breaks_it(folder: Path) -> None:
    dependency = load()
    del sys.modules["extension"].scale
    assert not holds(dependency)


def test_a_comment_in_an_imported_modules_file_does_not_break_it(folder: Path) -> None:
    dependency = load()
    (folder / "extension.py").write_text(EXTENSION + "# comment\n")
    assert holds(dependency)


@pytest.mark.parametrize("file", ["extension.py", "extension_part.py"])
def test_an_edited_file_of_a_module_that_is_not_imported_breaks_it(folder: Path, file: str) -> None:
    dependency = load()
    forget()
    (folder / file).write_text((folder / file).read_text().replace("return x", "return 2 * x") + "#\n")
    assert not holds(dependency)


def test_a_missing_file_breaks_it(folder: Path) -> None:
    dependency = load()
    forget()
    (folder / "extension_part.py").unlink()
    assert not holds(dependency)


def test_a_local_function_counts_with_the_function_around_it(folder: Path) -> None:
    implementation = importlib.import_module("extension").overload(1)
    dependency = dependency_of(implementation)
    assert dependency.qualname == "overload" and dependency.digest
    assert holds(dependency)
    sys.modules["extension"].FACTOR = 3  # type: ignore[attr-defined]
    assert not holds(dependency)


def test_a_function_that_no_name_leads_to_is_compared_by_file(folder: Path) -> None:
    module = importlib.import_module("extension")
    implementation = module.overload(1)
    del module.overload
    dependency = dependency_of(implementation)
    assert not dependency.digest
    assert holds(dependency)
    (folder / "extension.py").write_text(EXTENSION + "# comment\n")
    assert not holds(dependency)


def test_what_refers_to_hidden_things_is_compared_by_value_and_by_file(folder: Path) -> None:
    dependency = load("hidden")
    assert holds(dependency)
    source = (folder / "extension.py").read_text()
    (folder / "extension.py").write_text(source + "# comment\n")
    assert not holds(dependency)
    (folder / "extension.py").write_text(source)
    assert holds(dependency)
    sys.modules["extension"].opaque = 3  # type: ignore[attr-defined]
    assert not holds(dependency)


def test_a_file_edited_after_its_import_never_vouches_for_the_loaded_code(folder: Path) -> None:
    importlib.import_module("extension")
    (folder / "extension.py").write_text(EXTENSION.replace("shift(x) * FACTOR", "shift(x) + FACTOR"))
    dependency = load()
    assert holds(dependency)
    forget()
    assert not holds(dependency)


def test_a_module_in_a_package_is_found_without_importing_the_package(folder: Path) -> None:
    digest = dict(load().files)["extension"]
    forget()
    dependency = Dependency(
        module="extension_pkg.lower", qualname="scale", digest="", files=(("extension_pkg.lower", digest),)
    )
    assert holds(dependency)
    assert "extension_pkg" not in sys.modules
    (folder / "extension_pkg" / "lower.py").write_text("")
    assert not holds(dependency)


@pytest.mark.parametrize("module", ["nowhere", "nowhere.deep", "extension.deep", ""])
def test_a_module_that_is_nowhere_breaks_it(folder: Path, module: str) -> None:
    assert not holds(Dependency(module=module, qualname="f", digest="1", files=((module, "1"),)))


def test_a_module_in_a_zip_file_is_compared_by_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "bundle.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("extension.py", "def scale(x):\n    return x\n")
    monkeypatch.syspath_prepend(str(archive))
    dependency = load()
    forget()
    assert holds(dependency)
    assert not holds(Dependency(module="extension", qualname="scale", digest="", files=(("extension", "other"),)))
