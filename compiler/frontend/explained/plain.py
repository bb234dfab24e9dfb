"""Plain words: whether a text is meant for the user of a kernel, or is about the internals of the compiler."""

from __future__ import annotations

import re
import traceback
from typing import Any, Final

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.source import line_of
from gridjit.compiler.values.errors import GridjitError

# Texts that no user writes, and that are never shown: LLVM's types and values, names that numba makes, its own words.
_INSIDES: Final = re.compile(
    r"\bi\d+ ?\*|\bi\d+ (?=%|addrspace)|\*+ ?!=|addrspace|[\[{<]\d+ x |[\[{]i\d+\b|%[\"'.]\w|@[\"']|\b_Z\w+|\$\w"
    r"|0x[0-9a-fA-F]{4,}|<(?:class|function|built-in|module|object|intrinsic|numba|llvmlite|ir\.)|\bobject at\b"
    r"|object has no attribute|not (?:subscriptable|iterable)|unhashable"
    r"|\b(?:numba|llvmlite|llvm)\w*[./]\w|[Nn]umba\b|(?i:\bllvm)|\bNRT|\bNVVM|\bSSA\b|\bIR\b|\bMLIR\b|[Nn]opython"
    r"|\w*(?:CallConv|Dispatcher|Codegen|DataModel|Template|Typer)\b|Literal\[|\biv="
    r"|[Cc]andidate|[Mm]angl|[Ll]ower(?:ing|ed)\b|>>>|No implementation of|\b[Oo]pcode|pipeline|typing context"
    r"|[Oo]verload\b|\.py\b.{0,9}\d|-packages|Traceback|\bassert|len\(args\)"
)
# Tokens of a text, and words that may be shown of an error that numba did not mean for users.
_TOKEN: Final = re.compile(r"[^\s,;:()\[\]'\"]+")
_WORD: Final = re.compile(
    r"(?:[A-Z]?[a-z]+(?:[-'][a-z]+)*|[AI]|\d+(?:\.\d+)?)[.!?]?|(?:u?int|float|complex)\d+|[-+*/%=<>&|^~@]{1,2}"
)
# Errors that numba raises to speak to users. Other errors come from a mistake of its own, or from far inside.
_FOR_USERS: Final = ("TypingError", "UnsupportedError", "UnsupportedBytecodeError", "ConstantInferenceError")
_FEWEST_WORDS: Final = 3


def shows_insides(text: str, failure: Failure) -> bool:
    """Return whether a text has something of the compiler's in it that is not in the user's own lines."""
    written = users_text(failure)
    return any(found[0] not in written for found in _INSIDES.finditer(text))


def speaks_to_users(failure: Failure) -> bool:
    """Return whether the words of an error that no rule knows can be shown."""
    if isinstance(failure.error, GridjitError):
        return True
    if len(failure.words.split()) < _FEWEST_WORDS or shows_insides(failure.words, failure):
        return False
    raised_in = _raised_in(failure.error)
    if raised_in == "llvmlite":
        return False
    ours = raised_in in ("numba", "numba_cuda", "gridjit")
    return not ours or _is_for_users(failure.error) or _all_plain(failure)


def users_text(failure: Failure) -> str:
    """Return the lines of the user's function that does not compile."""
    function = failure.source.function
    if function is None:
        return line_of(failure.source.path, failure.source.line)
    last = function.end_lineno or function.lineno
    return "".join(line_of(failure.source.path, line) for line in range(function.lineno, last + 1))


def _is_for_users(error: BaseException) -> bool:
    return any(kind.__name__ in _FOR_USERS for kind in type(error).__mro__)


def _raised_in(error: BaseException) -> str:
    """Return the top package of the code that raised an error; "" if it was not raised."""
    name: Any = ""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        name = frame.f_globals.get("__name__", "")
    return str(name).partition(".")[0]


def _all_plain(failure: Failure) -> bool:
    """Return whether all words are English, types, or the user's own."""
    written = set(_TOKEN.findall(users_text(failure)))
    return all(_WORD.fullmatch(token) or token in written for token in _TOKEN.findall(failure.words))
