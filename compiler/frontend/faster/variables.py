"""variables: the variables that a statement uses are listed by the classes of its parts, which are inspected once.

numba-cuda lists them for each statement in a dozen passes. It tests whether each part is a variable, an instruction, a
list and so on, each time for the classes of two libraries, which takes long for abstract classes. The answer is the
same for all parts of one class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gridjit.compiler.frontend.faster.piece import Piece, Replace

# Kinds of parts of a statement.
_VARIABLE, _INSTRUCTION, _SEQUENCE, _MAPPING, _EXPRESSION, _YIELD, _NOTHING, _UNKNOWN = range(8)
# The parts of each kind of statement, in the order in which numba-cuda visits them; the first kind that fits counts.
_PARTS = (
    ("assign_types", ("target", "value")),
    ("arg_types", ("name",)),
    ("return_types", ("value",)),
    ("raise_types", ("exception",)),
    ("branch_types", ("cond",)),
    ("jump_types", ("target",)),
    ("del_types", None),
    ("delattr_types", ("target", "attr")),
    ("setattr_types", ("target", "attr", "value")),
    ("delitem_types", ("target", "index")),
    ("staticsetitem_types", ("target", "index_var", "value")),
    ("setitem_types", ("target", "index", "value")),
    ("print_types", None),
)


def _install(replace: Replace) -> None:
    from numba.cuda.core import ir, ir_utils

    listed = _Classified(_as_listed)

    def rec_list_vars(_: Any, value: Any) -> list[Any]:
        found: list[Any] = []
        _list((value,), found, listed)
        return found

    replace(ir.Inst, "_rec_list_vars", rec_list_vars)
    visited, parts = _Classified(_as_visited), _Classified(_parts_of)

    def compat_list_vars_stmt(stmt: Any) -> list[Any]:
        found: list[Any] = []
        names = parts[type(stmt)]
        if names is None or ir_utils.visit_vars_extensions or not _visit_all(stmt, names, found, visited):
            return original(stmt)  # type: ignore[no-any-return]  # numba is untyped
        return found or stmt.list_vars()

    original = replace(ir_utils, "compat_list_vars_stmt", compat_list_vars_stmt)


class _Classified(dict[type, Any]):
    """Results of `look` by class; it looks at each once in a compile."""

    def __init__(self, look: Callable[[type], Any]) -> None:
        super().__init__()
        self._look = look

    def __missing__(self, kind: type) -> Any:
        self[kind] = found = self._look(kind)
        return found


def _as_listed(kind: type) -> int:
    from numba.cuda.core import ir

    if issubclass(kind, ir.var_types):
        return _VARIABLE
    if issubclass(kind, ir.inst_types):
        return _INSTRUCTION
    if issubclass(kind, list | tuple):
        return _SEQUENCE
    return _MAPPING if issubclass(kind, dict) else _NOTHING


def _list(values: Iterable[Any], found: list[Any], listed: _Classified) -> None:
    for value in values:
        what: int = listed[type(value)]
        if what == _VARIABLE:
            found.append(value)
        elif what == _INSTRUCTION:
            found.extend(value.list_vars())
        elif what != _NOTHING:
            _list(value if what == _SEQUENCE else value.values(), found, listed)


def _as_visited(kind: type) -> int:
    from numba.cuda.core import ir

    if issubclass(kind, ir.var_types):
        return _VARIABLE
    if issubclass(kind, list | tuple):
        return _SEQUENCE if kind in (list, tuple) else _UNKNOWN  # numba makes a plain one of it
    if issubclass(kind, ir.expr_types):
        return _EXPRESSION
    return _YIELD if issubclass(kind, ir.yield_types) else _NOTHING


def _parts_of(kind: type) -> tuple[str, ...] | None:
    from numba.cuda.core import ir

    return next((names for group, names in _PARTS if issubclass(kind, getattr(ir, group))), ())


def _visit_all(stmt: Any, names: tuple[str, ...], found: list[Any], visited: _Classified) -> bool:
    return all(_visit(getattr(stmt, name), found, visited) for name in names)


def _visit(node: Any, found: list[Any], visited: _Classified) -> bool:
    """Add the variables in a part of a statement; return whether all of it is known."""
    what: int = visited[type(node)]
    if what == _VARIABLE:
        found.append(node)
    elif what == _EXPRESSION:
        return all(_visit(one, found, visited) for one in node._kws.values())
    elif what == _SEQUENCE:
        return all(_visit(one, found, visited) for one in node)
    elif what == _YIELD:
        return _visit(node.value, found, visited)
    return what != _UNKNOWN


PIECE = Piece(
    name="variables",
    written_for={
        "numba.cuda.core.ir:Inst._rec_list_vars": ("20 lines, a03161a79f1e3677",),
        "numba.cuda.core.ir_utils:compat_list_vars_stmt": ("7 lines, 7cd9d49805cb1306",),
        "numba.cuda.core.ir_utils:visit_vars_stmt": ("49 lines, 13b468c7a77444e0",),
        "numba.cuda.core.ir_utils:visit_vars_inner": ("18 lines, 6633679483c7176f",),
        "numba.cuda.core.ir_utils:_collect_vars_callback": ("3 lines, 611720329212597a",),
    },
    install=_install,
)
