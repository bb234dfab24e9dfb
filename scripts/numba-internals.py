"""Writes docs/numba-internals.md: everything of numba, numba-cuda and llvmlite that gridjit replaces or uses privately.

    PYTHONPATH=.view .venv/bin/python scripts/numba-internals.py > docs/numba-internals.md

What a compile replaces is found by compiling kernels; the rest is found in gridjit's own files.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

ROOT = Path(__file__).parents[1]
FOLDERS = ("src/gridjit", "cache", "compiler", "runtime")
HOMES = ("numba", "llvmlite", "_numba_cuda_redirector")
# Name in numba -> files of gridjit.
Rows = dict[str, set[str]]
INTRODUCTION = """# What gridjit uses inside numba-cuda

numba-cuda has no interface for most of what gridjit does. This page lists what gridjit replaces in numba-cuda, numba
and llvmlite, and the private names of theirs that it uses, each with the file that answers for it: where a release of
theirs can break gridjit. `scripts/numba-internals.py` writes the page, and a test fails where it is not true.

The replacements in the folder `faster/` also name the text of the functions that they were written for, and stay out
where it is another ([decision 23](decisions/0023-numbas-passes-made-faster.md)). `gridjit info` says so of a numba-cuda
that this gridjit does not know. Programs for which gridjit is numba.cuda have [a page of their own](numba-cuda.md).
"""


def main() -> None:
    """Print the page."""
    sys.stdout.write(page())


def page() -> str:
    """Return the page."""
    sections = (
        ("Replaced while a kernel is compiled, and put back", replaced_by_compiles()),
        ("Replaced for as long as the process lives", replaced_for_good()),
        ("Private names that are imported or read", private_names()),
    )
    return "\n".join((INTRODUCTION, *(f"## {title}\n\n{_table(rows)}\n" for title, rows in sections))).rstrip() + "\n"


def _table(rows: Rows) -> str:
    listed = (
        f"| `{name}` | {', '.join(f'`{file}`' for file in sorted(files))} |" for name, files in sorted(rows.items())
    )
    return "\n".join(("| Name | File |", "|---|---|", *listed))


def replaced_by_compiles() -> Rows:
    """Return the attributes that compiles of all kinds of kernels replace, with the files that do."""
    from gridjit.compiler.frontend.bindings import replacing
    from gridjit.compiler.frontend.bindings.types import parse_signature
    from gridjit.compiler.frontend.lower import lower
    from gridjit.compiler.values.options import Options
    from gridjit.compiler.values.target import Target
    from gridjit.compiler.view.config import ConfigView

    rows: Rows = defaultdict(set)
    undo_to = replacing.undo_to

    def noting(start: int) -> None:
        for one in replacing._changes[start:]:
            if isinstance(one, replacing._Replaced) and (name := _name_of(one.owner)).startswith(HOMES):
                rows[f"{name}.{one.name}"].add(_file_of(vars(one.owner).get(one.name), one.name))
        undo_to(start)

    kinds = (Options(), Options(debug=True, opt=False), Options(checks=("bounds", "uninitialized", "races")))
    host = Target(kind="host", arch="any")
    with mock.patch("gridjit.compiler.frontend.isolated.isolation.undo_to", noting):
        for options in kinds:
            lower(_kernel, parse_signature("void(float64[::1])"), options, host, (), ConfigView(None))
    return rows


def _kernel(x: Any) -> None:
    x[0] = abs(x[0]) * 2 + 1


def _name_of(owner: Any) -> str:
    """Return the name of a module or a class, or of an object's class."""
    if isinstance(owner, ModuleType):
        return owner.__name__
    kind = owner if isinstance(owner, type) else type(owner)
    return f"{kind.__module__}.{kind.__qualname__}"


def _file_of(value: Any, name: str) -> str:
    """Return the file of gridjit that put a value in the place of numba's."""
    inner = getattr(getattr(value, "fget", value), "__func__", getattr(value, "fget", value))
    homes = (getattr(inner, "__module__", None), type(inner).__module__)
    module = next((home for home in homes if isinstance(home, str) and home.startswith("gridjit.")), None)
    if module is not None:
        return _relative(Path(inspect.getfile(sys.modules[module])))
    return next(
        _relative(file) for file in _files() if f'"{name}"' in file.read_text() and "replac" in file.read_text()
    )


def replaced_for_good() -> Rows:
    """Return the attributes of numba's that gridjit's files assign to."""
    return _rows((name, file) for file, tree, named in _trees() for name in _assigned(tree, named))


def _assigned(tree: ast.Module, named: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else ()
        yield from (name for one in targets if (name := _dotted(one, named)) and isinstance(one, ast.Attribute))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr" and _dotted(node.args[0], named):
            yield f"{_dotted(node.args[0], named)}.{_text(node.args[1])}"


def private_names() -> Rows:
    """Return the private names of numba's that gridjit's files import or read."""
    return _rows((name, file) for file, tree, named in _trees() for name in _private(tree, named))


def _private(tree: ast.Module, named: dict[str, str]) -> Iterator[str]:
    found = {*named.values(), *filter(None, (_dotted(node, named) for node in ast.walk(tree)))}
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    found |= {text.replace(":", ".") for text in texts if text.startswith(HOMES) and "." in text and " " not in text}
    yield from (name for name in found if any(_is_private(part) for part in name.split(".")))


def _is_private(part: str) -> bool:
    return part.startswith("_") and not part.endswith("__")


def _dotted(node: ast.AST, named: dict[str, str]) -> str:
    """Return the full name of something of numba's that an expression names; "" for anything else."""
    if isinstance(node, ast.Name):
        return named.get(node.id, "")
    owner = _dotted(node.value, named) if isinstance(node, ast.Attribute) else ""
    return f"{owner}.{node.attr}" if owner and isinstance(node, ast.Attribute) else ""


def _text(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else "*"


def _trees() -> Iterator[tuple[str, ast.Module, dict[str, str]]]:
    """Yield each file of gridjit that names numba, with the names that it imports of numba's."""
    for file in _files():
        if any(home in (text := file.read_text()) for home in HOMES):
            tree = ast.parse(text)
            imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
            numbas = (one for one in imports if (one.module or "").partition(".")[0] in HOMES)
            yield (
                _relative(file),
                tree,
                {alias.asname or alias.name: f"{one.module}.{alias.name}" for one in numbas for alias in one.names},
            )


def _files() -> list[Path]:
    return [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]


def _relative(file: Path) -> str:
    return str(file.resolve().relative_to(ROOT))


def _rows(pairs: Iterable[tuple[str, str]]) -> Rows:
    found: Rows = defaultdict(set)
    for name, file in pairs:
        found[name].add(file)
    return found


if __name__ == "__main__":
    main()
