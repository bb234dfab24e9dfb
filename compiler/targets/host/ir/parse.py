"""Parse: an instruction's line, as LLVM and the emitters write it, as an `Instruction`. `str` gives the line again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial

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
_ORDERING = ("load", "store", "atomicrmw", "cmpxchg")


@lru_cache(_REMEMBERED)
def parse(line: str) -> Instruction:
    """Return the fields of an instruction, without indentation."""
    result, made = _split_result(line)
    opcode, _, rest = made.partition(" ")
    before = ""
    if opcode in _BEFORE:
        before, (opcode, _, rest) = opcode, rest.partition(" ")
    if (read := _READERS.get(opcode)) is None:
        return Instruction(result, opcode, notes=f" {rest}" if rest else "", before=before, known=False)
    with suppress(ValueError, IndexError):
        found = read(Instruction(result, opcode, before=before), rest)
        if len(found.operands) >= _LEAST.get(opcode, 0):
            return found
    return Instruction(result, opcode, notes=f" {rest}" if rest else "", before=before, known=False)


def _split_result(line: str) -> tuple[str, str]:
    if not line.startswith("%"):
        return "", line
    end = line.index('"', 2) + 1 if line.startswith('%"') else line.index(" ")
    return line[:end], line[end + 3 :]


def _notes(rest: str) -> tuple[str, str]:
    """Return the text of operands, and the notes behind it: alignment and metadata."""
    if "!" not in rest and ", align " not in rest and ", addrspace(" not in rest:
        return rest, ""
    parts = split_commas(rest)
    count = next((index for index, part in enumerate(parts) if index and _is_note(part)), len(parts))
    operands = ", ".join(parts[:count])
    return operands, rest[len(operands) :]


def _is_note(part: str) -> bool:
    return part.startswith(("!", "align ", "addrspace("))


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


def _operands(one: Instruction, rest: str) -> Instruction:
    """Read operands with their types: a store, a select, a freeze, a branch."""
    flags, rest = _flags(rest)
    rest, notes = _notes(rest)
    return one._replace(flags=flags, operands=tuple(map(_operand, split_commas(rest))), notes=notes)


def _binary(one: Instruction, rest: str, *, predicate: bool = False) -> Instruction:
    flags, rest = _flags(rest)
    if predicate:
        word, _, rest = rest.partition(" ")
        flags = (*flags, word)
    rest, notes = _notes(rest)
    kind, values = split_type(rest)
    left, right = split_commas(values)
    return one._replace(flags=flags, operands=(Operand(kind, left), Operand(kind, right)), notes=notes)


def _cast(one: Instruction, rest: str) -> Instruction:
    flags, rest = _flags(rest)
    rest, notes = _notes(rest)
    made, _, kind = rest.rpartition(" to ")
    return one._replace(flags=flags, type=kind, operands=(_operand(made),), notes=notes)


def _typed(one: Instruction, rest: str) -> Instruction:
    """Read a type, and then operands: a load, a step from a pointer, an allocation."""
    flags, rest = _flags(rest)
    rest, notes = _notes(rest)
    kind, *operands = split_commas(rest)
    return _with_ordering(one._replace(flags=flags, type=kind, notes=notes), operands)


def _with_ordering(one: Instruction, operands: list[str]) -> Instruction:
    """Return an instruction with operands, behind the last of which an ordering may be."""
    notes = one.notes
    if operands and one.opcode in _ORDERING and (found := _ORDERED.search(operands[-1])):
        operands, notes = [*operands[:-1], operands[-1][: found.start()]], f"{found[0]}{notes}"
    return one._replace(operands=tuple(map(_operand, operands)), notes=notes)


def _memory(one: Instruction, rest: str, *, operation: bool = False) -> Instruction:
    """Read a store, or an update or an exchange in memory."""
    flags, rest = _flags(rest)
    if operation:
        word, _, rest = rest.partition(" ")
        flags = (*flags, word)
    rest, notes = _notes(rest)
    return _with_ordering(one._replace(flags=flags, notes=notes), split_commas(rest))


def _phi(one: Instruction, rest: str) -> Instruction:
    flags, rest = _flags(rest)
    rest, notes = _notes(rest)
    kind, arms = split_type(rest)
    operands: list[Operand] = []
    for arm in split_commas(arms):
        if not arm.startswith("[ ") or not arm.endswith(" ]"):
            raise ValueError(arm)
        value, label = split_commas(arm[2:-2])
        operands += (Operand(kind, value), Operand(LABEL, label))
    return one._replace(flags=flags, type=kind, operands=tuple(operands), notes=notes)


def _switch(one: Instruction, rest: str) -> Instruction:
    start = rest.index(" [")
    value, default = map(_operand, split_commas(rest[:start]))
    end = rest.rindex("]")
    cases = [
        operand
        for kind, number, label in _CASE.findall(rest[start + 2 : end])
        for operand in (Operand(kind, number), Operand(LABEL, label))
    ]
    return one._replace(operands=(value, default, *cases), notes=rest[end + 1 :])


def _return(one: Instruction, rest: str) -> Instruction:
    rest, notes = _notes(rest)
    return one._replace(operands=() if rest == "void" else (_operand(rest),), notes=notes)


def _members(one: Instruction, rest: str) -> Instruction:
    """Read an operation on an aggregate's member, whose indices have no types."""
    rest, notes = _notes(rest)
    parts = split_commas(rest)
    operands = (Operand("", part) if part.isdecimal() else _operand(part) for part in parts)
    return one._replace(operands=tuple(operands), notes=notes)


def _call(one: Instruction, rest: str) -> Instruction:
    flags, rest = _flags(rest)
    found = _ASM.search(rest) if " asm " in rest else _CALLEE.search(rest)
    if found is None:
        raise ValueError(rest)
    signature, callee = rest[: found.start() - 1], found[0][:-1]
    end = closing_bracket(rest, found.end() - 1)
    arguments = rest[found.end() : end]
    operands = tuple(map(_argument, split_commas(arguments))) if arguments else ()
    return one._replace(
        flags=flags,
        type=_returned(signature),
        signature=signature,
        callee=callee,
        operands=operands,
        notes=rest[end + 1 :],
    )


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
    found = _ATTRIBUTE.match(value)
    attributes = found[0][:-1] if found else ""
    return Operand(kind, value[len(attributes) + 1 :] if attributes else value, attributes)


def _nothing(one: Instruction, rest: str) -> Instruction:
    return one._replace(notes=f" {rest}" if rest else "")


_READERS: dict[str, Callable[[Instruction, str], Instruction]] = {
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
