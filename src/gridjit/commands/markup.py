"""Markup: HTML and SVG put together from elements. All text that goes into it is escaped, unless it is markup."""

from __future__ import annotations

import html

from gridjit.base.printable import printable

_VOID = ("meta", "br", "col")


class Markup(str):
    """Text that `element` made: it goes into other elements as it is. All other text is anybody's, and is escaped."""

    __slots__ = ()


def escaped(text: object) -> Markup:
    """Return text as markup that shows it: none of it is read as markup, and invisible characters are written out."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(printable(str(text)), quote=True))


def joined(*parts: object) -> Markup:
    """Return parts one after the other, texts among them escaped."""
    return Markup("".join(map(escaped, parts)))


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """Return `<name attribute="value">children</name>`.

    Attributes lose an underscore at their end and have hyphens for others (`class_`, `stroke_width`); those that are
    None are left out.
    """
    given = "".join(
        f' {label.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for label, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{joined(*children)}</{name}>")


def raw(text: str) -> Markup:
    """Return text of our own, such as a style sheet, as it is. Never give it text from elsewhere."""
    return Markup(text)
