"""Objects that prepare a kernel's arguments before each launch, as in numba-cuda's jit(extensions=...).

Each has prepare_args(ty, val, stream=, retr=) and returns (ty, val); the last in the list prepares first. They prepare
once per launch, after its hooks; its code is found by the types of the original arguments. Functions appended to retr
are called after the launch. Where one signature is declared, and with a type of an extension of numba's, prepare_args
is given that type, whatever the value is. A value of an extension's own type keeps its type for the kernel: only the
passed value is new, passed as the type that was returned with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gridjit.compiler.values.errors import ArgumentError, ConfigError, a_class
from gridjit.runtime.memory.staging import Directed
from gridjit.runtime.process.arguments import prepared_types

if TYPE_CHECKING:
    from gridjit.compiler.values.signature import ForeignType
    from gridjit.runtime.kernel import Kernel


def prepared(kernel: Kernel, args: tuple[Any, ...], stream: Any) -> tuple[tuple[Any, ...], list[Callable[[], Any]]]:
    """Return the arguments as prepared by the kernel's extensions, and the calls for after the launch."""
    after: list[Callable[[], Any]] = []
    wanted = zip(kernel.parameter_names, args, prepared_types(kernel), strict=False)
    return tuple(_prepared(kernel, *one, stream, after) for one in wanted), after


def _prepared(
    kernel: Kernel, name: str, arg: Any, declared: ForeignType | None, stream: Any, after: list[Callable[[], Any]]
) -> Any:
    from gridjit.compiler.frontend.bindings.foreign_types import is_foreign
    from gridjit.compiler.frontend.bindings.types import numba_type_of
    from gridjit.runtime.args.numba_values import Prepared

    own = arg.value if isinstance(arg, Directed) else arg
    original = numba_type_of(own) if declared is None else declared.numba
    kind, value = original, arg
    for extension in reversed(kernel.extensions):
        kind, value = extension.prepare_args(kind, value, stream=stream, retr=after)
    if declared is not None and kind == original and not _is_of(value, original):
        raise ArgumentError(
            f"argument '{name}' of {kernel.name}: No matching definition: {a_class(type(own))} is not accepted for "
            f"{declared}, and no extension of the kernel prepared it"
        )
    return Prepared(numba=original, kind=kind, value=value) if is_foreign(original) else value


def _is_of(value: Any, kind: Any) -> bool:
    from gridjit.compiler.frontend.bindings.types import numba_type_of

    try:
        return bool(numba_type_of(value) == kind)
    except ConfigError:
        return False
