"""Places: where in the user's files a compile failed, from the kernel inwards to the statement."""

from __future__ import annotations

import builtins
import dis
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType, FunctionType
from typing import Any, Final

from gridjit.base.values import dataclass
from gridjit.compiler.frontend.isolated.launch_visibility import said_by
from gridjit.compiler.source.libraries import is_numbas

# How numba's texts name a place; they go from the inside outwards.
_IN_TEXT = re.compile(
    r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+):'
    r"|^\s*During: (?:typing|lowering) .* at (?P<during>\S.*?) \((?P<during_line>\d+)\)$"
    r"|Raised from (?P<raised>\S.*?) \((?P<raised_line>\d+)\)",
    re.MULTILINE,
)
# Returns of a function whose types differ, in no certain order, and each one's line.
_RETURN = re.compile(r"^Return of: .*?(?=^Return of: |^During: |\Z)", re.MULTILINE | re.DOTALL)
_LINE = re.compile(r"line (\d+):")
# How numba names a function whose compile failed, before the place that calls it.
_CALLEE = re.compile(r"^\s*During: resolving callee type: \S*<function (?P<name>\S+) at ", re.MULTILINE)
# The names by which numba's frames know the statement that they work on.
_STATEMENTS = ("constraint", "inst")
_LIBRARIES = re.compile(r"[/\\\\](?:site|dist)-packages[/\\\\](?:numba|numba_cuda|gridjit|llvmlite)[/\\\\]")
# The packages whose code compiles. A program's script is a module like any other.
_COMPILERS: Final = ("numba", "numba_cuda", "gridjit", "llvmlite")
_EMPTY: Final = object()
_OURS = str(Path(__file__).resolve().parents[2]) + os.sep


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of a file. code: the function, where it is known. exact: whether it is the line of a statement."""

    path: str
    line: int
    code: Callable[..., Any] | None = None
    exact: bool = True


def errors_inwards(error: BaseException) -> tuple[BaseException, ...]:
    """Return an error; then the error in the user's overload for which it says that a function has none; and so on."""
    found = [error]
    while (inner := _of_an_overload(found[-1])) is not None:
        found.append(inner)
    return tuple(found)


def _of_an_overload(error: BaseException) -> BaseException | None:
    """Return the error in the code of an overload of the user that numba tried for a call, if it kept one."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == "raise_error"]
    tried = getattr(frames[-1].f_locals.get("self"), "_failures", {}) if frames else {}
    kept = (one.error for alike in tried.values() for one in alike if isinstance(one.error, BaseException))
    return next((one for one in kept if any(map(_is_users, _of_frames(one)))), None)


def raised_at(error: BaseException) -> SourceLine | None:
    """Return where code of the user that ran while compiling, such as an overload, raised an error; None if no such."""
    found: SourceLine | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package in _COMPILERS:
            found = None
        elif package not in sys.stdlib_module_names and _is_users(place := _of_frame(frame, line)):
            found = place
    return found


def _of_frame(frame: FrameType, line: int) -> SourceLine:
    # Since Python 3.13, the lines of "<string>" are those of `python -c`: generated code of a library has none.
    generated = frame.f_code.co_filename == "<string>" and frame.f_globals.get("__name__") != "__main__"
    return SourceLine(path="<generated>" if generated else _path(frame.f_code.co_filename), line=line)


def places(function: Callable[..., Any], errors: Sequence[BaseException]) -> tuple[SourceLine, ...]:
    """Return the places of the user that errors went through, from the kernel inwards; at least the kernel's own."""
    found = [place for error in errors for place in _of_frames(error) if _is_users(place)]
    text = said_by(errors[-1])
    known = {(place.path, place.line) for place in found}
    for place in reversed([place for place in _of_text(text) if _is_users(place)]):
        if (place.path, place.line) not in known:
            found = [one for one in found if one.exact or one.path != place.path]
            found.append(place)
            known.add((place.path, place.line))
    callee = _callee_without_place(function, text)
    if callee is not None and not any(_is_within(place, callee) for place in found):
        found.append(callee)
    code = function.__code__
    kernel = SourceLine(path=code.co_filename, line=code.co_firstlineno, code=function, exact=False)
    return tuple(found) or (kernel,)


def _is_within(place: SourceLine, function: SourceLine) -> bool:
    """Return whether a place is one of the lines of a function."""
    code = function.code.__code__ if function.code is not None else None
    return code is not None and place.path == code.co_filename and place.line in {one for *_, one in code.co_lines()}


def _of_frames(error: BaseException) -> list[SourceLine]:
    """Return where numba was: the innermost statement of each function that it was compiling."""
    levels: list[SourceLine] = []
    working_on: Any = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if not str(frame.f_globals.get("__name__", "")).startswith(("numba.", "gridjit.")):
            continue
        known = frame.f_locals
        identity = getattr(known.get("state"), "func_id", None)
        if identity is not None and identity is not working_on:
            working_on = identity
            path, line = identity.filename, identity.func.__code__.co_firstlineno
            levels.append(SourceLine(path=path, line=line, code=identity.func, exact=False))
        location = next(filter(None, (getattr(known.get(name), "loc", None) for name in _STATEMENTS)), None)
        if location is not None and levels and location.filename == levels[-1].path:
            levels[-1] = SourceLine(path=levels[-1].path, line=location.line, code=levels[-1].code)
    return levels


def _of_text(text: str) -> Iterator[SourceLine]:
    seen: set[tuple[str, int]] = set()
    for found in _IN_TEXT.finditer(_in_order(text)):
        path = _path(found["file"] or found["during"] or found["raised"])
        line = int(found["line"] or found["during_line"] or found["raised_line"])
        if line and (path, line) not in seen:  # a place unknown to numba is on line 0
            seen.add((path, line))
            yield SourceLine(path=path, line=line)


def _in_order(text: str) -> str:
    """Return one of numba's texts with a function's returns in the order of their lines, the last one first."""
    returns = [*_RETURN.finditer(text)]
    if len(returns) < 2:
        return text
    ordered = sorted((one[0].rstrip() for one in returns), key=_line, reverse=True)
    return "\n".join((text[: returns[0].start()].rstrip(), *ordered, text[returns[-1].end() :]))


def _line(text: str) -> int:
    found = _LINE.search(text)
    return int(found[1]) if found is not None else 0


def _callee_without_place(function: Callable[..., Any], text: str) -> SourceLine | None:
    """Return the function that failed, if numba does not say where in it."""
    callee, first = _CALLEE.search(text), _IN_TEXT.search(text)
    if callee is None or "During: Pass " not in text[: callee.start()]:
        return None
    if first is not None and first.start() < callee.start() and not first["during"]:
        return None
    if (found := _called(function, callee["name"])) is None:
        return None
    return SourceLine(path=found.__code__.co_filename, line=found.__code__.co_firstlineno, code=found, exact=False)


def _called(function: Callable[..., Any], name: str) -> FunctionType | None:
    """Return the device function of a qualified name that a function calls, perhaps through others."""
    waiting, seen = [function], {function}
    while waiting:
        one = waiting.pop()
        known = names_of(one)
        for value in (known.get(used) for used in (*one.__code__.co_names, *one.__code__.co_freevars)):
            inner = getattr(value, "py_func", None)
            if isinstance(inner, FunctionType) and inner not in seen:
                if inner.__qualname__ == name:
                    return inner
                seen.add(inner)
                waiting.append(inner)
    return None


def names_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the globals, and the values of closures, that a function sees."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    return {**function.__globals__, **{name: _content(cell) for name, cell in cells}}


def empty_cells(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the names of variables around a function that are not assigned yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=False)
    yield from (name for name, cell in cells if _content(cell, _EMPTY) is _EMPTY)


def unassigned_name(function: Callable[..., Any]) -> str | None:
    """Return a global, or a variable around a function, that it reads and that does not exist; None if all do."""
    read = [one.argval for one in dis.get_instructions(function) if one.opname == "LOAD_GLOBAL"]
    known = {*function.__globals__, *vars(builtins)}
    return next((name for name in (*empty_cells(function), *read) if name not in known), None)


def _content(cell: Any, otherwise: Any = None) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return otherwise


def _path(named: str) -> str:
    """Return the path of a file that numba names from the current folder; a notebook's cell has only a name."""
    name = os.path.basename(named)
    return name if name.startswith("<") else os.path.abspath(named)


def _is_users(place: SourceLine) -> bool:
    if place.code is not None and is_numbas(str(place.code.__module__)):
        return False
    return not place.path.startswith(_OURS) and _LIBRARIES.search(place.path) is None
