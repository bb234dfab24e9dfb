"""dialect: numba-cuda's IR for NVVM in the words of LLVM's NVPTX back end.

NVVM fuses products into sums, and takes fastmath's flags for a whole program; LLVM wants each instruction and function
to say so. NVVM's intrinsics for shuffles and votes take a mode, LLVM has one for each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gridjit.base.regexes import regex

# Renamed, and defined by functions of these names: see defined_here.
_MODAL = {"shfl.sync.i32": "shfl", "vote.sync": "vote"}
_THEIRS = regex(r'@"?llvm\.nvvm\.(shfl\.sync\.i32|vote\.sync)"?')
_MATCH = regex(r'@"?(llvm\.nvvm\.match\.all\.sync\.i(?:32|64))"?\(')
# Lanes that met may have written memory: NVVM reads it again after these, and LLVM does after inline PTX.
_MEETING = regex(r'^(?= *%[^\n]* = call [^\n]*@"?llvm\.nvvm\.(?:shfl|vote|match)\.)', re.MULTILINE)
_WRITTEN = '  call void asm sideeffect "", "~{memory}"()\n'
_DEFINED = regex(r"^define [^\n]*", re.MULTILINE)
# Dynamic shared arrays, which begin at one address. LLVM takes variables for memory apart, so that there is only one.
_DYNAMIC = regex(r'^(@"[^"]*") = external addrspace\(3\) global \[0 x [^\n]*', re.MULTILINE)
_SHARED = '@"_gridjit_dynamic_shared"'
# Functions of linked files, in which threads may meet.
_ELSEWHERE = regex(r'^declare [^\n@]*@(?!"?(?:llvm\.|gridjit\.|__nv|__internal_))[^\n]*', re.MULTILINE)
# LLVM takes inline PTX for a function of its operands unless it is told, and computes it once for several places: only
# conversions and arithmetic, and values that are the same for a thread's whole life, are functions of their operands.
_READING = regex(
    r' asm +(?=")(?!"(?:cvt|mov|tanh|rcp|rsqrt|sqrt|sin|cos|ex2|lg2|add|sub|mul|mad|fma|min|max)[\w.]* \$0, ?'
    r'(?:\$\d(?:, ?\$\d)*|%n?cluster[\w.]*);")'
)
_ASM = regex(r"^( *(?:%[^\n=]* = )?call [^\n]* asm sideeffect [^\n]*\))(?=$|, !| #)", re.MULTILINE)
_SUM = regex(r"(= f(?:add|sub|mul)(?: (?:nnan|ninf|nsz|arcp|afn|reassoc))*) (?=float|double|half|bfloat|<)")
_QUOTIENT = regex(r"= fdiv (?:[a-z]+ )*float ([^\n,]+), ([^\n,]+)")
# As other atomic operations are, and NVVM's: for all threads of the GPU, not of the system.
_SWAP = regex(r"(= cmpxchg [^\n]*?)(?= (?:monotonic|acquire|release|acq_rel|seq_cst) )")
# LLVM leaves open the result for a number that does not fit, NVVM cuts bits off.
_TO_BYTE = regex(r"^( *)(%[^\n=]* )= (fpto[su]i) ([^\n]*) to i8(?=$| ?, !)", re.MULTILINE)
# A turn of a signed range, whose next number is used only if it is below the stop; vocabulary writes an unsigned one's
# so that it does not look like this.
_TURN = regex(
    r'(?P<less>%"[^"]*") = (?P<left>sub nsw (?P<kind>i64|i32) %"[^"]*", 1)(?: ?, ![^\n]*)?\n'
    r"(?P<kept>  store [^\n]*\n)"
    r'(?P<read>  %"[^"]*" = getelementptr [^\n]*, i32 0, i32 2(?: ?, ![^\n]*)?\n'
    r'  (?P<step>%"[^"]*") = load (?P=kind), [^\n]*\n)'
    r'(?P<next>  %"[^"]*" = add )(?=(?P=kind) %"[^"]*", (?P=step)(?: ?, ![^\n]*)?\n)'
)
# A local array of numbers, pairs of numbers or records, as numba clears it. LLVM would write each number by itself,
# which takes more than 10 s for 4,000, and minutes for 70,000.
_CLEARED = regex(
    r"^  store (\[(\d+) x (?:\[(\d+) x )?(\{)?(float|double|half|i\d+)(?:, \5\})?\]?\]) zeroinitializer, "
    r'\1\* (%"[^"]*")',
    re.MULTILINE,
)
_MANY = 512
_INTEGERS = {"float": "i32", "double": "i64", "half": "i16"}
_CLEAR = "\ndeclare void @llvm.experimental.memset.pattern.p0.{0}.i64(i8*, {0}, i64, i1)\n"
_KNOWN_STEPS = "".join(f"\ndeclare i1 @llvm.is.constant.{kind}({kind})\n" for kind in ("i32", "i64"))
# An array's number of items and its shape among parameters.
_SIZES = regex(
    r'(i8\* %"([^"]*)\.0", i8\* %"\2\.1", )(i64 %"\2\.2")(, i64 %"\2\.3", [^,]*\* %"\2\.4")((?:, i64 %"\2\.5\.\d+")*)'
)
_NOT_NEGATIVE = "i64 range(i64 0, -9223372036854775808) %"
_FLUSHED = '"denormal-fp-math-f32"="preserve-sign,preserve-sign"'
_DIVIDE = "llvm.nvvm.div.full.ftz"


def in_llvms_words(text: str, *, fastmath: bool, fused: bool) -> str:
    """Return a module's text for LLVM; fused: products are fused with the sums that use them."""
    attributes = f" convergent {_FLUSHED}" if fastmath else " convergent"
    text = _DEFINED.sub(lambda line: _with(_SIZES.sub(_sized, line[0]), attributes), text)
    text = _with_one_dynamic_array(text)
    text = _READING.sub(" asm sideeffect ", _ELSEWHERE.sub(r"\g<0> convergent", text))
    text, count = _TURN.subn(_turned, text)
    text += _KNOWN_STEPS if count else ""
    text = _CLEARED.sub(_cleared, text)
    text += "".join(_CLEAR.format(kind) for kind in ("i8", "i16", "i32", "i64") if f"memset.pattern.p0.{kind}" in text)
    text = _MEETING.sub(_WRITTEN, text)
    text = _ASM.sub(r"\1 convergent", text)
    text = _THEIRS.sub(lambda found: f'@"gridjit.{_MODAL[found[1]]}"', text)
    text = _MATCH.sub(r"@\1p(", text)
    text = _TO_BYTE.sub(_cut, _SWAP.sub(r'\1 syncscope("device")', text))
    if fused:
        text = _SUM.sub(r"\1 contract ", text)
    if fastmath:
        text, count = _QUOTIENT.subn(rf"= call float @{_DIVIDE}(float \1, float \2)", text)
        text += f"\ndeclare float @{_DIVIDE}(float, float)\n" if count else ""
    return text


def defined_here(texts: Iterable[str]) -> Iterator[str]:
    """Yield the modules with the functions that texts declare in place of NVVM's intrinsics."""
    texts = list(texts)
    for name, made in (("shfl", _shuffle), ("vote", _vote)):
        if any(f'@"gridjit.{name}"(' in text for text in texts):
            yield made()


def _with_one_dynamic_array(text: str) -> str:
    if names := _DYNAMIC.findall(text):
        text = _DYNAMIC.sub("", text) + f"\n{_SHARED} = external addrspace(3) global [0 x i8], align 16\n"
    for name in names:
        text = text.replace(name, _SHARED)
    return text


def _with(line: str, attributes: str) -> str:
    """Return the first line of a definition with attributes, which stand before its debug information."""
    line, opens = line.removesuffix(" {"), " {" if line.endswith(" {") else ""
    head, mark, place = line.partition(" !dbg !")
    return f"{head}{attributes}{mark}{place}{opens}"


def _turned(turn: re.Match[str]) -> str:
    """Return a turn of a signed range, of which LLVM knows how many are left only if it knows the step.

    So it does not unroll a loop that takes steps of a grid: each turn would need addresses, and registers, of its own.
    """
    less, kind = turn["less"], turn["kind"]
    own, some, known = (f'%"gridjit.{name}.{less.strip(chr(37) + chr(34))}"' for name in ("left", "some", "known"))
    register = "l" if kind == "i64" else "r"
    lines = (
        f"{own} = {turn['left']}\n{turn['read']}  {known} = call i1 @llvm.is.constant.{kind}({kind} {turn['step']})",
        f'{some} = call {kind} asm "", "={register},0"({kind} {own}) nounwind willreturn memory(none)',
        f"{less} = select i1 {known}, {kind} {own}, {kind} {some}\n{turn['kept']}{turn['next']}nsw ",
    )
    return "\n  ".join(lines)


def _cleared(found: re.Match[str]) -> str:
    """Return the loop that clears a local array, if it is large."""
    _, items, bytes_each, pair, item, array = found.groups()
    kind = _INTEGERS.get(item, item)
    count = int(items) * int(bytes_each or 1) * (2 if pair else 1)
    if count < _MANY:
        return found[0]
    called = f"call void @llvm.experimental.memset.pattern.p0.{kind}.i64"
    return f"  {called}(i8* align {int(kind[1:]) // 8} {array}, {kind} 0, i64 {count}, i1 false)"


def _sized(found: re.Match[str]) -> str:
    """Return an array's parameters with its number of items and its shape known not to be negative."""
    objects, _, count, others, shape = found.groups()
    return objects + count.replace("i64 %", _NOT_NEGATIVE) + others + shape.replace("i64 %", _NOT_NEGATIVE)


def _cut(found: re.Match[str]) -> str:
    """Return the conversion of a float to 8 bits by one to 16."""
    indent, name, verb, value = found.groups()
    wide = '%"gridjit.wide.' + name.strip('%" ') + '"'
    return f"{indent}{wide} = {verb} {value} to i16\n{indent}{name}= trunc i16 {wide} to i8"


def _shuffle() -> str:
    names, value = ("idx", "up", "down", "bfly"), "{i32, i1}"
    calls = [
        f"m{at}:\n  %r{at} = call {value} @llvm.nvvm.shfl.sync.{name}.i32p(i32 %mask, i32 %a, i32 %b, i32 %c)\n"
        f"  ret {value} %r{at}"
        for at, name in enumerate(names)
    ]
    declared = [f"declare {value} @llvm.nvvm.shfl.sync.{name}.i32p(i32, i32, i32, i32)" for name in names]
    head = f'define linkonce_odr {value} @"gridjit.shfl"(i32 %mask, i32 %mode, i32 %a, i32 %b, i32 %c)'
    return _by_mode(head, calls, declared)


def _vote() -> str:
    calls, declared = [], []
    for at, name in enumerate(("all", "any", "uni", "ballot")):
        kind, field = ("i32", 0) if name == "ballot" else ("i1", 1)
        calls.append(
            f"m{at}:\n  %v{at} = call {kind} @llvm.nvvm.vote.{name}.sync(i32 %mask, i1 %pred)\n"
            f"  %r{at} = insertvalue {{i32, i1}} zeroinitializer, {kind} %v{at}, {field}\n  ret {{i32, i1}} %r{at}"
        )
        declared.append(f"declare {kind} @llvm.nvvm.vote.{name}.sync(i32, i1)")
    return _by_mode('define linkonce_odr {i32, i1} @"gridjit.vote"(i32 %mask, i32 %mode, i1 %pred)', calls, declared)


def _by_mode(head: str, calls: list[str], declared: list[str]) -> str:
    cases = " ".join(f"i32 {at}, label %m{at}" for at in range(1, len(calls)))
    body = [f"{head} convergent alwaysinline {{", f"  switch i32 %mode, label %m0 [{cases}]", *calls, "}"]
    return "\n".join((*body, *declared))
