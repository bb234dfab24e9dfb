"""Written arguments: the arguments that a kernel may write; LLVM proves that it does not write the others.

The code is looked at before any target changes it, so the answer holds for all targets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from gridjit.compiler.targets.host.ir.body import used
from gridjit.compiler.targets.host.ir.debug_locations import without_debug_location
from gridjit.compiler.targets.host.ir.instructions import Instruction
from gridjit.compiler.targets.host.ir.module import FunctionText, with_definitions
from gridjit.compiler.targets.host.ir.parse import parse
from gridjit.compiler.targets.host.llvm import modules as llvm
from gridjit.compiler.targets.host.llvm.libllvm import host_target
from gridjit.compiler.targets.host.nvvm.recursion import recursive
from gridjit.compiler.values.target import Lowered


def maybe_written(lowered: Lowered, names: Sequence[str]) -> frozenset[str]:
    """Return the arguments of a kernel, by their names, through which it may write memory; pair.0 is in a tuple.

    A pointer that is stored, or passed to unknown code, may be written through. Raises CompileError if LLVM does not
    accept the code.
    """
    module = llvm.link([llvm.parse(text) for text in lowered.modules])
    module = llvm.keep_only(module, lowered.entry, recursive(lowered.modules))
    llvm.clean(module, host_target())
    module = llvm.parse(with_definitions(llvm.text_of(module), _with_pointers))
    llvm.infer_attributes(module, host_target())
    pointers = llvm.written_pointers(module, lowered.entry)
    return frozenset(name for name in names if any(one == name or one.startswith(f"{name}.") for one in pointers))


def _with_pointers(function: FunctionText) -> str:
    """Return a function in which addresses that are a pointer plus an offset are made of the pointer itself.

    The front end adds up the addresses of a strided array's items as numbers, and LLVM proves nothing of a pointer that
    becomes a number. This code is only for proofs: its offsets are wrong.
    """
    if " ptrtoint " not in function.text:
        return function.text
    lines = function.text.split("\n")
    numbers = _Numbers(lines)
    return "\n".join(numbers.rewritten(line) for line in lines)


class _Numbers:
    """Numbers in a function that are made of pointers' addresses, and the pointers that each is made of."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._pointers: defaultdict[str, set[str]] = defaultdict(set)
        made = [one for one in map(_read, lines) if one.result]
        while sum(map(self._follow, made)):
            pass
        # Pointers whose numbers have other uses, which may lead anywhere.
        self._lost = {pointer for line in lines for pointer in self._lost_in(line)}

    def _follow(self, one: Instruction) -> bool:
        """Note the pointers of a sum; return whether there are any that were not known."""
        parts = [self._pointers[part] for part in one.values] if _is_sum(one) else [{_pointer(one)} - {""}]
        found = set[str]().union(*parts) - self._pointers[one.result]
        self._pointers[one.result] |= found
        return bool(found)

    def _lost_in(self, line: str) -> Iterator[str]:
        one = _read(line)
        if _is_sum(one):
            return
        for name in used(line.strip()):
            pointers = self._pointers.get(name, ())
            if not _number(one) or len(pointers) > 1:
                yield from pointers

    def rewritten(self, line: str) -> str:
        """Return a line of the function, with what is made of a pointer's number made of the pointer."""
        one = _read(line)
        if (pointer := _pointer(one)) and pointer not in self._lost:
            return f"  {one.result} = add i64 0, 0"
        if (number := _number(one)) and (pointers := self._pointers.get(number)):
            (pointer, *others) = pointers
            if not others and pointer not in self._lost:
                return f"  {one.result} = getelementptr i8, ptr {pointer}, i64 {number}"
        return line


def _read(line: str) -> Instruction:
    return parse(without_debug_location(line.strip()))


def _is_sum(one: Instruction) -> bool:
    """Return whether an instruction adds two numbers that may be addresses."""
    return one.opcode == "add" and one.kind == "i64" and one.is_binary


def _pointer(one: Instruction) -> str:
    """Return the pointer whose address an instruction gives as a number; "" for others."""
    return one.cast_of("ptr", "i64")


def _number(one: Instruction) -> str:
    """Return the number that an instruction makes a pointer of; "" for others."""
    return one.cast_of("i64", "ptr")
