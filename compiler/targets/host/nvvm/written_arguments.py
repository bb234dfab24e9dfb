"""Written arguments: the arguments that a kernel may write; LLVM proves that it does not write the others.

The code is looked at before any target changes it, so the answer holds for all targets.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.targets.host.nvvm.recursion import recursive
from gridjit.compiler.values.target import Lowered

_NAME = r'%(?:[\w.$-]+|"[^"]*")'
_MADE = regex(rf"\s*({_NAME}) = (.*)")
_END = r"(?:, ![^%]*)?$"
_TO_NUMBER = regex(rf"ptrtoint ptr ({_NAME}) to i64{_END}")
_SUM = regex(rf"add (?:nuw |nsw )*i64 ({_NAME}|-?\d+), ({_NAME}|-?\d+){_END}")
_TO_POINTER = regex(rf"inttoptr i64 ({_NAME}) to ptr{_END}")
_USED = regex(_NAME)
# An LLVM function, from its first line to its last.
_FUNCTION = regex(r"^define .*?^}$", re.MULTILINE | re.DOTALL)


def maybe_written(lowered: Lowered, names: Sequence[str]) -> frozenset[str]:
    """Return the arguments of a kernel, by their names, through which it may write memory; pair.0 is in a tuple.

    A pointer that is stored, or passed to unknown code, may be written through. Raises CompileError if LLVM does not
    accept the code.
    """
    module = llvm.link([llvm.parse(text) for text in lowered.modules])
    module = llvm.keep_only(module, lowered.entry, recursive(lowered.modules))
    llvm.clean(module, host_target())
    module = llvm.parse(_FUNCTION.sub(lambda found: _with_pointers(found[0]), llvm.text_of(module)))
    llvm.infer_attributes(module, host_target())
    pointers = llvm.written_pointers(module, lowered.entry)
    return frozenset(name for name in names if any(one == name or one.startswith(f"{name}.") for one in pointers))


def _with_pointers(function: str) -> str:
    """Return a function in which addresses that are a pointer plus an offset are made of the pointer itself.

    The front end adds up the addresses of a strided array's items as numbers, and LLVM proves nothing of a pointer that
    becomes a number. This code is only for proofs: its offsets are wrong.
    """
    lines = function.split("\n")
    numbers = _Numbers(lines)
    return "\n".join(numbers.rewritten(line) for line in lines)


class _Numbers:
    """Numbers in a function that are made of pointers' addresses, and the pointers that each is made of."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._made = [found.groups() for line in lines if (found := _MADE.match(line))]
        self._pointers: defaultdict[str, set[str]] = defaultdict(set)
        while self._follow():
            pass
        # Pointers whose numbers have other uses, which may lead anywhere.
        self._lost = {pointer for line in lines for pointer in self._lost_in(line)}

    def _follow(self) -> bool:
        """Note the pointers of sums of which some were not known; return whether there were any."""
        found = False
        for name, operation in self._made:
            before = len(self._pointers.get(name, ()))
            if number := _TO_NUMBER.match(operation):
                self._pointers[name].add(number[1])
            elif summed := _SUM.match(operation):
                self._pointers[name] |= {one for part in summed.groups() for one in self._pointers.get(part, ())}
            found |= len(self._pointers.get(name, ())) > before
        return found

    def _lost_in(self, line: str) -> Iterator[str]:
        made = _MADE.match(line)
        operation = made[2] if made else line
        is_pointer = _TO_POINTER.match(operation)
        if made and not is_pointer and _SUM.match(operation):
            return
        for used in _USED.findall(operation):
            pointers = self._pointers.get(used, ())
            if not is_pointer or len(pointers) > 1:
                yield from pointers

    def rewritten(self, line: str) -> str:
        """Return a line of the function, with what is made of a pointer's number made of the pointer."""
        if (made := _MADE.match(line)) is None:
            return line
        name, operation = made.groups()
        if (number := _TO_NUMBER.match(operation)) and number[1] not in self._lost:
            return f"  {name} = add i64 0, 0"
        if (found := _TO_POINTER.match(operation)) and (pointers := self._pointers.get(found[1])):
            (pointer, *others) = pointers
            if not others and pointer not in self._lost:
                return f"  {name} = getelementptr i8, ptr {pointer}, i64 {found[1]}"
        return line
