"""Objects that tests and their runs share: each is what LLVM makes of that text, and whoever looks at LLVM sees it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gridjit.compiler.targets.host import optimizing
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.runtime.native import object_code
from tests import known_objects
from tests.programs import run_python

TEXT = "define i32 @entry(i32 %x) {{\n  %y = add i32 %x, {}\n  ret i32 %y\n}}\n"


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The texts that LLVM makes objects of; none is known before."""
    monkeypatch.setenv(known_objects.FOLDER, str(tmp_path))
    texts: list[str] = []
    original = known_objects._final

    def final(text: str, *how: Any, **options: Any) -> llvm.Module:
        texts.append(text)
        return original(text, *how, **options)

    monkeypatch.setattr(known_objects, "_final", final)
    return texts


def object_of(text: str, level: int = 3) -> bytes:
    return llvm.emit(optimizing._final(text, host_target(), level, abreast=True), host_target())


def test_an_equal_text_is_given_to_llvm_once_and_is_what_it_makes_of_it(made: list[str]) -> None:
    first, second = TEXT.format(1), TEXT.format(2)
    objects = [object_of(text) for text in (first, second, first)]
    assert made == [first, second]
    assert objects[0] == objects[2] != objects[1]
    module = llvm.parse(first)
    llvm.optimize(module, host_target(), 3)
    assert llvm.emit(module, host_target()) == objects[0]


def test_a_native_function_is_made_by_llvm_once_and_again_where_a_test_replaces_llvm(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts: list[str] = []
    monkeypatch.setattr(known_objects, "_compile_text", lambda text: texts.append(text) or text.encode())
    first, second = TEXT.format(1), TEXT.format(2)
    objects = [object_code.compile_text(text) for text in (first, second, first)]
    assert objects == [first.encode(), second.encode(), first.encode()]
    assert texts == [first, second]
    monkeypatch.setattr(llvm, "optimize", None)
    object_code.compile_text(first)
    assert texts == [first, second, first]


def test_another_target_or_way_to_optimize_is_another_object(made: list[str]) -> None:
    other = host_target().__class__(kind="host", arch=host_target().arch)
    object_of(TEXT.format(1))
    object_of(TEXT.format(1), level=1)
    llvm.emit(optimizing._final(TEXT.format(1), other, 3, abreast=True), other)
    llvm.emit(optimizing._final(TEXT.format(1), other, 3, abreast=False), other)
    assert len(made) == 4


@pytest.mark.parametrize("name", ["optimize", "emit"])
def test_a_test_that_replaces_a_function_of_llvms_has_it_called(
    made: list[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    object_of(TEXT.format(1))
    original, called = getattr(llvm, name), []

    def noted(*arguments: Any, **how: Any) -> Any:
        called.append(name)
        return original(*arguments, **how)

    monkeypatch.setattr(llvm, name, noted)
    object_of(TEXT.format(1))
    assert called == [name]
    assert len(made) == 2


def test_where_no_object_can_be_kept_llvm_makes_each(
    made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(known_objects.FOLDER, str(tmp_path / "gone"))
    assert object_of(TEXT.format(1)) == object_of(TEXT.format(1))
    assert len(made) == 2


def test_what_is_kept_in_part_or_no_object_is_made_again(made: list[str], tmp_path: Path) -> None:
    first = object_of(TEXT.format(1))
    (known,) = tmp_path.iterdir()
    for torn in (known.read_bytes()[:-1], b""):
        known.write_bytes(torn)
        assert object_of(TEXT.format(1)) == first
    assert len(made) == 3


@pytest.mark.parametrize("changed", ["version", "code"])
def test_another_llvm_or_code_that_calls_it_makes_another_object(
    made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, changed: str
) -> None:
    object_of(TEXT.format(1))
    if changed == "version":
        monkeypatch.setattr("llvmlite.binding.llvm_version_info", (1, 0, 0))
    else:
        (tmp_path / "other.py").write_text("# how LLVM is called")
        monkeypatch.setattr(llvm, "__file__", str(tmp_path / "other.py"))
    monkeypatch.setattr(known_objects, "_makers", known_objects._makers.__wrapped__)
    object_of(TEXT.format(1))
    assert len(made) == 2


def test_what_was_not_used_for_a_week_is_forgotten(made: list[str], tmp_path: Path) -> None:
    for number in (1, 2):
        object_of(TEXT.format(number))
        for path in tmp_path.iterdir():
            os.utime(path, (1, 1))
    object_of(TEXT.format(1))
    known_objects.forget_unused(tmp_path)
    for number in (1, 2):
        object_of(TEXT.format(number))
    assert made == [TEXT.format(number) for number in (1, 2, 2)]


def test_assembly_can_be_read_of_a_known_object() -> None:
    object_of(TEXT.format(1))
    assert "entry:" in llvm.assembly(optimizing._final(TEXT.format(1), host_target(), 3, abreast=True), host_target())


PROGRAM = f"""
import sys
from gridjit.compiler.targets.host import optimizing
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
text = {TEXT.format(1)!r}
module = optimizing._final(text, host_target(), 3, abreast=True)
print(llvm.emit(module, host_target()) == b"known", "tests" in sys.modules)
"""


def test_programs_take_what_is_known_unless_their_environment_names_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    object_of(TEXT.format(1))
    (known,) = tmp_path.iterdir()
    known_objects.keep(known, b"known")
    assert run_python("-c", PROGRAM).stdout == "True False\n"
    monkeypatch.delenv(known_objects.FOLDER)
    assert run_python("-c", PROGRAM).stdout == "False False\n"
