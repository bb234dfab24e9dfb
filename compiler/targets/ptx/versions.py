"""versions: two versions of inner loops over ranges, of which one knows that the numbers are not negative.

An index below zero counts from an array's end. LLVM proves most indices not to be negative, but not indices of a range
whose first number comes from memory, as in rows of sparse matrices: there, each turn would test its index for each
array.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from gridjit.base.regexes import regex
from gridjit.compiler.targets.graph import reached

_FUNCTION = regex(r"^define [^\n]*\{?\n(?:\{\n)?(?P<body>(?:.*\n)*?)\}$", re.MULTILINE)
_LABEL = regex(r'^"?([\w.$]+)"?:$')
_TARGET = regex(r'label %"?([\w.$]+)"?')
_RESULT = regex(r'^  (%(?:"[^"]*"|[\w.]+)) = ')
_NAME = regex(r'%(?:"[^"]*"|[\w.]+)')
# The first lines of a loop over a range, and where it takes a number and makes the next one.
_HEAD = regex(r'^  %"[^"]*" = load (\{(i32|i64)\*, \2, \2, \2\*\}), [^\n]* (%"\$phi[\w.]+")(?: ?, ![^\n]*)?$')
_TURN = regex(r'^  %"[^"]*" = add nsw (i32|i64) (%"[^"]*"), (%"[^"]*")')
# A range's first number, its stop and its step, as they are stored; the first and the last may be known.
_RANGE = regex(
    r"getelementptr inbounds \{(i32|i64), \1, \1\}[^\n]*, i32 0, i32 0\b[^\n]*\n  store \1 (?P<first>[^\n,]+), [^\n]*\n"
    r"[^\n]*, i32 0, i32 1\b[^\n]*\n  store \1 [^\n]*\n[^\n]*, i32 0, i32 2\b[^\n]*\n  store \1 (?P<step>[^\n,]+), "
)
# Code that no other thread waits for: LLVM's own intrinsics, libdevice, and inline PTX that computes from its operands.
_ALONE = regex(r'@"?(?:llvm\.(?!nvvm\.)|__nv_)|\basm +"')
_ASSUME = "declare void @llvm.assume(i1)"


def with_versions(text: str) -> str:
    """Return a module whose inner loops over ranges, of a first number that is not known, have two versions."""
    if not any(map(_is_unknown, _RANGE.finditer(text))):
        return text
    found = _FUNCTION.sub(lambda one: one[0].replace(one["body"], _versions(one["body"])), text)
    return found if found == text or f"\n{_ASSUME}" in text else f"{found}\n{_ASSUME}\n"


def _is_unknown(found: re.Match[str]) -> bool:
    """Return whether a range begins with a value, and has a step that is known."""
    return found["first"].startswith("%") and found["step"].isdigit()


def _versions(body: str) -> str:
    blocks = blocks_of(body)
    loops = {} if " phi " in body else dict(_twice(blocks))
    if not loops:
        return body

    made = {one: [*lines[:-1], _entering(one, lines[-1], loops)] for one, lines in blocks.items()}
    for name, loop in loops.items():
        made |= _second_version(name, loop, made)
        made[f"{name}.version"] = list(_choice(name, blocks[name][0]))
    return _text(made)


def _entering(block: str, last: str, loops: Mapping[str, Collection[str]]) -> str:
    """Return a block's last line, by which it enters other loops where their version is chosen."""

    def to(target: re.Match[str]) -> str:
        enters = target[1] in loops and block not in loops[target[1]]
        return f'label %"{target[1]}.version"' if enters else target[0]

    return _TARGET.sub(to, last)


def _twice(blocks: Mapping[str, list[str]]) -> Iterator[tuple[str, set[str]]]:
    """Yield the first blocks of the loops that stand twice, with all their blocks."""
    follow = successors(blocks)
    before, users = defaultdict[str, list[str]](list), defaultdict[str, set[str]](set)
    for name, targets in follow.items():
        for target in targets:
            before[target].append(name)
        for used in _NAME.findall("\n".join(blocks[name])):
            users[used].add(name)
    heads = {name for name, lines in blocks.items() if _HEAD.match(lines[0])}
    for name in _after_unknown(blocks):
        loop = reached_from(name, follow) & reached_from(name, before) if name in heads else set()
        if loop & heads == {name} and _may_be_twice(loop, blocks, users):
            yield name, loop


def bodies(text: str) -> list[str]:
    """Return the bodies of a module's functions."""
    return [found["body"] for found in _FUNCTION.finditer(text)]


def blocks_of(body: str) -> dict[str, list[str]]:
    """Return a function's blocks by name, in order."""
    blocks: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in body.splitlines():
        if label := _LABEL.match(line):
            lines = blocks.setdefault(label[1], [])
        elif line:
            lines.append(line)
    return blocks


def successors(blocks: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return where each block goes on."""
    return {name: _TARGET.findall(lines[-1]) for name, lines in blocks.items() if lines}


def _text(blocks: Mapping[str, Iterable[str]]) -> str:
    return "".join(f'"{name}":\n' + "".join(f"{line}\n" for line in lines) for name, lines in blocks.items())


def reached_from(first: str, follow: Mapping[str, Collection[str]]) -> set[str]:
    """Return the blocks that are reached from first; first itself only if it is reached again."""
    return set(reached(follow.get(first, ()), lambda block: follow.get(block, ())))


def _after_unknown(blocks: Mapping[str, Iterable[str]]) -> Iterator[str]:
    """Yield the blocks before which the last range begins with a value that LLVM may not know."""
    unknown = False
    for name, lines in blocks.items():
        if unknown:
            yield name
        for found in _RANGE.finditer("\n".join(lines)):
            unknown = _is_unknown(found)


def _may_be_twice(loop: set[str], blocks: Mapping[str, Iterable[str]], users: Mapping[str, set[str]]) -> bool:
    """Return whether a loop can stand twice: no thread waits in it, and all it hands on goes through memory."""
    inside = [line for name in loop for line in blocks[name]]
    if any(" call " in line and not _ALONE.search(line) for line in inside):
        return False
    return all(users[found[1]] <= loop for line in inside if (found := _RESULT.match(line)))


def _second_version(name: str, loop: Collection[str], blocks: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the blocks of a loop's version for numbers that are not negative."""
    results = {found[1] for one in loop for line in blocks[one] if (found := _RESULT.match(line))}
    renamed = results | {f'%"{one}"' for one in loop} | {f"%{one}" for one in loop}

    def copied(line: str) -> str:
        return _NAME.sub(lambda found: _second(found[0]) if found[0] in renamed else found[0], line)

    turn = _TARGET.findall(blocks[name][-1])[0]
    return {
        f"{one}.not.negative": [
            copied(told) for line in blocks[one] for told in (_told(line) if one == turn else (line,))
        ]
        for one in loop
    }


def _second(name: str) -> str:
    return f'%"{name.strip(chr(37) + chr(34))}.not.negative"'


def _told(line: str) -> Iterable[str]:
    """Yield a line, and after a range's turn that its present number is not negative."""
    yield line
    if turn := _TURN.match(line):
        kind, number, _ = turn.groups()
        known = _second(f"{number[:-1]}.known")
        yield f"  {known} = icmp sge {kind} {number}, 0"
        yield f"  call void @llvm.assume(i1 {known})"


def _choice(name: str, first: str) -> Iterable[str]:
    """Yield the lines that choose a version by the signs of a range's first number and step, in front of its loop."""
    [(struct, kind, state)] = _HEAD.findall(first)
    of = f'%"{name}.version.'
    yield f'  {of}state" = load {struct}, {struct}* {state}'
    yield f'  {of}at" = extractvalue {struct} {of}state", 0'
    yield f'  {of}first" = load {kind}, {kind}* {of}at"'
    yield f'  {of}step" = extractvalue {struct} {of}state", 2'
    yield f'  {of}signs" = or {kind} {of}first", {of}step"'
    yield f'  {of}known" = icmp sge {kind} {of}signs", 0'
    yield f'  br i1 {of}known", label %"{name}.not.negative", label %"{name}"'
