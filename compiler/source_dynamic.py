"""What code does that its names alone do not tell: names worked out while it runs, and imports inside functions."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType

from gridjit.compiler.source_code import CodeTable, meaningful, with_nested
from gridjit.values import dataclass

# What takes a name, or imports what it says, and the number of the argument that says it.
TAKES_NAMES = {
    "getattr": 2,
    "setattr": 2,
    "hasattr": 2,
    "delattr": 2,
    "import_module": 1,
    "__import__": 1,
    "attrgetter": 1,
    "methodcaller": 1,
}
_LOADS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_ATTR", "LOAD_METHOD", "LOAD_DEREF", "LOAD_FAST", "IMPORT_FROM"})
# Where a call is two instructions, the first takes the arguments off the stack.
_CALLS = frozenset({"PRECALL"} if "PRECALL" in dis.opmap else {"CALL", "CALL_FUNCTION", "CALL_METHOD"})
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
# What code may take of the kernel that is compiled: everything else a program hung on it.
_OF_KERNELS = frozenset({"mark_launch_config_sensitive", "__name__", "__qualname__", "__module__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import statement inside a function: `from ..module import names` with level 2."""

    module: str
    level: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicPlan:
    """The imports of a code object, nested code included, and what it does with computed names, with the lines."""

    imports: tuple[Import, ...]
    computed: tuple[tuple[str, int], ...]


_plans: CodeTable[DynamicPlan] = CodeTable()


def dynamic_plan(code: CodeType) -> DynamicPlan:
    """Return the plan of code, made once per code object."""
    if (known := _plans.get(code)) is not None:
        return known
    listed = [(nested, meaningful(nested)) for nested in with_nested(code)]
    imports = dict.fromkeys(found for _, instructions in listed for found in imports_of(instructions))
    computed = dict.fromkeys(found for nested, instructions in listed for found in computed_uses(nested, instructions))
    return _plans.put(code, DynamicPlan(imports=tuple(imports), computed=tuple(computed)))


def imports_of(instructions: list[dis.Instruction]) -> Iterator[Import]:
    """Yield the import statements of a code object."""
    for position, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME":
            level, names = (one.argval for one in instructions[position - 2 : position])
            yield Import(module=instruction.argval, level=level or 0, names=tuple(names or ()))


def computed_uses(code: CodeType, instructions: list[dis.Instruction]) -> Iterator[tuple[str, int]]:
    """Yield what a code object does with a name that is not written in it, and the line."""
    if not _INTERESTING.isdisjoint(code.co_names) or not _INTERESTING.isdisjoint(code.co_freevars):
        for position, (line, instruction) in enumerate(_with_lines(instructions)):
            name = instruction.argval
            if instruction.opname in _LOADS and name in TAKES_NAMES:
                if not _is_literal(instructions, position, TAKES_NAMES[name]):
                    yield f"{name} with a computed name", line
            elif instruction.opname in _ATTRIBUTES and name == "dispatcher":
                after = instructions[position + 1] if position + 1 < len(instructions) else instruction
                if after.opname not in _ATTRIBUTES or after.argval not in _OF_KERNELS:
                    yield "an attribute of the kernel", line


_INTERESTING = frozenset({*TAKES_NAMES, "dispatcher"})


def line_of(code: CodeType, name: str) -> int:
    """Return the first line of code, nested code included, that names name."""
    for line, instruction in _with_lines(list(dis.get_instructions(code))):
        if instruction.argval == name:
            return line
    nested = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return next((line for one in nested if (line := line_of(one, name)) != one.co_firstlineno), code.co_firstlineno)


def _with_lines(instructions: list[dis.Instruction]) -> Iterator[tuple[int, dis.Instruction]]:
    line = 0
    for instruction in instructions:
        # From Python 3.11 each has its own; before, only the first of a line.
        found = getattr(getattr(instruction, "positions", None), "lineno", None) or instruction.starts_line
        line = found if type(found) is int else line
        yield line, instruction


def _is_literal(instructions: list[dis.Instruction], callee: int, number: int) -> bool:
    """Return whether the call of what is loaded at callee has a text, written there, as its argument of that number."""
    depth, begun = 0, None
    for position in range(callee + 1, len(instructions)):
        one = instructions[position]
        if one.opname in _CALLS and depth == one.arg:
            if begun is None or depth < number or (begun != position - 1 and depth == number):
                return False
            return instructions[begun].opname == "LOAD_CONST" and type(instructions[begun].argval) is str
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            return False
        effect = dis.stack_effect(one.opcode, one.arg if one.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        # The argument is what was loaded last on top of those before it, if nothing was done with it since.
        if depth == number - 1 and effect == 1:
            begun = position
        elif depth + effect < number or (effect <= 0 and depth + effect == number):
            begun = None
        depth += effect
        if depth < 0:
            return False
    return False
