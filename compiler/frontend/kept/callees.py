"""callees: wherever numba-cuda compiles a callee of a kernel, the callee comes from a unit or becomes a draft.

Callees are device functions, the implementations behind @overload, which numba-cuda makes device functions of, and the
functions that its lowering compiles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gridjit.compiler.frontend.faster.flags import text_of
from gridjit.compiler.frontend.faster.matched import note_compiled
from gridjit.compiler.frontend.kept.asked import offers_what_it_is_called_with
from gridjit.compiler.frontend.kept.keeping import NUMBAS_OWN, Callee, Keeping, UnitTable, numbas_own
from gridjit.compiler.frontend.kept.places import InContext, InDispatcher, SharedPlace
from gridjit.compiler.frontend.kept.plain import is_numbas, is_plain, mark_of

# The attribute with a dispatcher's units, of its compiler object, so that nobody takes it for a value.
_KEPT = "_gridjit_kept"
_MOST_IMPLEMENTATIONS = 4096
# The dispatchers and arguments of numba-cuda's own implementations, by _implementation_key; None for arguments that an
# implementation does not take.
_implementations: dict[object, tuple[Any, Any]] = {}


class Callees:
    """The callees of a compile. keeping: None if it keeps none and compiles each.

    empty: clears other compiles' results from a dispatcher.
    """

    def __init__(self, keeping: Keeping | None, empty: Callable[[Any], None]) -> None:
        self._keeping = keeping
        self._empty = empty

    def device_function(self, dispatcher: Any, arguments: Any, return_type: Any, compile_it: Callable[[], Any]) -> Any:
        """Return the result of a device function for arguments. compile_it: compiles it if need be."""
        self._empty(dispatcher)
        note_compiled()
        if (keeping := self._keeping) is None:
            return compile_it()
        if (result := dispatcher.overloads.get(arguments)) is None:
            result = _device_function(keeping, dispatcher, arguments, return_type, compile_it)
        keeping.use(result)
        return result

    def internal_function(
        self, context: Any, function: Any, signature: Any, flags: Any, compile_it: Callable[[], Any]
    ) -> Any:
        """Return the result of a function that another function's lowering calls. flags: None for the caller's."""
        if (keeping := self._keeping) is None:
            return compile_it()
        key = _internal_key(context, function, signature, flags)
        shelved = None if key is None else _shelved_internal(keeping, context, function, signature, flags)
        if shelved is not None:
            result = _numbas_own(keeping, shelved, function, compile_it)
        else:
            place = InContext(key=None if key is None else _numbas_key(context, function, signature))
            table = None if key is None else NUMBAS_OWN
            result = keeping.result(Callee(place=place, function=function, table=table, key=key), compile_it)
        context.active_code_library.add_linking_library(result.library)
        return result

    def use(self, result: Any) -> None:
        """Note that a callee was found that this compile compiled before."""
        if self._keeping is not None:
            self._keeping.use(result)

    def implementation(self, template: Any, numbas_key: Any, arguments: Any, keywords: Any, build: Any) -> Any:
        """Return (dispatcher, arguments) of an overload's implementation. build: makes it if need be.

        They are None for arguments without an implementation.
        """
        keeping = self._keeping if self._keeping is not None and self._keeping.has_looked else None
        if keeping is None or (key := _implementation_key(template, arguments, keywords)) is None:
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


def _device_function(
    keeping: Keeping, dispatcher: Any, arguments: Any, return_type: Any, compile_it: Callable[[], Any]
) -> Any:
    """Return the result of a device function that its dispatcher does not have."""
    table, function = _table_of(dispatcher), dispatcher.py_func
    place = InDispatcher(dispatcher=dispatcher, arguments=arguments)
    shelved = None if table is None else _shelved_device(keeping, dispatcher, arguments, return_type)
    if shelved is None or not is_numbas(function):
        key = _key_of(dispatcher, arguments, return_type)
        callee = Callee(place=place, function=function, table=table, key=key, shelved=shelved)
        return keeping.result(callee, compile_it)
    result = _numbas_own(keeping, SharedPlace(shelved, shelved), function, compile_it)
    if arguments not in dispatcher.overloads:
        place.put(result)
    return result


def _numbas_own(keeping: Keeping, place: SharedPlace, function: Any, compile_it: Callable[[], Any]) -> Any:
    """Return the result of a function of numba-cuda's own, the same for all copies of it in the compile."""
    result = keeping.result(numbas_own(place, function), compile_it)
    place.put(result)
    return result


def _shelved_device(keeping: Keeping, dispatcher: Any, arguments: Any, return_type: Any) -> str | None:
    """Return the key of a device function on the shelf; None if it has none."""
    if keeping.shelving is None:
        return None
    function, options = dispatcher.py_func, repr(sorted(dispatcher.targetoptions.items()))
    return keeping.shelving.key(function, arguments, return_type, ("device", options), whole=is_numbas(function))


def _shelved_internal(keeping: Keeping, context: Any, function: Any, signature: Any, flags: Any) -> SharedPlace | None:
    """Return the place of a function that numba-cuda's lowering compiles and that can be named; None for any other."""
    from numba.cuda.core.targetconfig import ConfigStack

    if keeping.shelving is None:
        return None
    flags = ConfigStack.top_or_none() if flags is None else flags
    options = ("internal", type(context.error_model).__name__, str(context.enable_nrt))
    types = (function, signature.args, signature.return_type)
    told = keeping.shelving.key(*types, options, whole=True)
    key = keeping.shelving.key(*types, (*options, text_of(flags)), whole=True)
    return None if told is None or key is None else SharedPlace(told, key)


def _table_of(dispatcher: Any) -> UnitTable | None:
    options = dispatcher.targetoptions
    if not offers_what_it_is_called_with(dispatcher) or options.get("debug") or options.get("lineinfo"):
        return None
    table: UnitTable = vars(dispatcher._compiler).setdefault(_KEPT, {})
    return table


def _key_of(dispatcher: Any, arguments: Any, return_type: Any) -> object:
    texts = tuple(map(str, arguments))
    return (id(dispatcher.py_func), arguments, texts, return_type, repr(sorted(dispatcher.targetoptions.items())))


def _numbas_key(context: Any, function: Any, signature: Any) -> object:
    """Return the key by which numba-cuda finds an internal function."""
    key = (function.__code__, signature, type(context.error_model), context.enable_nrt)
    return (*key, *(cell.cell_contents for cell in function.__closure__ or ()))


def _internal_key(context: Any, function: Any, signature: Any, flags: Any) -> object | None:
    """Return the key of an internal function of numba-cuda's; None if it has none."""
    from numba.cuda.core.targetconfig import ConfigStack

    flags = ConfigStack.top_or_none() if flags is None else flags
    marks = _cell_marks(function)
    if not is_numbas(function) or marks is None or flags is None or flags.debuginfo:
        return None
    texts = tuple(map(str, (*signature.args, signature.return_type)))
    return (_numbas_key(context, function, signature), marks, texts, text_of(flags))


def _implementation_key(template: Any, arguments: Any, keywords: Any) -> object | None:
    """Return the key of an implementation of numba-cuda's; None if it has none."""
    from numba.cuda.core.targetconfig import ConfigStack

    function, given = template._overload_func, (*arguments, *keywords.values())
    marks = _cell_marks(function)
    if not is_numbas(function) or marks is None or not all(map(is_plain, given)):
        return None
    texts, flags = tuple(map(str, given)), ConfigStack.top_or_none()
    return (type(template), function, marks, tuple(arguments), tuple(keywords.items()), texts, text_of(flags))


def _cell_marks(function: Any) -> tuple[object, ...] | None:
    """Return the marks of the values in a function's closure; None if one has no mark."""
    try:
        marks = tuple(mark_of(cell.cell_contents) for cell in function.__closure__ or ())
    except ValueError:  # a variable that has no value yet
        return None
    return None if None in marks else marks


def _keep_implementation(key: object, found: tuple[Any, Any]) -> None:
    if len(_implementations) >= _MOST_IMPLEMENTATIONS:
        _implementations.clear()
    _implementations[key] = found
