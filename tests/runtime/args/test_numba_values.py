"""Arguments that only numba knows, in a process of their own: what an extension registers is in every later key."""

from __future__ import annotations

import ast
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.programs import run_python

CASES = Path(__file__).with_name("foreign_cases.py")
NAMES = [
    found.name
    for found in ast.parse(CASES.read_text()).body
    if isinstance(found, ast.FunctionDef) and found.name.startswith("test_")
]


@pytest.fixture(scope="module")
def failures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Run the cases; return what failed of each, by name."""
    report = tmp_path_factory.mktemp("foreign") / "report.xml"
    command = ("-m", "pytest", "-q", "-p", "pytest_timeout", "-p", "no:cacheprovider", f"--junitxml={report}")
    # Importing the other plugins takes longer than the cases.
    done = run_python(*command, CASES, env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        texts = [part.text or "" for part in case if part.tag in ("failure", "error")]
        found.setdefault(case.attrib["name"].partition("[")[0], []).extend(texts)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_numbas_own_tests_of_its_values_pass(failures: dict[str, list[str]], name: str) -> None:
    assert failures[name] == []


SIZED = """
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
numba_cuda()
from numba.cuda import types
from numba.cuda.extending import core_models, overload_attribute, register_model, typeof_impl

class Sized:
    def __init__(self, size):
        self.size = size

class SizedType(types.Opaque):
    def __init__(self, size):
        self.size = size
        super().__init__("Sized")

    @property
    def key(self):
        return (self.size,)

register_model(SizedType)(core_models.OpaqueModel)
typeof_impl.register(Sized)(lambda value, context: SizedType(value.size))

@overload_attribute(SizedType, "size", target="cuda")
def size(kind):
    found = kind.size
    return lambda kind: found
"""
LAUNCHES = """
import gridjit, numpy as np, sized

@gridjit.jit(target="host")
def kernel(out, value):
    out[0] = value.size

out, found = np.zeros(1), []
for size in (3, 4, 3):
    kernel[1, 1](out, sized.Sized(size))
    found.append(int(out[0]))
print(found, kernel.stats.compiles)
"""


def test_another_process_finds_code_for_an_extensions_type_by_its_key_and_not_after_an_edit(tmp_path: Path) -> None:
    def launches() -> str:
        environment = os.environ | {"GRIDJIT_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = run_python(tmp_path / "main.py", env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    (tmp_path / "main.py").write_text(LAUNCHES)
    (tmp_path / "sized.py").write_text(SIZED)
    assert [launches(), launches()] == ["[3, 4, 3] 2", "[3, 4, 3] 0"]
    (tmp_path / "sized.py").write_text(SIZED.replace("found = kind.size", "found = kind.size + 10"))
    assert launches() == "[13, 14, 13] 2"
