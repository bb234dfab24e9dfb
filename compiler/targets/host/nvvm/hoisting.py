"""hoisting: a function's local memory is allocated once, at its beginning, as LLVM and later stages expect.

numba-cuda's bindings to C++ allocate it where they call. There, each pass would allocate it on the stack again, and a
thread that continues after a barrier could not reach it.
"""

from __future__ import annotations

import re

from gridjit.regexes import regex

_FUNCTION = "\ndefine "
_LABEL = regex(r'^(?:"[^"\n]*"|[-\w.$]+):[^\n]*\n', re.MULTILINE)
# Of a size that is known: there is no value behind the type.
_FIXED = regex(r'^ *(?:%"[^"\n]*"|%[-\w.$]+) = alloca [^%\n]*\n', re.MULTILINE)
_WORD = " = alloca "


def hoisted(text: str) -> str:
    """Return a module of LLVM IR text whose functions set memory of a known size aside in their first block."""
    return _FUNCTION.join(map(_in_first_block, text.split(_FUNCTION))) if _WORD in text else text


def _in_first_block(function: str) -> str:
    if (last := function.rfind(_WORD)) < 0:
        return function
    first = _LABEL.search(function)
    second = _LABEL.search(function, first.end()) if first else None
    if first is None or second is None or last < second.start():
        return function
    start, later = first.end(), second.start()
    found = "".join(_FIXED.findall(function, later))
    return function[:start] + found + function[start:later] + _FIXED.sub("", function[later:])
