"""PlainApi: the driver's functions that a start needs, called through ctypes; cuda.bindings has the other functions.

Importing cuda.bindings takes longer than everything else up to the first array. The functions here have its names,
types and numbers; cuda.bindings is imported when a program needs another function.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from typing import Any

from gridjit.runtime.devices.cuda.api.plain_table import ERRORS, FUNCTIONS, NUMBERS

_KINDS: dict[str, Any] = {
    "i": ctypes.c_int,
    "u": ctypes.c_uint,
    "p": ctypes.c_void_p,
    "z": ctypes.c_size_t,
    "Q": ctypes.c_ulonglong,
    "s": ctypes.c_char_p,
}
# If it is set, cuda.bindings uses other versions of the driver's functions.
_PER_THREAD = "CUDA_PYTHON_CUDA_PER_THREAD_DEFAULT_STREAM"


_OK = (0,)


class ResultCode(int):
    """The driver's code for a call that failed, with its name in cuda.bindings."""

    @property
    def name(self) -> str:
        """The driver's name for it, if it is in ERRORS; else its number."""
        return ERRORS.get(int(self), f"CUDA error {int(self)}")


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class PoolProperties(ctypes.Structure):
    """CUmemPoolProps, with room for fields of later versions."""

    _fields_ = [
        ("allocType", ctypes.c_int),
        ("handleTypes", ctypes.c_int),
        ("location", _Location),
        ("more", ctypes.c_char * 256),
    ]


class _Names:
    """The numbers of an enumeration, by name."""

    def __init__(self, api: PlainApi, family: str) -> None:
        self._api = api
        self._family = family

    def __getattr__(self, name: str) -> Any:
        known = NUMBERS[self._family].get(name)
        return getattr(getattr(self._api.whole, self._family), name) if known is None else known


class PlainApi:
    """The driver's functions. library: the driver. whole_api: returns cuda.bindings.driver.

    Each returns a tuple, a code and then values, as cuda.bindings does.
    """

    CUmemPoolProps = PoolProperties
    cuuint64_t = ctypes.c_uint64

    def __init__(self, library: Any, whole_api: Callable[[], Any]) -> None:
        self._library = library
        self._whole_api = whole_api
        self._whole: Any = None

    @property
    def whole(self) -> Any:
        """cuda.bindings.driver, imported when it is first needed."""
        if self._whole is None:
            self._whole = self._whole_api()
        return self._whole

    def __getattr__(self, name: str) -> Any:
        found = self._found(name)
        setattr(self, name, found)
        return found

    def _found(self, name: str) -> Any:
        if name in NUMBERS:
            return _Names(self, name)
        if name in FUNCTIONS:
            symbol, kinds = FUNCTIONS[name]
            try:
                return _called(getattr(self._library, symbol), kinds)
            except AttributeError:
                pass  # an old driver, which cuda.bindings reports
        return getattr(self.whole, name)

    # -- functions whose arguments are not only numbers ----------------------------------------------------------------

    def cuLibraryLoadData(self, image: bytes, *_: Any) -> tuple[Any, ...]:  # noqa: N802
        """Load a library without options."""
        return self._load(image, None, None, 0, None, None, 0)  # type: ignore[no-any-return]

    def cuMemPoolCreate(self, properties: PoolProperties) -> tuple[Any, ...]:  # noqa: N802
        """Create a pool."""
        return self._create_pool(ctypes.addressof(properties))  # type: ignore[no-any-return]

    def cuMemPoolSetAttribute(self, pool: int, attribute: int, value: Any) -> tuple[Any, ...]:  # noqa: N802
        """Set an attribute of a pool."""
        return self._set_pool(pool, attribute, ctypes.addressof(value))  # type: ignore[no-any-return]

    def cuThreadExchangeStreamCaptureMode(self, mode: int) -> tuple[Any, ...]:  # noqa: N802
        """Set the calling thread's mode; returns the one before."""
        held = ctypes.c_int(int(mode))
        (code,) = self._exchange_mode(ctypes.addressof(held))
        return code, held.value


def _called(function: Any, kinds: str) -> Callable[..., tuple[Any, ...]]:
    """Return a caller of a library function. kinds: of its parameters; parameters after a > return values."""
    returned = [_KINDS[kinds[at + 1]] for at, kind in enumerate(kinds) if kind == ">"]
    function.argtypes = [
        ctypes.c_void_p if at and kinds[at - 1] == ">" else _KINDS[kind] for at, kind in enumerate(kinds) if kind != ">"
    ]
    function.restype = ctypes.c_int
    if not returned:
        return lambda *given: _OK if not (code := function(*given)) else (ResultCode(code),)
    places = [at - kinds[:at].count(">") for at, kind in enumerate(kinds) if kind == ">"]
    if len(returned) == 1:
        return _with_one(function, returned[0], first=places == [0])

    def call(*given: Any) -> tuple[Any, ...]:
        values, arguments = [kind() for kind in returned], list(given)
        for place, value in zip(places, values, strict=True):
            arguments.insert(place, ctypes.byref(value))
        code = function(*arguments)
        return (ResultCode(code) if code else 0, *(value.value or 0 for value in values))

    return call


def _with_one(function: Any, kind: Any, *, first: bool) -> Callable[..., tuple[Any, ...]]:
    """Return a caller of a function that returns one value, by its first parameter or its last."""

    def call(*given: Any) -> tuple[Any, ...]:
        value = kind()
        place = ctypes.byref(value)
        code = function(place, *given) if first else function(*given, place)
        return ResultCode(code) if code else 0, value.value or 0

    return call


def plain_api(whole_api: Callable[[], Any]) -> Any:
    """Return the driver's functions, without cuda.bindings where that is possible."""
    if not sys.platform.startswith("linux") or os.environ.get(_PER_THREAD, "0") != "0":
        return whole_api()
    try:
        return PlainApi(ctypes.CDLL("libcuda.so.1"), whole_api)
    except OSError:
        return whole_api()
