"""What the modules of a package import: at their top, lazily, and by strings; not what only type checkers read.

A module that imports by a name it computes imports every module of the package that a string in it names.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.house.trees import tree_of

_BY_NAME = ("import_module", "__import__", "find_spec")
_READ = (ast.Import, ast.ImportFrom, ast.Call, ast.Constant)


@dataclass(frozen=True)
class Module:
    """A module of the package: its name, what is written in it, and the package that relative imports start from."""

    name: str
    nodes: tuple[ast.AST, ...]
    package: str


def modules(folders: Mapping[str, Path]) -> dict[str, Module]:
    """Return the modules by name. folders: by the names of the packages that they are."""
    found = {}
    for prefix, folder in folders.items():
        for file in sorted(folder.rglob("*.py")):
            parts = (prefix, *file.relative_to(folder).with_suffix("").parts)
            whole = file.name == "__init__.py"
            name = ".".join(parts[:-1] if whole else parts)
            package = name if whole else name.rpartition(".")[0]
            found[name] = Module(name, _nodes(tree_of(file)), package)
    return found


def inside(known: Mapping[str, Module]) -> dict[str, set[str]]:
    """Return, for each module, the modules of the package that it imports."""
    names = set(known)
    return {
        name: {one for given in _imported(module, names) if (one := _of(given, names)) is not None} - {name}
        for name, module in known.items()
    }


def outside(known: Mapping[str, Module]) -> dict[str, set[str]]:
    """Return, for each module, the top-level names of what is neither of the package nor of Python that it imports."""
    inside = {name.partition(".")[0] for name in known} | sys.stdlib_module_names
    inside |= {"tomllib"}  # which Python 3.10 lacks
    found = {}
    for name, module in known.items():
        tops = {given.partition(".")[0] for given in _imported(module, set(known))} - inside
        found[name] = {top for top in tops if top and not top.startswith("_")}  # Python's own, of any version
    return found


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of modules that all reach each other, the largest first."""
    edges = _within_circles(edges)
    reach = {name: _reached(name, edges) for name in edges}
    groups = {
        frozenset(other for other in reach[name] if name in reach[other]) for name in edges if name in reach[name]
    }
    return sorted((sorted(group) for group in groups), key=lambda group: (-len(group), group))


def _within_circles(edges: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Return the edges without modules that lead to no circle, time and again: of most trees, that leaves none."""
    left = {name: set(others) for name, others in edges.items()}
    while ends := {name for name, others in left.items() if not others}:
        left = {name: others - ends for name, others in left.items() if name not in ends}
    return left


def _reached(name: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    found: set[str] = set()
    waiting = [*edges[name]]
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += edges[one]
    return found


def _of(given: str, names: set[str]) -> str | None:
    """Return the module that an import of `given` is of: `package.module.name` is of `package.module`."""
    while given and given not in names:
        given = given.rpartition(".")[0]
    return given or None


def _imported(module: Module, names: set[str]) -> Iterator[str]:
    """Yield the full names that a module imports."""
    computed = False
    for node in module.nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, module.package)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _name(node.func) in _BY_NAME and node.args:
            given = node.args[0]
            computed = computed or not isinstance(given, ast.Constant)
            yield from _named(given, names)
    if computed:
        constants = [node.value for node in module.nodes if isinstance(node, ast.Constant)]
        yield from names & {value for value in constants if isinstance(value, str)}


def _named(given: ast.expr, names: set[str]) -> Iterator[str]:
    """Yield what a string names; of one that is put together, all that it may name of the package."""
    if isinstance(given, ast.Constant):
        yield str(given.value)
    elif isinstance(given, ast.JoinedStr) and given.values and isinstance(given.values[0], ast.Constant):
        start = str(given.values[0].value)
        if not start.startswith(tuple(names)):
            yield start
        yield from (name for name in names if name.startswith(start))


def _base(node: ast.ImportFrom, package: str) -> str:
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1] if node.level else []
    return ".".join([*above, *([node.module] if node.module else [])])


def _name(function: ast.expr) -> str:
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


@functools.cache
def _nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return the nodes of a tree that can import, and those of texts; none of what only type checkers read."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _READ):
            found.append(node)
        inner = [*ast.iter_child_nodes(node)]
        if isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING":
            inner = [node.test, *node.orelse]
        waiting += inner
    return tuple(found)
