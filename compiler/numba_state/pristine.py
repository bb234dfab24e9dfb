"""pristine: whether functions of numba's have the text that a replacement was written for. If not, numba's own stay.

A record is the number of lines of a function's source, its decorators included, and a digest of them. Unlike bytecode,
the text is the same under every version of Python. A function that an extension put there instead has another text.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import sys
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

from gridjit.compiler.key.toolchain import version_of

# The versions of numba-cuda that all replacements were written for.
_VERSIONS = frozenset({"0.30.4"})
# The namespaces on the way to a function, each with the name that was looked for and its value.
_Way: TypeAlias = "list[tuple[Mapping[str, Any], str, object]]"
# By place: the way to a function that had one of its records, the function, its code, and its records.
_known: dict[str, tuple[_Way, FunctionType, CodeType, tuple[str, ...]]] = {}
_NOTHING = object()


def is_known_version() -> bool:
    """Return whether all replacements were written for the installed version of numba-cuda."""
    return version_of("numba-cuda") in _VERSIONS


def is_pristine(functions: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether each function, by "module:qualified.name", has the source of one of its records."""
    return all(_is_as_it_was(place, records) or _look(place, records) for place, records in functions.items())


def _is_as_it_was(place: str, records: tuple[str, ...]) -> bool:
    """Return whether the way to a function, its code and its records are unchanged since it was found pristine."""
    if (known := _known.get(place)) is None:
        return False
    way, function, code, recorded = known
    if function.__code__ is not code or recorded != records:
        return False
    return not [name for namespace, name, found in way if namespace.get(name, _NOTHING) is not found]


def _look(place: str, records: tuple[str, ...]) -> bool:
    way: _Way = []
    function = _function_of(_found_at(place, way))
    if not isinstance(function, FunctionType) or not any(_matches(function.__code__, one) for one in records):
        return False
    _known[place] = (way, function, function.__code__, records)
    return True


def function_at(place: str) -> Any:
    """Return the value of "module:qualified.name" now, as a class holds it; None if there is none."""
    return _found_at(place, [])


def _found_at(place: str, way: _Way) -> Any:
    """Return the value at a place, and note the way to it."""
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    way.append((sys.modules, module, found))
    for name in path.split("."):
        held = None
        for namespace in map(vars, _lookup_order(found)):
            held = namespace.get(name)
            way.append((namespace, name, namespace.get(name, _NOTHING)))
            if name in namespace:
                break
        if held is None:
            held = inspect.getattr_static(found, name, None)
            way.append((getattr(found, "__dict__", {}), name, held))
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
    text = b"\n".join(_lines(code.co_filename)[start : start + count])
    return f"{count} lines, {hashlib.blake2b(text, digest_size=8).hexdigest()}"


def _function_of(found: Any) -> Any:
    """Return the function of a class method, or the getter of a property; other values as they are."""
    return found.fget if type(found) is property else getattr(found, "__func__", found)


@functools.cache
def _matches(code: CodeType, recorded: str) -> bool:
    count = int(recorded.partition(" ")[0])
    return _ends_after(code, count) and record(code, count) == recorded


def _ends_after(code: CodeType, count: int) -> bool:
    """Return whether the function ends after count lines."""
    first, *rest = _lines(code.co_filename)[code.co_firstlineno - 1 :] or [b""]
    following = next((line for line in rest[count - 1 :] if line.strip()), b"")
    return _indentation(following) <= _indentation(first)


def _indentation(line: bytes) -> int:
    return len(line) - len(line.lstrip())


@functools.lru_cache(maxsize=8)
def _lines(path: str) -> list[bytes]:
    """Return the lines of one of numba's files; none if it does not exist."""
    try:
        with open(path, "rb") as file:
            return file.read().splitlines()
    except (OSError, ValueError):
        return []
