"""Dependency: something on which a compile was found to depend only while it ran, recorded beside the footprint.

It is a plain value; compiler/recorded/dependencies.py finds dependencies.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from gridjit.base import reading
from gridjit.base.digests import utf8
from gridjit.base.values import dataclass

OVERLOAD, LINKED_FILE, VALUE = "overload", "linked file", "value"
IMPORTING_OVERLOAD = "overload that imports"
HEADERS, TOOLKIT = "headers", "CUDA headers"
LIBRARY, SETTINGS, LATER_SETTING = "library", "settings", "setting of a module that the compile imported"
LOADED_SETTING = "setting of a module that is imported to ask"
LIBRARY_CODE = "functions that a library's names stand for"
LINES = "lines of the source"
KINDS = (
    *(OVERLOAD, IMPORTING_OVERLOAD, LINKED_FILE, VALUE, HEADERS, TOOLKIT),
    *(LIBRARY, SETTINGS, LATER_SETTING, LOADED_SETTING, LIBRARY_CODE, LINES),
)
Parts: TypeAlias = "tuple[tuple[str, str], ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A function, a file or a value outside the job's key that shaped the kernel's code.

    kind, name and parts: an "overload" (@intrinsic included), by the user's function that is implemented, as
    module.name, with (name, digest) of every implementation that is registered for it, in their order
    ("installed code" where loading the installed extensions registered them, which the key says); an "overload that
    imports" likewise, by the function and the modules that it had the compile load, as JSON; a "linked file" by
    its path, with digests of it and its headers; "headers", by the file that includes them and their paths, as JSON,
    with a digest or "absent" for each; "CUDA headers", with the packages that bring them; a "value" by the path to it
    from the kernel, as JSON, with its name for people, and its text; a "library" by the name of its distribution, with
    its installation's identity; "settings" by their module and paths in it, as JSON, with their texts; the
    functions of a library by module, digest and names, as JSON, with the digest; the "lines of the source", files and
    lines of all functions in the key, by the kernel, with a digest.
    """

    kind: str
    name: str
    parts: Parts

    @property
    def identity(self) -> tuple[str, str]:
        """The object of the dependency, without its state: (kind, name)."""
        return self.kind, self.name

    @property
    def label(self) -> str:
        """Its name in a record: "math_ext.gamma by math_ext.implement_gamma", or the file."""
        if self.kind == OVERLOAD:
            return _implemented(self.name, self.parts)
        if self.kind == IMPORTING_OVERLOAD:
            return _implemented(texts_of(self.name)[0], self.parts)
        if self.kind in (VALUE, LATER_SETTING, LOADED_SETTING, LIBRARY_CODE, LINES):
            return self.parts[0][0]
        if self.kind == SETTINGS:
            module, *paths = texts_of(self.name)
            return ", ".join(f"{module}.{path}" for path in paths)
        if self.kind == HEADERS:
            return f"headers of {texts_of(self.name)[0]}"
        return f"library {self.name}" if self.kind == LIBRARY else self.name

    def as_dict(self) -> dict[str, Any]:
        """Return the dependency as plain JSON values."""
        return {"kind": self.kind, "name": self.name, "parts": [list(part) for part in self.parts]}

    @classmethod
    def from_dict(cls, values: Any) -> Dependency:
        """Return the dependency that as_dict described; raises Unreadable, a ValueError, for anything else."""
        given = reading.fields(values, ("kind", "name", "parts"))
        if reading.text(given["kind"]) not in KINDS:
            raise reading.Unreadable(f"{given['kind']!r} is not a kind of dependency")
        parts = reading.items(given["parts"], reading.pair)
        return cls(kind=given["kind"], name=reading.text(given["name"]), parts=parts)


def texts_of(name: str) -> tuple[str, ...]:
    """Return the texts in a name that _json made; raises Unreadable, a ValueError, for another name."""
    return reading.items(reading.parse(utf8(name)), reading.text)


def _implemented(stub: str, parts: Parts) -> str:
    return f"{stub} by {', '.join(name for name, _ in parts)}"
