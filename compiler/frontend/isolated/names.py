"""Names: functions may have any name, but LLVM's text may not: surrogates, line ends and quotes are escaped."""

from __future__ import annotations

from collections.abc import Callable
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
