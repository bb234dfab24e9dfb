"""Recursion: functions that call themselves are not inlined, so they cannot use anything of the thread they run in."""

from __future__ import annotations

import re

from gridjit.compiler.errors import CompileError
from gridjit.compiler.targets.host import llvm
from gridjit.compiler.targets.host.library.intrinsics import BARRIER
from gridjit.compiler.targets.host.regions.body import Body

_DEFINE = re.compile(r'^define [^\n]*@"?([^"(\s]+)"?\([^\n]*\{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
_OURS = re.compile(r'call [^@\n]*@"?(gridjit\.[^"(\s]+)')


def recursive(module: llvm.Module) -> frozenset[str]:
    """Return the functions of module that can reach themselves."""
    calls = llvm.calls(module)
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
        for call in _OURS.findall(text):
            what = "waits at cuda.syncthreads()" if call == BARRIER else "reads the thread's position or shared memory"
            raise CompileError(
                f"kernel {kernel}: device function {name} is recursive and {what}, which the host target cannot "
                "compile; rewrite it as a loop, or pass it the values it needs"
            )
