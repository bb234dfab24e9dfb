"""failing: a device function that does not compile is compiled once in a kernel's compile, however often it is typed.

numba-cuda types a function in rounds until nothing new is found, and in each round it compiles anew the callees that
failed in the round before. In a chain of calls each function doubled that: ten deep, the innermost was compiled a
thousand times before its error came out. Here the second round gets the first round's error.

A callee may succeed another time if it depends on unfinished state: on a function whose compile has begun and not
ended, or on modules and registrations that came since.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gridjit.base.values import dataclass
from gridjit.compiler.frontend.bindings.replacing import replace
from gridjit.compiler.frontend.kept.drafts import Draft, Drafts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Failure:
    """An error as a callee raised it, before its callers added to its words.

    dispatcher: the callee's, kept alive, as it is known by its identity. since: how many modules and registrations
    there were when its compile began. draft: the questions that it had asked.
    """

    dispatcher: Any
    error: Any
    since: tuple[int, int]
    draft: Draft | None


class Failures:
    """The callees that failed in one compile."""

    def __init__(self, drafts: Drafts) -> None:
        self._drafts = drafts
        self._failed: dict[object, _Failure] = {}
        self._lists: list[list[Any]] = []
        self._met_recursion = False

    def begin(self) -> None:
        """Notice calls of functions whose compile has not ended, until the changes to numba-cuda are undone."""
        from numba.cuda.typing.context import CallStack

        def findfirst(stack: Any, function: Any) -> Any:
            if (frame := original(stack, function)) is not None:
                self._met_recursion = True
                self.forget()
            return frame

        original = replace(CallStack, "findfirst", findfirst)

    def forget(self) -> None:
        """Forget all: the errors hold the frames of unfinished compiles."""
        self._failed.clear()

    def compiled(self, dispatcher: Any, arguments: Any, return_type: Any, compile_it: Callable[[], Any]) -> Any:
        """Return compile_it(), or raise its earlier error for the same function and types again."""
        from numba.core.errors import NumbaError
        from numba.cuda.core.errors import ForceLiteralArg

        if self._drafts.suspended or self._met_recursion:
            return compile_it()
        since = self._today()
        key = (id(dispatcher), arguments, tuple(map(str, arguments)), return_type)
        if (known := self._failed.get(key)) is not None and known.since == since:
            raise self._again(known)
        self._drafts.failed = None
        try:
            return compile_it()
        except ForceLiteralArg:
            raise
        except NumbaError as error:
            if not self._met_recursion:
                made = _copied(error)
                self._failed[key] = _Failure(dispatcher=dispatcher, error=made, since=since, draft=self._drafts.failed)
            raise

    def _again(self, known: _Failure) -> Any:
        if known.draft is None:
            self._drafts.spoil("it calls what does not compile")
        else:
            self._drafts.depend_on(known.draft)
        return _copied(known.error)

    def _today(self) -> tuple[int, int]:
        """Return how much there is by which a compile could go another way than one before."""
        if not self._lists:
            from numba.cuda.descriptor import cuda_target

            contexts = (cuda_target.typing_context, cuda_target.target_context)
            owners = [vars(registry).values() for context in contexts for registry in context._registries]
            self._lists = [one for values in owners for one in values if type(one) is list]
        return len(sys.modules), sum(map(len, self._lists))


def _copied(error: Any) -> Any:
    """Return a copy of an error, to which numba-cuda may add its callers' words."""
    made = type(error).__new__(type(error), *error.args)
    vars(made).update({name: value[:] if type(value) is list else value for name, value in vars(error).items()})
    made.__cause__, made.__context__ = error.__cause__, error.__context__
    made.__suppress_context__ = error.__suppress_context__
    return made.with_traceback(error.__traceback__)
