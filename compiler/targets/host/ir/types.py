"""Types: the types of values, as LLVM writes them ("i64", "ptr", "{ i32, i1 }", "<4 x float>")."""

from __future__ import annotations

from gridjit.base.regexes import regex

_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPENING = frozenset(_CLOSING)
_ENDS = frozenset(_CLOSING.values())
_ENCLOSES = regex(r'[(\[{<"]')
_SIGN, _SIGN_OR_COMMA = regex(r'[()\[\]{}<>"]'), regex(r'[()\[\]{}<>",]')
_IN_SPACE = "ptr addrspace("
_LANES = regex(r"<(.* x )[^ ]+>$")
LABEL = "label"
# The bytes of numbers and pointers, to which they are also aligned.
SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8, "ptr": 8}


def split_type(text: str) -> tuple[str, str]:
    """Return the type that a text begins with, and the text behind the space that follows it."""
    if text[:1] in _OPENING:
        end = closing_bracket(text) + 1
    elif text.startswith(_IN_SPACE):
        end = text.index(")") + 1
    else:
        kind, _, rest = text.partition(" ")
        return kind, rest
    return text[:end], text[end + 1 :]


def closing_bracket(text: str, start: int = 0) -> int:
    """Return where the bracket that opens at a place of a text closes; brackets in quotes do not count."""
    depth, quoted = 0, False
    for found in _SIGN.finditer(text, start):
        sign = found[0]
        if sign == '"':
            quoted = not quoted
        elif not quoted:
            depth += (sign in _OPENING) - (sign in _ENDS)
            if not depth:
                return found.start()
    raise ValueError(f"a bracket does not close: {text}")


def split_commas(text: str) -> list[str]:
    """Return the parts of a text between commas that no bracket or quote encloses."""
    if _ENCLOSES.search(text) is None:
        return text.split(", ")
    parts: list[str] = []
    depth, quoted, start = 0, False, 0
    for found in _SIGN_OR_COMMA.finditer(text):
        sign = found[0]
        if sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in _OPENING:
            depth += 1
        elif sign in _ENDS:
            depth -= 1
        elif not depth:
            parts.append(text[start : found.start()])
            start = found.start() + 2
    return [*parts, text[start:]]


def member(type_: str, index: str) -> str:
    """Return the type of a structure's or an array's member."""
    inner = type_.removeprefix("<")[1:-1].strip() if not type_.startswith("<{") else type_[2:-2].strip()
    return split_commas(inner)[int(index)] if "{" in type_[:2] else inner.partition(" x ")[2]


def truth(type_: str) -> str:
    """Return the type of a comparison of values of a type: a bit, or a vector of bits."""
    lanes = _LANES.match(type_)
    return f"<{lanes[1]}i1>" if lanes else "i1"


def element(type_: str) -> str:
    """Return the type of a vector's lanes."""
    return type_[1:-1].partition(" x ")[2]


def size_of(type_: str) -> int:
    """Return the bytes of a number, of an array, or of a structure whose members are of one size; 0 for other types."""
    if type_.startswith("["):
        count, _, item = type_[1:-1].partition(" x ")
        return int(count) * size_of(item)
    if type_.startswith("{ "):
        members = split_commas(type_[2:-2])
        sizes = set(map(size_of, members))
        return len(members) * sizes.pop() if len(sizes) == 1 else 0
    return SIZES.get(type_, 0)
