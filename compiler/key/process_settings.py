"""Settings of a process or a thread that code reads without naming them; none where they are as Python starts.

A division of decimals depends on its thread's context, an overflow of NumPy's numbers on the error settings, a
warning on the filters, a copy on how its class is reduced. Each of these can change the result of code that runs while
kernels are compiled, although the code does not name it.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from types import FunctionType, ModuleType
from typing import Any

from gridjit.compiler.source.libraries import is_library, is_librarys
from gridjit.compiler.source.objects import type_name

_DIGITS = 4300
_CATEGORIES = ("LC_NUMERIC", "LC_TIME")
_PLAIN_LOCALES = ("C", "POSIX")
_DECIMAL = (28, "ROUND_HALF_EVEN", -999999, 999999, 1, 0, ("DivisionByZero", "InvalidOperation", "Overflow"))
_FLOATING = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
_PRINTED = {
    "edgeitems": 3,
    "threshold": 1000,
    "floatmode": "maxprec",
    "precision": 8,
    "suppress": False,
    "linewidth": 75,
    "nanstr": "nan",
    "infstr": "inf",
    "sign": "-",
    "formatter": None,
    "legacy": False,
    "override_repr": None,
}
# Code that takes one of these copies objects, or collects warnings instead of showing them.
_COPIES = frozenset({"copy", "deepcopy", "replace"})
_COLLECTS = "catch_warnings"


def process_settings(names: Collection[str]) -> Iterator[tuple[str, object]]:
    """Yield words and value for each setting that a program has made; names: the names in the code of the key.

    A library that is not loaded has all its settings as they were made, and is not loaded to ask.
    """
    yield from _decimals(sys.modules.get("decimal"))
    yield from _numpys(sys.modules.get("numpy"))
    yield from _locales()
    yield from _warnings(sys.modules.get("warnings"), _COLLECTS in names)
    if _COPIES & {*names}:
        yield from _reductions(sys.modules.get("copyreg"))
    digits = getattr(sys, "get_int_max_str_digits", lambda: _DIGITS)()
    if digits != _DIGITS:
        yield "longest text of a number", digits


def _decimals(decimal: Any) -> Iterator[tuple[str, object]]:
    if decimal is None:
        return
    now = decimal.getcontext()
    traps = tuple(sorted(signal.__name__ for signal, is_set in now.traps.items() if is_set))
    found = (now.prec, now.rounding, now.Emin, now.Emax, now.capitals, now.clamp, traps)
    if found != _DECIMAL:
        yield "context of decimals", found


def _numpys(numpy: Any) -> Iterator[tuple[str, object]]:
    if numpy is None:
        return
    errors = numpy.geterr()
    if errors != _FLOATING:
        yield "what NumPy does about errors", dict(sorted(errors.items()))
        if {"call", "log"} & {*errors.values()}:
            yield "what NumPy calls about errors", numpy.geterrcall()
    printed = numpy.get_printoptions()
    changed = {name: value for name, value in sorted(printed.items()) if _PRINTED.get(name, printed) != value}
    if changed:
        yield "how NumPy prints", changed


def _locales() -> Iterator[tuple[str, object]]:
    import _locale  # a part of the interpreter

    for category in _CATEGORIES:
        found = _locale.setlocale(getattr(_locale, category), None)
        if found not in _PLAIN_LOCALES:
            yield f"locale {category}", found


def _warnings(warnings: Any, collected: bool) -> Iterator[tuple[str, object]]:
    """Yield the filters of warnings, if one of them raises, or if code looks at the warnings that pass them.

    The rest decides which warnings are shown. Filters that libraries add on import are for warnings of their own.
    """
    filters = [one for one in getattr(warnings, "filters", ()) if not _is_librarys_filter(one)]
    last = max((n for n, one in enumerate(filters, 1) if one[0] == "error"), default=0)
    if counted := filters if collected else filters[:last]:
        yield "filters of warnings", [_filter_text(one) for one in counted]


def _is_librarys_filter(one: tuple[Any, ...]) -> bool:
    return one[0] != "error" and (_home(one[2]) in ("numpy", "numba") or "numpy" in str(_pattern(one[1])))


def _filter_text(one: tuple[Any, ...]) -> tuple[object, ...]:
    action, message, category, module, line = one
    return action, _pattern(message), type_name(category), _pattern(module), line


def _pattern(given: Any) -> object:
    return getattr(given, "pattern", given)


def _home(category: type) -> str:
    return str(category.__module__).partition(".")[0]


def _reductions(copyreg: ModuleType | None) -> Iterator[tuple[str, object]]:
    """Yield the classes that a program said how to reduce, and how."""
    table = vars(copyreg).get("dispatch_table") if copyreg is not None else None
    given = [pair for pair in (table or {}).items() if not _is_own_reduction(*pair)]
    if given:
        yield "how objects are copied", [part for pair in sorted(given, key=_class_name) for part in pair]


def _is_own_reduction(cls: type, reduced: object) -> bool:
    if isinstance(reduced, FunctionType):
        return is_librarys(reduced)
    return is_library(str(getattr(reduced, "__module__", ""))) and is_librarys(cls)


def _class_name(pair: tuple[type, object]) -> str:
    return type_name(pair[0])
