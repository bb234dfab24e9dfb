"""Called: the call of a line that failed, and calls that kernels do not have whatever they are given."""

from __future__ import annotations

import ast
import builtins
import re
from typing import Final

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.finding import Finding
from gridjit.compiler.frontend.explained.rules.names import INSTEAD
from gridjit.compiler.frontend.explained.source import text_of

# Before a function's name in numba's name for its implementation: npy_max.
_IMPLEMENTED: Final = re.compile(r"^(?:npy|array|numpy)_")
_STRINGS: Final = "Kernels can print and compare strings, and do little else with them."


def called(failure: Failure) -> ast.Call | None:
    """Return the call that numba names, perhaps by its own implementation's name, or the first of the line."""
    found = tuple(failure.source.of(ast.Call))
    name = failure.operation.name.rpartition(".")[2] if failure.operation else ""
    named = (name, _IMPLEMENTED.sub("", name))
    return next((call for call in found if text_of(call.func).rpartition(".")[2] in named), found[0] if found else None)


def numpy_call(failure: Failure) -> ast.Call | None:
    """Return the line's call of a function of NumPy."""
    return next((one for one in failure.source.of(ast.Call) if text_of(one.func).startswith(("np.", "numpy."))), None)


def builtin(failure: Failure) -> Finding | None:
    """Return the finding on a function of Python that kernels never have."""
    node = called(failure)
    name = text_of(node.func) if node is not None else ""
    if name not in INSTEAD or failure.value(ast.Name(id=name)) is not getattr(builtins, name, None):
        return None
    return Finding(sentence=f"{name}(...) is not available in kernels", advice=INSTEAD[name], node=node)


def of_string(failure: Failure) -> Finding | None:
    """Return the finding on a method of a string."""
    for node in failure.source.of(ast.Call):
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(owner, ast.Constant) and isinstance(owner.value, str):
            return Finding(sentence=f"{text_of(node)} is not available in kernels", advice=_STRINGS, node=node)
    return None
