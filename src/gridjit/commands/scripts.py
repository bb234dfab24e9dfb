"""Scripts: a script's module as `python script.py` would make it, without the script's actions as the main program.

Functions get the names, files and lines that they have when the script is run, so that the script finds in the cache
what is compiled here. As in a process that `multiprocessing` starts, everything outside
`if __name__ == "__main__":` runs.
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
import traceback
from types import ModuleType
from typing import Any

from gridjit.compiler.values.errors import GridjitError

_scripts: dict[str, ModuleType] = {}
_NOT_THE_USERS = (os.path.dirname(os.path.abspath(__file__)), os.path.dirname(importlib.__file__))


def is_script(name: str) -> bool:
    """Return whether a name is a file's, and not a module's."""
    return name.endswith(".py")


def script(path: str) -> ModuleType:
    """Return the module of a script, which is __main__ from now on; raises GridjitError."""
    whole = os.path.realpath(path)
    if whole not in _scripts:
        code = _code(path)
        made = ModuleType("__main__")
        vars(made).update(__file__=os.path.abspath(path), __builtins__=__builtins__, __cached__=None)
        sys.modules["__main__"] = made
        sys.path.insert(0, os.path.dirname(whole))
        try:
            exec(code, vars(made))
        except (Exception, SystemExit) as error:  # a user's script may raise anything
            said = f"script {path} cannot be imported: {type(error).__name__}: {error}{line_of(error)}"
            raise GridjitError(said) from error
        _scripts[whole] = made
    sys.modules["__main__"] = _scripts[whole]
    return _scripts[whole]


def line_of(error: BaseException) -> str:
    """Return where the code that was imported raised an error, outside of Python's own importing: ", at file:line"."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    own = [one for one in frames if not one[0].startswith("<") and os.path.dirname(one[0]) not in _NOT_THE_USERS]
    return f", at {own[-1][0]}:{own[-1][1]}" if own else ""


def _code(path: str) -> Any:
    """Return a script's code, in which the main program is not meant."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read(), path)
    except OSError as error:
        raise GridjitError(f"script {path} cannot be read: {error.strerror}") from None
    except (SyntaxError, ValueError) as error:
        raise GridjitError(f"script {path} is not Python: {error}") from None
    # Python names a script it runs by its whole path.
    return compile(_NotMain().visit(tree), os.path.abspath(path), "exec", dont_inherit=True)


class _NotMain(ast.NodeTransformer):
    """Answers, outside of functions and classes, whether the module's name is "__main__": it is not."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        """Return False for `__name__ == "__main__"`, True for `!=`."""
        sides = [node.left, *node.comparators]
        named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
        main = any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)
        if named and main and len(sides) == 2 and isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return ast.copy_location(ast.Constant(isinstance(node.ops[0], ast.NotEq)), node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """Leave functions alone: their questions are part of the program, and their code is their key."""
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        """Leave functions alone."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Leave classes alone."""
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Leave functions alone."""
        return node
