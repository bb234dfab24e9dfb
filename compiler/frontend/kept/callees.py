"""callees: where numba-cuda compiles what a kernel calls, each callee is taken from a unit or becomes a draft.

Those are device functions, the implementations behind @overload, which are device functions made by numba-cuda, and the
functions that its lowering compiles.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gridjit.compiler.frontend.faster.flags import text_of
from gridjit.compiler.frontend.faster.matched import note_compiled
from gridjit.compiler.frontend.isolated.replacing import on_undo
from gridjit.compiler.frontend.kept.keeping import Keeping, Table
from gridjit.compiler.frontend.kept.plain import is_numbas, is_plain, mark_of

# Where a dispatcher keeps its units: among what belongs to its compiles, so that nobody takes it for a value.
_KEPT = "_gridjit_kept"
_MOST_IMPLEMENTATIONS = 4096
# numba-cuda's own: units of internal functions, and the dispatchers that stand for implementations with the arguments
# they take, None for those they do not take, by all that tells one from another.
_internal: Table = {}
_implementations: dict[object, tuple[Any, Any]] = {}


class Callees:
    """The callees of one compile, without keeping: each is compiled.

    empty: has a dispatcher forget what other compiles left in it.
    """

    def __init__(self, keeping: Keeping | None, empty: Callable[[Any], None]) -> None:
        self._keeping = keeping
        self._empty = empty

    def device_function(self, dispatcher: Any, arguments: Any, return_type: Any, compile_it: Callable[[], Any]) -> Any:
        """Return what a device function is compiled to for arguments, which need not be compiled yet."""
        self._empty(dispatcher)
        note_compiled()
        if (keeping := self._keeping) is None:
            return compile_it()
        if (result := dispatcher.overloads.get(arguments)) is None:
            table, key = _table_of(dispatcher), _key_of(dispatcher, arguments, return_type)
            place = _InDispatcher(dispatcher=dispatcher, arguments=arguments)
            result = keeping.result(table, key, place, dispatcher.py_func, compile_it)
        keeping.use(result)
        return result

    def internal_function(
        self, context: Any, function: Any, signature: Any, flags: Any, compile_it: Callable[[], Any]
    ) -> Any:
        """Return what a function is compiled to that the lowering of another calls. flags: None for those of that."""
        if (keeping := self._keeping) is None:
            return compile_it()
        key = _internal_key(context, function, signature, flags)
        place = _InContext(key=None if key is None else _numbas_key(context, function, signature))
        result = keeping.result(None if key is None else _internal, key, place, function, compile_it)
        context.active_code_library.add_linking_library(result.library)
        return result

    def use(self, result: Any) -> None:
        """Note that a callee was found that was compiled before in this compile."""
        if self._keeping is not None:
            self._keeping.use(result)

    def implementation(self, template: Any, numbas_key: Any, arguments: Any, keywords: Any, build: Any) -> Any:
        """Return (dispatcher, arguments) of what numba-cuda implements an overload with, made by build if need be.

        They are None for arguments that it does not implement.
        """
        if (keeping := self._keeping) is None or (key := _implementation_key(template, arguments, keywords)) is None:
            return build(template, numbas_key, arguments, keywords)
        key = (keeping.surroundings, key)
        if (found := _implementations.get(key)) is None:
            found = build(template, numbas_key, arguments, keywords)
            if template._impl_cache.get(numbas_key) == found:
                _keep_implementation(key, found)
            return found
        if found[0] is not None:
            from numba.cuda import types

            types.Dispatcher(found[0]).get_call_type(template.context, arguments, keywords)
        template._impl_cache[numbas_key] = found
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _InDispatcher:
    """The place of a device function's result."""

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
class _InContext:
    """The place of an internal function's result, whatever context lowers what calls it."""

    key: object

    def found(self, empty: Callable[[Any], None]) -> Any:
        return _internal_results().get(self.key)

    def put(self, result: Any) -> None:
        _internal_results()[self.key] = result


def _internal_results() -> dict[object, Any]:
    from numba.cuda.descriptor import cuda_target

    results: dict[object, Any] = cuda_target.target_context.cached_internal_func
    return results


def taken_out_at_the_end(result: Any) -> None:
    """Have the target context forget a device function when the compile ends."""
    # Not remove_user_function, which fails where the function is gone already.
    on_undo(functools.partial(result.target_context._defns.pop, result.entry_point, None))


def offers_what_it_is_called_with(dispatcher: Any) -> bool:
    """Return whether a dispatcher compiles what it is called with, having no declared signatures to choose from."""
    from numba.cuda.dispatcher import CUDADispatcher

    return type(dispatcher) is CUDADispatcher and bool(dispatcher._can_compile)


def _table_of(dispatcher: Any) -> Table | None:
    options = dispatcher.targetoptions
    if not offers_what_it_is_called_with(dispatcher) or options.get("debug") or options.get("lineinfo"):
        return None
    table: Table = vars(dispatcher._compiler).setdefault(_KEPT, {})
    return table


def _key_of(dispatcher: Any, arguments: Any, return_type: Any) -> object:
    texts = tuple(map(str, arguments))
    return (id(dispatcher.py_func), arguments, texts, return_type, repr(sorted(dispatcher.targetoptions.items())))


def _numbas_key(context: Any, function: Any, signature: Any) -> object:
    """Return what numba-cuda finds an internal function by."""
    key = (function.__code__, signature, type(context.error_model), context.enable_nrt)
    return (*key, *(cell.cell_contents for cell in function.__closure__ or ()))


def _internal_key(context: Any, function: Any, signature: Any, flags: Any) -> object | None:
    """Return what tells an internal function of numba-cuda's from others; None for one that cannot be told."""
    from numba.cuda.core.targetconfig import ConfigStack

    flags = ConfigStack.top_or_none() if flags is None else flags
    marks = _cell_marks(function)
    if not is_numbas(function) or marks is None or flags is None or flags.debuginfo:
        return None
    texts = tuple(map(str, (*signature.args, signature.return_type)))
    return (_numbas_key(context, function, signature), marks, texts, text_of(flags))


def _implementation_key(template: Any, arguments: Any, keywords: Any) -> object | None:
    """Return what tells an implementation of numba-cuda's from others; None for one that cannot be told."""
    from numba.cuda.core.targetconfig import ConfigStack

    function, given = template._overload_func, (*arguments, *keywords.values())
    marks = _cell_marks(function)
    if not is_numbas(function) or marks is None or not all(map(is_plain, given)):
        return None
    texts, flags = tuple(map(str, given)), ConfigStack.top_or_none()
    return (type(template), function, marks, tuple(arguments), tuple(keywords.items()), texts, text_of(flags))


def _cell_marks(function: Any) -> tuple[object, ...] | None:
    """Return the marks of what a function's closure holds, None if one of them has none."""
    try:
        marks = tuple(mark_of(cell.cell_contents) for cell in function.__closure__ or ())
    except ValueError:  # a variable that has no value yet
        return None
    return None if None in marks else marks


def _keep_implementation(key: object, found: tuple[Any, Any]) -> None:
    if len(_implementations) >= _MOST_IMPLEMENTATIONS:
        _implementations.clear()
    _implementations[key] = found
