"""A kernel decorated with what it is compiled for: a text, a list of texts, or numba's types."""

from typing import Any

from numba import float32, void
from typing_extensions import assert_type

import gridjit
from gridjit import cuda


@gridjit.jit("void(float32[::1], int64)")
def by_text(x: Any, n: int) -> None:
    x[0] = cuda.float32(n)


@gridjit.jit(["void(float32[::1])", "void(float64[::1])"], fastmath=True)
def by_texts(x: Any) -> None:
    x[0] = 1


@gridjit.jit(cuda.void(cuda.float32[::1], cuda.int64))
def by_types(x: Any, n: int) -> None:
    x[0] = n


@gridjit.jit((cuda.float32[:, :], cuda.int64))
def by_tuple(x: Any, n: int) -> None:
    x[0, 0] = n


@gridjit.jit([cuda.void(cuda.float32[::1]), cuda.void(cuda.float64[::1])])
def by_several(x: Any) -> None:
    x[0] = 1


@gridjit.jit(["void(float32[::1])", cuda.void(cuda.float64[::1]), (cuda.int64[::1],)])
def by_several_forms(x: Any) -> None:
    x[0] = 1


@gridjit.jit(void(float32[::1]))
def by_numbas_types(x: Any) -> None:
    x[0] = 1


assert_type(by_text, gridjit.Kernel)
assert_type(by_texts, gridjit.Kernel)
assert_type(by_types, gridjit.Kernel)
assert_type(by_tuple, gridjit.Kernel)
assert_type(by_several, gridjit.Kernel)
assert_type(by_several_forms, gridjit.Kernel)
assert_type(by_numbas_types, gridjit.Kernel)
texts: list[str] = ["void(float32[::1])"]
assert_type(gridjit.jit(texts)(by_text.py_func), gridjit.Kernel)

gridjit.jit("void(float32[::1])", fastmth=True)  # wrong: no such option
gridjit.jit([1, 2])  # wrong: no signatures
gridjit.jit(b"void(float32[::1])")  # wrong: bytes
gridjit.jit("void(float32[::1])")[1, 2]  # wrong: nothing decorated yet
