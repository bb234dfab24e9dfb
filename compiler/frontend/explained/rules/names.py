"""Names: undefined names, names of no use in a kernel, and attributes that do not exist."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.places import empty_cells, unassigned_name
from gridjit.compiler.frontend.explained.rules.finding import UNNAMED, Finding, near
from gridjit.compiler.frontend.explained.rules.spelling import DRAWN, is_same, offered, spelled
from gridjit.compiler.frontend.explained.source import text_of
from gridjit.compiler.frontend.explained.types_said import is_array
from gridjit.compiler.source.libraries import is_library
from gridjit.compiler.values.signature import RecordType, TupleType

_UNTYPED = re.compile(r"^Untyped (?:global|freevar)? ?(?:name )?'(?P<name>[^']+)'")
_ATTRIBUTE = re.compile(r"^Unknown attribute '(?P<name>[^']+)' of type (?P<type>.+?)$")
_EARLY = re.compile(r"failed to analyze the bytecode. Variable '(\w+)' is not defined")
_OF_MODULE = re.compile(r"^(?:module|type object) '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'")
_ARRAYS: Final = (
    *("size", "shape", "ndim", "strides", "itemsize", "dtype", "T", "flat", "real", "imag", "reshape", "ravel"),
    *("sum", "min", "max", "argmin", "argmax", "mean", "prod", "view", "fill", "item"),
)
_LONGEST_LIST: Final = 16  # of names that are told instead of a near one
_OF_STATIC = re.compile(r"^gridjit\.static\.\w+ has x, y and z, not '(\w+)'")
_NUMBERS = "Arrays of a kernel have shape, size, ndim, strides, itemsize and dtype; for everything else, write a loop."
# Python's own functions that kernels have.
_BUILTINS: Final = frozenset(
    (
        *("abs", "bool", "complex", "divmod", "enumerate", "float", "int", "len", "max", "min", "pow", "print"),
        *("range", "round", "slice", "tuple", "zip"),
    )
)
_OWN = "Import the one for kernels: from gridjit.cuda import {}"
_OTHERS: Final = "Write it with operators, with math or cuda.libdevice, or with a loop."
_MODULES: Final = {
    **{name: f"import {name}" for name in ("math", "cmath", "operator", "gridjit", "numpy")},
    "np": "import numpy as np",
    "cuda": "from gridjit import cuda",
}
_BEFORE: Final = "Compute it before the launch, and pass the result as an argument."
_TABLE: Final = "The table of the kernel language (docs/kernel-language.md) lists what it has in kernels."
_SPELLED: Final = ("cuda", "cuda.cg", "cuda.libdevice", "math", "np")  # modules whose names kernels may spell otherwise
_FROM_PYTHON: Final = "It is called from Python, not in a kernel."
# Names without a meaning for a thread of a GPU, each with the advice.
INSTEAD: Final = {
    "input": "Pass what the kernel needs as an argument.",
    "open": "Read the file before the launch, and pass what is in it as an array.",
    "list": "Use cuda.local.array(size, dtype), with a size that is known when the kernel is compiled.",
    "dict": "Use arrays: one of keys, one of values.",
    "set": "Use an array.",
    **dict.fromkeys(
        ("str", "repr", "ascii", "format", "chr", "hex", "oct", "bin", "bytes"),
        "Strings cannot be made in a kernel; print(...) takes several values.",
    ),
    **dict.fromkeys(("exit", "quit"), "A thread ends with return."),
    **dict.fromkeys(("bytearray", "memoryview", "frozenset"), "Use an array."),
    "sorted": "Sort on the CPU, with CuPy, or write a sort over an array.",
    "reversed": "Count downwards: range(n - 1, -1, -1).",
    "getattr": "Write the attribute's name: x.name.",
    "object": "Kernels have numbers, arrays, tuples and records of a structured dtype.",
    **dict.fromkeys(("any", "all", "map", "filter"), "Write a loop."),
}


def undefined(failure: Failure) -> Finding | None:
    """A name that is neither assigned in the function nor a global of its module."""
    if (early := _EARLY.search(failure.words)) is not None:
        return Finding(
            sentence=f"{early[1]!r} is used before it is assigned",
            advice="Assign it on every path that leads here.",
            node=next((node for node in failure.source.of(ast.Name) if node.id == early[1]), None),
        )
    if "UndefinedType" not in failure.words and not failure.words.startswith("NameError"):
        return None
    known = {*failure.source.local_names, *failure.names, *vars(builtins)} - set(empty_cells(_code(failure)))
    for node in failure.source.of(ast.Name):
        if node.id not in known:
            return Finding(sentence=f"{node.id!r} is not defined", advice=_meant(node.id, known, failure), node=node)
    if (name := unassigned_name(_code(failure))) is not None:
        return Finding(sentence=f"{name!r} is not defined", advice=_meant(name, known - {name}, failure))
    return Finding(sentence="a name is not defined", advice="Look for a name that is misspelled or not imported.")


def _code(failure: Failure) -> Callable[..., Any]:
    return failure.places[-1].code or failure.function


def _meant(name: str, known: set[str], failure: Failure) -> str:
    if name in _MODULES:
        return f"Write {_MODULES[name]} at the top of the module."
    if written := re.sub(r"\bcuda\.", _prefix(failure), spelled(name)):
        module = re.match(r"Write (\w+)\.", written)
        return written + (" Its module must be imported." if module is not None and module[1] not in known else "")
    own = {*failure.source.local_names, *failure.names}
    usable = known - {*vars(builtins)} | _BUILTINS
    if (found := near(name, sorted(own)) or near(name, sorted(usable))) is not None:
        return f"Did you mean {found!r}?"
    return "Assign it before this line, pass it as an argument, or define it as a global of the module."


def _prefix(failure: Failure) -> str:
    """Return the module's name for cuda, with a dot."""
    names = (name for name, value in failure.names.items() if _is_cuda(value))
    return next(names, "cuda") + "."


def _is_cuda(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__ in ("gridjit.cuda", "numba.cuda")


def unusable(failure: Failure) -> Finding | None:
    """A global that no kernel can use: a plain function, a class, an object, a container."""
    if (found := _UNTYPED.match(failure.words)) is None:
        return None
    name = found["name"]
    node = next((node for node in failure.source.of(ast.Name) if node.id == name), None)
    value = failure.names.get(name, getattr(builtins, name, None))
    read = next((one for one in failure.source.of(ast.Attribute) if one.value is node), None)
    if read is not None and not isinstance(value, FunctionType | ModuleType | dict | set | frozenset | list):
        return _of_attribute(failure, name, value, read)
    sentence, advice = _of_value(name, value, failure)
    return Finding(sentence=sentence, advice=advice, node=node)


def _of_attribute(failure: Failure, name: str, value: Any, read: ast.Attribute) -> Finding:
    kind = "a class" if isinstance(value, type) else f"an object of class {type(value).__name__}"
    if callable(getattr(type(value), read.attr, None)):
        decorator = f"@{_prefix(failure)}jit(device=True)"
        return Finding(
            sentence=f"{name!r} is {kind}, and kernels cannot call its methods",
            advice=f"Write a function for it, with {decorator}, or call it outside of the kernel.",
            node=read,
        )
    return Finding(
        sentence=f"{name!r} is {kind}, and kernels cannot read its attributes",
        advice=f"Assign the value to a global of its own ({read.attr} = {text_of(read)}), or pass it as an argument.",
        node=read,
    )


def _of_value(name: str, value: Any, failure: Failure) -> tuple[str, str]:
    if name in vars(builtins) and value is vars(builtins)[name]:
        called = any(isinstance(one.func, ast.Name) and one.func.id == name for one in failure.source.of(ast.Call))
        return f"{name}{'(...)' * called} is not available in kernels", INSTEAD.get(name, _BEFORE)
    if type(value) is int:
        return f"{name!r} is {value if abs(value) < 1 << 200 else 'a number'}, which does not fit into 64 bits", _BIG
    if name == "prange":
        return "prange divides a loop among the threads of a CPU, and a kernel is one thread of many", _ITEM_EACH
    if isinstance(value, FunctionType) and value.__module__ == "numba.misc.special":
        return f"{name!r} is the one for functions that run on the processor", _OWN.format(value.__name__)
    if isinstance(value, FunctionType):
        return _of_function(name, value, failure)
    if isinstance(value, BuiltinFunctionType):
        return f"{name!r} is a function of a library, which kernels cannot call", "Use math or cuda.libdevice."
    if isinstance(value, type):
        return (
            f"{name!r} is a class, and kernels cannot make objects",
            "Use scalars, tuples (also named ones), or a structured dtype.",
        )
    if any(isinstance(one, FunctionType) for one in _items(value)):
        return (
            f"{name!r} has plain Python functions in it, and kernels call device functions only",
            f"Use a tuple of functions decorated with @{_prefix(failure)}jit(device=True), indexed by constants.",
        )
    if isinstance(value, np.ufunc):
        what = f"{name!r} is numpy.{value.__name__}, which is not available in kernels"
        return what, "Write it with operators and the functions of math."
    if isinstance(value, dict | set | frozenset | list):
        return f"{name!r} is a {type(value).__name__}, which kernels cannot use", "Use a tuple or a NumPy array."
    if isinstance(value, ModuleType):
        return f"the module {name!r} cannot be used here", "Use its functions: " + f"{name}.function(...)"
    if isinstance(value, tuple):
        return f"{name!r} is a tuple with items that kernels cannot use", "Kernels have tuples of numbers and arrays."
    return (
        f"{name!r} is an object of class {type(value).__name__}, which kernels cannot use",
        "Pass its numbers and arrays as arguments, or assign them to globals of their own.",
    )


def _of_function(name: str, value: FunctionType, failure: Failure) -> tuple[str, str]:
    elsewhere = value.__module__ != failure.function.__module__
    return (
        f"{name!r} is a plain Python function, and kernels call device functions only",
        f"Decorate it: @{_prefix(failure)}jit(device=True){_OVERLOADED * elsewhere}",
    )


_OVERLOADED = "; if an overload has its code, import that before the launch"
_BIG = "Use a float, or two integers."
_ITEM_EACH = "Let each thread handle one item: i = cuda.grid(1); if i < n: ... - or loop over range(...)."


def _items(value: Any) -> tuple[Any, ...]:
    """Return the items of a container of Python's."""
    if isinstance(value, dict):
        return tuple(value.values())
    return tuple(value) if isinstance(value, tuple | list | set | frozenset) else ()


def attribute(failure: Failure) -> Finding | None:
    """An attribute that a value does not have."""
    found = _ATTRIBUTE.match(failure.words)
    if found is None:
        return None
    name, kind = found["name"], found["type"]
    node = next((node for node in failure.source.of(ast.Attribute) if node.attr == name), None)
    if node is None and failure.source.nodes:
        return None  # the user does not write it: it is in the code that Python, or numba, makes of the line
    owner = text_of(node.value) if node is not None else ""
    if kind.startswith("module "):
        value = failure.value(node) if node is not None else None
        if isinstance(value, FunctionType) and not is_library(value.__module__):
            sentence, advice = _of_function(text_of(node), value, failure)
            return Finding(sentence=sentence, advice=advice, node=node)
        return Finding(
            sentence=f"{owner or kind[7:]}.{name} is not available in kernels", advice=_of_module(kind, name), node=node
        )
    if node is not None and (called := _of_a_function(failure, node, kind)) is not None:
        return called
    if (members := re.match(r"^(?:Int)?Enum class<\w+>\((\w+)\)$", kind)) is not None:
        known = tuple(getattr(failure.value(node.value), "__members__", ())) if node is not None else ()
        meant = near(name, known)
        sentence = f"the enum {members[1]} does not have a member {name!r}"
        return Finding(sentence=sentence, advice=f"Did you mean {meant}?" if meant else _listed(known), node=node)
    whose = f"{owner!r}, of type {kind}," if owner and owner != kind else kind
    sentence = f"{whose} does not have an attribute {name!r}"
    if (known := _parts_of_tuple(failure, node)) != ():
        meant = near(name, known)
        return Finding(sentence=sentence, advice=f"Did you mean {meant!r}?" if meant else _listed(known), node=node)
    return Finding(sentence=sentence, advice=_attribute_of(kind, name, node), node=node)


def _parts_of_tuple(failure: Failure, node: ast.Attribute | None) -> tuple[str, ...]:
    """Return the names of a named tuple's items, where it is an argument of the kernel."""
    known = failure.argument(node.value.id) if node is not None and isinstance(node.value, ast.Name) else None
    return known.names if isinstance(known, TupleType) else ()


def _listed(names: Sequence[str]) -> str:
    return f"It has {', '.join(names)}." if 0 < len(names) <= _LONGEST_LIST else ""


def _offered(value: Any) -> tuple[str, ...]:
    """Return the names that a module or a class offers, without its imports."""
    if isinstance(value, ModuleType):
        return tuple(getattr(value, "__all__", ()))
    return tuple(name for name in vars(value) if not name.startswith("_")) if isinstance(value, type) else ()


def _of_a_function(failure: Failure, node: ast.Attribute, kind: str) -> Finding | None:
    """Return the finding on an attribute of a function of cuda: its brackets were forgotten."""
    value, name = failure.value(node.value), text_of(node.value)
    if not callable(value) or kind != name.rpartition(".")[2]:
        return None
    if isinstance(value, np.ufunc):
        return Finding(sentence=f"{text_of(node)} is not available in kernels", advice="Write a loop.", node=node)
    dimensions = "1" if name.endswith(("grid", "gridsize")) else "..."
    return Finding(
        sentence=f"{name} is a function, and {text_of(node)} is an attribute of it",
        advice=f"Call it: {name}({dimensions}).",
        node=node,
    )


def _of_module(kind: str, name: str) -> str:
    if kind.startswith(("module gridjit", "module numba")):
        return spelled(name) or _FROM_PYTHON
    if kind == "module time":
        return spelled(name) or spelled("clock")
    if not kind.startswith(("module numpy", "module random", "module math")):
        return _BEFORE
    if kind.startswith(("module numpy.random", "module random")):
        return DRAWN
    return spelled(name) or _OTHERS


def _attribute_of(kind: str, name: str, node: ast.Attribute | None) -> str:
    known: tuple[str, ...] = _ARRAYS if is_array(kind) else ("x", "y", "z") if kind == "Dim3" else ()
    if kind == "Dim3":
        return "It has x, y and z."
    if kind == "list":
        return "Lists cannot grow in a kernel: use cuda.local.array(size, dtype) with a size known when it is compiled."
    if kind == "str" or kind[:1] in "'\"":
        return "Kernels can print and compare strings, and do little else with them."
    if kind == "None":
        return "It is None where the kernel is compiled: assign it before the launch, or pass it as an argument."
    if re.fullmatch(r"(?:u?int|float|complex)\d+|bool", kind):
        value = text_of(node.value) if node is not None else "x"
        if name in ("astype", "view", "copy"):
            return f"It is one number: call the type to convert it, as in np.float64({value})."
        return "It is one number: pass an array." if name in _ARRAYS else "It is one number, with real and imag only."
    if kind.startswith("("):
        return "It is a tuple: index it by a constant, as in x.shape[0]."
    found = near(name, known) or {"length": "size", "len": "size"}.get(name if known else "")
    return f"Did you mean {found!r}?" if found else _NUMBERS if known else ""


def attribute_of_python(failure: Failure) -> Finding | None:
    """An attribute that a module, or an object that is looked at when the kernel is compiled, does not have."""
    found = _OF_MODULE.match(failure.words)
    if found is None:
        return None
    name = found["name"]
    node = next((node for node in failure.source.of(ast.Attribute) if node.attr == name), None)
    module = failure.value(node.value) if node is not None else None
    owner = text_of(node.value) if node is not None else found["module"]
    advice = _instead_of(failure, node.value, name, module) if node is not None and module is not None else ""
    return Finding(sentence=f"{owner} does not have an attribute {name!r}", advice=advice, node=node)


def _instead_of(failure: Failure, owner: ast.expr, name: str, module: Any) -> str:
    """Return advice for a name that a module or a class lacks: how kernels spell it, or a name that was meant."""
    text = _canonical(failure, owner)
    known = offered(text)
    elsewhere = spelled(name) if text in _SPELLED else ""
    if elsewhere or (meant := near(name, known or dir(module))) is None:
        of_python = _FROM_PYTHON if any(is_same(name, one) for one in _offered(module)) else ""
        last = _OTHERS if text in ("math", "cmath", "np") else _TABLE if text == "cuda" else ""
        return elsewhere or of_python or _listed(known or _offered(module)) or last
    return f"Did you mean {text_of(owner)}.{meant}?"


def _canonical(failure: Failure, owner: ast.expr) -> str:
    """Return a dotted name with its module's usual name: "cuda.atomic" where the program wrote gpu.atomic."""
    if isinstance(owner, ast.Attribute):
        own = failure.value(owner)
        return "cuda" if _is_cuda(own) else f"{_canonical(failure, owner.value)}.{owner.attr}"
    value = failure.value(owner)
    return "cuda" if _is_cuda(value) else "np" if value is np else text_of(owner)


def assigned(failure: Failure) -> Finding | None:
    """An attribute that is assigned, of a value whose attributes cannot be."""
    found = re.match(r"^Cannot resolve setattr: \((?P<type>.+)\)\.(?P<name>\w+) = ", failure.words) or re.match(
        r"^No definition for lowering (?P<type>.+?)\.(?P<name>\w+) = ", failure.words
    )
    if found is None or found["type"] == "Dim3":
        return None
    node = next((one for one in failure.source.of(ast.Attribute) if isinstance(one.ctx, ast.Store)), None)
    owner = text_of(node.value) if node is not None else UNNAMED
    if found["name"] == "shape":
        sentence = f"the shape of {owner!r} cannot be assigned in a kernel"
        return Finding(sentence=sentence, advice=f"Write x = {owner}.reshape(...), and use x.", node=node)
    return Finding(
        sentence=f"{owner!r}, of type {found['type']}, does not have an attribute {found['name']!r} to assign",
        advice="Attributes are assigned to records with such a field only. Use a variable, or an array.",
        node=node,
    )


def fields(failure: Failure) -> Finding | None:
    """A field that records do not have."""
    found = re.match(r"^Field '(?P<name>.+?)' was not found in record with fields \((?P<all>.*)\)", failure.words)
    if found is None:
        return None
    known = re.findall(r"'(.+?)'", found["all"])
    meant = near(found["name"], known)
    node = next((one for one in failure.source.of(ast.Subscript) if repr(found["name"]) in text_of(one.slice)), None)
    return Finding(
        sentence=f"the record does not have a field {found['name']!r}",
        advice=f"Did you mean {meant!r}?" if meant else f"It has {', '.join(known)}.",
        node=node,
    )


def field_of_record(failure: Failure) -> Finding | None:
    """A field, written as an attribute, that a global record does not have: numba looks it up in a table."""
    if not isinstance(failure.error, KeyError) or len(failure.error.args) != 1:
        return None
    name = failure.error.args[0]
    node = next((one for one in failure.source.of(ast.expr) if _reads_field(one, name)), None)
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return None
    known = _fields_of(failure, node.value)
    meant = near(name, known)
    advice = f"Did you mean {meant!r}?" if meant else f"It has {', '.join(known)}." if known else ""
    return Finding(sentence=f"{text_of(node.value)} does not have a field {name!r}", advice=advice, node=node)


def _reads_field(node: ast.expr, name: Any) -> bool:
    if isinstance(node, ast.Attribute):
        return bool(node.attr == name)
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and bool(node.slice.value == name)


def _fields_of(failure: Failure, node: ast.expr) -> tuple[str, ...]:
    """Return the fields of a record, or of an array's items, where its name leads to it."""
    while isinstance(node, ast.Subscript):
        node = node.value
    argument = failure.argument(node.id) if isinstance(node, ast.Name) else None
    record = getattr(argument, "dtype", argument)
    if isinstance(record, RecordType):
        return tuple(field.name for field in record.fields)
    return tuple(getattr(getattr(failure.value(node), "dtype", None), "names", None) or ())


def unassigned(failure: Failure) -> Finding | None:
    """A variable that is deleted without being assigned."""
    found = re.match(r"^Illegal IR, del found at: del (\w+)", failure.words)
    if found is None:
        return None
    node = next(failure.source.of(ast.Delete), None)
    return Finding(
        sentence=f"{found[1]!r} is deleted, and kernels keep their variables", advice="Leave out del.", node=node
    )


def axis(failure: Failure) -> Finding | None:
    """A dimension of gridjit.static's that there is not."""
    if (found := _OF_STATIC.match(failure.words)) is None:
        return None
    node = next((node for node in failure.source.of(ast.Attribute) if node.attr == found[1]), None)
    return Finding(sentence=failure.words, advice="Write .x, .y or .z.", node=node)


def container(failure: Failure) -> Finding | None:
    """A global list, dict or set on the line that failed: numba has no words for some of their uses."""
    if failure.operation is not None:
        return None
    for node in failure.source.of(ast.Name):
        value = failure.value(node)
        if isinstance(value, list | dict | set | frozenset):
            sentence, advice = _of_value(node.id, value, failure)
            return Finding(sentence=sentence, advice=advice, node=node)
    return None


RULES = (
    undefined,
    unusable,
    attribute,
    attribute_of_python,
    assigned,
    fields,
    field_of_record,
    unassigned,
    container,
    axis,
)
