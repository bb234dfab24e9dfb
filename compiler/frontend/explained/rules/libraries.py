"""Libraries: linear algebra and random numbers, found in the user's source, as numba's messages on them vary.

With SciPy installed, numba does not refuse them, and fails deep inside the compiler.
"""

from __future__ import annotations

import ast
from typing import Any, Final

import numpy as np

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.finding import Finding
from gridjit.compiler.frontend.explained.rules.spelling import DRAWN, spelled
from gridjit.compiler.frontend.explained.source import text_of
from gridjit.compiler.frontend.explained.types_said import is_array

_LOOP: Final = "Write a loop over the items, or compute it before the launch."
# Functions of NumPy itself for which numba calls BLAS or LAPACK, which no device has.
_PRODUCTS: Final = frozenset(
    ("dot", "vdot", "inner", "matmul", "tensordot", "einsum", "kron", "convolve", "correlate", "cov", "corrcoef")
)
_OPERATORS: Final = ("matmul", "imatmul", "dot")


def random(failure: Failure) -> Finding | None:
    """A function of NumPy's random numbers, or of Python's."""
    for node in failure.source.of(ast.expr):
        if isinstance(node, ast.Attribute | ast.Name) and _draws(failure, node):
            return Finding(sentence=f"{text_of(node)} is not available in kernels", advice=DRAWN, node=node)
    return None


def _draws(failure: Failure, node: ast.Attribute | ast.Name) -> bool:
    value = failure.value(node)
    if not callable(value):
        return False
    maker = type(getattr(value, "__self__", None)).__module__
    return any(_is_in(module, "numpy.random", "random") for module in (_module(value), maker))


def ufunc(failure: Failure) -> Finding | None:
    """A function of NumPy's on items that numba-cuda's table of them does not have."""
    missing = failure.error.args[0] if isinstance(failure.error, KeyError) and failure.error.args else None
    if not isinstance(missing, np.ufunc):
        return None
    name = missing.__name__
    node = next((node for node in failure.source.of(ast.expr) if failure.value(node) is missing), None)
    if node is None:
        return None  # another function of NumPy's uses it
    advice = spelled(name) or "Write it with operators and the functions of math."
    return Finding(sentence=f"{text_of(node)} is not available in kernels", advice=advice, node=node)


def linear_algebra(failure: Failure) -> Finding | None:
    """A product of matrices, or another function of linear algebra."""
    for node in failure.source.of(ast.AST):
        if _is_linear(failure, node):
            return Finding(sentence=f"{text_of(node)} is not available in kernels", advice=_LOOP, node=node)
    return None


def _is_linear(failure: Failure, node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return _is_function(failure, node.func) or (_is_method(failure, node.func) and _of_arrays(failure))
    return isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult) and _of_arrays(failure)


def _is_function(failure: Failure, node: ast.expr) -> bool:
    value = failure.value(node)
    if value is None:
        return False
    module, name = _module(value), str(getattr(value, "__name__", ""))
    return _is_in(module, "numpy.linalg", "scipy.linalg") or (_is_in(module, "numpy") and name in _PRODUCTS)


def _is_method(failure: Failure, node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "dot" and failure.value(node.value) is None


def _of_arrays(failure: Failure) -> bool:
    """Return whether a product is of arrays, and not of a library's type with its own product."""
    operation = failure.operation
    if operation is None:
        return "Untyped" not in failure.words and "Unknown attribute" not in failure.words
    name = operation.name.rpartition(".")[2]
    return name not in _OPERATORS or all(map(is_array, operation.arguments))


def _module(value: Any) -> str:
    return str(getattr(value, "__module__", "") or "")


def _is_in(module: str, *packages: str) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


RULES = (random, linear_algebra, ufunc)
