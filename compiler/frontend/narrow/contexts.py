"""Contexts: numba-cuda's two contexts, which read registries bit by bit, completed after a compile was cut short.

A context goes through the new entries of a registry once, and remembers only how far it has asked. After an interrupt
or a fork in the middle, the rest would be missing for good, and every later compile would fail.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from gridjit.compiler.frontend.bindings.replacing import on_undo

# Whether the contexts may lack something. True from the start of each compile to its success, and for contexts that
# numba-cuda's own compiles made. Contexts of make_contexts lack nothing.
_half_read = True


def contexts_were_read() -> bool:
    """Return whether the contexts began to read the registries, as they do in the first compile of any kernel.

    They are there before, and read nothing, once numba-cuda's 16-bit floats are imported.
    """
    from numba.cuda.descriptor import cuda_target

    return cuda_target._targetctx is not None and bool(cuda_target._targetctx._registries)


def make_contexts() -> None:
    """Make the contexts, which read the registries for the first time, and import the modules for typing a global."""
    # Almost every kernel has one. A module imported in the middle of compiles is told apart from the rest of numba.
    with parser_of_c_left_for_later():
        from numba.core.typing import bufproto, cffi_utils  # noqa: F401
    from numba.cuda.descriptor import cuda_target

    new = not contexts_were_read()
    cuda_target.target_context.refresh()
    if new:
        contexts_are_whole()


def contexts_may_be_half_read() -> None:
    """Make the next compile look for entries that the contexts lack."""
    global _half_read
    _half_read = True


def contexts_are_whole() -> None:
    """Note that a compile reached its end, so that nothing is missing."""
    global _half_read
    _half_read = False


def mend_contexts() -> None:
    """Begin an outermost compile: add the entries that contexts lack, if the last compile was cut short."""
    from numba.cuda.descriptor import cuda_target

    if _half_read:
        if (typing := cuda_target._typingctx) is not None:
            typing.callstack._stack.clear()
            _read_again(typing, _typed(typing))
        if (target := cuda_target._targetctx) is not None:
            target._codelib_stack.clear()
            _read_again(target, _implemented(target))
    contexts_may_be_half_read()


def set_contexts_aside() -> None:
    """Begin a compile inside another: until its changes are undone, the contexts look as if nothing were going on.

    The other may be anywhere, since a signal handler or a finalizer can launch a kernel: in the middle of reading a
    registry, of a list, or of typing the very function that is compiled now. It finds everything as it left it.
    """
    from numba.cuda.descriptor import cuda_target

    if (typing := cuda_target._typingctx) is not None:
        _set_aside(typing, callstack=_without_calls(typing.callstack))
        _read_again(typing, _typed(typing))
    if (target := cuda_target._targetctx) is not None:
        _set_aside(target, _codelib_stack=[])
        _read_again(target, _implemented(target))


def _set_aside(context: Any, **fresh: Any) -> None:
    """Give a context copies of its tables. This is one assignment, and so is putting the old ones back."""
    kept = vars(context)
    tables = {name: copy.copy(value) for name, value in kept.items() if isinstance(value, dict)}
    tables["_registries"] = {registry: copy.copy(loader) for registry, loader in kept["_registries"].items()}
    on_undo(functools.partial(setattr, context, "__dict__", kept))
    context.__dict__ = {**kept, **tables, **fresh}


def _without_calls(stack: Any) -> Any:
    empty = copy.copy(stack)
    empty._stack = []
    return empty


def _read_again(context: Any, installed: Callable[[str, Any], bool]) -> None:
    """Have the context's next look at each registry begin with the entries that it has not installed."""
    for registry, loader in list(context._registries.items()):
        streams = {name: _stream(getattr(registry, name), name, installed) for name in loader.registry_items}
        loader._registrations = streams


def _stream(entries: list[Any], name: str, installed: Callable[[str, Any], bool]) -> Iterator[Iterator[Any]]:
    stop = len(entries)
    yield iter([entry for entry in entries[:stop] if not installed(name, entry)])
    while True:
        start, stop = stop, len(entries)
        yield iter(entries[start:stop])


def _typed(context: Any) -> Callable[[str, Any], bool]:
    """Return a predicate: whether a typing context has installed an entry of a registry's list."""
    templates = {
        name: {type(template) for found in table.values() for template in found}
        for name, table in (("functions", context._functions), ("attributes", context._attributes))
    }

    def installed(name: str, entry: Any) -> bool:
        if name != "globals":
            return entry in templates[name]
        value, type_ = entry
        known = context._lookup_global(value)
        return known is not None and (known == type_ or _includes(known, type_))

    return installed


def _includes(known: Any, type_: Any) -> bool:
    """Return whether a function's type has all templates of another's."""
    templates = getattr(type_, "templates", None)
    return templates is not None and set(templates) <= set(getattr(known, "templates", ()))


def _implemented(context: Any) -> Callable[[str, Any], bool]:
    """Return a predicate: whether a target context has installed an entry of a registry's list."""
    tables = {
        "functions": dict(context._defns),
        "getattrs": dict(context._getattrs),
        "setattrs": dict(context._setattrs),
        "casts": {None: context._casts},
        "constants": {None: context._get_constants},
    }
    known = {name: {key: _versions(found) for key, found in table.items()} for name, table in tables.items()}

    def installed(name: str, entry: tuple[Any, ...]) -> bool:
        implementation, *keys, signature = entry
        signatures = known[name].get(keys[0] if keys else None, {})
        return signature in signatures.get(id(implementation), ())

    return installed


def _versions(selector: Any) -> dict[int, list[Any]]:
    """Return the signatures of a selector's candidates, by their identity, and clear its cache.

    It may remember a choice among fewer candidates.
    """
    selector._cache.clear()
    signatures: dict[int, list[Any]] = {}
    for signature, implementation in selector.versions:
        signatures.setdefault(id(implementation), []).append(signature)
    return signatures


_PARSER = "pycparser"


class _Later(ModuleType):
    """Stands for pycparser in the one module that was imported meanwhile; its attributes are pycparser's."""

    def __getattr__(self, name: str) -> Any:
        _take_away(self)
        return getattr(importlib.import_module(_PARSER), name)


@contextlib.contextmanager
def parser_of_c_left_for_later() -> Iterator[None]:
    """Meanwhile, let cffi be imported without pycparser, unless the process has either, or pycparser is missing."""
    if {_PARSER, "cffi.cparser"} & sys.modules.keys() or find_spec(_PARSER) is None:
        yield
        return
    later = sys.modules[_PARSER] = _Later(_PARSER)
    try:
        yield
    finally:
        _take_away(later)


def _take_away(later: ModuleType) -> None:
    if sys.modules.get(_PARSER) is later:
        del sys.modules[_PARSER]
