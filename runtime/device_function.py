"""DeviceFunction: a function that kernels call; the result of gridjit.jit(device=True)."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from gridjit.base.forking import cached_property
from gridjit.compiler.values.errors import ConfigError, not_called
from gridjit.compiler.values.options import Options
from gridjit.runtime.environment.tracebacks import for_users

if TYPE_CHECKING:
    from gridjit.runtime.numba_names.pickling import Reduced

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class DeviceFunction(Generic[Parameters, Result]):
    """A function for kernels to call, with its parameters. It is compiled as part of each kernel that uses it.

    signatures: if there are any, calls are converted to one of them, and return its declared type.
    """

    __name__: str

    def __init__(
        self,
        function: Callable[Parameters, Result] | None = None,
        options: Options | None = None,
        signatures: Sequence[Any] = (),
    ) -> None:
        if function is None or options is None:
            raise not_called("DeviceFunction", "@gridjit.jit(device=True) above a function makes one of it")
        functools.update_wrapper(self, function)
        self.py_func: Callable[Parameters, Result] = function
        self.options = options
        self.signatures = tuple(signatures)
        # Part of the key of every kernel that calls it.
        self.targetoptions: dict[str, Any] = {**options.changed(), "signatures": tuple(map(str, signatures))}

    @for_users
    def __call__(self, *args: Parameters.args, **keywords: Parameters.kwargs) -> Result:
        """Raise an error that says where it can be called: in kernels, which call it as Python if stepped through."""
        if (block := sys.modules.get("gridjit.runtime.stepping.block")) is not None and block.is_stepping():
            from gridjit.runtime.stepping.names import Names

            result: Result = Names().function(self.py_func)(*args, **keywords)
            return result
        raise ConfigError(f"{self.py_func.__qualname__} is a device function; call it in a kernel")

    if not TYPE_CHECKING:  # type checkers must find launches, and missing attributes

        @for_users
        def __getitem__(self, launch):
            """Raise an error that says how to launch."""
            raise ConfigError(
                f"{self.py_func.__qualname__} is a device function, which kernels call; to launch it, make it without "
                "device=True"
            )

        def __getattr__(self, name):
            if name.startswith("_"):  # looked up often, and never of numba-cuda's
                raise AttributeError(f"device functions have no attribute {name!r}")
            from gridjit.runtime.numba_names.replacements import refuse_of_function

            refuse_of_function(name)

    @cached_property
    def _dispatcher(self) -> Any:
        from gridjit.compiler.frontend.bindings.vocabulary import device_dispatcher

        return device_dispatcher(self.py_func, self.options, self.signatures)

    @property
    def _numba_type_(self) -> Any:
        return self._dispatcher._numba_type_

    def __reduce__(self) -> Reduced:
        """Pickle by module and name, or else by its code and globals."""
        from gridjit.runtime.numba_names.pickling import reduced

        return reduced(self, self.py_func, type(self), self.options, self.signatures)

    def __repr__(self) -> str:
        return f"<gridjit device function {self.py_func.__module__}.{self.py_func.__qualname__}>"
