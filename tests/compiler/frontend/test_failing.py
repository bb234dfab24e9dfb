"""A chain of device functions whose innermost does not compile: its error comes as soon, and in the same words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gridjit import CompileError, cuda
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from gridjit.compiler.frontend.isolated.failing import Failures
from tests.compiler.frontend.making import made
from tests.registered import taken_away_after

numba_cuda()

from numba.cuda import dispatcher  # noqa: E402  # the first import has to come first
from numba.cuda.extending import overload  # noqa: E402

DEEP = 5


def chain(innermost: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that calls a function that calls a function, and so on, to the innermost one."""
    called = cuda.jit(device=True)(innermost)
    for _ in range(DEEP - 1):
        called = calling(called)

    def kernel(x):
        x[0] = called(x[0], 1)

    return kernel


def calling(function: Any) -> Any:
    @cuda.jit(device=True)
    def caller(x, y):
        z = function(x * 1.5, y)
        return z + y

    return caller


def of_no_attribute(x, y):
    z = x + y
    return z.foo


def of_two_types(x, y):
    return x if x > y else (x, y)


def undefined(x, y):
    return x + missing(y)  # type: ignore[name-defined]  # noqa: F821


FAILING = [of_no_attribute, of_two_types, undefined]


@contextmanager
def compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(Failures, "compiled", lambda self, function, arguments, result, compile_it: compile_it())
        yield


def error_of(kernel: Callable[..., Any]) -> CompileError:
    with pytest.raises(CompileError) as caught:
        made(kernel)
    return caught.value


def test_each_function_of_a_chain_is_compiled_once_before_its_error_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    error_of(chain(of_no_attribute))  # a process's first compile imports modules, after which numba may go another way
    compiled, original = [], dispatcher.compile_cuda

    def counting(function: Any, *args: Any, **options: Any) -> Any:
        compiled.append(function)
        return original(function, *args, **options)

    monkeypatch.setattr(dispatcher, "compile_cuda", counting)
    error_of(chain(of_no_attribute))
    assert len(set(compiled)) == len(compiled) == DEEP


@pytest.mark.parametrize("innermost", FAILING)
def test_an_error_out_of_a_chain_has_the_words_and_places_of_numbas_own_rounds(
    innermost: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = chain(innermost)
    error = error_of(kernel)
    with compiled_each_time(monkeypatch):
        numbas = error_of(kernel)
    assert str(error) == str(numbas)
    assert error.original is not None and numbas.original is not None
    assert str(error.original) == str(numbas.original)


def late(x):
    """Implemented once `announces` is typed."""


def announces(x):
    """Implements `late`."""


@cuda.jit(device=True)
def uses_what_comes_late(x):
    return late(x)


def begins_too_early(x):
    x[0] = uses_what_comes_late(x[0])
    x[1] = announces(x[0])


def test_a_function_that_failed_is_compiled_again_once_an_extension_implements_what_it_calls() -> None:
    with taken_away_after():

        @overload(announces, target="cuda")
        def _announces(x):
            overload(late, target="cuda")(lambda x: lambda x: x * 3)
            return lambda x: x

        assert made(begins_too_early).text
