"""Imports run one way, in no circle, and other libraries come in through named walls: lazily and by strings, too."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.house.imports import Module, circles, inside, modules, outside
from tests.house.trees import ROOT, trees_with

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDERS: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]
# All layers may use the base, which uses nothing but itself. Everything else that is in no folder is the package's own.
LAYERS = {"gridjit.base": 0, "gridjit.cache": 1, "gridjit.compiler": 1, "gridjit.runtime": 2}
# Other libraries, and the modules or folders that may import them. NumPy is everybody's.
NUMBA = (
    "gridjit.compiler.frontend",
    "gridjit.runtime.installed",
    "gridjit.runtime.simulated.under_numba",
    "gridjit.testing",
)
WALLS = {
    "numba": NUMBA,
    "llvmlite": (
        "gridjit.compiler.frontend.bindings.foreign_types",
        "gridjit.compiler.frontend.bindings.vocabulary",
        "gridjit.compiler.targets.host.llvm.libllvm",
        "gridjit.compiler.targets.host.llvm.modules",
        "gridjit.compiler.targets.ptx.libdevice",
        "gridjit.compiler.targets.ptx.machine",
        "gridjit.compiler.targets.ptx.nvptx",
    ),
    "cuda": (
        "gridjit.compiler.frontend.bindings.bootstrap",
        "gridjit.compiler.targets.ptx.toolkit",
        "gridjit.runtime.devices.cuda.callbacks",
        "gridjit.runtime.devices.cuda.api.driver",
    ),
    "diskcache": ("gridjit.cache.index",),
    "obstore": ("gridjit.cache.remote.over_objects",),
    "redis": ("gridjit.cache.remote.over_redis",),
    "cupy": ("gridjit.runtime.args.cupy",),
    "cupy_backends": ("gridjit.runtime.args.cupy",),
    "ml_dtypes": ("gridjit.compiler.values.item_types",),
    "PyInstaller": ("gridjit.freezing",),
    "pytest": ("gridjit.testing",),
    "rich": ("gridjit.commands",),
    "cryptography": ("gridjit.cache.remote.writers",),
    "distributed": ("gridjit.fleet.dask",),
    "ray": ("gridjit.fleet.ray",),
    "mpi4py": ("gridjit.fleet.ranks",),
    "cloudpickle": ("gridjit.runtime.numba_names.serializer",),
    "tomli": ("gridjit.runtime.environment.files",),
    "torch": ("gridjit.fleet.ranks", "gridjit.runtime.args.tensors"),
    "yaml": ("gridjit.compiler.key.numba_settings",),
}


_VARIABLES = {"environ", "environb", "getenv"}
# Where the environment is read: gridjit's settings in one place, numba's and the toolkit's where the key is made.
ENVIRONMENT = {
    "gridjit.runtime.environment.settings",
    "gridjit.compiler.key.numba_settings",
    "gridjit.compiler.key.toolchain",
    # Whether the variables that extensions read while they were loaded are as they were.
    "gridjit.compiler.recorded.everybody",
    # Whether numba-cuda is its simulator, and the driver's bindings have streams of each thread: neither can be had.
    "gridjit.compiler.frontend.bindings.bootstrap",
    "gridjit.runtime.devices.cuda.api.plain_api",
    # What compiles for another process has that one's environment; so have the processes of a demonstration.
    "gridjit.runtime.pool.environment",
    "gridjit.runtime.workers.compile_server",
    "gridjit.runtime.workers.conditions",
    "gridjit.runtime.pool.pool",
    "gridjit.runtime.workers.worker",
    "gridjit.commands.demo",
    # What a program is started with, and by what it knows that at its start.
    "gridjit.commands.run",
    "gridjit.starting.sitecustomize",
    # It prints which variables are set.
    "gridjit.commands.info",
}


@pytest.fixture(scope="module")
def known() -> dict[str, Module]:
    """The modules of the package."""
    return modules({name: ROOT / folder for name, folder in FOLDERS.items()})


@pytest.fixture(scope="module")
def edges(known: dict[str, Module]) -> dict[str, set[str]]:
    """What each of them imports of the others."""
    return inside(known)


@pytest.fixture(scope="module")
def libraries(known: dict[str, Module]) -> dict[str, set[str]]:
    """What each of them imports of other libraries."""
    return outside(known)


def layer(name: str) -> tuple[int, str]:
    """Return how high a module is, and which of the layers of that height it is in."""
    return next(((n, prefix) for prefix, n in LAYERS.items() if is_in(name, prefix)), (3, "package"))


def is_in(name: str, where: str) -> bool:
    return name == where or name.startswith(f"{where}.")


def test_no_import_is_in_a_circle(edges: dict[str, set[str]]) -> None:
    assert circles(edges) == []


def test_no_import_climbs_or_goes_to_the_neighbour(edges: dict[str, set[str]]) -> None:
    wrong = [
        f"{name} imports {other}"
        for name, others in edges.items()
        for other in others
        if layer(other) != layer(name) and layer(other)[0] >= layer(name)[0]
    ]
    assert sorted(wrong) == []


def test_other_libraries_are_imported_behind_their_walls_only(libraries: dict[str, set[str]]) -> None:
    wrong = [
        f"{name} imports {library}"
        for name, imported in libraries.items()
        for library in imported - {"numpy"}
        if not any(is_in(name, wall) for wall in WALLS.get(library, ()))
    ]
    assert sorted(wrong) == []


def test_the_environment_is_read_where_the_architecture_says() -> None:
    readers = {
        f"{package}.{'.'.join(file.relative_to(ROOT / folder).with_suffix('').parts)}"
        for package, folder in FOLDERS.items()
        for file, tree in trees_with("env", sorted((ROOT / folder).rglob("*.py")))
        if uses_environment(tree)
    }
    assert {name for name in readers if not is_in(name, "gridjit.testing")} == ENVIRONMENT


def uses_environment(tree: ast.Module) -> bool:
    """Return whether a module names the variables of the environment."""
    nodes = list(ast.walk(tree))
    taken = {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "os" for alias in node.names
    }
    named = {ast.unparse(node).removeprefix("os.") for node in nodes if isinstance(node, ast.Attribute)}
    return not _VARIABLES.isdisjoint(taken | named)


@pytest.mark.parametrize("text", ["os.environ.get('A')", "os.getenv('A')", "from os import environ", "f(os.environ)"])
def test_a_look_at_the_environment_is_seen(text: str) -> None:
    assert uses_environment(ast.parse(text))
    assert not uses_environment(ast.parse(text.replace("os", "my")))


def test_every_wall_is_one(libraries: dict[str, set[str]]) -> None:
    importers = {(library, name) for name, imported in libraries.items() for library in imported}
    unused = [
        (library, wall)
        for library, walls in WALLS.items()
        for wall in walls
        if not any(other == library and is_in(name, wall) for other, name in importers)
    ]
    assert unused == []


def test_a_key_is_made_without_the_front_end_unless_numba_has_to_be_asked(edges: dict[str, set[str]]) -> None:
    key, front_end = "gridjit.compiler.key", "gridjit.compiler.frontend"
    found = {(name, other) for name, others in edges.items() for other in others if is_in(name, key)}
    imported = {(name, other) for name, other in found if is_in(other, front_end)}
    assert imported <= {(f"{key}.numba_settings", f"{front_end}.bindings.bootstrap")}


@pytest.mark.parametrize(
    "text",
    [
        "import house.b",
        "from house import b",
        "from . import b",
        "from .b import thing",
        "def later():\n    from house.b import thing",
        "import importlib\ndef later():\n    importlib.import_module('house.b')",
        "import importlib\ndef later(name):\n    importlib.import_module(f'house.{name}')",
        "import importlib\nHOMES = {'thing': 'house.b'}\ndef later(name):\n    importlib.import_module(HOMES[name])",
        "__import__('house.b')",
    ],
)
def test_an_import_counts_however_it_is_written(tmp_path: Path, text: str) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text("def later():\n    from house import a")
    assert ["house.a", "house.b"] in circles(inside(modules({"house": tmp_path})))


def test_what_only_type_checkers_read_is_not_an_import(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from house import b")
    (tmp_path / "b.py").write_text("from house import a")
    assert inside(modules({"house": tmp_path})) == {"house.a": set(), "house.b": {"house.a"}}


@pytest.mark.parametrize("text", ["import llvmlite.binding", "importlib.import_module('llvmlite')", "f'{1}'"])
def test_another_library_counts_however_it_is_imported(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.py").write_text(text)
    assert outside(modules({"house": tmp_path}))["house.a"] == ({"llvmlite"} if "llvmlite" in text else set())
