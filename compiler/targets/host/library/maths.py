"""The `__nv_` mathematical functions on the host: each is a libm function, an LLVM intrinsic or a short definition.

Functions of glibc's libmvec are offered to LLVM's vectorizer where the target has them. In exact code, whose results do
not depend on values that are folded into a kernel, the C library's functions are called for constants too, which LLVM
would compute by itself and in another way, and never in their vector forms, which are less exact and used for some
threads of a block and not for others.
"""

from __future__ import annotations

from collections.abc import Iterable

from gridjit.compiler.targets.graph import reached
from gridjit.compiler.targets.host.ir.calls import calls
from gridjit.compiler.targets.host.library.float_maths import float_maths
from gridjit.compiler.targets.host.library.integer_maths import integer_maths
from gridjit.compiler.targets.host.library.libm import ODD_DECLARATIONS, LibmCall, libm_calls
from gridjit.compiler.targets.host.library.libmvec import variants, vector_forms
from gridjit.compiler.targets.host.library.maths_text import KINDS, PREFIX, PURE
from gridjit.compiler.targets.host.library.normal_distribution import normal_maths
from gridjit.compiler.targets.host.library.rounding import directed_maths, rounded_maths
from gridjit.compiler.targets.host.library.small_maths import more_maths
from gridjit.compiler.values.target import Target

_CALLS = {PREFIX + name: call for name, call in libm_calls().items()}
_DEFINITIONS = {name: call.definition(name.removeprefix(PREFIX)) for name, call in _CALLS.items()} | {
    PREFIX + name: text
    for part in (float_maths(), integer_maths(), rounded_maths(), directed_maths(), more_maths(), normal_maths())
    for name, text in part.items()
}
# Has LLVM take a call for that of any function.
OPAQUE = " nobuiltin"
# Of zeros with two signs LLVM's own may return either.
_EXTREMES = {"minnum": "olt", "maxnum": "ogt"}


def names() -> tuple[str, ...]:
    """Return every `__nv_` function the host has code for."""
    return tuple(sorted(_DEFINITIONS))


def is_maths(name: str) -> bool:
    """Return whether the host has code for a `__nv_` function."""
    return name in _DEFINITIONS


def definitions(names: set[str], target: Target, *, exactly: bool = False) -> str:
    """Return LLVM IR text that defines the `__nv_` functions among names.

    exactly: so that nothing that is folded into their callers changes what they return.
    """
    wanted = sorted(_closure(names))
    found = {_CALLS[name] for name in wanted if name in _CALLS}
    calls = sorted(found, key=lambda call: (call.function, call.kind, call.count))
    odd = [line for call, line in ODD_DECLARATIONS.items() if any(f"@{call}(" in _DEFINITIONS[n] for n in wanted)]
    vectors = [] if exactly else _vector_declarations(calls, target)
    defined = (_definition(name, None if exactly else target) for name in wanted)
    text = "\n".join([*(call.declaration for call in calls), *odd, *vectors, *defined]) + "\n"
    return exact(text) if exactly else text


def _closure(names: set[str]) -> set[str]:
    """Return the functions among names that are defined here, and the functions that their definitions call in turn."""
    known = [name for name in names if name in _DEFINITIONS]
    return set(reached(known, lambda name: (one.name for one in calls(_DEFINITIONS[name]) if one.name in _DEFINITIONS)))


def _vector_declarations(calls: Iterable[LibmCall], target: Target) -> list[str]:
    """Return the declarations of the calls' vector forms, marked as used so that they outlive the optimizer."""
    text, used = list[str](), list[str]()
    for call in calls:
        for symbol, vector in vector_forms(call.function, call.kind, target):
            text.append(f"declare {vector} @{symbol}({', '.join([vector] * call.count)}) {PURE}")
            used.append(f"ptr @{symbol}")
    if used:
        kept = f"[{len(used)} x ptr] [{', '.join(used)}]"
        text.append(f'@llvm.compiler.used = appending global {kept}, section "llvm.metadata"')
    return text


def _definition(name: str, target: Target | None) -> str:
    """Return a definition, whose call of the C library has vector forms for target, or none and is not looked into."""
    body, call = _DEFINITIONS[name], _CALLS.get(name)
    if call is None:
        return body
    attributes = OPAQUE if target is None else variants(call.function, call.kind, target)
    return body.replace(f"<{call.function}>", attributes)


def exact(maths: str) -> str:
    """Return definitions of `__nv_` functions with each result determined by the arguments."""
    maths = maths.replace("= fdiv arcp afn ", "= fdiv ")
    for name, comparison in _EXTREMES.items():
        for _, kind, word, _ in KINDS:
            if f"@llvm.{name}.{word}(" in maths:
                maths = maths.replace(f"@llvm.{name}.{word}(", f"@gridjit.{name}.{word}(")
                maths += _extreme(f"gridjit.{name}.{word}", kind, comparison)
    return maths


def _extreme(name: str, kind: str, comparison: str) -> str:
    """Return a function that returns the smaller or greater of two numbers, or the one that is a number."""
    return f"""
define {kind} @{name}({kind} %x, {kind} %y) alwaysinline {PURE} {{
  %first = fcmp {comparison} {kind} %x, %y
  %nan = fcmp uno {kind} %y, %y
  %either = or i1 %first, %nan
  %r = select i1 %either, {kind} %x, {kind} %y
  ret {kind} %r
}}
"""
