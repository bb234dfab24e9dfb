"""Library modules are leaves; a user's module is not, whatever it is called."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gridjit.compiler.key.fingerprint import SourceFingerprint, fingerprint
from gridjit.compiler.source.libraries import is_library, is_numbas


@pytest.mark.parametrize("name", ["math", "os.path", "json", "builtins", "numba.cuda.stubs", "numpy", "gridjit.static"])
def test_what_the_toolchain_covers_is_a_library(name: str) -> None:
    sys.modules.setdefault("json", __import__("json"))
    assert is_library(name)


@pytest.mark.parametrize("name", ["", "__main__", "stats", "numbas", "cuda", "cuda.coop", "_pytest.fixtures"])
def test_everything_else_is_not(name: str) -> None:
    assert not is_library(name)


class Slots:
    __slots__ = ("name",)


def test_a_class_of_c_code_with_a_descriptor_in_place_of_its_module_is_of_the_module_that_c_names() -> None:
    assert is_library(re.Pattern.__dict__["pattern"])  # such as older Cythons' functions have
    for other in (Slots.__dict__["name"], 5, None, ["numpy"]):
        assert not is_library(other)


@pytest.mark.parametrize("folder", ["project", "lib/python3.11/site-packages"])
def test_a_users_module_with_a_standard_name_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    module = ModuleType("queue")
    module.__file__ = str(tmp_path / folder / "queue.py")
    monkeypatch.setitem(sys.modules, "queue", module)
    assert not is_library("queue")


def test_numba_cudas_tests_are_programs_though_they_come_in_its_package() -> None:
    assert is_library("numba.cuda.testing") and is_numbas("numba.cuda.testing")
    for name in ("numba.cuda.tests.cudapy.test_inline", "numba.cuda.tests.support"):
        assert not is_library(name) and not is_numbas(name)


@pytest.mark.parametrize("module", ["numba.cuda.tests.cudapy.test_mine", "mine"])
def test_a_callee_in_numba_cudas_tests_counts_as_one_of_any_program(module: str) -> None:
    def kernel_of(body: str) -> SourceFingerprint:
        space: dict[str, Any] = {"__name__": module}
        exec(f"def helper(x):\n    {body}\ndef kernel(x):\n    helper(x)\n", space)
        return fingerprint(space["kernel"])

    assert kernel_of("x[0] = 1") == kernel_of("x[0] = 1") != kernel_of("x[0] = 2")
