"""An extension of griffe for the reference: gridjit's docstrings, which are plain English, become Markdown.

`name: what it is`, where name is a parameter or an attribute, becomes an item of a list, also in the middle of a line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import Any

import griffe

_MENTION = r"(?:^[ ]{{0,4}}|(?<=\. ))(?P<names>(?:{names})(?:(?:, | and )(?:{names}))*): "
_EXAMPLE = re.compile(r"\n\n((?: {4}[^\n]*(?:\n\n(?= {4})|\n|$))+)")
_PROTOCOL = re.compile(r"(?<![`\w.])__\w+__(?!`)")  # else Markdown takes it for bold
_DOCUMENT = re.compile(r"\bdocs/([\w-]+)\.md")
_RAISES = re.compile(r"(?:^|(?<=\. ))(?=(?:Raises|Returns) )", re.M)


class PlainDocstrings(griffe.Extension):
    """Rewrites the docstrings of functions and classes."""

    def on_function_instance(self, *, func: Any, **_: Any) -> None:
        """Rewrite a function's docstring; its parameters are its names."""
        _rewrite(func, [parameter.name for parameter in func.parameters])

    def on_class_members(self, *, cls: Any, **_: Any) -> None:
        """Rewrite a class's docstring; its attributes and the parameters of its __init__ are its names."""
        made = cls.members.get("__init__")
        _rewrite(cls, [*cls.members, *(parameter.name for parameter in getattr(made, "parameters", ()))])


def _rewrite(documented: Any, names: Iterable[str]) -> None:
    if documented.docstring is not None:
        documented.docstring.value = as_markdown(documented.docstring.value, names)


def as_markdown(text: str, names: Iterable[str]) -> str:
    """Return a docstring with what it says of each name as an item of a list."""
    names = "|".join(re.escape(name.lstrip("*")) for name in names if name not in ("self", "cls"))
    parts = _EXAMPLE.split(text)  # every other one is an example
    return "\n\n".join(_example(part) if number % 2 else _prose(part, names) for number, part in enumerate(parts))


def _prose(text: str, names: str) -> str:
    text = _PROTOCOL.sub(r"`\g<0>`", _DOCUMENT.sub(r"[\1](\1.md)", _RAISES.sub("\n\n", text)))
    return re.sub(_MENTION.format(names=names), _item, text, flags=re.M).strip() if names else text.strip()


def _item(found: re.Match[str]) -> str:
    names = ", ".join(f"**`{name}`**" for name in re.split(r", | and ", found["names"]))
    return f"\n\n- {names}: "


def _example(text: str) -> str:
    return f"```python\n{textwrap.dedent(text).strip()}\n```"
