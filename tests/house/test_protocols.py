"""Objects of ours are asked for what they declare; runtime does not look whether they have it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gridjit.runtime.args.handler import ArgumentHandler
from gridjit.runtime.devices.base import Capture, Device, LoadedKernel, Runnable
from gridjit.runtime.environment.settings import Settings
from gridjit.runtime.kernel import Kernel
from gridjit.runtime.launch.configured import ConfiguredKernel
from gridjit.runtime.launch.launcher import Launcher
from gridjit.runtime.launch.ready import ConfigKey, Ready, ReadyTable
from gridjit.runtime.memory.space import Space
from gridjit.runtime.process.session import Session
from gridjit.runtime.queues.streams import Timeline
from tests.house.trees import PRODUCT, ROOT, trees_with

OURS = (
    Device,
    LoadedKernel,
    Capture,
    Runnable,
    Space,
    Timeline,
    ArgumentHandler,
    Launcher,
    Ready,
    ReadyTable,
    ConfigKey,
    Kernel,
    ConfiguredKernel,
    Session,
)
# What a kernel has of its own, beside what its classes say.
IN_KERNELS = {
    "_ahead",
    "_warned_of_copies",
    "background",
    "hold_gil",
    "declared",
    "py_func",
    "marks",
    "generation",
    "parameter_names",
}


def declared() -> set[str]:
    """Return the names that our own objects have, but for Python's."""
    names = {name for cls in (*OURS, Settings) for base in cls.__mro__[:-1] for name in vars(base)} | IN_KERNELS
    return {name for name in names if not name.startswith("__")} - {"name"}  # which other libraries' objects have too


def probes(tree: ast.AST, of: str = "") -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each hasattr, and each getattr with an answer for what is not there.

    of: the object that is asked; any, if empty.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            if of and ast.unparse(node.args[0]) != of:
                continue
            wanted = {"hasattr": 2, "getattr": 3}.get(node.func.id)
            if len(node.args) == wanted and isinstance(node.args[1], ast.Constant):
                yield node.lineno, str(node.args[1].value)


def test_nobody_looks_for_what_our_own_objects_declare() -> None:
    names = declared()
    found = [
        f"{file.relative_to(ROOT)}:{line} looks for {name}"
        for file, tree in trees_with("attr", sorted((ROOT / "runtime").rglob("*.py")))
        for line, name in probes(tree)
        if name in names
    ]
    assert found == []


def test_nobody_looks_whether_an_object_has_what_its_own_class_gives_it() -> None:
    looked = trees_with("attr(self", PRODUCT)
    found = [f"{file}:{line} looks for {name}" for file, tree in looked for line, name in own_probes(tree)]
    assert found == []


def test_what_a_thread_has_of_its_own_is_declared_by_a_class() -> None:
    assert [str(file) for file, tree in trees_with("local", PRODUCT) if has_undeclared_locals(tree)] == []


def has_undeclared_locals(tree: ast.Module) -> bool:
    """Return whether a thread-local object is made of threading's class itself, so that who uses it has to probe it."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return any(ast.unparse(func) in ("threading.local", "_thread._local") for func in calls)


def test_thread_locals_are_seen_where_they_are_made() -> None:
    assert has_undeclared_locals(ast.parse("own = threading.local()"))
    assert not has_undeclared_locals(ast.parse("class Own(threading.local):\n    quiet = False\nown = Own()"))


def own_probes(tree: ast.Module) -> list[tuple[int, str]]:
    """Return the probes of self."""
    return list(probes(tree, of="self"))


def test_a_probe_of_its_own_object_is_found() -> None:
    tree = ast.parse("hasattr(self, 'a'); getattr(self, 'b', 0); getattr(self.other, 'c', 0)")
    assert own_probes(tree) == [(1, "a"), (1, "b")]


def test_a_probe_is_found_however_it_is_asked() -> None:
    text = "hasattr(x, 'space'); getattr(x, 'device', None); getattr(x, 'device'); getattr(x, name, None)"
    assert [name for _, name in probes(ast.parse(text))] == ["space", "device"]
