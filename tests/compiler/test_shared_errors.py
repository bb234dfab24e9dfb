"""Errors of ours that are another library's too: in an except clause, in a filter of warnings, and pickled."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from gridjit.compiler.values.errors import CompileError, ConfigWarning, GridjitError, LinkError, for_cause
from gridjit.runtime.devices.errors import DriverError, KernelError, driver_error


class TheirError(RuntimeError):
    """One that is made, and shown, in its own way."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code = code

    def __str__(self) -> str:
        return "theirs"


class TheirWarning(Warning):
    def __init__(self, text: str, loc: object = None) -> None:
        super().__init__(text.upper())


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The modules that our classes name, as if they were imported."""
    for name, classes in (
        ("numba.cuda.cudadrv.driver", {"LinkerError": TheirError, "CudaAPIError": TheirError}),
        ("numba.cuda.core.errors", {"NumbaInvalidConfigWarning": TheirWarning}),
    ):
        module = ModuleType(name)
        vars(module).update(classes)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "cuda.core._utils.cuda_utils", raising=False)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the modules that our classes name is imported."""
    for name in ("numba.cuda.cudadrv.driver", "numba.cuda.core.errors", "cuda.core._utils.cuda_utils"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.usefixtures("theirs")
def test_error_is_caught_as_theirs_and_says_what_it_said() -> None:
    error = driver_error("cuMemcpy", "CUDA_ERROR_INVALID_VALUE", "", code=1)
    with pytest.raises(TheirError):
        raise error
    assert isinstance(error, DriverError)
    assert (error.name, error.code, str(error)) == (
        "CUDA_ERROR_INVALID_VALUE",
        1,
        "CUDA_ERROR_INVALID_VALUE from cuMemcpy",
    )
    assert type(error).__qualname__ == "DriverError"


@pytest.mark.usefixtures("alone")
def test_error_is_only_ours_where_theirs_is_not_imported() -> None:
    assert type(driver_error("cuMemcpy", "CUDA_ERROR_INVALID_VALUE", "")) is DriverError
    assert type(LinkError("no file")) is LinkError


@pytest.mark.usefixtures("theirs")
def test_error_pickles_as_the_class_that_was_called() -> None:
    error = driver_error("cuLaunchKernel", "CUDA_ERROR_INVALID_VALUE", "", code=1)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, KernelError)
    assert isinstance(again, TheirError)
    assert (str(again), again.name, again.code) == (str(error), error.name, error.code)


class ErrorOfAProgram(LinkError):
    """What a program may derive from an error of ours."""

    def __init__(self, message: str, *, file: str = "") -> None:
        super().__init__(message)
        self.file = file


@pytest.mark.usefixtures("theirs")
def test_error_of_a_program_takes_keywords_and_pickles_with_its_attributes() -> None:
    error = ErrorOfAProgram("no file", file="a.cu")
    error.add_note("the file is made by make") if sys.version_info >= (3, 11) else None
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(error, TheirError)
    assert isinstance(again, ErrorOfAProgram)
    assert (str(again), again.file) == ("no file", "a.cu")
    assert getattr(again, "__notes__", None) == getattr(error, "__notes__", None)


@pytest.mark.usefixtures("theirs")
def test_class_of_an_error_makes_more_of_its_kind() -> None:
    error = LinkError("no file")
    assert isinstance(error, TheirError)
    assert type(type(error)("still no file")) is type(error)


@pytest.mark.usefixtures("theirs")
def test_filter_of_their_warning_takes_ours() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TheirWarning)
        warnings.warn(ConfigWarning("as it was written"), stacklevel=1)
    assert str(ConfigWarning("as it was written")) == "as it was written"


def test_error_for_a_cause_is_of_its_class_and_has_its_attributes() -> None:
    cause = TheirError(7, "seven")
    error = for_cause(CompileError, "kernel does not compile", cause)
    assert isinstance(error, TheirError)
    assert isinstance(error, GridjitError)
    assert (str(error), error.code) == ("kernel does not compile", 7)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_error_for_a_cause_is_pickled_and_copied_with_its_class_and_attributes(copied: Callable[[Any], Any]) -> None:
    error: Any = for_cause(CompileError, "kernel does not compile", TheirError(7, "seven"))
    error.code = 8
    for _ in range(2):  # a copy can be copied
        error = copied(error)
        assert issubclass(type(error), TheirError) and issubclass(type(error), CompileError)
        assert (str(error), error.code) == ("kernel does not compile", 8)


def test_error_leaves_behind_only_what_the_other_process_cannot_have() -> None:
    class Local(TheirError):
        """Which no other process finds."""

    cause = Local(7, "seven")
    cause.lock, cause.text = threading.Lock(), "seven"  # type: ignore[attr-defined]
    again: Any = pickle.loads(pickle.dumps(for_cause(CompileError, "kernel does not compile", cause)))
    assert (str(again), again.code, again.text) == ("kernel does not compile", 7, "seven")
    assert not hasattr(again, "lock")
    assert type(again) is CompileError


@pytest.mark.parametrize("cause", [StopIteration, StopAsyncIteration])
def test_error_does_not_end_a_loop(cause: type[Exception]) -> None:
    assert type(for_cause(CompileError, "does not compile", cause())) is CompileError


def test_error_for_a_cause_that_is_laid_out_differently_is_only_ours() -> None:
    class Slotted(Exception):
        __slots__ = ("where",)

    class Other(CompileError):
        __slots__ = ("what",)

    assert type(for_cause(Other, "does not compile", Slotted())) is Other
