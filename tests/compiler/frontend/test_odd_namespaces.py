"""Functions that exec made, in namespaces that lack what a module has, compile as those of modules do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.values.errors import CompileError

numba_cuda()

from numba.cuda.extending import intrinsic, overload  # noqa: E402

NAMESPACES = [{}, {"__builtins__": {}}, {"__name__": None}, {"__name__": ""}, {"__name__": "no.such.module"}]


def made(source: str, name: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """Return a function that exec makes in a namespace; it leaves nothing there that a kernel could see."""
    own = dict(namespace)
    exec(source, own)
    function: Callable[..., Any] = own[name]
    return function


def result(function: Callable[..., Any]) -> float:
    out = np.ones(1)
    gridjit.jit(function, target="host")[1, 1](out)
    return float(out[0])


@pytest.mark.some(2)
@pytest.mark.parametrize("namespace", NAMESPACES, ids=str)
def test_an_overload_by_exec_compiles(namespace: dict[str, Any]) -> None:
    def stub(x: float) -> float:
        raise NotImplementedError

    def kernel(out):
        out[0] = stub(out[0])

    overload(stub, target="cuda")(made("def implement(x):\n    return lambda x: x + 41\n", "implement", namespace))
    assert result(kernel) == 42


@pytest.mark.parametrize("namespace", NAMESPACES, ids=str)
def test_an_intrinsic_by_exec_compiles(namespace: dict[str, Any]) -> None:
    source = """
@intrinsic
def same(context, x):
    def generate(context, builder, signature, args):
        return args[0]
    return x(x), generate
"""
    same = made(source, "same", {"intrinsic": intrinsic, **namespace})

    def kernel(out):
        out[0] = same(out[0]) + 1

    assert result(kernel) == 2


@pytest.mark.each_value_once
@pytest.mark.parametrize("module", ["as it is", None, "", "no.such.module"])
@pytest.mark.parametrize("namespace", NAMESPACES, ids=str)
def test_a_kernel_and_its_device_function_by_exec_compile(namespace: dict[str, Any], module: Any) -> None:
    triple = made("def triple(x):\n    return 3 * x\n", "triple", namespace)
    kernel = made("def kernel(out):\n    out[0] = triple(out[0])\n", "kernel", namespace)
    if module != "as it is":
        triple.__module__ = kernel.__module__ = module
    kernel.__globals__["triple"] = gridjit.jit(device=True)(triple)
    assert result(kernel) == 3


def test_an_error_that_has_no_words_is_a_compile_error_of_its_class() -> None:
    class Wordless(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    class Proxy:
        @property
        def _numba_type_(self) -> Any:
            raise Wordless

    proxy = Proxy()

    def kernel(out):
        out[0] = proxy

    with pytest.raises(CompileError, match=r"does not compile: (.|\n)*out\[0\] = proxy"):
        result(kernel)
