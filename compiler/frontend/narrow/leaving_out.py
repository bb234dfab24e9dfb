"""leaving_out: numba-cuda's contexts, made without the floats of 16 and 8 bits and the words, and completed later.

The modules of these floats are most of what numba-cuda's first compile imports: 28,000 generated lines, which make
1,200 classes. Few kernels use them. To the others they make no difference, except that the operators of bfloat16 accept
all numbers, before numba-cuda's usual ones do; stand-ins do that here. So it is in the versions of numba-cuda that are
named here, where a test compares the results of both kinds of contexts for each pair of types.

Completed contexts equal numba-cuda's: implementations are tried in the same order. The words (libdevice's functions and
vector types) can be loaded without the floats; loading the floats loads the words too.
"""

from __future__ import annotations

import builtins
import functools
import operator
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from gridjit.compiler.frontend.bindings.vocabulary import values_of_halves
from gridjit.compiler.frontend.faster import refreshing
from gridjit.compiler.frontend.faster.piece import Replace
from gridjit.compiler.frontend.narrow.contexts import contexts_may_be_half_read
from gridjit.compiler.frontend.narrow.modules import NAMES, are_imported, import_modules
from gridjit.compiler.frontend.narrow.words import (
    WORDS,
    Registries,
    are_words_imported,
    is_template_of_words,
    registries_of_words,
)
from gridjit.compiler.key.extensions import all_registrations
from gridjit.compiler.key.registrations import lists_of_registries
from gridjit.compiler.key.registry_entries import is_numbas_own
from gridjit.compiler.numba_state.first_modules import note_what_is_not_imported
from gridjit.compiler.numba_state.pristine import is_known_version, is_pristine

_LOAD = "load_additional_registries"
_WRITTEN_FOR = {
    place: records for place, records in refreshing.PIECE.written_for.items() if place.endswith(f".{_LOAD}")
}


class _Rows:
    """The places of the words' templates for `in` and for methods of arrays: behind the templates that came first."""

    def __init__(self) -> None:
        self._before: set[Any] = set()

    def note(self, typing: Any) -> None:
        """Note the templates at the words' turn; the context has not read all of them yet."""
        from numba.cuda.typing.templates import builtin_registry

        registered = (builtin_registry.functions, builtin_registry.attributes)
        offered = (getattr(type_, "templates", ()) for _, type_ in builtin_registry.globals)
        there = (map(_class_of, found) for _, _, found in _rows_of(typing))
        self._before.update(*registered, *offered, *there)

    def put_in_order(self, typing: Any) -> None:
        """Put the words' templates into their places of a load from the start."""
        for table, key, found in _rows_of(typing):
            theirs = [one for one in found if is_template_of_words(_class_of(one))]
            others = [one for one in found if not is_template_of_words(_class_of(one))]
            end = 1 + max((at for at, one in enumerate(others) if _class_of(one) in self._before), default=-1)
            ordered = (*others[:end], *theirs, *others[end:])
            # A key is there but once: a dictionary of numba's that refuses to be given it again.
            dict.__setitem__(table, key, type(table[key])(ordered))


def _rows_of(typing: Any) -> list[tuple[Any, Any, Sequence[Any]]]:
    """Return each of a context's tables with the key for `in` or for arrays, and the templates that it has there."""
    from numba.cuda import types

    key = weakref.ref(operator.contains)
    offered = getattr(typing._globals.get(key), "templates", ())
    return [
        (typing._globals, key, offered),
        (typing._functions, operator.contains, typing._functions[operator.contains]),
        (typing._attributes, types.Array, typing._attributes[types.Array]),
    ]


def _class_of(template: Any) -> Any:
    return template if isinstance(template, type) else type(template)


class _LeftOut:
    """A typing context that was made without the modules.

    then: its globals' types at the modules' turn. stand_ins: templates that it has in their place, from their registry.
    ends: each list of numba-cuda's registries, words for its entries, and how many there were.
    """

    def __init__(self, typing: Any, then: Mapping[Any, Any], stand_ins: Any) -> None:
        self.typing, self.then = typing, then
        self.stand_ins = frozenset(template for _, type_ in stand_ins.globals for template in type_.templates)
        self.registry = stand_ins
        self.ends = [(entries, kind, len(entries)) for entries, kind in lists_of_registries()]
        self.rows = _Rows()
        self.was_completed = self.has_words = False

    def is_current(self) -> bool:
        """Return whether this is still the process's context; tests make others."""
        from numba.cuda.descriptor import cuda_target

        return self.typing is cuda_target._typingctx


# For each operator that bfloat16 has, the class in numba.cuda.typing.builtins whose cases are accepted for it.
_OPERATORS = {
    "BinOp": ("add", "sub", "mul", "iadd", "isub", "imul", "itruediv"),
    "BinOpTrueDiv": ("truediv",),
    "UnaryPositive": ("pos",),
    "UnaryNegate": ("neg",),
    "UnorderedCmpOp": ("eq", "ne"),
    "OrderedCmpOp": ("gt", "lt", "ge", "le"),
}
# That of the process, if it was made so.
_left_out: list[_LeftOut] = []


def leave_out(replace: Replace) -> None:
    """Leave the modules out of the contexts made next, unless that might make a difference."""
    note_what_is_not_imported()
    if are_imported() or not is_known_version() or not is_pristine(_WRITTEN_FOR):
        return
    if all_registrations():  # an extension's come after them
        return
    load_typing, load_target = map(_importing_none, _kinds_of_contexts())

    def load(context: Any) -> None:
        load_typing(context)
        if not _left_out or _left_out[0].typing is not context:  # contexts load again while they load
            then, stand_ins = dict(context._globals), _stand_ins()
            context.install_registry(stand_ins)
            _left_out[:] = [_LeftOut(context, then, stand_ins)]

    for kind, loading in zip(_kinds_of_contexts(), (load, load_target), strict=True):
        replace(kind, _LOAD, loading)


def note_left_out() -> None:
    """Complete contexts without the modules before numba-cuda itself compiles with them.

    numba-cuda loads contexts' registries before each compile.
    """
    if are_left_out():
        for context in _contexts():
            setattr(context, _LOAD, functools.partial(_complete_and_load, context))


def go_on_without(put: Replace) -> None:
    """Keep contexts without the modules in a compile of ours, unless it completes them."""
    if are_left_out():
        for context in _contexts():
            put(context, _LOAD, functools.partial(_importing_none(type(context)), context))


def are_left_out() -> bool:
    """Return whether the process's contexts were made without the modules, and are not completed."""
    if not _left_out or not _left_out[0].is_current():
        return False
    # A compile inside another one completes copies, which are gone when it ends.
    return not _left_out[0].was_completed or not _are_installed(_registries_of(import_modules()))


def are_words_left_out() -> bool:
    """Return whether the process's contexts were made without the words, and still lack them."""
    if not _left_out or not _left_out[0].is_current():
        return False
    return not _left_out[0].has_words or not _are_installed(registries_of_words())


def may_matter() -> bool:
    """Return whether contexts without the modules may differ by now from complete ones, for any kernel."""
    return are_left_out() and (are_imported() or bool(all_registrations()))


def words_may_matter() -> bool:
    """Return whether contexts without the words may not know the types of a kernel's arguments."""
    return are_words_imported() and are_words_left_out()


def load_words() -> None:
    """Import the modules of the words, and have the process's contexts read their registries."""
    _install(registries_of_words())
    _put_words_in_order()


def _put_words_in_order() -> None:
    """Have the words' templates, in the registries of other modules, tried where numba-cuda does."""
    for context in _contexts():
        context.refresh()
    for left_out in _left_out:
        left_out.has_words = True
        left_out.rows.put_in_order(left_out.typing)


def complete_contexts() -> None:
    """Import the modules, and have the process's contexts read their registries as if they had from the start."""
    registries = [*registries_of_words(), *_registries_of(import_in_order())]
    for context in _contexts():
        vars(context).pop(_LOAD, None)
    _install(registries)
    for left_out in _left_out:
        left_out.registry.globals.clear()  # or a context that is mended would read them again
        _put_in_order(left_out, registries)
        left_out.was_completed = True
    _put_words_in_order()
    values_of_halves()


def _install(registries: Iterable[Registries]) -> None:
    typing, target = _contexts()
    for one in registries:
        if one.typing is not None:
            typing.install_registry(one.typing)
        if one.target is not None:
            target.install_registry(one.target)


def import_in_order() -> list[ModuleType]:
    """Return the modules, imported; programs' earlier registrations are put behind the modules'.

    Many of the modules' entries go into registries of other modules, where the order decides on the implementation.
    """
    registries_of_words()
    modules = import_modules()
    for left_out in _left_out:
        for entries, kind, count in left_out.ends:
            since = entries[count:]
            ordered = sorted(since, key=lambda entry: not is_numbas_own(kind, entry))
            if any(map(operator.is_not, ordered, since)):
                entries[count:] = ordered
                contexts_may_be_half_read()  # if they have read some of it
    return modules


def _complete_and_load(context: Any) -> None:
    complete_contexts()
    type(context).load_additional_registries(context)


def _contexts() -> tuple[Any, Any]:
    """Return the process's contexts, for types and for implementations."""
    from numba.cuda.descriptor import cuda_target

    return cuda_target.typing_context, cuda_target.target_context


def _kinds_of_contexts() -> tuple[type, type]:
    from numba.cuda.target import CUDATargetContext, CUDATypingContext

    return CUDATypingContext, CUDATargetContext


def _registries_of(modules: Iterable[Any]) -> list[Registries]:
    """Return the registries of the floats' modules."""
    return [Registries(module.typing_registry, module.target_registry) for module in modules]


def _are_installed(registries: Iterable[Registries]) -> bool:
    typing, target = (context._registries for context in _contexts())
    return all(
        (one.typing is None or one.typing in typing) and (one.target is None or one.target in target)
        for one in registries
    )


def _put_in_order(left_out: _LeftOut, registries: Iterable[Registries]) -> None:
    """Put the modules' implementations where numba-cuda tries them, not behind all that were there before them."""
    found = left_out.typing._globals
    theirs: dict[Any, list[Any]] = {}
    for one in registries:
        for value, type_ in () if one.typing is None else one.typing.globals:
            theirs.setdefault(id(value), []).extend(type_.templates)
    for key, type_ in list(found.items()):
        added = theirs.get(id(_value_of(key)))
        if added is None or len(added) == len(type_.templates):
            continue
        others = [one for one in type_.templates if one not in added and one not in left_out.stand_ins]
        before = len(left_out.then[key].templates) if key in left_out.then else 0
        # A key is there but once: a dictionary of numba's that refuses to be given it again.
        dict.__setitem__(found, key, type(type_)((*others[:before], *added, *others[before:])))


def _value_of(key: Any) -> Any:
    """Return the global that a key of numba's is for: the value itself, or a weak reference to it."""
    return key() if isinstance(key, weakref.ref) else key


def _stand_ins() -> Any:
    """Return a registry of the further operands that bfloat16's operators accept."""
    from numba.cuda.typing import builtins as numbas
    from numba.cuda.typing.templates import Registry

    registry = Registry()
    for template, names in _OPERATORS.items():
        for name in names:
            registry.register_global(getattr(operator, name))(getattr(numbas, template))
    return registry


def _importing_none(kind: type) -> Callable[[Any], None]:
    """Return a context's method that loads registries, for which `from . import fp16` finds some with no entries.

    Once the words are loaded, it finds these.
    """
    load = vars(kind)[_LOAD]
    own = {**vars(builtins), "__import__": _import_others}
    return FunctionType(load.__code__, {**load.__globals__, "__builtins__": own}, load.__name__)


def _import_others(
    name: str,
    globals: Mapping[str, object] | None = None,  # as Python calls it
    locals: Mapping[str, object] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> Any:
    """Import as Python does, but find empty registries in place of the modules."""
    without = {**_without_entries(), **({} if _have_words() else _words_without_entries())}
    others = [one for one in fromlist or () if one not in without]
    found = __import__(name, globals, locals, others, level)
    if len(others) == len(fromlist or ()):
        return found
    if "arraymath" in without and "arraymath" in (fromlist or ()):
        _note_rows()
    return SimpleNamespace(**{one: getattr(found, one) for one in others}, **without)


def _note_rows() -> None:
    for left_out in _left_out:
        if left_out.is_current() and not left_out.has_words:
            left_out.rows.note(left_out.typing)


def _have_words() -> bool:
    return bool(_left_out) and _left_out[0].is_current() and _left_out[0].has_words


# Nobody adds entries to these registries, so contexts share them.
@functools.cache
def _without_entries() -> dict[str, Any]:
    from numba.cuda.core.imputils import Registry as Implementations
    from numba.cuda.typing.templates import Registry as Types

    return {one: SimpleNamespace(typing_registry=Types(), target_registry=Implementations()) for one in NAMES}


@functools.cache
def _words_without_entries() -> dict[str, Any]:
    from numba.cuda.core.imputils import Registry as Implementations
    from numba.cuda.typing.templates import Registry as Types

    return {
        one: SimpleNamespace(
            **{name: kind() for name, kind in ((words.typing, Types), (words.target, Implementations)) if name}
        )
        for one, words in WORDS.items()
    }
