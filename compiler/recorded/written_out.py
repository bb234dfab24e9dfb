"""written_out: whether a module's source gives a name a literal value, so that every import of it gives the same."""

from __future__ import annotations

import ast
import functools
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from gridjit.compiler.key.source.files import read_regular
from gridjit.compiler.key.source.libraries import file_of


def is_written_out(module: str, path: str) -> bool:
    """Return whether a loaded module's source gives a name of it, or of a class in it, a constant, only once."""
    return path in constants_of(module)


def constants_of(module: str) -> Mapping[str, object]:
    """Return the constants that a loaded module's source gives names, each only once."""
    file = file_of(sys.modules.get(module))
    return _constants_of(file) if isinstance(file, str) else {}


@functools.lru_cache(maxsize=256)
def _constants_of(file: str) -> Mapping[str, object]:
    try:
        tree = ast.parse(read_regular(file))
        given = {name: value for name, value in _given(tree.body, "") if value is not None and _is_constant(value)}
        constants = {name: ast.literal_eval(value) for name, value in given.items()}
    except (OSError, SyntaxError, ValueError, RecursionError):
        return {}
    stored = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return {name: value for name, value in constants.items() if stored[name.rpartition(".")[2]] == 1}


def _given(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield the names that the statements of a module or class give values, with these."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    yield prefix + target.id, statement.value
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield prefix + statement.target.id, statement.value
        elif isinstance(statement, ast.ClassDef):
            yield from _given(statement.body, f"{prefix}{statement.name}.")


def _is_constant(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.USub) and _is_constant(value.operand)
    if isinstance(value, ast.Tuple):
        return all(map(_is_constant, value.elts))
    return isinstance(value, ast.Constant)
