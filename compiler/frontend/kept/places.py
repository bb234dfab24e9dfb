"""places: where numba looks for a callee's compiled code, until the compile ends."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from gridjit.compiler.frontend.bindings.replacing import on_undo


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InDispatcher:
    """The place of a device function's result."""

    told: ClassVar[None] = None
    dispatcher: Any
    arguments: Any

    def found(self, empty: Callable[[Any], None]) -> Any:
        empty(self.dispatcher)
        return self.dispatcher.overloads.get(self.arguments)

    def put(self, result: Any) -> None:
        self.dispatcher.overloads[self.arguments] = result
        result.target_context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        taken_out_at_the_end(result)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InContext:
    """The place of an internal function's result, for all contexts that lower a caller."""

    told: ClassVar[None] = None
    key: object

    def found(self, empty: Callable[[Any], None]) -> Any:
        return _internal_results().get(self.key)

    def put(self, result: Any) -> None:
        _internal_results()[self.key] = result


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """The place of the result of one of numba-cuda's own functions, for all copies of the function.

    told: numba's own key of the function, which tells less than key, its key on the shelf.
    """

    told: str
    key: str

    def found(self, empty: Callable[[Any], None]) -> Any:
        return _internal_results().get(self.told)

    def put(self, result: Any) -> None:
        _internal_results()[self.told] = result


@dataclass(frozen=True, slots=True)
class OfKernel:
    """The place of a kernel's own result, where nobody looks for it."""

    told: ClassVar[None] = None

    def found(self, empty: Callable[[Any], None]) -> None:
        return None

    def put(self, result: Any) -> None:
        pass


def _internal_results() -> dict[object, Any]:
    from numba.cuda.descriptor import cuda_target

    results: dict[object, Any] = cuda_target.target_context.cached_internal_func
    return results


def taken_out_at_the_end(result: Any) -> None:
    """Take a device function out of the target context when the compile ends."""
    # Not remove_user_function, which fails where the function is gone already.
    on_undo(functools.partial(result.target_context._defns.pop, result.entry_point, None))
