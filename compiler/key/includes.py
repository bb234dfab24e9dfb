"""Includes: where CUDA C++ text names other files, found as a preprocessor's first phases find them.

Comments, strings, raw strings, spliced lines and digraphs are read as NVRTC reads them (which, in C++17, has no
trigraphs). Conditions are not evaluated: an include under `#if 0` is found too.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from gridjit.base.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """A file named in the text, between start and end.

    quoted: in quotes, so that it is looked for beside the file that names it. query: `__has_include(...)`, whole.
    following: `include_next`, the word included.
    """

    start: int
    end: int
    name: str
    quoted: bool
    query: bool = False
    following: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedInclude:
    """An include or query whose file macros name: operand is its text, between start and end as an Include's."""

    start: int
    end: int
    line: int
    operand: str
    query: bool = False
    following: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Includes:
    """The files that a text names. macros: (macro, its value if that is a quoted file name, else "").

    unseen: (line, words) of each read that no key can hold: the clock, and files' bytes (#embed).
    """

    references: tuple[Include, ...] = ()
    computed: tuple[ComputedInclude, ...] = ()
    macros: tuple[tuple[str, str], ...] = ()
    unseen: tuple[tuple[int, str], ...] = ()


_SPLICE = rb"(?:\\\r?\n)"
# A comment ends at its first end: a pattern that could go on to another would take for ever over many.
_NOTE = rb"/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_BLANK = rb"(?:[ \t\v\f\r]|\\\r?\n|" + _NOTE + rb")"
_STRING = rb'"(?:\\(?:\r\n|.)|[^"\\\n])*"?'


# Words of queries, less the underscores before; then words whose values cannot be known before.
_QUERIES = ("has_include", "has_include_next")
_UNSEEN = ("has_embed", "DATE__", "TIMESTAMP__", "TIME__")
_HASH = rb"(?:\#|%" + _SPLICE + rb"*:)"
# Each alternative begins with a letter of its own, so that the search can skip to one: it runs at every start.
_TOKEN = re.compile(
    rb"/(?:/(?:\\\r?\n|[^\n])*|\*.*?(?:\*/|\Z))"
    rb'|R(?:(?<![\w]R)|(?<=\bu8R)|(?<=\b[uUL]R))"(?P<mark>[^()\\\s"]{0,16})\(.*?\)(?P=mark)"'
    rb'|"(?:\\(?:\r\n|.)|[^"\\\n])*"?'
    rb"|'(?:(?<=[0-9a-fA-F]')(?<!u8')(?=[0-9a-fA-F])|(?:\\(?:\r\n|.)|[^'\\\n])*'?)"
    rb"|\#|%" + _SPLICE + rb"*:"
    rb"|_(?<!\w_)_(?P<word>(?:has_|DATE|TIME)(?:\w|" + _SPLICE + rb")*)",
    re.DOTALL,
)
_WORD = re.compile(_HASH + _BLANK + rb"*(?P<word>(?:[A-Za-z_]|" + _SPLICE + rb")+)", re.DOTALL)
_FILE = rb'(?P<file>"(?:\\\r?\n|[^"\n])*"|<(?:\\\r?\n|[^>\n])*>)'
_OPERAND = re.compile(_BLANK + rb"*" + _FILE, re.DOTALL)
_ASKED_FILE = _BLANK + rb"*\(" + _BLANK + rb"*" + _FILE + _BLANK + rb"*\)"
_ASKED = _BLANK + rb"*\((?P<rest>[^\n)]*)\)?"
_REST = rb"(?P<rest>(?:" + _STRING + rb"|" + _NOTE + rb"|//(?:\\\r?\n|[^\n])*|\\\r?\n|[^\n])*)"
_DEFINED = rb"(?:defined" + _BLANK + rb"*\(?|ifn?def|undef)" + _BLANK + rb"*\Z"
_MACRO = rb"\s*(?P<name>\w+)(?P<open>\(?)(?P<body>.*)\Z"
_IS_FILE = re.compile(rb'"[^"]*"|<[^>]*>')
_SLASH, _UNDERSCORE, _HASHES = ord("/"), ord("_"), b"#%"
_JOINING = (b"\\", b"\\\r")
_SPLICED = re.compile(_SPLICE)
_COMMENT = rb'("(?:\\.|[^"\\])*")|' + _NOTE + rb"|//[^\n]*"


@functools.cache
def _pattern(source: bytes) -> re.Pattern[bytes]:
    """Return a pattern that few texts need: to compile it takes longer than to read most of them."""
    return re.compile(source, re.DOTALL)


def includes(text: bytes) -> Includes:
    """Return the files that the text names, in its order."""
    found = [*_found(text), *_pasted(text)]
    return Includes(
        references=tuple(one for one in found if isinstance(one, Include)),
        computed=tuple(one for one in found if isinstance(one, ComputedInclude)),
        macros=tuple((one[0], one[1]) for one in found if isinstance(one, tuple) and isinstance(one[0], str)),
        unseen=tuple((one[0], one[1]) for one in found if isinstance(one, tuple) and isinstance(one[0], int)),
    )


# Pieces that `##` may join to the clock's names: their beginnings and their ends, as words of their own.
_CLOCKS = (b"__DATE__", b"__TIME__", b"__TIMESTAMP__")
_PIECES = frozenset(piece for word in _CLOCKS for n in range(3, len(word)) for piece in (word[:n], word[-n:]))
# Each begins with letters of its own, as above.
_MAY_BE_PIECE = re.compile(rb"__(?<!\w__)[DT]\w*|[EP]__(?!\w)")
_SIGNS = (b"__D", b"__T", b"E__", b"P__")
# A joined name begins and ends with these, if not with longer pieces.
_UNDERSCORES = (
    re.compile(rb"(?:\#\#|%:%:|,)\s*__?(?!\w)"),
    re.compile(rb"(?<!\w)__?\s*(?:\#\#|%:%:|,)"),
)


def _pasted(text: bytes) -> Iterator[tuple[int, str]]:
    """Yield the first place where the name of the clock may be pasted together, one of its pieces or another."""
    if b"\\\n" in text or b"\\\r" in text:
        text = _unspliced(text)
    pieces = _MAY_BE_PIECE.finditer(text) if any(sign in text for sign in _SIGNS) else iter(())
    found = next((one for one in pieces if _word_of(text, one) in _PIECES), None) or _joined_by_ends(text)
    if found is not None:
        yield _line(text, found.start()), "what may be pasted to __DATE__ or __TIME__"


def _joined_by_ends(text: bytes) -> re.Match[bytes] | None:
    end, begin = _UNDERSCORES
    return begin.search(text) if end.search(text) is not None else None


def _word_of(text: bytes, found: re.Match[bytes]) -> bytes:
    start = found.start()
    while start and (text[start - 1 : start].isalnum() or text[start - 1 : start] == b"_"):
        start -= 1
    return text[start : found.end()]


_Found = Include | ComputedInclude | tuple[str, str] | tuple[int, str]


def _found(text: bytes) -> Iterator[_Found]:
    position = solid = 0  # solid: where the last thing ended that was neither code without marks nor a comment
    while (token := _TOKEN.search(text, position)) is not None:
        position, kind = token.end(), text[token.start()]
        if kind == _SLASH:
            continue
        if kind in _HASHES and _begins_line(text, solid, token.start()):
            one, position = _directive(text, token.start())
            yield from one
        elif kind == _UNDERSCORE:
            one, position = _named(text, token)
            yield from one
        solid = position


def _begins_line(text: bytes, solid: int, start: int) -> bool:
    """Return whether there is nothing but blanks and comments before start on its line."""
    newline = text.rfind(b"\n", 0, start)
    if (
        newline >= solid
        and not text[newline + 1 : start].strip()
        and not text[max(0, newline - 2) : newline].endswith(_JOINING)
    ):
        return True
    between = _pattern(_COMMENT).sub(b" ", _unspliced(text[solid:start]))
    newline = between.rfind(b"\n")
    return (newline >= 0 or solid == 0) and not between[newline + 1 :].strip()


def _directive(text: bytes, start: int) -> tuple[list[_Found], int]:
    """Return the files that a directive names, and the position after it."""
    found = _WORD.match(text, start)
    if found is None:
        return [], start + 1
    word = _joined(found["word"])
    if word in ("include", "include_next", "import"):
        return _include(text, found, following=word == "include_next")
    if word == "embed":
        return [(_line(text, start), "#embed")], found.end()
    if word == "define":
        return _define(text, found.end())
    return [], found.end()


def _include(text: bytes, word: re.Match[bytes], *, following: bool) -> tuple[list[_Found], int]:
    operand = _OPERAND.match(text, word.end())
    start = word.start("word")
    if operand is None:
        rest = _rest(text, word.end())
        first = start if following else word.end()
        line = _line(text, start)
        made = ComputedInclude(
            start=first, end=rest.end(), line=line, operand=_plain(rest["rest"]), following=following
        )
        return [made], rest.end()
    name, quoted = _file(operand["file"])
    first = start if following else operand.start("file")
    return [Include(start=first, end=operand.end(), name=name, quoted=quoted, following=following)], operand.end()


def _define(text: bytes, start: int) -> tuple[list[_Found], int]:
    macro = _pattern(_MACRO).match(_plain(_rest(text, start)["rest"]).encode(errors="surrogateescape"))
    if macro is None:
        return [], start
    body = macro["body"].strip()
    named = body if _IS_FILE.fullmatch(body) and not macro["open"] else b""
    # The body is read on: it may ask for a file itself.
    return [(macro["name"].decode(), named.decode(errors="surrogateescape"))], start


def _named(text: bytes, token: re.Match[bytes]) -> tuple[list[_Found], int]:
    """Return the file of a `__has_include`, or a read of the clock; nothing for `defined(__has_include)`."""
    word = _joined(token["word"])
    if word in _UNSEEN:
        return [(_line(text, token.start()), f"__{word}")], token.end()
    if word not in _QUERIES or _pattern(_DEFINED).search(text, max(0, token.start() - 200), token.start()):
        return [], token.end()
    line, following = _line(text, token.start()), word.endswith("_next")
    if asked := _pattern(_ASKED_FILE).match(text, token.end()):
        name, quoted = _file(asked["file"])
        end = asked.end()
        found = Include(start=token.start(), end=end, name=name, quoted=quoted, query=True, following=following)
        return [found], end
    asked = _pattern(_ASKED).match(text, token.end())
    operand, end = (_plain(asked["rest"]), asked.end()) if asked else ("", token.end())
    made = ComputedInclude(start=token.start(), end=end, line=line, operand=operand, query=True, following=following)
    return [made], token.end()


def _rest(text: bytes, start: int) -> re.Match[bytes]:
    found = _pattern(_REST).match(text, start)
    assert found is not None  # it matches nothing, too
    return found


def _file(operand: bytes) -> tuple[str, bool]:
    text = _unspliced(operand)
    return text[1:-1].decode(errors="surrogateescape"), text.startswith(b'"')


def _plain(text: bytes) -> str:
    """Return a line's text with lines joined and comments left out."""
    text = _unspliced(text)
    if b"/" in text:
        text = _pattern(_COMMENT).sub(lambda match: match[1] or b" ", text)
    return text.strip().decode(errors="surrogateescape")


def _joined(word: bytes) -> str:
    return _unspliced(word).decode()


def _unspliced(text: bytes) -> bytes:
    return _SPLICED.sub(b"", text) if b"\\" in text else text


def _line(text: bytes, position: int) -> int:
    return text.count(b"\n", 0, position) + 1
