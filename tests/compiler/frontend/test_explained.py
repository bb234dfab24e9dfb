"""What users are told of errors that no rule knows, whatever numba, LLVM or Python said."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridjit.compiler.frontend.explained.rules.explain import explain
from gridjit.compiler.frontend.explained.source import innermost_function
from gridjit.compiler.frontend.explained.types_said import said
from gridjit.compiler.values.errors import GridjitError
from gridjit.compiler.values.signature import Signature
from gridjit.compiler.values.target import Target

HOST = Target(kind="host", arch="x86_64")
PLAIN = "the compiler does not support abs(out[0] + out[1])"

# What compilers and interpreters say of their own insides.
INSIDES = (
    *("i8* != i8 addrspace(4)*", 'i32 %".3"', "{i8*, i64}", "[4 x i8]", "%.12 = add", "ptr addrspace(1)", "@_ZN4a3bE"),
    *("$18return_value.3", "Literal[int](3)", "<class 'numba.core.types.misc.Omitted'>", "0x7f12ab34cd56", "iv=None"),
    *("CUDACallConv", "'NoneType' object has no attribute 'x'", "lowering of call", "nopython mode", "Illegal IR"),
    *("numba.cuda.typing.context", "llvmlite.ir.Constant", "LLVM ERROR:", "NVVM_ERROR", "opcode STORE_MAP"),
    *(
        "arraymath.py:123",
        "/usr/lib/site-packages/x",
        "Overload in function 'f'",
        ">>> f(x)",
        "unhashable type: 'dict'",
    ),
)
SHOWN = re.compile(
    r"addrspace|%\"|%\.|\$\d|Literal\[|<class|0x7f|iv=|CallConv|NoneType|lowering|nopython|\bIR\b|numba|llvm|NVVM|opcode"
    r"|\.py:123|-packages|Overload|>>>|unhashable|i8\*|\d x i8|_ZN",
    re.IGNORECASE,
)
ODD = "aeo é\n\t\x00{}()'\"\\*"
KINDS = (
    TypeError,
    ValueError,
    KeyError,
    AssertionError,
    AttributeError,
    RuntimeError,
    NotImplementedError,
    LookupError,
)


def doubled(out: Any) -> None:
    out[0] = abs(out[0] + out[1])


def drawn(out: Any) -> None:
    out[0] = np.random.rand()


def named(out: Any) -> None:
    nvvm_ir = abs(out[0])
    out[1] = nvvm_ir


def grown(out: Any) -> None:
    out += 1


def sentence(function: Callable[..., Any], error: BaseException) -> str:
    """Return what is told of an error, without the user's own lines."""
    return explain(function, Signature(arguments=()), HOST, error).sentence


def numbas(text: str) -> Exception:
    from numba.cuda.core.errors import TypingError

    return TypingError(text)


def raised_in(package: str, error: Exception) -> Exception:
    """Return an error as if code of a package had raised it."""
    try:
        exec("raise error", {"__name__": f"{package}.somewhere", "error": error})
    except Exception as raised:
        return raised
    raise AssertionError


@pytest.mark.each_value_once
@pytest.mark.parametrize("inside", INSIDES)
@pytest.mark.parametrize("package", ["numba", "llvmlite", "somebodys_extension"])
def test_what_the_compiler_says_of_its_insides_is_not_shown(inside: str, package: str) -> None:
    for kind in (TypeError, KeyError, RuntimeError):
        told = sentence(doubled, raised_in(package, kind(f"the value was not as it should be: {inside} here")))
        assert SHOWN.search(told) is None
    assert SHOWN.search(sentence(doubled, numbas(f"the value was not as it should be: {inside} here"))) is None


@given(
    st.lists(
        st.one_of(st.sampled_from(INSIDES), st.text(ODD, max_size=30), st.sampled_from(("of", "a\nnew", ": "))),
        max_size=9,
    ),
    st.sampled_from((*KINDS, numbas)),
    st.sampled_from(("numba.cuda", "llvmlite", "numpy")),
)
def test_no_message_however_odd_shows_the_compilers_insides(words: list[str], kind: Any, package: str) -> None:
    told = explain(doubled, Signature(arguments=()), HOST, raised_in(package, kind(" ".join(words))))
    assert SHOWN.search(told.sentence) is None
    assert "doubled() for host does not compile: " in str(told)
    assert told.steps


def test_an_error_of_the_code_generator_is_told_by_the_users_expression() -> None:
    assert sentence(doubled, raised_in("llvmlite", TypeError("all of these are plain words"))) == PLAIN


def test_words_that_numba_did_not_mean_for_users_are_shown_only_if_all_are_plain() -> None:
    assert sentence(doubled, raised_in("numba", ValueError("the shape is too large"))) == "the shape is too large"
    assert sentence(doubled, raised_in("numba", ValueError("the fe_type is too large"))) == PLAIN


def test_words_of_a_librarys_authors_are_shown() -> None:
    words = "BlockReduce.sum: give items_per_thread, one of (1, 2, 4)"
    assert sentence(doubled, raised_in("somebodys_extension", ValueError(words))) == words
    assert sentence(doubled, raised_in("numba", GridjitError(words))) == words


def test_a_string_that_a_kernel_holds_is_not_taken_for_types() -> None:
    numbas = "Tuple(none, Literal[str](none), Literal[int](2)) and Literal[str](an unicode_type)"
    assert said(numbas) == "(None, 'none', 2) and 'an unicode_type'"


def test_users_may_give_their_own_names_any_name() -> None:
    words = "the variable nvvm_ir is not of use"
    assert sentence(named, numbas(words)) == words


def test_an_error_that_does_not_say_anything_is_told_by_the_users_expression() -> None:
    for error in (AssertionError(), KeyError("c"), ValueError("\n\n"), numbas("")):
        assert sentence(doubled, raised_in("numba", error)) == PLAIN


def test_a_key_that_was_not_found_is_not_taken_for_an_array_that_is_changed_as_a_whole() -> None:
    assert "whole array" in sentence(grown, raised_in("numba", KeyError(np.add)))
    assert "whole array" not in sentence(grown, raised_in("somebodys_extension", KeyError("add")))


@pytest.mark.parametrize(
    "words", ["maximum recursion depth exceeded", "Unknown attribute 'rand' of type Module(numpy.random)", "i8* != i8"]
)
def test_random_numbers_are_told_of_in_the_same_words_however_numba_fails(words: str) -> None:
    error = RecursionError(words) if "recursion" in words else numbas(words)
    assert sentence(drawn, error) == "np.random.rand is not available in kernels"


def test_a_stack_that_numba_fills_is_not_taken_for_a_recursion_of_the_users() -> None:
    with pytest.raises(RecursionError) as caught:
        exec("def f(): f()\nf()", {"__name__": "numba.cuda.somewhere"})
    told = sentence(doubled, caught.value)
    assert told == "compiling it takes more nested calls than Python allows here"


NESTED = """
try:
    pass
except ValueError:
    class Held:
        @property
        @cached
        def a(self):
            match self:
                case 1:
                    def b(): return 1
                case _:
                    async def c():
                        with self:
                            return lambda: 2
            return 3
outside = 4
"""


def test_a_line_is_in_the_innermost_function_around_it_wherever_that_is() -> None:
    tree = ast.parse(NESTED)
    found = [innermost_function(tree, line) for line in range(1, NESTED.count("\n") + 1)]
    names = [one.name if one else "-" for one in found]
    assert "".join(names) == "-----" + "aaaaa" + "b" + "a" + "ccc" + "a" + "-"
