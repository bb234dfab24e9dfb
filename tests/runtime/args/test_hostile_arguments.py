"""Arguments that run code of their own when they are looked at: proxies, mocks, classes with surprising methods."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any, NoReturn
from unittest import mock

import numpy as np
import pytest

import gridjit
from gridjit.compiler.values.errors import ArgumentError
from gridjit.runtime.devices import presence
from tests.runtime.standin import StandInKernel
from tests.shown import users_files


class Refusal(Exception):
    """An error that cannot even be put into words."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def refuse(*_: Any) -> NoReturn:
    raise RuntimeError("there is no context")


def refuse_in_silence(*_: Any) -> NoReturn:
    raise Refusal


class AnswersAll:
    """What answers to every name."""

    def __getattr__(self, name: str) -> AnswersAll:
        return AnswersAll()

    def __call__(self, *args: Any, **options: Any) -> AnswersAll:
        return AnswersAll()


class Proxy:
    """What passes every name on, and says that it is of another class, as proxies of web frameworks do."""

    def __init__(self, value: Any) -> None:
        object.__setattr__(self, "_value", value)

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_value"), name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(object.__getattribute__(self, "_value"))


def made(bases: tuple[type, ...] = (), **methods: Any) -> type[Any]:
    return type("Hostile", bases, methods)


META = type("Meta", (type,), {"__getattr__": refuse, "__eq__": refuse, "__hash__": refuse})
VALUES = {
    "mock": mock.Mock(),
    "magic mock": mock.MagicMock(),
    "mock of an array": mock.MagicMock(spec=np.ndarray),
    "mock with an interface": mock.MagicMock(spec=["__cuda_array_interface__"]),
    "sentinel": mock.sentinel.nothing,
    "a mock in a tuple": (1, mock.MagicMock()),
    "a mock to copy": gridjit.In(mock.MagicMock()),
    "answers all": AnswersAll(),
    "proxy of a number": Proxy(3),
    "proxy of nothing": Proxy(None),
    "attributes": made(__getattr__=refuse)(),
    "attributes, in silence": made(__getattr__=refuse_in_silence)(),
    "attributes, to copy": gridjit.In(made(__getattr__=refuse)()),
    "whatever": made(__getattribute__=refuse)(),
    "equality": made(__eq__=refuse, __hash__=refuse)(),
    "class": made(__class__=property(refuse))(),
    "words": made(__repr__=refuse, __str__=refuse)(),
    "interface": made(__cuda_array_interface__=property(refuse))(),
    "interface of nothing": made(__cuda_array_interface__={"shape": "x"})(),
    "exchange": made(__dlpack__=refuse, __dlpack_device__=lambda self: (1, 0))(),
    "exchange of nothing": made(__dlpack__=lambda self, **_: 5, __dlpack_device__=lambda self: "x")(),
    "metaclass": META("Hostile", (), {})(),
    "class itself": META("Hostile", (), {}),
    "number": made((int,), __ge__=refuse, __le__=refuse, __lt__=refuse, __gt__=refuse)(3),
    "items": made((tuple,), __iter__=refuse)((1, 2)),
    "names": made((tuple,), _fields=5)((1, 2)),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_cannot_be_looked_at_is_an_error_that_names_the_argument(name: str) -> None:
    configured = StandInKernel(arity=2).configured()
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"^argument 'a1' of standin: "):
            configured(1, VALUES[name])
    configured(1, 2)


@gridjit.jit(target="host")
def fill(x):
    x[1, 2] = 5


LIES = {
    "ndim": 3,
    "shape": (9, 9),
    "strides": (1,),
    "size": 77,
    "itemsize": 3,
    "nbytes": -1,
    "flags": None,
    "dtype": "float32",
    "data": None,
    "ctypes": None,
    "__array_interface__": {"data": (0, False)},
}


@pytest.mark.parametrize("lies", [True, False], ids=["lies", "raises"])
@pytest.mark.parametrize("name", LIES)
def test_an_array_is_what_numpy_knows_of_it_whatever_its_class_says(name: str, lies: bool) -> None:
    content = np.zeros((2, 3))
    hostile = content.view(made((np.ndarray,), **{name: LIES[name] if lies else property(refuse)}))
    for given in (hostile, gridjit.InOut(hostile)):
        content[:] = 0
        fill[1, 1](given)
        assert content.tolist() == [[0, 0, 0], [0, 0, 5]]


def test_an_object_that_says_another_thing_each_time_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "device_count", lambda: 1)  # so that it is on a GPU, which the host cannot use
    content = np.zeros((2, 3))
    answers = itertools.cycle([content.__array_interface__, content[0].__array_interface__])
    fickle = made(__cuda_array_interface__=property(lambda self: {**next(answers), "version": 3}))()
    configured = StandInKernel(arity=2).configured()
    for _ in range(4):
        with contextlib.suppress(ArgumentError):
            configured(1, fickle)
    with pytest.raises(ArgumentError, match="argument 'a1' of standin"):
        for _ in range(4):
            next(answers)
            configured(1, fickle)


def test_the_error_says_what_the_argument_raised_and_has_it_as_its_cause() -> None:
    with pytest.raises(ArgumentError, match=r"Hostile cannot be passed .* RuntimeError: there is no context") as caught:
        StandInKernel(arity=1).configured()(made(__getattr__=refuse)())
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_an_interrupt_ends_the_launch_and_shows_only_the_users_frames() -> None:
    def interrupt(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        StandInKernel(arity=1).configured()(made(__getattr__=interrupt)())
    assert users_files(caught.value) == {__file__}
