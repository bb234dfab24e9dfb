"""CodeNames: the names by which a code object may take something, found without following its steps.

Besides its globals, attributes and imports these are constants that look like names, for getattr, attrgetter, a
namespace's items and class patterns. One name too many costs at most a look. With one too few, a value would be read
unseen.
"""

from __future__ import annotations

import dis
import functools
import opcode
import sys
import weakref
from collections.abc import Iterable, Iterator
from types import CodeType, ModuleType

from gridjit.base.values import dataclass
from gridjit.compiler.source.code import meaningful, with_nested


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeNames:
    """The names in a code object and in the code within it.

    names: all it may take something by, dotted texts in whole and in parts; not the globals that it only counts or
        sets. texts: its constants that look like names.
    taken: (name, attribute) where an attribute is taken right behind a global or an import, ("", name) for globals.
    imports: whether it imports; computes: whether it may take attributes by texts.
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]
    taken: tuple[tuple[str, str], ...]
    imports: bool
    computes: bool


def names_of(code: CodeType) -> CodeNames:
    """Return the names in code, found once per code object."""
    known = _known.get(id(code))
    if known is not None and known[0]() is code:
        return known[1]
    found = names_of_all(tuple(with_nested(code)))
    _known[id(code)] = (weakref.ref(code, functools.partial(_forget, id(code))), found)
    return found


def names_of_module(module: ModuleType) -> CodeNames:
    """Return the names in a module's source, its functions included; none for a module without Python code."""
    return names_of(_code_of(module))


def code_of_import(module: ModuleType) -> tuple[CodeType, ...]:
    """Return the code that a module's import runs, each without the code in it: no functions that it only defines."""
    return tuple(map(_without_nested, _run_in(_code_of(module))))


def _without_nested(code: CodeType) -> CodeType:
    return code.replace(co_consts=tuple(None if isinstance(one, CodeType) else one for one in code.co_consts))


def _code_of(module: ModuleType) -> CodeType:
    get_code = getattr(getattr(module, "__loader__", None), "get_code", None)
    code = None if get_code is None else get_code(module.__name__)
    return _NOTHING if code is None else code


def _run_in(code: CodeType) -> Iterator[CodeType]:
    """Yield code and the code in it, less functions that are stored right after they are made: decorators may call."""
    yield code
    steps = [step for step in meaningful(code) if step.opname != "SET_FUNCTION_ATTRIBUTE"]
    stored = [n for n, step in enumerate(steps) if step.opname == "MAKE_FUNCTION" and "STORE" in steps[n + 1].opname]
    defined = {id(step.argval) for n in stored for step in steps[max(0, n - 2) : n]}
    for constant in code.co_consts:
        if isinstance(constant, CodeType) and id(constant) not in defined:
            yield from _run_in(constant)


def _forget(identity: int, _: object) -> None:
    _known.pop(identity, None)


def names_in(constants: Iterable[object]) -> Iterator[str]:
    """Yield the texts among constants, at any depth, that look like names, dotted ones in whole and in parts."""
    for value in constants:
        if type(value) is str:
            yield from _spelled(value)
        elif type(value) in (tuple, frozenset):
            yield from names_in(value)  # type: ignore[arg-type]


def _spelled(text: str) -> Iterator[str]:
    name = text.lstrip(".")  # as importlib.import_module(".plans", __package__)
    parts = name.split(".")
    if all(part.isidentifier() for part in parts):
        yield from dict.fromkeys((name, *parts))


def names_of_all(every: tuple[CodeType, ...]) -> CodeNames:
    """Return the names in several pieces of code, not in the code in them."""
    texts = dict.fromkeys(text for one in every for text in names_in(one.co_consts))
    taken = dict.fromkeys(pair for one in every for pair in _taken(one))
    operations = frozenset().union(*(one.co_code[::2] for one in every))
    counted = _only_counted(every) if _STORE_GLOBAL in operations else frozenset()
    names = dict.fromkeys(name for one in every for name in one.co_names)
    return CodeNames(
        names=tuple(name for name in {**names, **texts} if name not in counted or name in texts),
        texts=tuple(texts),
        taken=tuple(pair for pair in taken if pair[0] or pair[1] not in counted),
        imports=_IMPORT_NAME in operations,
        computes=not _COMPUTING.isdisjoint(names) or _MATCH_CLASS in operations,
    )


def _taken(code: CodeType) -> Iterator[tuple[str, str]]:
    """Yield ("", name) for each global, and (name, attribute) for an attribute taken right behind it or an import."""
    raw, names, extended, base = code.co_code, code.co_names, 0, ""
    for operation, given in zip(raw[::2], raw[1::2], strict=True):
        argument = extended | given
        extended = argument << 8 if operation == opcode.EXTENDED_ARG else 0
        if operation in _PASSED_OVER:
            continue
        if operation in _GLOBALS:
            base = names[argument >> _GLOBAL_SHIFT]
            yield "", base
        elif operation == _IMPORT_NAME:
            base = names[argument]
        elif operation in _ATTRIBUTES and base:
            yield base, names[argument >> _ATTRIBUTE_SHIFT]
            base = ""
        elif operation == _IMPORT_FROM and base:
            yield base, names[argument]
        elif operation not in _STORES or not base:
            base = ""


def _only_counted(every: Iterable[CodeType]) -> frozenset[str]:
    """Return the globals that code sets or adds to, and does not look at otherwise: a counter, the latest value."""
    read, stored = set(), set()
    for code in every:
        steps = [step for step in dis.get_instructions(code) if step.opname not in ("CACHE", "EXTENDED_ARG", "NOP")]
        for place, step in enumerate(steps):
            if step.opname == "STORE_GLOBAL":
                stored.add(step.argval)
            elif step.argval in code.co_names and not _is_counting(steps[place : place + 4]):
                read.add(step.argval)
    return frozenset(stored - read)


def _is_counting(steps: list[dis.Instruction]) -> bool:
    """Return whether steps are `name += value` for a constant or a local value."""
    if len(steps) < 4:
        return False
    load, value, add, store = steps
    adds = add.opname.startswith("INPLACE_") or (add.opname == "BINARY_OP" and add.argrepr.endswith("="))
    names = (load.opname, load.argval) == ("LOAD_GLOBAL", store.argval) and store.opname == "STORE_GLOBAL"
    return names and adds and value.opname.startswith(("LOAD_CONST", "LOAD_FAST", "LOAD_SMALL_INT"))


def _numbers(*names: str) -> frozenset[int]:
    return frozenset(opcode.opmap[name] for name in names if name in opcode.opmap)


_NOTHING = compile("", "", "exec")
# Names that may look attributes up by a text.
_COMPUTING = frozenset({"getattr", "hasattr", "vars", "__dict__", "attrgetter", "__getattribute__", "get_type_hints"})
_IMPORT_NAME, _IMPORT_FROM = opcode.opmap["IMPORT_NAME"], opcode.opmap["IMPORT_FROM"]
_STORE_GLOBAL, _MATCH_CLASS = opcode.opmap["STORE_GLOBAL"], opcode.opmap["MATCH_CLASS"]
_GLOBALS = _numbers("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTES = _numbers("LOAD_ATTR", "LOAD_METHOD")
# Behind IMPORT_FROM the module is still there.
_STORES = _numbers("STORE_FAST", "STORE_NAME", "STORE_DEREF", "STORE_GLOBAL")
_PASSED_OVER = _numbers("CACHE", "EXTENDED_ARG", "PUSH_NULL", "NOP")
_GLOBAL_SHIFT = 1 if sys.version_info >= (3, 11) else 0
_ATTRIBUTE_SHIFT = 1 if sys.version_info >= (3, 12) else 0
_known: dict[int, tuple[weakref.ref[CodeType], CodeNames]] = {}
