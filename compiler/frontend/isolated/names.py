"""Names: LLVM names of a kernel's functions and values, readable, and numbered from one in each kernel.

Functions may have any name, but LLVM's text may not: surrogates, line ends and quotes are escaped. numba numbers names
over a whole process; a kernel's modules get numbers of their own, so its code does not depend on earlier compiles.
Names of linked code stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_QUOTES = frozenset('"\\')


def readable(name: str) -> str:
    """Return name with an underscore and the character's number for each quote and unprintable character."""
    if name.isprintable() and not _QUOTES.intersection(name):
        return name
    return "".join(c if c.isprintable() and c not in _QUOTES else f"_{ord(c):x}" for c in name)


def make_names_readable(replace: Callable[[Any, str, Any], Any]) -> None:
    """Let numba see readable names only, one for each module.

    replace sets an attribute for a while, and returns the original.
    """
    from numba.cuda import itanium_mangler, typing
    from numba.cuda.core.bytecode import FunctionIdentity

    def from_function(cls: Any, function: Any) -> Any:
        made = identity.__func__(cls, function)
        # A function is defined under the name of its module as it knows it, whether or not that can be imported:
        # one that calls itself has to be called by the same name.
        if (module := getattr(function, "__module__", None)) is not None:
            made.modname = module
        for name in ("func_qualname", "func_name", "modname", "filename", "unique_name"):
            setattr(made, name, readable(str(getattr(made, name))))
        return made

    def escaped(text: str) -> Any:
        return escape(readable(text))

    def template(name: str, *args: Any, **kwargs: Any) -> Any:
        return concrete(readable(name), *args, **kwargs)

    identity: Any = replace(FunctionIdentity, "from_function", classmethod(from_function))
    escape: Any = replace(itanium_mangler, "_escape_string", escaped)
    concrete: Any = replace(typing, "make_concrete_template", template)


_NAME = r'@("[^"\n]*"|[\w.$-]+)'
_NAMED = re.compile(_NAME)
# After an end of line, for which a text is searched at once.
_DEFINED = re.compile(rf"\n(?:define [^@\n]*{_NAME}|{_NAME} = )")
_ENDS_SO = re.compile(r'@"[\s,)\]}]')  # a text whose end looks like the start of a name
_LINKED_AS = re.compile(r'(?<=linkageName: )("[^"\n]*")')  # for debuggers
_TITLE = re.compile(r'\A(; ModuleID = "[^"\n]*)\$\d+"')
# The number of a function in its name, as a tag with the tag's length before it; a shared array's number, and the hash
# of a text that is printed.
_OF_FUNCTION = re.compile(r"(?<=B)(\d+)v(\d+)")
_OF_VALUE = re.compile(r'(?<=^"_cudapy_smem_)\d+(?="$)|(?<=^"\.bytes\.)-?\d+(?="$)')
# The same numbers anywhere, with the letters around them. Each pattern begins with letters that are searched for at
# once: a text has hundreds of thousands of characters, and one expression for all takes 15 times as long.
_ANYWHERE = (
    (re.compile(r"B\d+v\d+"), "B"),
    (re.compile(r'@"_cudapy_smem_\d+'), '@"_cudapy_smem_'),
    (re.compile(r'@"\.bytes\.-?\d+'), '@".bytes.'),
    (re.compile(r'\$\d+"$', re.MULTILINE), '"'),
)


def without_numbers(text: str) -> str:
    """Return a module's text without the numbers of its names, to be compared."""
    for numbers, rest in _ANYWHERE:
        text = numbers.sub(rest, text)
    return text


def numbered(modules: Iterable[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return modules that call each other with numbers of their own; and new names by old ones, both in quotes."""
    texts = [_TITLE.sub(r'\1"', text) for text in modules]
    split = [_NAMED.split(text) for text in texts]
    new = _new_names(texts, split)
    for parts in split:
        parts[1::2] = ["@" + new.get(name, name) for name in parts[1::2]]
    return tuple(_told("".join(parts), new) for parts in split), new


def _new_names(texts: Sequence[str], split: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return the new names of texts' definitions; none if a new name is taken, or not all names are seen."""
    if any(map(_ENDS_SO.search, texts)):
        return {}
    defined = dict.fromkeys(first or second for text in texts for first, second in _DEFINED.findall(f"\n{text}"))
    functions: dict[str, int] = {}
    values: dict[str, int] = {}

    def of_function(tag: re.Match[str]) -> str:
        if len(tag[2]) + 1 != int(tag[1]):  # not a tag
            return tag[0]
        number = functions.setdefault(tag[2], len(functions) + 1)
        return f"{len(str(number)) + 1}v{number}"

    def of_value(number: re.Match[str]) -> str:
        return str(values.setdefault(number[0], len(values) + 1))

    named = {name: _OF_VALUE.sub(of_value, _OF_FUNCTION.sub(of_function, name)) for name in defined}
    new = {old: name for old, name in named.items() if old != name}
    others = {name for parts in split for name in parts[1::2]} - new.keys()
    return {} if others.intersection(new.values()) else new


def _told(text: str, new: dict[str, str]) -> str:
    return _LINKED_AS.sub(lambda found: new.get(found[1], found[1]), text) if "linkageName: " in text else text
