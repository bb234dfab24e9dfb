"""written_for: which text of numba's functions a faster pass was written for. For other text, numba's own stays.

A record is the number of lines of a function's source, its decorators included, and a digest of them. Unlike bytecode,
the text is the same under every version of Python. A function that an extension put there instead has another text.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import operator
import sys
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy

# Place -> the namespaces on the way to a function, each with the name that was looked for and what was there; the
# function and its code then; and its records.
_Step: TypeAlias = "tuple[Mapping[str, Any], str, object]"
_looked_up: dict[str, tuple[tuple[_Step, ...], FunctionType, CodeType, tuple[str, ...]]] = {}
_NOTHING = object()


class _Ways:
    """The ways to functions that were known, all at once: what was on them, and what was not there."""

    def __init__(self, places: Mapping[str, tuple[str, ...]]) -> None:
        self.places = places
        known = [_looked_up[place] for place in places]
        # Many lead through the same modules and classes.
        steps = {(id(space), name): (space, name, found) for one in known for space, name, found in one[0]}.values()
        self._there = [*zip(*(step for step in steps if step[2] is not _NOTHING), strict=True)]
        self._absent = [*zip(*(step[:2] for step in steps if step[2] is _NOTHING), strict=True)]
        self._functions = [one[1] for one in known]
        self._codes = [one[2] for one in known]

    def hold(self) -> bool:
        """Return whether all is as it was."""
        namespaces, names, found = self._there
        try:
            is_there = all(map(operator.is_, map(operator.getitem, namespaces, names), found))
        except KeyError:
            return False
        is_absent = not self._absent or not any(map(operator.contains, *self._absent))
        return is_there and is_absent and all(map(operator.is_, map(_code, self._functions), self._codes))


_code = operator.attrgetter("__code__")
# Of functions that were asked for together, by the identity of the mapping that names them.
_known: dict[int, _Ways] = {}
_MOST = 256


def are_known(functions: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether each function, by "module:qualified.name", has the source of one of its records.

    functions: stays as it is.
    """
    if (ways := _known.get(id(functions))) is not None and ways.places is functions and ways.hold():
        return True
    found = all(_is_still_known(place, records) or _look(place, records) for place, records in functions.items())
    if found and functions:
        if len(_known) >= _MOST:
            _known.clear()
        _known[id(functions)] = _Ways(functions)
    return found


def _is_still_known(place: str, records: tuple[str, ...]) -> bool:
    """Return whether all is as it was when a function was found to have the source of one of its records."""
    if (known := _looked_up.get(place)) is None:
        return False
    steps, function, code, recorded = known
    if function.__code__ is not code or recorded != records:
        return False
    return all(namespace.get(name, _NOTHING) is found for namespace, name, found in steps)


def _look(place: str, records: tuple[str, ...]) -> bool:
    steps: list[_Step] = []
    found = _found_at(place, steps)
    if not _is_known(found, records):
        return False
    function = _function_of(found)
    _looked_up[place] = (tuple(steps), function, function.__code__, records)
    return True


def function_at(place: str) -> Any:
    """Return what "module:qualified.name" is now, as a class holds it; None if there is nothing."""
    return _found_at(place, [])


def _found_at(place: str, steps: list[_Step]) -> Any:
    """Return what is at a place, and note the way to it."""
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    steps.append((sys.modules, module, found))
    for name in path.split("."):
        held = None
        for namespace in map(vars, _lookup_order(found)):
            held = namespace.get(name)
            steps.append((namespace, name, namespace.get(name, _NOTHING)))
            if name in namespace:
                break
        if held is None:
            held = inspect.getattr_static(found, name, None)
            steps.append((getattr(found, "__dict__", {}), name, held))
        found = held
    return found


def _lookup_order(owner: Any) -> tuple[Any, ...]:
    """Return where a module's or a class's names are looked for; inspect's own way to find one takes far longer."""
    if isinstance(owner, type):
        return owner.__mro__
    return (owner,) if isinstance(owner, ModuleType) else ()


def record(code: CodeType, count: int) -> str:
    """Return the record of the count lines that code begins with, as "42 lines, 0123456789abcdef"."""
    start = code.co_firstlineno - 1
    digest = hashlib.blake2b(_lines(code.co_filename, start, start + count), digest_size=8).hexdigest()
    return f"{count} lines, {digest}"


def _is_known(function: Any, records: tuple[str, ...]) -> bool:
    function = _function_of(function)
    return isinstance(function, FunctionType) and any(_matches(function.__code__, record) for record in records)


def _function_of(found: Any) -> Any:
    """Return the function of a class method, or what reads a property; others as they are."""
    return found.fget if type(found) is property else getattr(found, "__func__", found)


@functools.cache
def _matches(code: CodeType, recorded: str) -> bool:
    count = int(recorded.partition(" ")[0])
    return _ends_after(code, count) and record(code, count) == recorded


def _ends_after(code: CodeType, count: int) -> bool:
    """Return whether what follows count lines is not a part of the function any more."""
    path, start = code.co_filename, code.co_firstlineno - 1
    rest = range(start + count, len(_text(path)[1]))
    following = next((line for number in rest if (line := _lines(path, number, number + 1)).strip()), b"")
    return _indentation(following) <= _indentation(_lines(path, start, start + 1))


def _indentation(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _lines(path: str, start: int, stop: int) -> bytes:
    """Return lines of one of numba's files, less the end of the last."""
    text, starts = _text(path)
    if start >= len(starts):
        return b""
    return text[int(starts[start]) : int(starts[stop]) - 1 if stop < len(starts) else None]


@functools.lru_cache(maxsize=8)
def _text(path: str) -> tuple[bytes, Any]:
    """Return one of numba's files, empty if it does not exist, and where its lines start.

    Some have thousands of lines, which are not made into objects: few of them are looked at.
    """
    try:
        with open(path, "rb") as file:
            text = file.read()
    except (OSError, ValueError):
        text = b""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    ends = numpy.flatnonzero(numpy.frombuffer(text, dtype=numpy.uint8) == ord("\n"))
    return text, numpy.concatenate(([0], ends + 1))
