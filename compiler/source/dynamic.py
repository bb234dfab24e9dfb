"""Names that code computes while it runs, and imports inside functions, which the names in the code do not show.

Also whether a module that code imports exists, found without running any of its code, and loading it.
"""

from __future__ import annotations

import contextlib
import dis
import importlib
import importlib.util
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.base.values import dataclass
from gridjit.compiler.source.code import CodeTable, meaningful, with_nested

# Functions that take an attribute by a name, or import by one, and which argument is the name.
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
_ENDS = _CALLS | {"CALL_KW", "CALL_FUNCTION_KW"}
_IMPORTS = ("import_module", "__import__")
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME"})
# Attributes that code may take of the kernel being compiled. All others were put on it by a program.
_OF_KERNELS = frozenset({"mark_launch_config_sensitive", "__name__", "__qualname__", "__module__"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import inside a function: `from ..module import names`, with level 2, or a call that does the same."""

    module: str
    level: int
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicPlan:
    """The imports of a code object, nested code included, and its uses of computed names, with the lines.

    given: the globals that are these names, "" for other names.
    """

    imports: tuple[Import, ...]
    computed: tuple[tuple[str, int], ...]
    given: tuple[str, ...]


_plans: CodeTable[DynamicPlan] = CodeTable()


def dynamic_plan(code: CodeType) -> DynamicPlan:
    """Return the plan of code, made once per code object."""
    if (known := _plans.get(code)) is not None:
        return known
    listed = [(nested, _with_keywords(nested)) for nested in with_nested(code)]
    imports = dict.fromkeys(found for _, instructions in listed for found in imports_of(instructions))
    uses = [found for nested, instructions in listed for found in computed_uses(nested, instructions)]
    computed, given = dict.fromkeys(use[:2] for use in uses), dict.fromkeys(use[2] for use in uses)
    return _plans.put(code, DynamicPlan(imports=tuple(imports), computed=tuple(computed), given=tuple(given)))


def _with_keywords(code: CodeType) -> list[dis.Instruction]:
    # dis does not say which names these are, though the code has them.
    return [
        one._replace(argval=code.co_consts[one.arg]) if one.opname == "KW_NAMES" and one.arg is not None else one
        for one in meaningful(code)
    ]


def imports_of(instructions: list[dis.Instruction]) -> Iterator[Import]:
    """Yield the imports of a code object: its statements, and calls with the module's name as a constant."""
    for position, instruction in enumerate(instructions):
        if instruction.opname == "IMPORT_NAME":
            level, names = (one.argval for one in instructions[position - 2 : position])
            yield Import(module=instruction.argval, level=level or 0, names=tuple(names or ()))
        elif (called := _called_import(instructions, position)) is not None:
            yield called


def _called_import(instructions: list[dis.Instruction], callee: int) -> Import | None:
    """Return the import of a call whose function is loaded at callee; None if the code does not name the module.

    It is `import_module("module")`, `__import__("module")`, `import_module(".module", __package__)`, or with a text.
    """
    if instructions[callee].opname not in _LOADS or instructions[callee].argval not in _IMPORTS:
        return None
    end = next((n for n in range(callee + 1, len(instructions)) if instructions[n].opname in _ENDS), callee)
    arguments = [one for one in instructions[callee + 1 : end] if one.argval != ("package",)]
    if len(arguments) not in (1, 2) or not _is_text(arguments[0]) or instructions[end].arg != len(arguments):
        return None
    name, package = arguments[0], arguments[1:]
    module = name.argval.lstrip(".")
    level = len(name.argval) - len(module)
    if not package:
        return None if level else Import(module=module, level=0, names=())
    if instructions[callee].argval == "__import__":
        return None
    if not level or (package[0].opname in _LOADS and package[0].argval in ("__package__", "__name__")):
        return Import(module=module, level=level, names=())
    if not _is_text(package[0]):
        return None
    parents = package[0].argval.split(".")
    return Import(module=".".join((*parents[: len(parents) - level + 1], module)), level=0, names=())


def _is_text(instruction: dis.Instruction) -> bool:
    return instruction.opname == "LOAD_CONST" and type(instruction.argval) is str


def computed_uses(code: CodeType, instructions: list[dis.Instruction]) -> Iterator[tuple[str, int, str]]:
    """Yield each use of a name not written in code: words for it, its line, and the global that is the name, or ""."""
    if not _INTERESTING.isdisjoint(code.co_names) or not _INTERESTING.isdisjoint(code.co_freevars):
        for position, (line, instruction) in enumerate(_with_lines(instructions)):
            name = instruction.argval
            if instruction.opname in _LOADS and name in TAKES_NAMES:
                if not _is_written(instructions, position):
                    yield f"{name} with a computed name", line, _given(instructions, position)
            elif "LOAD_FAST" in instruction.opname and type(name) is tuple and not _INTERESTING.isdisjoint(name):
                # Two variables in one instruction, neither of which is called there.
                yield f"{' and '.join(_INTERESTING.intersection(name))} under another name", line, ""
            elif instruction.opname in _ATTRIBUTES and name == "dispatcher":
                after = instructions[position + 1] if position + 1 < len(instructions) else instruction
                if after.opname not in _ATTRIBUTES or after.argval not in _OF_KERNELS:
                    yield "an attribute of the kernel", line, ""


def _is_written(instructions: list[dis.Instruction], position: int) -> bool:
    """Return whether the name that is taken or imported is written in the code."""
    taken = instructions[position].argval
    after = instructions[position + 1] if position + 1 < len(instructions) else None
    if instructions[position].opname == "IMPORT_FROM" and after is not None and after.opname == "STORE_FAST":
        return bool(after.argval == taken)  # its calls are looked at
    if taken in _IMPORTS:
        return _called_import(instructions, position) is not None
    return _is_literal(instructions, position, TAKES_NAMES[taken])


_INTERESTING = frozenset({*TAKES_NAMES, "dispatcher"})


def line_of(code: CodeType, name: str) -> int:
    """Return the first line of code, nested code included, that mentions name."""
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


def annotation_codes(annotations: Iterable[object]) -> Iterator[CodeType]:
    """Yield the code that typing.get_type_hints evaluates for annotations that are texts, or hold them."""
    for one in annotations:
        text = one if type(one) is str else getattr(one, "__forward_arg__", None)
        if type(text) is not str:
            yield from annotation_codes(getattr(one, "__args__", None) or ())
            continue
        with contextlib.suppress(SyntaxError, ValueError):  # such a text raises where it is evaluated
            constants = compile(f"lambda: ({text})", "annotation", "eval").co_consts
            yield from (constant for constant in constants if isinstance(constant, CodeType))


def works_names_out(code: CodeType, namespace: Mapping[str, object]) -> bool:
    """Return whether code takes names that are neither written in it nor texts of its namespace: getattr(x, NAME)."""
    return any(type(namespace.get(name)) is not str for name in dynamic_plan(code).given)


def _given(instructions: list[dis.Instruction], callee: int) -> str:
    """Return the global that a call takes a name from, whose function is loaded at callee; "" for anything else."""
    given = _argument(instructions, callee, TAKES_NAMES[instructions[callee].argval])
    return str(given.argval) if given is not None and given.opname in _GLOBALS else ""


def _is_literal(instructions: list[dis.Instruction], callee: int, number: int) -> bool:
    """Return whether that argument of a call, whose function is loaded at callee, is a text written in the code."""
    given = _argument(instructions, callee, number)
    return given is not None and _is_text(given)


def _argument(instructions: list[dis.Instruction], callee: int, number: int) -> dis.Instruction | None:
    """Return the one instruction that loads that argument of a call, whose function is loaded at callee, or None."""
    depth, begun = 0, None
    for position in range(callee + 1, len(instructions)):
        one = instructions[position]
        if one.opname in _CALLS and depth == one.arg:
            if begun is None or depth < number or (begun != position - 1 and depth == number):
                return None
            return instructions[begun]
        if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
            return None
        effect = dis.stack_effect(one.opcode, one.arg if one.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        # The argument was loaded last, on top of those before it, if nothing has been done with it since.
        if depth == number - 1 and effect == 1:
            begun = position
        elif depth + effect < number or (effect <= 0 and depth + effect == number):
            begun = None
        depth += effect
        if depth < 0:
            return None
    return None


def package_of(namespace: Mapping[str, Any]) -> str:
    """Return the package that relative imports of a namespace's code begin at, "" where there is none."""
    package = namespace.get("__package__")
    if isinstance(package, str):
        return package
    name = str(namespace.get("__name__") or "")
    return name if "__path__" in namespace else name.rpartition(".")[0]


def is_there(name: str) -> bool:
    """Return whether a module that is not loaded can be found; if its package is not loaded, whether that can be."""
    while "." in name and name.rpartition(".")[0] not in sys.modules:
        name = name.rpartition(".")[0]
    try:
        return importlib.util.find_spec(name) is not None
    except Exception as error:  # the program's own finders are asked, too
        let_through(error)
        return False


def load(names: Iterable[str]) -> None:
    """Load these modules, unless they are loaded; raises their errors, ImportError if a module ends the program."""
    try:
        for name in names:
            if name not in sys.modules:
                importlib.import_module(name)
    except SystemExit as error:
        raise ImportError("a module ends the program when it is imported") from error
