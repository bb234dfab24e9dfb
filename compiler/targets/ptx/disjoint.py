"""disjoint: a second body in a kernel, for launches whose arrays do not overlap, as __restrict__ promises in CUDA C.

Where arrays may overlap, a load waits for the stores before it. Each thread compares where the arrays lie, and takes
one body or the other: no launch fails, none is compiled anew, and the launch itself has nothing to check.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any

from gridjit.base.regexes import regex
from gridjit.base.values import dataclass
from gridjit.compiler.targets.ptx.versions import blocks_of, bodies, reached_from, successors
from gridjit.compiler.values.signature import ArrayType, ScalarType, Signature

# What a kernel may declare whose threads exchange nothing. All else, and these instructions, may order its memory;
# only inline PTX that computes from its operands has no side effect by now.
_QUIET = regex(
    r'@"?(?:llvm\.(?!nvvm\.)|llvm\.nvvm\.(?:div\.full|read\.ptx\.sreg\.(?:n?tid|n?ctaid|laneid|warpsize))\b|__nv_)'
)
_DECLARED = regex(r'^declare [^\n@]*@("[^"]*"|[\w.$]+)[^\n]*', re.MULTILINE)
_DEFINED = regex(r'^define [^\n@]*@("[^"]*"|[\w.$]+)', re.MULTILINE)
_ORDERING = regex(r'atomic|cmpxchg|fence|volatile|inttoptr|asm +sideeffect +"[^"]')
# Pointers to items of arrays, as numba makes them, and to their parts; and stores, loads and calls.
_ITEM = regex(r'^  (%"[^"]*") = getelementptr [^\n]*\* (%"[^"]*"), (i64 %"[^"]*"$)?')
_ACCESS = regex(
    r'^  store [^\n]*\* (?P<stored>%"[^"]*")|= load [^\n]*\* (?P<loaded>%"[^"]*")|(?P<call>\bcall \w+ @"_Z)'
)
_SECOND = "_disjoint"
# Lines of IR up to which a kernel is compiled for a second body, which takes as long again.
_LONGEST = 2000
_UNWRITTEN = {b"readonly", b"readnone"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The names of a kernel's two bodies, and the parameters where its arrays begin."""

    first: str
    second: str
    arrays: tuple[int, ...]


def with_second_body(texts: Sequence[str], entry: str, signature: Signature | None) -> tuple[str, Pair] | None:
    """Return the kernel's module with a body for arrays that do not overlap beside it; None if that gains nothing."""
    arrays = () if signature is None else _arrays(signature)
    if len(arrays) < 2 or sum(text.count("\n") for text in texts) > _LONGEST or not _are_quiet(texts):
        return None
    head = re.search(rf'^define [^\n@]*@"{re.escape(entry)}"\(', texts[0], re.MULTILINE)
    if head is None or " !dbg " in texts[0]:
        return None
    if not any(map(_loads_after_a_store, chain.from_iterable(map(bodies, texts)))):
        return None
    pair = Pair(first=entry, second=entry + _SECOND, arrays=arrays)
    line, rest = texts[0][head.start() : texts[0].index("\n}\n", head.start()) + 3].split("\n", 1)
    line = line.replace(f'@"{entry}"(', f'@"{pair.second}"(').replace("define void", "define ptx_kernel void")
    line = re.sub(r'\* (%"[^"]*\.4")', r"* noalias \1", line)
    return f"{_bounded(texts[0], pair)}\n{line}\n{rest}", pair


def _arrays(signature: Signature) -> tuple[int, ...]:
    """Return the parameters where arrays begin; none if anything is not a number or an array without gaps."""
    begins, at = [], 0
    for kind in signature.arguments:
        if isinstance(kind, ArrayType) and kind.layout != "A":
            begins.append(at)
        elif not isinstance(kind, ScalarType):
            return ()
        at += len(kind.codes)
    return tuple(begins)


def _are_quiet(texts: Sequence[str]) -> bool:
    """Return whether no instruction or function of texts may order memory, or comes from elsewhere."""
    if any(map(_ORDERING.search, texts)):
        return False
    defined = {name for text in texts for name in _DEFINED.findall(text)}
    declared = (line for text in texts for line in _DECLARED.finditer(text))
    return all(line[1] in defined or _QUIET.search(line[0]) for line in declared)


def _loads_after_a_store(body: str) -> bool:
    """Return whether an array's item may be loaded in a function, or another function called, after one is stored."""
    blocks = blocks_of(body)
    follow, items = successors(blocks), set[str]()
    for line in chain.from_iterable(blocks.values()):
        if (item := _ITEM.match(line)) and (item[3] or item[2] in items):
            items.add(item[1])
    kinds = {name: [_kind(line, items) for line in lines] for name, lines in blocks.items()}
    loading = {name for name, found in kinds.items() if "load" in found}
    return any(
        "load" in found[found.index("store") :] or loading & reached_from(name, follow)
        for name, found in kinds.items()
        if "store" in found
    )


def _kind(line: str, items: Collection[str]) -> str:
    """Return "store" or "load" for a line that does that to an array's item; a call may load."""
    found = _ACCESS.search(line)
    if found is None or not (found["call"] or (found["stored"] or found["loaded"]) in items):
        return ""
    return "store" if found["stored"] else "load"


def _bounded(text: str, pair: Pair) -> str:
    """Return a module with the first body's launch bounds for the second too."""
    lines = re.findall(rf'^!\d+ = !{{ [^\n]*@"{re.escape(pair.first)}", !"(?!kernel")[^\n]*', text, re.MULTILINE)
    numbers = []
    for line in lines:
        number, rest = line.split(" = ", 1)
        numbers.append(f"{number}{len(lines):05}")
        text += f"\n{numbers[-1]} = {rest.replace(pair.first, pair.second)}"
    listed = ", ".join(chain(("",), numbers))
    return re.sub(r"^(!nvvm\.annotations = !\{ [^}]*?) \}", rf"\g<1>{listed} }}", text, flags=re.MULTILINE)


def written(module: Any, pair: Pair) -> tuple[int, ...]:
    """Return the parameters of the arrays that either optimized body may write.

    A store that does nothing where arrays do not overlap is not in the second body.
    """
    both = [list(module.get_function(name).arguments) for name in (pair.first, pair.second)]
    return tuple(at for at in pair.arrays if not all(_UNWRITTEN & set(body[at + 4].attributes) for body in both))


def in_one_kernel(ptx: str, pair: Pair, written: Sequence[int]) -> str:
    """Return PTX with both bodies in one kernel, or without the second one if it gains nothing.

    The assembler would give each body a stack of its own.
    """
    (start, first), (other, second) = (_body(ptx, name) for name in (pair.first, pair.second))
    begin = ptx.rindex("\n\t// .globl", 0, other)
    without = ptx[:begin] + ptx[other + len(second) :]
    test = _test(pair, written)
    if not _gains(first) or "\t.local " in second or 2 * len(test) > len(second.splitlines()):
        return without
    own = second.replace(f"{pair.second}_param_", f"{pair.first}_param_")
    both = "\n".join(("{", *test, own, f"$overlap_{pair.first}:", first, "}"))
    return without[:start] + both + without[start + len(first) :]


def _body(ptx: str, name: str) -> tuple[int, str]:
    """Return where a kernel's body begins, and the body, in braces."""
    begin = ptx.index("\n{\n", ptx.index(f".entry {name}(")) + 1
    return begin, ptx[begin : ptx.index("\n}\n", begin) + 2]


def _gains(body: str) -> bool:
    """Return whether half of a body's loads wait for a store of their block: where fewer do, more code costs more."""
    late, loads, stored = 0, 0, False
    for line in body.splitlines():
        if line.startswith("$"):
            stored = False
        elif "\tst.global." in line:
            stored = True
        elif "\tld.global." in line:
            late, loads = late + stored, loads + 1
    return 0 < loads <= 2 * late


def _test(pair: Pair, written: Sequence[int]) -> list[str]:
    """Return the instructions that branch to the first body if an array that is written overlaps another one."""
    pairs = [(at, other) for at in written for other in pair.arrays if other not in written or at < other]
    used = sorted({*chain(*pairs)})
    return [
        "\t.reg .pred %overlap, %below;",
        f"\t.reg .b64 {', '.join(f'%{name}{at}' for at in used for name in ('begin', 'end', 'size'))};",
        *chain.from_iterable(_extent(pair.first, at) for at in used),
        "\tsetp.ne.b32 %overlap, 0, 0;",
        *chain.from_iterable(_meets(*both) for both in pairs),
        f"\t@%overlap bra $overlap_{pair.first};",
    ]


def _extent(name: str, at: int) -> Iterator[str]:
    """Yield the instructions for an array's begin and end: from its number of items and their size, after 2 objects."""
    for word, number in (("begin", 4), ("end", 2), ("size", 3)):
        yield f"\tld.param.b64 %{word}{at}, [{name}_param_{at + number}];"
    yield f"\tmad.lo.s64 %end{at}, %end{at}, %size{at}, %begin{at};"


def _meets(at: int, other: int) -> Iterator[str]:
    yield f"\tsetp.lt.u64 %below, %begin{at}, %end{other};"
    yield f"\tsetp.lt.and.u64 %below, %begin{other}, %end{at}, %below;"
    yield "\tor.pred %overlap, %overlap, %below;"
