"""Parse: an instruction's line, as LLVM and the emitters write it, as an `Instruction`. `str` gives the line again."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from typing import NamedTuple

from gridjit.base.regexes import regex
from gridjit.compiler.targets.host.ir.instructions import BINARY, CASTS, COMPARISONS, Instruction, Operand
from gridjit.compiler.targets.host.ir.types import LABEL, closing_bracket, split_commas, split_type

# Of how many instructions the fields are remembered: passes ask for those of each some 20 times.
_REMEMBERED = 1 << 13
_BEFORE = ("tail", "musttail", "notail")
# The words that a flag may be, up to the first type.
_FLAGS = frozenset(
    (
        *("nuw", "nsw", "exact", "disjoint", "nneg", "samesign", "inbounds", "nusw", "atomic", "volatile", "weak"),
        *("fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc"),
    )
)
_CONVENTIONS = frozenset(("fastcc", "coldcc", "ccc", "tailcc", "swiftcc", "ptx_kernel", "ptx_device"))
# The attributes of results and arguments; some have a number behind them.
_ATTRIBUTE = regex(
    r"(?:(?:align \d+|[a-z_]+\((?:[^()]|\([^()]*\))*\)|noundef|signext|zeroext|inreg|noalias|nocapture|nofree|nonnull"
    r"|readnone|readonly|writeonly|returned|immarg|nest|swiftself|noext|writable|dead_on_unwind"
    r'|"[^"]*"(?:="[^"]*")?) )+'
)
_CALLEE = regex(r'(@"[^"]*"|[@%][-\w$.]+|%"[^"]*")\(')
_ASM = regex(r'asm (?:(?:sideeffect|alignstack|inteldialect|unwind) )*"[^"]*", "[^"]*"\(')
_CASE = regex(r"(\S+) (\S+), label (%\"[^\"]*\"|\S+)")
# An ordering with its scope, behind an address.
_ORDERED = regex(r'( syncscope\("[^"]*"\))?( (?:unordered|monotonic|acquire|release|acq_rel|seq_cst))+$')
# How many operands an instruction has at least.
_LEAST = {"load": 1, "store": 2, "atomicrmw": 2, "cmpxchg": 3, "select": 3, "getelementptr": 1, "phi": 2, "br": 1}
_NOTES = ("!", "align ", "addrspace(")


@lru_cache(_REMEMBERED)
def parse(line: str) -> Instruction:
    """Return the fields of an instruction, without indentation."""
    start, rest = begin(line)
    if (read := _READERS.get(start.opcode)) is not None:
        try:
            found = read(start, rest)
            if len(found.operands) >= _LEAST.get(start.opcode, 0):
                return found
        except (ValueError, IndexError):
            pass
    return start(notes=f" {rest}" if rest else "")._replace(known=False)


class Start(NamedTuple):
    """The words that an instruction begins with: its result, its operation, and the word before that ("tail")."""

    result: str
    opcode: str
    before: str

    def __call__(
        self, flags: tuple[str, ...] = (), type_: str = "", operands: Iterable[Operand] = (), notes: str = ""
    ) -> Instruction:
        """Return the instruction with its other fields."""
        return Instruction(self.result, self.opcode, flags, type_, tuple(operands), notes, "", self.before)


def begin(line: str) -> tuple[Start, str]:
    """Return the words that an instruction begins with, and the text behind them."""
    result, made = "", line
    if line.startswith("%"):
        end = line.find(" = ", line.index('"', 2) if line.startswith('%"') else 0)
        result, made = (line[:end], line[end + 3 :]) if end > 0 else ("", line)
    opcode, _, rest = made.partition(" ")
    before = ""
    if opcode in _BEFORE:
        before, (opcode, _, rest) = opcode, rest.partition(" ")
    return Start(result, opcode, before), rest


def _parts(rest: str) -> tuple[list[str], str]:
    """Return the texts of operands, and the notes behind them: alignment and metadata."""
    parts = split_commas(rest)
    if "!" not in rest and ", align " not in rest and ", addrspace(" not in rest:
        return parts, ""
    count = 1
    while count < len(parts) and not parts[count].startswith(_NOTES):
        count += 1
    length = sum(map(len, parts[:count])) + 2 * (count - 1)
    return parts[:count], rest[length:]


def _flags(rest: str) -> tuple[tuple[str, ...], str]:
    flags: list[str] = []
    while (word := rest.partition(" ")[0]) in _FLAGS or word.startswith("inrange("):
        if word not in _FLAGS:
            word = rest[: closing_bracket(rest, len("inrange")) + 1]
        flags.append(word)
        rest = rest[len(word) + 1 :]
    return tuple(flags), rest


def _operand(text: str) -> Operand:
    kind, value = split_type(text)
    if not value:
        raise ValueError(text)
    return Operand(kind, value)


def _operands(start: Start, rest: str) -> Instruction:
    """Read operands with their types: a select, a freeze, a branch."""
    flags, rest = _flags(rest)
    parts, notes = _parts(rest)
    return start(flags, "", map(_operand, parts), notes)


def _binary(start: Start, rest: str, *, predicate: bool = False) -> Instruction:
    flags, rest = _flags(rest)
    if predicate:
        word, _, rest = rest.partition(" ")
        flags = (*flags, word)
    (left, right), notes = _parts(rest)
    first = _operand(left)
    return start(flags, "", (first, Operand(first.type, right)), notes)


def _cast(start: Start, rest: str) -> Instruction:
    flags, rest = _flags(rest)
    (only,), notes = _parts(rest)
    made, _, kind = only.rpartition(" to ")
    return start(flags, kind, (_operand(made),), notes)


def _typed(start: Start, rest: str) -> Instruction:
    """Read a type, and then operands: a load, a step from a pointer, an allocation."""
    flags, rest = _flags(rest)
    (kind, *parts), notes = _parts(rest)
    if "atomic" in flags:
        parts, notes = _with_ordering(parts, notes)
    return start(flags, kind, map(_operand, parts), notes)


def _memory(start: Start, rest: str, *, operation: bool = False) -> Instruction:
    """Read a store, or an update or an exchange in memory."""
    flags, rest = _flags(rest)
    if operation:
        word, _, rest = rest.partition(" ")
        flags = (*flags, word)
    parts, notes = _parts(rest)
    if start.opcode != "store" or "atomic" in flags:
        parts, notes = _with_ordering(parts, notes)
    return start(flags, "", map(_operand, parts), notes)


def _with_ordering(parts: list[str], notes: str) -> tuple[list[str], str]:
    """Return the texts of operands, and the notes with the ordering that is behind the last operand."""
    *others, last = parts
    found = _ORDERED.search(last)
    return ([*others, last[: found.start()]], f"{found[0]}{notes}") if found else (parts, notes)


def _phi(start: Start, rest: str) -> Instruction:
    flags, rest = _flags(rest)
    (first, *others), notes = _parts(rest)
    kind, first = split_type(first)
    operands: list[Operand] = []
    for arm in (first, *others):
        if not arm.startswith("[ ") or not arm.endswith(" ]"):
            raise ValueError(arm)
        value, label = split_commas(arm[2:-2])
        operands += (Operand(kind, value), Operand(LABEL, label))
    return start(flags, kind, operands, notes)


def _switch(start: Start, rest: str) -> Instruction:
    begin = rest.index(" [")
    value, default = map(_operand, split_commas(rest[:begin]))
    end = rest.rindex("]")
    cases = [
        operand
        for kind, number, label in _CASE.findall(rest[begin + 2 : end])
        for operand in (Operand(kind, number), Operand(LABEL, label))
    ]
    return start((), "", (value, default, *cases), rest[end + 1 :])


def _return(start: Start, rest: str) -> Instruction:
    parts, notes = _parts(rest)
    return start((), "", () if parts == ["void"] else map(_operand, parts), notes)


def _members(start: Start, rest: str) -> Instruction:
    """Read an operation on an aggregate's member, whose indices have no types."""
    parts, notes = _parts(rest)
    return start((), "", (Operand("", part) if part.isdecimal() else _operand(part) for part in parts), notes)


def _call(start: Start, rest: str) -> Instruction:
    flags, rest = _flags(rest)
    found = _ASM.search(rest) if " asm " in rest else _CALLEE.search(rest)
    if found is None:
        raise ValueError(rest)
    signature, callee = rest[: found.start() - 1], found[0][:-1]
    end = closing_bracket(rest, found.end() - 1)
    arguments = rest[found.end() : end]
    operands = tuple(map(_argument, split_commas(arguments))) if arguments else ()
    return Instruction(
        start.result,
        start.opcode,
        flags,
        _returned(signature),
        operands,
        notes=rest[end + 1 :],
        callee=callee,
        before=start.before,
        signature=signature,
    )


@lru_cache(_REMEMBERED)
def _returned(signature: str) -> str:
    """Return the type of a call's result, without attributes, convention and the types of its parameters."""
    words = signature
    while (word := words.partition(" ")[0]) in _CONVENTIONS:
        words = words[len(word) + 1 :]
    if found := _ATTRIBUTE.match(words):
        words = words[found.end() :]
    return split_type(words)[0]


def _argument(text: str) -> Operand:
    kind, value = split_type(text)
    found = None if value.startswith("%") else _ATTRIBUTE.match(value)
    attributes = found[0][:-1] if found else ""
    return Operand(kind, value[len(attributes) + 1 :] if attributes else value, attributes)


def _nothing(start: Start, rest: str) -> Instruction:
    return start(notes=f" {rest}" if rest else "")


_READERS: dict[str, Callable[[Start, str], Instruction]] = {
    **dict.fromkeys(BINARY, _binary),
    **dict.fromkeys(COMPARISONS, partial(_binary, predicate=True)),
    **dict.fromkeys(CASTS, _cast),
    **dict.fromkeys(("load", "getelementptr", "alloca"), _typed),
    **dict.fromkeys(("select", "freeze", "fneg", "br", "extractelement", "insertelement", "shufflevector"), _operands),
    **dict.fromkeys(("extractvalue", "insertvalue"), _members),
    **dict.fromkeys(("fence", "unreachable"), _nothing),
    "store": _memory,
    "cmpxchg": _memory,
    "atomicrmw": partial(_memory, operation=True),
    "phi": _phi,
    "switch": _switch,
    "ret": _return,
    "call": _call,
}
