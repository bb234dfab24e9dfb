"""Recursion: functions that call themselves are not inlined, so they cannot use anything of the thread they run in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter

from gridjit.compiler.errors import CompileError
from gridjit.compiler.targets.host.library.intrinsics import ACTIVE_MASK, BARRIER, WAITS
from gridjit.compiler.targets.host.regions.body import Body

_DEFINE = re.compile(r'^define [^\n]*@"?([^"(\s]+)"?\([^\n]*\{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_NAME = r'@("[^"\n]*"|[^"(\s]+)\('
_HEAD = re.compile(rf"[^@\n]*{_NAME}")
_CALL = re.compile(rf"call [^@\n]*{_NAME}")
_ESCAPE = re.compile(rb"\\([0-9A-Fa-f]{2})")
# What looks at the stack (stack.py).
_STACK = "gridjit.stack."
_WAITS = dict.fromkeys(WAITS, "works with other threads of its warp or block") | {
    BARRIER: "waits at cuda.syncthreads()",
    ACTIVE_MASK: "asks which lanes are active",
}
_OURS = re.compile(r'call [^@\n]*@"?(gridjit\.[^"(\s]+)')


def recursive(texts: Iterable[str]) -> frozenset[str]:
    """Return the functions that can reach themselves, of those which modules of LLVM IR text define."""
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
    reach = {name: set(callees) for name, callees in calls.items()}
    changed = True
    while changed:
        changed = False
        for callees in reach.values():
            more = set().union(*(reach.get(callee, set()) for callee in callees)) - callees
            changed |= bool(more)
            callees |= more
    return frozenset(name for name, callees in reach.items() if name in callees)


def refuse_recursion(body: Body, *, kernel: str) -> None:
    """Raise CompileError if a function that could not be inlined waits at a barrier or asks where it runs."""
    for name, text in _DEFINE.findall(body.rest):
        for call in (one for one in _OURS.findall(text) if not one.startswith(_STACK)):
            what = _WAITS.get(call, "reads the thread's position or shared memory")
            raise CompileError(
                f"kernel {kernel}: device function {name} is recursive and {what}, which the host target cannot "
                "compile; rewrite it as a loop, or pass it the values it needs"
            )
