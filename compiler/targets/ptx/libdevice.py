"""libdevice: NVIDIA's functions of mathematics that modules call, each simplified once, and kept on the shelf as texts.

The library asks by __nvvm_reflect whether denormals are flushed, roots are rounded exactly, and for which architecture
it is compiled. NVVM answers by its flags; here the first two are answered before a function is simplified.
"""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import llvmlite.binding as binding

from gridjit.base.digests import blake2b
from gridjit.base.regexes import regex
from gridjit.compiler.targets.contraction import ARITHMETIC, NAMES
from gridjit.compiler.targets.ptx.dialect import in_llvms_words
from gridjit.compiler.targets.ptx.machine import machine_for, optimize
from gridjit.compiler.targets.ptx.toolkit import libdevice
from gridjit.compiler.values.options import Options

# Raise it whenever another text is made of the same function.
_SCHEMA = 3
# The architecture and the level for which functions are simplified, for all kernels.
_OLDEST, _LEVEL = "sm_75", 1
_DECLARED = regex(r'\ndeclare [^\n]*@"?(__nv_\w+)')
_USED = regex(r"@([\w.]+)")
_DEFINITION = regex(r"^define (?:internal )?(.*?) \{(\n.*?^\})", re.MULTILINE | re.DOTALL)
_OTHERS = regex(r"^(?:declare [^\n]*?)?@([\w.]+)[^\n]*", re.MULTILINE)
_NOTES = regex(r",? !\w[\w.]* !\d+| #\d+(?=[ ,\n])|^;[^\n]*\n", re.MULTILINE)
_QUESTION = regex(r"call i32 @__nvvm_reflect\(ptr @([\w.]+)\)[^\n]*")
_WORD = regex(r'c"(\w+)\\00"')
_ARCH = "call i32 @gridjit.arch()"
_ARCH_CALL = regex(r"(?:tail )?call i32 @gridjit\.arch\(\)")
_PURE = "nounwind willreturn speculatable memory(none)"
_ARCH_DECLARED = f"declare range(i32 750, 9999) i32 @gridjit.arch() {_PURE}"
# Not that integers do not overflow: mul24 of large ones does, and means the low bits.
_CLAIM = regex(r"(?<== (?:add|sub|mul)) nsw(?= )")
# LLVM would simplify some to sums and products like others, which may be fused and flushed.
_INTRINSIC = regex(r"@(?=llvm\.nvvm\.)")
_APART = "@gridjit."


class _Part(NamedTuple):
    """A function: its text, the lines of other symbols that it uses, by name, and library functions that it needs."""

    text: str
    others: Mapping[str, str]
    needs: Sequence[str]


_known: dict[tuple[str, bool, bool], _Part] = {}


def functions_for(texts: Iterable[str], arch: str, options: Options, shelf: Any = None) -> Iterator[str]:
    """Yield the module of the functions that texts declare, and of their callees; nothing if there are none."""
    left = {name for text in texts for name in _DECLARED.findall(text)}
    needed, others = dict[str, str](), dict[str, str]()
    while left:
        name = min(left)  # in one order, as the same PTX is to come out
        part = _part(name, bool(options.fastmath), shelf)
        needed[name] = part.text
        others |= part.others
        left = left.union(part.needs).difference(needed)
    if needed:
        whole = "\n".join((*others.values(), *needed.values()))
        whole = _ARCH_CALL.sub(f"add i32 {10 * int(arch.strip('sm_af'))}, 0", whole)
        yield whole.replace(" contract ", " ") if options.tiered else whole


def _part(name: str, fastmath: bool, shelf: Any) -> _Part:
    # A text from a shelf may be anything, so compiles without a shelf do not see it.
    known = name, fastmath, shelf is not None
    if known not in _known:
        part = None
        if shelf is not None:
            told = f"{_SCHEMA} {name} {fastmath} {binding.llvm_version_info} {_digest()}"
            key = blake2b(told.encode(), digest_size=32).hexdigest()
            part = _read(shelf.get(key))
            shelf.was_used |= part is not None
        if part is None:
            part = _made(name, fastmath)
            if shelf is not None:
                shelf.put(key, json.dumps(part).encode())
        _known[known] = part
    return _known[known]


def _read(data: bytes | None) -> _Part | None:
    try:
        return _Part(*json.loads(data)) if data else None
    except (ValueError, TypeError):
        return None


@functools.cache
def _digest() -> str:
    return blake2b(libdevice(), digest_size=16).hexdigest()


@functools.cache
def _library() -> Any:
    return binding.parse_bitcode(libdevice())


def _made(name: str, fastmath: bool) -> _Part:
    """Return the part made from a function of the library; an empty part if the library has none of that name."""
    function = _found(name)
    if function is None:
        return _Part("", {}, ())
    module = binding.parse_assembly(_asked(function, fastmath))
    optimize(module, machine_for(_OLDEST, _LEVEL), _LEVEL)
    text = _NOTES.sub("", str(module)).replace(_APART + "llvm.", "@llvm.")
    text = in_llvms_words(text, fastmath=fastmath, fused=False)
    definition = _DEFINITION.search(text)
    assert definition is not None
    inlined = "alwaysinline" if name.startswith("__nv_") else "noinline"
    own = f"define linkonce_odr {definition[1]} {inlined} {{{_fusing(definition[2])}"
    others = {found[1]: found[0] for found in _OTHERS.finditer(_DEFINITION.sub("", text))}
    needs = [one for one in others if (met := _found(one)) is not None and not met.is_declaration]
    return _Part(own, {one: line for one, line in others.items() if one not in needs}, needs)


def _found(name: str) -> Any:
    """Return the library's function of a name, None if there is none."""
    try:
        return _library().get_function(name)
    except NameError:
        return None


def _asked(function: Any, fastmath: bool) -> str:
    """Return the module of a function alone, with its questions answered, as NVVM does."""
    body = _CLAIM.sub("", _NOTES.sub("", str(function)).replace("define internal ", "define "))
    lines = [line for one in sorted(set(_USED.findall(body))) if (line := _line(one, function.name))]
    answers = {"__CUDA_FTZ": f"add i32 {fastmath:d}, 0", "__CUDA_PREC_SQRT": f"add i32 {not fastmath:d}, 0"}
    answers["__CUDA_ARCH"] = _ARCH
    words = {line[1:].split(" ")[0]: word[1] for line in lines if (word := _WORD.search(line))}
    body = _QUESTION.sub(lambda found: answers.get(words[found[1]], "add i32 0, 0"), body)
    text = _INTRINSIC.sub(_APART, "\n".join((*lines, _ARCH_DECLARED, body)))
    for one in _library().struct_types:  # by its fields: LLVM numbers names
        text = re.sub(rf"%{re.escape(one.name)}(?![\w.])", str(one).partition(" = type ")[2], text)
    return text


def _line(name: str, besides: str) -> str:
    """Return the line by which the library has something that is not the function besides."""
    met = _found(name)
    if met is None:
        return next(str(one).strip() for one in _library().global_variables if one.name == name)
    line = _NOTES.sub("", str(met)).strip()
    if name == besides:
        return ""
    if not met.is_declaration:
        return line.partition("\n")[0].removesuffix(" {").replace("define internal ", "declare ")
    return f"{line} {_PURE}" if _INTRINSIC.search(line) else line


def _fusing(body: str) -> str:
    """Return a body in which sums are fused with products as NVVM does it: only products that nothing but sums use."""
    uses, sums = Counter(NAMES.findall(body)), Counter[str]()
    for found in ARITHMETIC.finditer(body):
        if found["verb"] != "fmul":
            sums.update((found["left"], found["right"]))

    def marked(found: re.Match[str]) -> str:
        verb, name = f" {found['verb']} ", found["name"]
        apart = verb == " fmul " and uses[name] - 1 > sums[name]
        return found[0] if apart else found[0].replace(verb, f"{verb}contract ", 1)

    return ARITHMETIC.sub(marked, body)
