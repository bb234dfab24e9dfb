"""Recursion: functions that call themselves are not inlined. Their thread's coordinates are passed to them.

They cannot wait for other threads: these are cuts of the kernel's one function, which their calls are not part of.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.body import Body
from gridjit.compiler.targets.host.ir.intrinsics import (
    ACTIVE_MASK,
    BARRIER,
    COORDINATES,
    DYNAMIC_BYTES,
    LINEAR_THREAD,
    OURS,
    SHARED_ARRAY,
    SREG,
    WAITS,
)
from gridjit.compiler.targets.host.ir.source_locations import path_of
from gridjit.compiler.values.errors import CompileError

_DEFINE = regex(r'^define [^\n]*@"?([^"(\s]+)"?\([^\n]*\{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_NAME = r'@("[^"\n]*"|[^"(\s]+)\('
_HEAD = regex(rf"[^@\n]*{_NAME}")
_CALL = regex(rf"call [^@\n]*{_NAME}")
_ESCAPE = regex(rb"\\([0-9A-Fa-f]{2})")
# What looks at the stack (stack.py).
_STACK = "gridjit.stack."
_WAITS = dict.fromkeys(WAITS, "works with other threads of its warp or block") | {
    BARRIER: "waits at cuda.syncthreads()",
    ACTIVE_MASK: "asks which lanes are active",
}
_OURS = regex(r'call [^@\n]*@"?(gridjit\.[^"(\s]+)')
_FUNCTION = regex(r"^define [^\n]*\{\n.*?^\}", re.MULTILINE | re.DOTALL)
_PLACES = {DYNAMIC_BYTES, LINEAR_THREAD, *(f"{OURS}{SREG}{coordinate}" for coordinate in COORDINATES)}
# A question about the thread: its place, or where a shared array of its block is.
_ASKS = regex(
    r'^  (?P<result>%\S+) = (?:tail )?call [^@\n]*?(?P<kind>i32|ptr) (?P<name>@"?(?P<plain>gridjit\.[^"(\s]+)"?)\(\)'
    r"[^\n]*$",
    re.MULTILINE,
)


def recursive(texts: Iterable[str]) -> frozenset[str]:
    """Return the functions of modules of LLVM IR text that can reach themselves."""
    calls = _calls(texts)
    try:
        TopologicalSorter(calls).prepare()
    except CycleError:
        return _in_cycles(calls)
    return frozenset()


def _calls(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return, for each function that is defined, the functions it calls by name."""
    calls: dict[str, set[str]] = {}
    for text in texts:
        for function in f"\n{text}".split("\ndefine ")[1:]:
            if head := _HEAD.match(function):
                calls[name_of(head[1])] = set(map(name_of, _CALL.findall(function)))
    return calls


def name_of(written: str) -> str:
    """Return a name as it is: in quotes, bytes may be written as two digits."""
    if "\\" not in written:
        return written.strip('"')
    return _ESCAPE.sub(lambda byte: bytes.fromhex(byte[1].decode()), written.strip('"').encode()).decode()


def _in_cycles(calls: dict[str, set[str]]) -> frozenset[str]:
    return frozenset(name for name, callees in _reach(calls).items() if name in callees)


def _reach(calls: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return, for each function, all that it can reach."""
    reach = {name: set(callees) for name, callees in calls.items()}
    changed = True
    while changed:
        changed = False
        for callees in reach.values():
            more = set().union(*(reach.get(callee, set()) for callee in callees)) - callees
            changed |= bool(more)
            callees |= more
    return reach


def with_places(text: str, kernel: str) -> str:
    """Return a module's text in which functions that are still called get as arguments what they ask about a thread.

    kernel: the function that asks for all of them. The module's other functions that are called are recursive.
    """
    functions = {name_of(head[1]): found[0] for found in _FUNCTION.finditer(text) if (head := _HEAD.match(found[0]))}
    body = functions.pop(kernel)
    asked = {name: _asked(function) for name, function in functions.items()}
    if not any(asked.values()):
        return text
    passed = dict(sorted(entry for entries in asked.values() for entry in entries.items()))
    reach = _reach(_calls([text]))
    told = {name for name in functions if any(asked.get(one) for one in (name, *reach[name]))}
    numbers = {name: f"%gj.asked.{number}" for number, name in enumerate(passed)}
    arguments = "".join(f", {kind} {numbers[name]}" for name, kind in passed.items())
    for name in told:
        first, _, rest = functions[name].partition("\n")
        answered = _ASKS.sub(lambda found: _answered(found, numbers), rest)
        written = f"{_extended(first, arguments)}\n{_passing(answered, told, arguments)}"
        text = text.replace(functions[name], written, 1)
    asks = [f"  {numbers[name]} = call {kind} {name}()" for name, kind in passed.items()]
    return text.replace(body, _passing(body, told, arguments, asks), 1)


def _asked(function: str) -> dict[str, str]:
    """Return the questions of a function about its thread, with the types of the answers."""
    return {found["name"]: found["kind"] for found in _ASKS.finditer(function) if _is_place(found["plain"])}


def _is_place(name: str) -> bool:
    return name in _PLACES or name.startswith(SHARED_ARRAY)


def _answered(found: re.Match[str], numbers: Mapping[str, str]) -> str:
    """Return a question as a copy of the argument that answers it."""
    if not _is_place(found["plain"]):
        return found[0]
    number = numbers[found["name"]]
    copied = f"add i32 {number}, 0" if found["kind"] == "i32" else f"getelementptr i8, ptr {number}, i64 0"
    return f"  {found['result']} = {copied}"


def _passing(text: str, told: Collection[str], arguments: str, asks: Sequence[str] = ()) -> str:
    """Return a function's text whose calls of those that are told pass the arguments; asks: what comes before each."""
    lines: list[str] = []
    for line in text.split("\n"):
        if (call := _CALL.search(line)) and name_of(call[1]) in told and not line.startswith("define "):
            number = len(lines)
            lines += [re.sub(r"%gj\.asked\.\d+", rf"\g<0>.{number}", ask) for ask in asks]
            given = re.sub(r"%gj\.asked\.\d+", rf"\g<0>.{number}", arguments) if asks else arguments
            lines.append(_extended(line, given, call.end() - 1))
        else:
            lines.append(line)
    return "\n".join(lines)


def _extended(line: str, more: str, start: int = 0) -> str:
    """Return a call or the head of a function with more arguments; start: where to look for the parenthesis."""
    first = line.index("(", start or line.index("@")) + 1
    depth, end = 1, first
    while depth:
        depth += {"(": 1, ")": -1}.get(line[end], 0)
        end += 1
    given = line[first : end - 1]
    return f"{line[:first]}{given}{more if given.strip() else more.removeprefix(', ')}{line[end - 1 :]}"


def refuse_recursion(body: Body, *, kernel: str) -> None:
    """Raise CompileError if a function that could not be inlined waits for other threads."""
    if "\ndefine " not in f"\n{body.rest}":
        return
    for name, text in _DEFINE.findall(body.rest):
        for call in (one for one in _OURS.findall(text) if not one.startswith(_STACK)):
            what = _WAITS.get(call, f"uses {call.removeprefix('gridjit.').removeprefix('nvvm.')}")
            function = ".".join(path_of(name)) or name
            raise CompileError(
                f"kernel {kernel}: device function {function} is recursive and {what}, which the host target cannot "
                "compile; rewrite it as a loop, or do that before or after the recursion"
            )
