"""What extensions register stops callees from being kept as far as it could alter them, and no further."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda
from tests.compiler.frontend.making import kernel_of, made
from tests.registered import taken_away_after

numba_cuda()

from numba.cuda import types  # noqa: E402  # the first import has to come first
from numba.cuda.core.imputils import lower_cast  # noqa: E402
from numba.cuda.cudadecl import registry as typing_registry  # noqa: E402
from numba.cuda.datamodel.models import OpaqueModel  # noqa: E402
from numba.cuda.extending import overload, overload_attribute, register_model, typeof_impl  # noqa: E402
from numba.cuda.typing.templates import AbstractTemplate  # noqa: E402


class Interval:
    """An extension's class."""


class IntervalType(types.Type):
    """Its numba type."""

    def __init__(self) -> None:
        super().__init__(name="Interval")


class Like(metaclass=abc.ABCMeta):
    """An abstract class, which any class may count as."""

    @abc.abstractmethod
    def middle(self) -> float:
        """Return its middle."""


def width(value):
    raise NotImplementedError


def own_type() -> None:
    typeof_impl.register(Interval)(lambda value, context: IntervalType())


def own_model() -> None:
    register_model(IntervalType)(OpaqueModel)


def own_attribute() -> None:
    overload_attribute(IntervalType, "middle", target="cuda")(lambda value: lambda value: 1.0)


def own_cast() -> None:
    lower_cast(IntervalType, types.Float)(lambda context, builder, before, after, value: value)


def own_function() -> None:
    overload(width, target="cuda")(lambda value: lambda value: 1.0)


def a_librarys_function() -> None:
    overload(np.vander, target="cuda")(lambda value: None)


def a_librarys_type() -> None:
    overload_attribute(types.Float, "middle", target="cuda")(lambda value: lambda value: 1.0)


def a_cast_of_numbers() -> None:
    lower_cast(types.Boolean, types.Complex)(lambda context, builder, before, after, value: value)


def a_type_of_an_abstract_class() -> None:
    typeof_impl.register(Like)(lambda value, context: None)


def a_template_for_an_operator() -> None:
    @typing_registry.register_global(np.vander)
    class Vander(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> None:
            return None


def shared_function() -> Any:
    @gridjit.jit(device=True)
    def shared(value):
        return value * 2.5

    return shared


@pytest.fixture(autouse=True)
def taken_away() -> Iterator[None]:
    with taken_away_after():
        yield


@pytest.mark.some(2)
@pytest.mark.parametrize("register", [own_type, own_model, own_attribute, own_cast, own_function])
def test_what_is_for_an_extensions_own_types_and_functions_is_of_no_matter(register: Callable[[], None]) -> None:
    shared = shared_function()
    register()
    made(kernel_of("shared(x[i])", shared=shared))
    assert made(kernel_of("shared(x[i]) + 1", shared=shared)).reused == {"shared"}


HARMFUL = [
    *(a_librarys_function, a_librarys_type, a_cast_of_numbers, a_type_of_an_abstract_class),
    a_template_for_an_operator,
]


@pytest.mark.some(2)
@pytest.mark.parametrize("register", HARMFUL)
def test_nothing_is_kept_while_a_registration_could_alter_it_unseen(register: Callable[[], None]) -> None:
    shared = shared_function()
    made(kernel_of("shared(x[i])", shared=shared))
    assert made(kernel_of("shared(x[i]) + 1", shared=shared)).reused == {"shared"}
    register()
    for number in range(2):
        assert made(kernel_of(f"shared(x[i]) + {number}", shared=shared)).reused == set()
