"""Instructions: one instruction of a function as fields, which print as LLVM writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gridjit.compiler.targets.host.ir.types import LABEL, element, member, truth

_WRAPS = frozenset(("nuw", "nsw"))
COMPARISONS = frozenset(("icmp", "fcmp"))
BINARY = frozenset(
    (
        *("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and", "or", "xor"),
        *("fadd", "fsub", "fmul", "fdiv", "frem"),
    )
)
CASTS = frozenset(
    (
        *("trunc", "zext", "sext", "fptrunc", "fpext", "fptoui", "fptosi", "uitofp", "sitofp"),
        *("ptrtoint", "inttoptr", "bitcast", "addrspacecast", "ptrtoaddr"),
    )
)
TERMINATORS = frozenset(("br", "switch", "ret", "unreachable", "indirectbr", "invoke", "callbr", "resume"))
# Operations of which LLVM writes the type of the first operand only, as the others have the same one.
_ONE_TYPE = BINARY | COMPARISONS
# Operations that write a type before their operands: of the result, or of the memory that a pointer points to.
_TYPED = frozenset(("load", "getelementptr", "alloca", "call"))


_COMPOUND = frozenset(("<", "{", "["))
_POISON = frozenset(("nuw", "nsw", "nneg", "samesign", "exact", "disjoint", "inbounds"))


class Operand(NamedTuple):
    """An operand: its type, its value as LLVM writes it ("%x", "0", "@array"), and the attributes of an argument."""

    type: str
    value: str
    attributes: str = ""

    @property
    def is_compound(self) -> bool:
        """Whether it consists of several values."""
        return self.type[:1] in _COMPOUND

    @property
    def is_place(self) -> bool:
        """Whether it is a named value or variable, no number and no expression of constants."""
        return self.value.startswith(("%", "@"))

    def __str__(self) -> str:
        return " ".join(filter(None, (self.type, self.attributes, self.value)))


class Instruction(NamedTuple):
    """An instruction: result, the name that it defines ("" if none), its operation and its operands.

    flags: the words between the operation and its types ("nuw", "slt", "volatile"). type: of the loaded, allocated,
    stepped-over, returned or merged value, or the one that a cast makes; "" for others. callee: the function that a
    call calls, with its sign ("@f", "%f"), or inline assembly. signature: the text before it. before: "tail" and the
    like. notes: the text behind the operands: ordering, alignment, attributes, metadata. known: whether it was read;
    an instruction that is not known has no operands, and its text is in notes.
    """

    result: str
    opcode: str
    flags: tuple[str, ...] = ()
    type: str = ""
    operands: tuple[Operand, ...] = ()
    notes: str = ""
    callee: str = ""
    before: str = ""
    signature: str = ""
    known: bool = True

    @property
    def values(self) -> tuple[str, ...]:
        """The operands that are not labels, as they are written."""
        return tuple([one.value for one in self.operands if one.type != LABEL])

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the blocks that it names: successors, or the predecessors of a phi."""
        return tuple(one.value for one in self.operands if one.type == LABEL)

    @property
    def arms(self) -> tuple[tuple[str, str], ...]:
        """The (value, predecessor) pairs of a phi."""
        return tuple(zip(self.values, self.labels, strict=True)) if self.opcode == "phi" else ()

    @property
    def condition(self) -> str:
        """The condition of a branch with two ways; "" for others."""
        return self.operands[0].value if self.opcode == "br" and len(self.operands) == 3 else ""

    @property
    def target(self) -> str:
        """The label of the block that a branch without a condition leads to; "" for others."""
        return self.operands[0].value if self.opcode == "br" and len(self.operands) == 1 else ""

    @property
    def predicate(self) -> str:
        """The predicate of a comparison ("slt"), the operation of an atomicrmw ("add"); "" for others."""
        has = self.flags and (self.opcode in COMPARISONS or self.opcode == "atomicrmw")
        return self.flags[-1] if has else ""

    @property
    def kind(self) -> str:
        """The type of the first operand; "" without operands."""
        return self.operands[0].type if self.operands else ""

    @property
    def pointer(self) -> str:
        """The address that it loads, stores, exchanges or updates, or steps from; "" for others."""
        place = _POINTERS.get(self.opcode)
        return self.operands[place].value if place is not None and len(self.operands) > place else ""

    @property
    def moved_by(self) -> str:
        """The one number of items that it moves a pointer by; "" if it does not move one so, or notes something."""
        moves = self.opcode == "getelementptr" and self.kind == "ptr" and len(self.operands) == 2 and not self.notes
        return self.operands[1].value if moves and self.operands[1].type.startswith("i") else ""

    @property
    def accessed(self) -> str:
        """The named pointer that it loads or stores through; "" if it does neither."""
        return self.pointer if self.opcode in ("load", "store") and self.pointer.startswith("%") else ""

    @property
    def is_atomic(self) -> bool:
        """Whether it reads or writes memory atomically."""
        return self.opcode in ("atomicrmw", "cmpxchg") or "atomic" in self.flags

    @property
    def is_volatile(self) -> bool:
        """Whether it is volatile."""
        return "volatile" in self.flags

    @property
    def is_binary(self) -> bool:
        """Whether it computes with two numbers, each a value or written out, and nothing is noted about it."""
        numbers = self.opcode in _ONE_TYPE and not self.notes and not self.is_vector
        return numbers and self.known and all(map(is_value, self.values))

    @property
    def is_vector(self) -> bool:
        """Whether its first operand consists of several numbers."""
        return bool(self.operands) and self.operands[0].is_compound

    @property
    def wraps(self) -> bool:
        """Whether no flag but those on wrapping around is set."""
        return _WRAPS.issuperset(self.flags)

    def without_poison(self) -> Instruction:
        """Return the instruction without the flags that make its result poison where they do not hold."""
        return self._replace(flags=tuple(one for one in self.flags if one not in _POISON))

    @property
    def alignment(self) -> int:
        """The alignment that is noted about it, in bytes; 0 if there is none."""
        notes = (note.removeprefix("align ") for note in self.notes.split(", ") if note.startswith("align "))
        return int(next(notes, "0"))

    def with_arms(self, arms: Iterable[tuple[str, str]]) -> Instruction:
        """Return a phi with other (value, predecessor) pairs."""
        pairs = (one for value, label in arms for one in (Operand(self.type, value), Operand(LABEL, label)))
        return self._replace(operands=tuple(pairs))

    def with_labels(self, names: Mapping[str, str]) -> Instruction:
        """Return the instruction with the blocks that it names renamed; names: by the labels."""
        return self._replace(
            operands=tuple(
                one._replace(value=names.get(one.value, one.value)) if one.type == LABEL else one
                for one in self.operands
            )
        )

    def cast_of(self, kind: str, to: str) -> str:
        """Return the named value that it casts from one type to another; "" for other instructions, and with notes."""
        casts = self.opcode in CASTS and (self.kind, self.type, self.notes) == (kind, to, "")
        return self.values[0] if casts and self.values[0].startswith("%") else ""

    @property
    def callee_name(self) -> str:
        """The name of the function that it calls, without sign and quotes; "" for others."""
        return self.callee[1:].strip('"') if self.callee.startswith("@") else ""

    @property
    def fills(self) -> bool:
        """Whether it fills memory, or copies it."""
        return self.callee_name.startswith(_FILLS)

    @property
    def result_type(self) -> str:
        """The type of its result; "void" if it has none."""
        return _result_type(self)

    def __str__(self) -> str:
        words = [self.opcode, *self.flags]
        text = " ".join([self.before, *words] if self.before else words)
        if body := _written(self):
            text = f"{text} {body}"
        return f"{self.result} = {text}{self.notes}" if self.result else f"{text}{self.notes}"


_FILLS = ("llvm.memset.", "llvm.memcpy.", "llvm.memmove.")
_POINTERS = {"load": 0, "store": 1, "atomicrmw": 0, "cmpxchg": 0, "getelementptr": 0}


def beside(name: str, word: str) -> str:
    """Return a name for a value that is computed beside another."""
    return f'%"gj.{word}.{name[1:].strip(chr(34))}"'


def with_suffix(name: str, word: str) -> str:
    """Return a name with a word behind it, for a value that is computed beside another."""
    return f'{name[:-1]}.{word}"' if name.endswith('"') else f"{name}.{word}"


def is_value(text: str) -> bool:
    """Return whether an operand is a named value or a whole number."""
    return text.startswith("%") or text.removeprefix("-").isdecimal()


def _written(one: Instruction) -> str:
    """Return the types and operands of an instruction."""
    if not one.known:
        return ""
    if one.opcode == "phi":
        arms = (f"[ {value}, {label} ]" for value, label in one.arms)
        return f"{one.type} {', '.join(arms)}"
    if one.opcode == "call":
        arguments = ", ".join(map(str, one.operands))
        return f"{one.signature or one.type} {one.callee}({arguments})"
    if one.opcode == "switch":
        value, default, *cases = one.operands
        pairs = " ".join(f"{case}, {label}" for case, label in zip(cases[::2], cases[1::2], strict=True))
        return f"{value}, {default} [ {pairs} ]" if pairs else f"{value}, {default} [ ]"
    if one.opcode in CASTS:
        return f"{one.operands[0]} to {one.type}"
    if one.opcode in _ONE_TYPE:
        return f"{one.operands[0]}, {one.operands[1].value}"
    if one.opcode == "ret" and not one.operands:
        return "void"
    if one.opcode in ("extractvalue", "insertvalue"):
        return ", ".join(str(operand) if operand.type else operand.value for operand in one.operands)
    typed = [one.type] if one.opcode in _TYPED else []
    return ", ".join([*typed, *map(str, one.operands)])


def _result_type(one: Instruction) -> str:
    if not one.result:
        return "void"
    if one.opcode in BINARY or one.opcode in ("fneg", "freeze", "insertelement", "insertvalue"):
        return one.kind
    if one.opcode in COMPARISONS:
        return truth(one.kind)
    if one.opcode in ("getelementptr", "alloca"):
        vector = next((operand.type for operand in one.operands if operand.type.startswith("<")), "")
        return vector.replace(element(vector), "ptr") if vector else one.kind if one.opcode != "alloca" else "ptr"
    if one.opcode in ("select", "atomicrmw"):
        return one.operands[1].type
    if one.opcode == "cmpxchg":
        return f"{{ {one.operands[1].type}, i1 }}"
    if one.opcode == "extractelement":
        return element(one.kind)
    if one.opcode == "extractvalue":
        kind = one.kind
        for index in one.operands[1:]:
            kind = member(kind, index.value)
        return kind
    if one.opcode == "shufflevector":
        lanes = one.operands[2].type.partition(" x ")[0]
        return f"{lanes} x {element(one.kind)}>"
    return one.type
