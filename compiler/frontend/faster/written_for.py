"""written_for: which text of numba's functions a faster pass was written for; with any other text, numba's own stays.

A record is the number of lines of a function's source, its decorators included, and a digest of them. The text says the
same under every version of Python, other than its bytecode. A function that an extension put there instead has another.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
from collections.abc import Mapping
from itertools import dropwhile, takewhile
from types import CodeType, FunctionType, ModuleType
from typing import Any


def are_known(functions: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether each function, by "module:qualified.name", has the source of one of its records."""
    return all(_is_known(function_at(place), records) for place, records in functions.items())


def function_at(place: str) -> Any:
    """Return what is at "module:qualified.name" now, as a class holds it; None if there is nothing."""
    module, _, path = place.partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        held = next((vars(one)[name] for one in _lookup_order(found) if name in vars(one)), None)
        found = inspect.getattr_static(found, name, None) if held is None else held
    return found


def _lookup_order(owner: Any) -> tuple[Any, ...]:
    """Return where a module's or a class's names are looked for; inspect's own way to find one takes far longer."""
    if isinstance(owner, type):
        return owner.__mro__
    return (owner,) if isinstance(owner, ModuleType) else ()


def record(code: CodeType, count: int) -> str:
    """Return the record of the count lines that code begins with, as "42 lines, 0123456789abcdef"."""
    lines = _lines(code.co_filename)[code.co_firstlineno - 1 :][:count]
    digest = hashlib.blake2b("\n".join(lines).encode(), digest_size=8).hexdigest()
    return f"{count} lines, {digest}"


def _is_known(function: Any, records: tuple[str, ...]) -> bool:
    function = getattr(function, "__func__", function)  # of a class method
    return isinstance(function, FunctionType) and any(_matches(function.__code__, record) for record in records)


@functools.cache
def _matches(code: CodeType, recorded: str) -> bool:
    count = int(recorded.partition(" ")[0])
    return _ends_after(code, count) and record(code, count) == recorded


def _ends_after(code: CodeType, count: int) -> bool:
    """Return whether what follows count lines is not a part of the function any more."""
    first, *rest = _lines(code.co_filename)[code.co_firstlineno - 1 :] or [""]
    following = next(dropwhile(lambda line: not line.strip(), rest[count - 1 :]), "")
    return _indentation(following) <= _indentation(first)


def _indentation(line: str) -> int:
    return sum(1 for _ in takewhile(str.isspace, line))


@functools.lru_cache(maxsize=8)
def _lines(path: str) -> tuple[str, ...]:
    """Return the lines of one of numba's files, none if it does not exist."""
    try:
        with open(path, encoding="utf-8") as file:
            return tuple(file.read().split("\n"))
    except (OSError, ValueError):
        return ()
