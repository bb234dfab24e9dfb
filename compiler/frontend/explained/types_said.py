"""numba's messages with types and functions as users write them: `float32[:]` for `array(float32, 1d, C)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from gridjit.compiler.values.signature import ArgType, ArrayType, EnumType, RecordType, Signature, TupleType

_DIMENSIONS: Final = re.compile(r"\[[:, ]*\]$")
_FLAGS: Final = r"(?:(?:unaligned|readonly|nonconst) )*"
Written = str | Callable[[re.Match[str]], str]


def typed(argument: ArgType) -> str:
    """Return a type as users write it in signatures and annotations."""
    if isinstance(argument, ArrayType):
        item = "record" if isinstance(argument.dtype, RecordType) else str(argument.dtype)
        return array_text(item, argument.ndim)
    if isinstance(argument, RecordType):
        return f"record({', '.join(field.name for field in argument.fields)})"
    if isinstance(argument, TupleType) and argument.named is None:
        return "(" + ", ".join(map(typed, argument.items)) + ("," if len(argument.items) == 1 else "") + ")"
    if isinstance(argument, TupleType) and argument.named is not None:
        return argument.named.qualname
    if isinstance(argument, EnumType):
        return f"enum {argument.enum.qualname.rpartition('.')[2]}"
    return str(argument)


def call_text(name: str, signature: Signature) -> str:
    """Return a kernel's name with the types of its arguments."""
    return f"{name}({', '.join(map(typed, signature.arguments))})"


def array_text(item: str, ndim: int) -> str:
    """Return the text of an array type. Its layout is left out: it is seldom the fault, and never easy to read."""
    return f"{item}[{', '.join(':' * ndim)}]"


def is_array(kind: str) -> bool:
    """Return whether a type as users write it is an array's: float32[:], but not datetime64[D]."""
    return _DIMENSIONS.search(kind) is not None


def _array(found: re.Match[str]) -> str:
    return array_text(found[1], int(found[2]))


def _uniform(found: re.Match[str]) -> str:
    count = int(found[2])
    return f"({', '.join([found[1]] * count)}{',' * (count == 1)})" if count <= 4 else f"tuple of {count} {found[1]}"


# numba's texts, and users' texts for them. Applied until nothing changes, so from the inside outwards.
_WRITTEN: Final[tuple[tuple[str, Written], ...]] = (
    (r"Literal\[\w+\]\((.*?)\)(?=[,)\]}\s'\"]|$)", r"\1"),
    (r"Record\([^()]*\)", "record"),
    (_FLAGS + r"array\(([^(),]+), (\d+)d, [CFA](?:, \w+)?\)", _array),
    (r"Array\(([^(),]+), (\d+), '[CFA]', \w+, aligned=\w+\)", _array),
    (r"UniTuple\(([^()]+|\([^()]*\)) x (\d+)\)", _uniform),
    (r"\bTuple\(((?:[^()]|\([^()]*\))*)\)", r"(\1)"),
    (r"(?:reflected )?[Ll]ist\((?:[^()]|\([^()]*\))*\)(?:<iv=[^>]*>)?", "list"),
    (r"(?:reflected )?set\((?:[^()]|\([^()]*\))*\)", "set"),
    (r"DictType\[[^\]]*\](?:<iv=[^>]*>)?", "dict"),
    (r"\bunicode_type\b", "str"),
    (r"\b[nN]one\b(?! of)", "None"),
    (r"OptionalType\(([^()]+)\)|\?\((\w+)\)", r"\1\2 or None"),
    (r"type\(\w*Dispatcher\(<function closure\.<locals>\._lambda_ at 0x[0-9a-f]+>\)\)", "a lambda"),
    (r"(?:recursive\()?type\(\w*Dispatcher\(<function ([\w.<>]+) at 0x[0-9a-f]+>\)\)\)?", r"the function \1"),
    (r"\w*Dispatcher\(<function ([\w.<>]+) at 0x[0-9a-f]+>\)", r"the function \1"),
    (r"Module\(<module '([\w.]+)'[^>]*>\)", r"module \1"),
    (r"\b(?:Int)?Enum<\w+>\((\w+)\)", r"enum \1"),
    (r"\[unichr x (\d+)\]", r"<U\1"),
    (r"\[char x (\d+)\]", r"|S\1"),
    (r"Module\(([\w.]+)\)", r"module \1"),
    (r"\b(\w+)\(\w+ x \d+\)", r"\1"),
    (r"typeref\[([^\[\]]*)\]", r"\1"),
    (r"Function\((<[^>]+>|[\w.\[\]]+)\)", r"\1"),
    (r"<class 'numba\.cuda\.stubs\.([\w.]+)'>", r"cuda.\1"),
    (r"<function ((?:shared|local|const)\.\w+) at 0x[0-9a-f]+>", r"cuda.\1"),
    (r"<(?:built-in )?(?:function|method|intrinsic|ufunc) '?([\w.<>]+?)'?(?: at 0x[0-9a-f]+)?>", r"\1"),
    (r"<class '(?:\w+\.)*(\w+)'>", r"\1"),
    (r"class\((\w+)\)", r"type \1"),
    (r"\bundefined\b(?=[\])])", "anything"),
)
_PATTERNS: Final = tuple((re.compile(pattern), written) for pattern, written in _WRITTEN)
# A string that the kernel holds: its content is not a type.
_STRING = re.compile(r"Literal\[str\]\((.*?)\)(?=[,)\]}\s'\"]|$)")
_KEPT = re.compile("\0(\\d+)\0")
_TEXT = re.compile(r"<U\d")
_TEMPORARY = re.compile(r"(?: for)? ?'?\$[\w.]+'?,?")
_VERSION = re.compile(r"'([^\W\d]\w*)\.\d+'")
_DEFINED_AT = re.compile(r",? ?defined at \S+(?: \(\d+\))?")
_RAISED_FROM = re.compile(r"\.? ?Raised from (?:None|\S+ \(\d+\))")
_NUMBAS = re.compile(r"\bNumba(?:'s)? (?=type|print)")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def said(text: str) -> str:
    """Return a text with types, functions and literals as users write them."""
    strings: list[str] = []

    def kept(found: re.Match[str]) -> str:
        strings.append(repr(found[1]))
        return f"\0{len(strings) - 1}\0"

    text, before = _STRING.sub(kept, text), ""
    while before != text:
        before = text
        for pattern, written in _PATTERNS:
            text = pattern.sub(written, text)
    return _KEPT.sub(lambda found: strings[int(found[1])], text)


def cleaned(text: str) -> str:
    """Return a text of numba without the parts for its authors: names of its own, addresses, its call chain."""
    for pattern in (_RAISED_FROM, _DEFINED_AT, _TEMPORARY, _NUMBAS):
        text = pattern.sub("", text)
    return _ADDRESS.sub("", said(_VERSION.sub(r"'\1'", text))).strip()


def parts(text: str) -> tuple[str, ...]:
    """Return the items of a list of arguments, split at commas outside of brackets and quotes."""
    return tuple(one.strip() for one in _parts(text) if one.strip())


def _parts(text: str) -> Iterator[str]:
    depth, begun, quoted = 0, 0, ""
    for at, one in enumerate(text):
        if quoted:
            quoted = "" if one == quoted else quoted
        elif one in "'\"":
            quoted = one
        elif one in "([{" or (one == "<" and _TEXT.match(text, at) is None):
            depth += 1
        elif one in ")]}>":
            depth -= 1
        elif one == "," and not depth:
            yield text[begun:at]
            begun = at + 1
    yield text[begun:]
