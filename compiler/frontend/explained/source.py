"""Source: the user's own text at a place, as a tree: its function, its statement, and the expressions in that."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import sys
from collections.abc import Iterator
from typing import Any, Final, TypeVar

from gridjit.base.values import dataclass
from gridjit.compiler.source.libraries import file_of


def lines_of(path: str) -> list[str]:
    """Return the lines of a file; none if it is nowhere."""
    if path not in linecache.cache and not os.path.exists(path):
        _ask_loader(path)
    return linecache.getlines(path)


def line_of(path: str, number: int) -> str:
    """Return a line, counted from 1; "" if there is none."""
    lines = lines_of(path)
    return lines[number - 1] if 0 < number <= len(lines) else ""


def _ask_loader(path: str) -> None:
    """Let linecache ask the loader of the module that was loaded from there for its lines."""
    for module in list(sys.modules.values()):
        if file_of(module) == path:
            linecache.lazycache(path, vars(module))
            return


Node = TypeVar("Node", bound=ast.AST)
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_MOST_LINES: Final = 20_000  # of a file that is parsed for a message


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The tree of a place's text. function: the innermost function around it; nodes: the parts of its statement.

    If the statement is not known, nodes are all of the function's. Outside of functions, as of a lambda, the line's.
    """

    path: str
    line: int
    function: FunctionNode | None = None
    nodes: tuple[ast.AST, ...] = ()

    @classmethod
    def at(cls, path: str, line: int, *, exact: bool) -> Source:
        """Return the source at a line; without a tree if the file is not there, or not Python any more."""
        lines = lines_of(path)
        if not 0 < line <= len(lines) <= _MOST_LINES:
            return cls(path=path, line=line)
        try:
            tree = _parsed("".join(lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return cls(path=path, line=line)
        function = innermost_function(tree, line)
        around = function or tree
        nodes = tuple(_at(around, line)) if exact or function is None else ()
        nodes = nodes or tuple(ast.walk(around) if function is not None else ())
        return cls(path=path, line=line, function=function, nodes=nodes)

    def of(self, kind: type[Node]) -> Iterator[Node]:
        """Yield the nodes of a kind, nodes on the place's own line first."""
        found = [node for node in self.nodes if isinstance(node, kind)]
        yield from sorted(found, key=lambda node: getattr(node, "lineno", self.line) != self.line)

    @property
    def local_names(self) -> frozenset[str]:
        """The names that the function assigns."""
        if self.function is None:
            return frozenset()
        names = (node for node in ast.walk(self.function) if isinstance(node, ast.Name | ast.arg))
        return frozenset(
            node.arg if isinstance(node, ast.arg) else node.id
            for node in names
            if isinstance(node, ast.arg) or isinstance(node.ctx, ast.Store)
        )

    @property
    def parameters(self) -> frozenset[str]:
        """The names of the function's parameters."""
        return (
            frozenset(node.arg for node in ast.walk(self.function.args) if isinstance(node, ast.arg))
            if (self.function is not None)
            else frozenset()
        )


def text_of(node: ast.AST | None) -> str:
    """Return an expression as Python writes it, on one line and not too long; "" for None."""
    if node is None:
        return ""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."


def subscript_of(source: Source, context: type[ast.expr_context]) -> ast.Subscript | None:
    """Return the first item of a line that is read (ast.Load), written (ast.Store) or deleted (ast.Del)."""
    found = tuple(source.of(ast.Subscript))
    return next((node for node in found if isinstance(node.ctx, context)), found[0] if found else None)


def innermost_function(tree: ast.AST, line: int) -> FunctionNode | None:
    """Return the innermost function whose lines a line is among; decorators count."""
    found: FunctionNode | None = None
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, FunctionNode):
            found = node
        waiting += (child for child in ast.iter_child_nodes(node) if _holds_statements(child) and _is_at(child, line))
    return found


def _holds_statements(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt | ast.excepthandler | ast.match_case)


def _is_at(node: ast.AST, line: int) -> bool:
    """Return whether a node covers a line; True for a node without lines."""
    last = getattr(node, "end_lineno", None)
    return last is None or _first_line(node) <= line <= last


def function_at(path: str, line: int) -> str:
    """Return the name of the innermost function around a line; "" if it is not known."""
    found = Source.at(path, line, exact=False).function
    return "" if found is None else found.name


def columns_of(path: str, node: ast.AST) -> tuple[int, int] | None:
    """Return where an expression is in the line that it begins in, counted in characters; None if it has no place."""
    if not isinstance(node, ast.expr | ast.stmt | ast.arg):
        return None
    text = line_of(path, node.lineno).encode()
    end = node.end_col_offset if node.end_lineno == node.lineno else None
    begin = len(text[: node.col_offset].decode(errors="replace"))
    return begin, begin + len(text[node.col_offset : end].decode(errors="replace").rstrip())


def _first_line(node: Any) -> int:
    first: int = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return first


@functools.lru_cache(maxsize=1)
def _parsed(text: str) -> ast.Module:
    """Return the tree of a file's text, which nobody changes; one error asks for it several times."""
    return ast.parse(text)


def _at(around: ast.AST, line: int) -> Iterator[ast.AST]:
    """Yield the parts of a line's statements, without the statements in them that are elsewhere."""
    for node in ast.walk(around):
        if isinstance(node, ast.stmt) and node is not around:
            header = tuple(_header(node))
            if node.lineno <= line <= max(_last_line(one) for one in (header[1:] or header)):
                yield from header


def _last_line(node: ast.AST) -> int:
    return getattr(node, "end_lineno", None) or 0


def _header(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement, without the statements in it."""
    yield statement
    waiting = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))
