"""Metadata: the nodes of a module of LLVM IR text that have fields, as those of debug information have."""

from __future__ import annotations

from typing import NamedTuple


class MetadataNode(NamedTuple):
    """A node: its kind ("DILocation"), and its fields as they are written."""

    kind: str
    fields: dict[str, str]

    @property
    def written(self) -> str:
        """The fields as a list."""
        return ", ".join(f"{name}: {value}" for name, value in self.fields.items())


def nodes(text: str) -> dict[str, MetadataNode]:
    """Return the nodes of a text that have fields, by their names ("!7")."""
    found = {}
    for line in text.split("\n"):
        name, _, value = line.partition(" = ")
        kind, parenthesis, fields = value.removeprefix("distinct ").partition("(")
        if name.startswith("!") and parenthesis and kind[1:].isidentifier():
            found[name] = MetadataNode(kind[1:], _fields(fields.removesuffix(")")))
    return found


def node_text(text: str, name: str) -> str:
    """Return a node of a text as it is written; "" if there is none of that name."""
    return f"\n{text}".partition(f"\n{name} = ")[2].partition("\n")[0]


def _fields(rest: str) -> dict[str, str]:
    fields = {}
    while rest:
        name, _, value = rest.partition(": ")
        end = value.find('"', 1) + 1 if value.startswith('"') else value.find(", ")
        end = len(value) if end < 0 else end
        fields[name], rest = value[:end], value[end:].removeprefix(", ")
    return fields
