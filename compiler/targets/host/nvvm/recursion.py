"""Recursion: functions that call themselves are not inlined. Their thread's coordinates are passed to them.

They cannot wait for other threads: these are cuts of the kernel's one function, which their calls are not part of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.ir.body import Body, defined
from gridjit.compiler.targets.host.ir.calls import FunctionCall, call_in, calls
from gridjit.compiler.targets.host.ir.intrinsics import (
    ACTIVE_MASK,
    BARRIER,
    COORDINATES,
    DYNAMIC_BYTES,
    GRIDJITS,
    LINEAR_THREAD,
    OURS,
    SHARED_ARRAY,
    SREG,
    WAITS,
)
from gridjit.compiler.targets.host.ir.module import FunctionText, definitions
from gridjit.compiler.targets.host.ir.source_locations import path_of
from gridjit.compiler.targets.host.ir.types import closing_bracket
from gridjit.compiler.values.errors import CompileError

# What looks at the stack (stack_overflow.py).
_STACK = "gridjit.stack."
_WAITS = dict.fromkeys(WAITS, "works with other threads of its warp or block") | {
    BARRIER: "waits at cuda.syncthreads()",
    ACTIVE_MASK: "asks which lanes are active",
}
_PLACES = {DYNAMIC_BYTES, LINEAR_THREAD, *(f"{OURS}{SREG}{coordinate}" for coordinate in COORDINATES)}
# The answers to questions about a thread, by the types: its place, or where a shared array of its block is.
_ANSWERS = {"i32": "add i32 {}, 0", "ptr": "getelementptr i8, ptr {}, i64 0"}


def recursive(texts: Iterable[str]) -> frozenset[str]:
    """Return the functions of modules of LLVM IR text that can reach themselves."""
    graph = _calls(texts)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return frozenset(name for name in graph if name in _reach(graph, name))
    return frozenset()


def _calls(texts: Iterable[str]) -> dict[str, set[str]]:
    """Return, for each function that is defined, the functions it calls by name."""
    return {one.name: {call.name for call in calls(one.text)} for text in texts for one in definitions(text)}


def _reach(graph: Mapping[str, set[str]], name: str) -> dict[str, None]:
    """Return all functions that one can reach by calls."""
    return reached(graph[name], lambda caller: graph.get(caller, ()))


def with_places(text: str, kernel: str) -> str:
    """Return a module's text in which functions that are still called get as arguments what they ask about a thread.

    kernel: the function that asks for all of them. The module's other functions that are called are recursive.
    """
    functions = {one.name: one for one in definitions(text)}
    body = functions.pop(kernel)
    asked = {name: _asked(one) for name, one in functions.items()}
    if not any(asked.values()):
        return text
    passed = dict(sorted(entry for entries in asked.values() for entry in entries.items()))
    graph = _calls([text])
    told = {name for name in functions if any(asked.get(one) for one in (name, *_reach(graph, name)))}
    for name in told:
        text = text.replace(functions[name].text, _told(functions[name], told, passed), 1)
    return text.replace(body.text, _asking(body, told, passed), 1)


def _asked(function: FunctionText) -> dict[str, str]:
    """Return the questions of a function about its thread, with the types of the answers."""
    return {call.symbol: call.type for call in calls(function.text) if _asks(call)}


def _asks(call: FunctionCall) -> bool:
    """Return whether a call asks for a thread's place, or for a shared array of its block."""
    return not call.arguments and (call.name in _PLACES or call.name.startswith(SHARED_ARRAY))


def _told(function: FunctionText, told: Collection[str], passed: Mapping[str, str]) -> str:
    """Return a function that gets the answers as arguments, and passes them on."""
    first, *lines = function.text.split("\n")
    arguments = _arguments(passed)
    made = [_extended(first, first.index(f"@{function.symbol}(") + len(function.symbol) + 2, arguments)]
    for line in lines:
        call = call_in(line)
        if call and _asks(call):
            answer = _ANSWERS[call.type].format(f"%gj.asked.{list(passed).index(call.symbol)}")
            line = f"  {defined(line.strip())} = {answer}"
        made.append(_extended(line, call.start, arguments) if call and call.name in told else line)
    return "\n".join(made)


def _asking(kernel: FunctionText, told: Collection[str], passed: Mapping[str, str]) -> str:
    """Return a kernel that asks before each call of a function that gets the answers."""
    lines: list[str] = []
    for line in kernel.text.split("\n"):
        if (call := call_in(line)) and call.name in told:
            suffix = f".{len(lines)}"
            asks = (f"%gj.asked.{number}{suffix} = call {passed[name]} @{name}()" for number, name in enumerate(passed))
            lines += [*(f"  {ask}" for ask in asks), _extended(line, call.start, _arguments(passed, suffix))]
        else:
            lines.append(line)
    return "\n".join(lines)


def _arguments(passed: Mapping[str, str], suffix: str = "") -> str:
    return "".join(f", {kind} %gj.asked.{number}{suffix}" for number, kind in enumerate(passed.values()))


def _extended(line: str, start: int, more: str) -> str:
    """Return a call or the head of a function with more arguments; start: where its own begin."""
    end = closing_bracket(line, start - 1)
    return f"{line[:end]}{more if line[start:end].strip() else more.removeprefix(', ')}{line[end:]}"


def refuse_recursion(body: Body, *, kernel: str) -> None:
    """Raise CompileError if a function that could not be inlined waits for other threads."""
    for one in definitions(body.rest):
        for call in calls(one.text):
            if not call.name.startswith(GRIDJITS) or call.name.startswith(_STACK):
                continue
            what = _WAITS.get(call.name, f"uses {call.name.removeprefix(GRIDJITS).removeprefix('nvvm.')}")
            function = ".".join(path_of(one.name)) or one.name
            raise CompileError(
                f"kernel {kernel}: device function {function} is recursive and {what}, which the host target cannot "
                "compile; rewrite it as a loop, or do that before or after the recursion"
            )
