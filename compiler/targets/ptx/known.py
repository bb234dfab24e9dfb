"""known: the IR that LLVM's NVPTX back end was tried with.

For other IR it may have no instruction, and ends the process.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from gridjit.base.regexes import regex

# The intrinsics for which LLVM has instructions on every architecture from sm_75 on.
_INTRINSIC = regex(
    r"llvm\.(?:nvvm\.(?:read\.ptx\.sreg\.(?:(?:n?tid|n?ctaid)\.[xyz]|warpsize|laneid)|barrier0(?:\.(?:popc|and|or))?"
    r"|bar\.warp\.sync|match\.(?:any|all)\.sync\.i(?:32|64)|membar\.(?:cta|gl|sys)|shfl\.sync\.i32|vote\.sync"
    r"|atomic\.load\.(?:add\.f(?:32|64)|(?:inc|dec)\.32)\.p\d\w*)"
    r"|(?:fabs|floor|ceil|trunc|rint|copysign|sqrt|fma|minnum|maxnum)\.f(?:32|64)"
    r"|(?:ctpop|ctlz|cttz|bitreverse|bswap|[su](?:add|sub|mul)\.with\.overflow|[su](?:min|max)|abs)\.i(?:8|16|32|64)"
    r"|(?:mem(?:cpy|move)\.p\d\w*|memset)\.p\d\w*\.i(?:32|64)|dbg\.\w+|lifetime\.\w+(?:\.\w+)*|expect\.i1|assume|trap)"
)
_NAMED = regex(r'^declare [^\n]*@"?(llvm\.[\w.]+)', re.MULTILINE)

# The words of the IR that was tried, outside of names and texts.
_WORDS = """
define declare internal private external common weak weak_odr linkonce_odr appending global constant section align
unnamed_addr addrspace target triple datalayout metadata distinct alwaysinline noinline nounwind noalias
void i1 i8 i16 i32 i64 half float double label x c\" to true false null undef zeroinitializer
ret br switch unreachable phi select call asm sideeffect
alloca load store getelementptr inbounds extractvalue insertvalue extractelement insertelement shufflevector
volatile atomic atomicrmw cmpxchg fence unordered monotonic acquire release acq_rel seq_cst xchg max min umax umin
add sub mul sdiv udiv srem urem shl lshr ashr and or xor nsw nuw exact icmp eq ne sgt sge slt sle ugt uge ult ule
fneg fadd fsub fmul fdiv frem fcmp oeq ogt oge olt ole one ord ueq une uno
fast nnan ninf nsz arcp contract afn reassoc
trunc zext sext fptrunc fpext fptosi fptoui sitofp uitofp bitcast inttoptr ptrtoint addrspacecast
"""
_TRIED = frozenset(_WORDS.split())
_BETWEEN = str.maketrans(dict.fromkeys(",()[]{}<>*=|", " "))
# Memory is any, global, shared, constant or local; constants are not changed, and variables of a function are local.
_SPACES = (
    regex(r"addrspace\((?![1345]\))\d+\)"),
    regex(r"alloca [^\n]* addrspace\([134]\)"),
    regex(r"atomicrmw [^\n]* addrspace\([45]\)"),
    regex(r"cmpxchg [^\n]* addrspace\([45]\)"),
)
_TOP = regex(r"^(?:@|define |declare )[^\n]*", re.MULTILINE)
_TYPE = r"(?:\w+|[^\s@][^@]*[\]}>*])"
_VALUE = r'undef|zeroinitializer|null|c"[^"]*"|[-+\w.]+'
# Shared memory has no value to begin with, and no value depends on where another variable lies.
_VARIABLE = regex(
    r'@"?llvm\.used"? = .*|@(?:[\w.$]+|"[\w.$]+") = '
    r"(?:(?:internal|private|external|common|weak|weak_odr|linkonce_odr) )?"
    rf"(?:unnamed_addr )?(?:addrspace\(3\) global {_TYPE}(?: undef)?|(?!.*\bhalf\b)(?:addrspace\([14]\) )?"
    rf'(?:global|constant) {_TYPE}(?: (?:{_VALUE}))?)(?:, (?:section "[^"]*"|align \d+))*'
)
# A function has a plain name, and neither parameters nor a result of no size.
_FUNCTION = regex(r'(?:define|declare) (?!.*(?:\{ *\}|\[0 x [^\]]*\])(?:[ ,)]))[^@]*@(?:[\w.$]+|"[\w.$]+")\(.*')
_ASM = regex(r' asm +(?:sideeffect +)?"([^"\n]*)", "([^"\n]*)"\(([^\n]*)')
_CONSTRAINT = regex(r"=?&?[cbhrlqfd]|\d|~\{memory\}|")
_OPERAND = regex(r"\$(\$|\d+|)")


def unknown_names(modules: Iterable[str]) -> str:
    """Return the intrinsics, words and parts of modules that LLVM was not tried with; empty if there are none."""
    return ", ".join(sorted({name for text in modules for name in _unknown(text)}))


def _unknown(text: str) -> Iterator[str]:
    yield from (name for name in _NAMED.findall(text) if not _INTRINSIC.fullmatch(name))
    yield from (word for word in _outside_quotes(text) - _TRIED if word[0].islower() and word[-1] != ":")
    yield from (place for space in _SPACES for place in space.findall(text))
    for line in _TOP.findall(text):
        if not (_VARIABLE if line.startswith("@") else _FUNCTION).fullmatch(line):
            yield line[:80]
    for found in _ASM.finditer(text) if " asm " in text else ():
        if not _is_plain(*found.groups()):
            yield f"inline PTX {found[1]!r}"


def _outside_quotes(text: str) -> set[str]:
    return set('"'.join(text.split('"')[::2]).translate(_BETWEEN).split())


def _is_plain(ptx: str, constraints: str, operands: str) -> bool:
    """Return whether inline PTX has only operands that stand in registers, and names only these."""
    parts = constraints.split(",")
    count = sum(bool(part) and not part.startswith("~") for part in parts)
    named = all(name == "$" or (name.isdigit() and int(name) < count) for name in _OPERAND.findall(ptx))
    return named and all(map(_CONSTRAINT.fullmatch, parts)) and "<" not in operands
