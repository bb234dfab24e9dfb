"""Items of arrays and tuples that are read, written or deleted in a way that types do not allow."""

from __future__ import annotations

import ast
import re
from typing import Final

import numpy as np

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.finding import ITEM, UNNAMED, Finding, ways_round
from gridjit.compiler.frontend.explained.rules.spelling import usable
from gridjit.compiler.frontend.explained.source import subscript_of, text_of
from gridjit.compiler.frontend.explained.types_said import is_array, parts

_OPERATIONS: Final = ("getitem", "setitem", "static_getitem", "static_setitem", "delitem")
# Types that may index an array, as they are written; a finding names any other as the mistake.
_INDEX: Final = re.compile(r"-?\d+|u?int(?:p|\d+)?|bool|True|False|slice.*|ellipsis|None")
_UNALIGNED: Final = re.compile(r"(?P<field>\w+) of type (?P<type>\S+) is not aligned$")
_STORED: Final = re.compile(r"cannot store (?:double|float) to i\d+\*")
_DIMENSIONS: Final = ("threadIdx", "blockIdx", "blockDim", "gridDim")
# Functions of Python's that make a text of a value.
_TEXTS_OF: Final = (str, repr, format, hex, bin, oct, chr)
_MOST_AXES: Final = 3  # of a grid
_TEXTS: Final = re.compile(r"(?:<U|\|S)\d+")


def items(failure: Failure) -> Finding | None:
    """An item that types do not allow to read, write or delete."""
    operation = failure.operation
    if operation is None or operation.name not in _OPERATIONS:
        return None
    node = subscript_of(failure.source, ast.Store if operation.name.endswith("setitem") else ast.Load)
    if operation.name == "delitem":
        return Finding(sentence="items cannot be deleted in a kernel", node=node)
    owner, index, *value = (*operation.arguments, "", "")[:3]
    if index[:1] in "'\"" and index and (call := _library_call(failure, index)) is not None:
        return call
    name = text_of(node.value) if node is not None else UNNAMED
    refused = _not_indexed(name, owner) or _wrong_index(name, owner, index, failure)
    if refused is None and operation.name.endswith("setitem"):
        refused = _read_only(name, owner, failure) or _not_called(failure) or _text_made(failure)
        refused = refused or _wrong_value(owner, value[0])
    sentence, advice = refused or (f"{name}, a {owner}, cannot be indexed with {index}", "Index it with whole numbers.")
    if node is None and (loop := next(failure.source.of(ast.For), None)) is not None:
        return Finding(
            sentence=f"a loop cannot go over {text_of(loop.iter)}, a {owner}",
            advice="Loop over range(n), an array, or a tuple whose items have one type.",
            node=loop.iter,
        )
    return Finding(sentence=sentence, advice=advice, node=node)


def _library_call(failure: Failure, field: str) -> Finding | None:
    """A field that the user's line does not name: a function that it calls reads it, and was given something else."""
    known = (text_of(node) for node in failure.source.of(ast.Constant))
    if field.strip("'\"") in (one.strip("'\"") for one in known):
        return None
    call = next((one for one in failure.source.of(ast.Call) if "cuda" in text_of(one.func).split(".")), None)
    if call is None:
        return None
    name = text_of(call.func)
    return Finding(
        sentence=f"{name} is given an argument that is not of the type that it needs",
        advice=f"help({name}) says what it takes.",
        node=call,
    )


def _not_indexed(name: str, owner: str) -> tuple[str, str] | None:
    if owner.startswith("the function "):
        return (
            f"a kernel cannot launch {owner[13:]!r}, as it runs on the device itself",
            "Launch one kernel after the other from Python, or call a function made with device=True.",
        )
    if owner in ("dict", "set"):
        return f"{name!r} is a {owner}, which kernels do not have", "Use arrays or tuples, indexed by numbers."
    if owner == "list":
        return f"{name!r} is a list, which kernels do not have", ways_round(owner)
    if owner == "None":
        return f"{name!r} is None", "Assign it before the kernel is compiled, or pass it as an argument."
    if owner == "record":
        return (
            f"{name!r} is a record, whose fields are named by constants, and it is indexed with a value",
            f"Write {name}['field'] or {name}.field; to choose between fields, use if and elif.",
        )
    if owner == "Dim3":
        return f"{name!r} has x, y and z, and no items", f"Write {name}.x, {name}.y or {name}.z."
    if not (is_array(owner) or owner.startswith("(") or owner.endswith(("list", "str")) or "tuple" in owner):
        return (
            f"{name!r} is {_one(owner)}, not an array, and cannot be indexed",
            "Pass an array, or leave out the index.",
        )
    return None


def _one(owner: str) -> str:
    """Return words for a variable that is not an array: a number whose value the compiler knows, or its type."""
    return f"the number {owner}" if re.fullmatch(r"-?\d+", owner) else f"one {owner}"


def _wrong_index(name: str, owner: str, index: str, failure: Failure) -> tuple[str, str] | None:
    count = re.search(r"cannot index .+? with (\d+) indices", failure.text)
    if count is not None:
        axes, given = owner.count(":"), int(count[1])
        many = f"{given} indices are given" if given != 1 else "1 index is given"
        return f"{name!r} is {owner}: it has {axes} dimension{'s' * (axes != 1)}, and {many}", _axes(failure, axes)
    if index.startswith("float") and not is_array(index):
        return f"{name!r} is indexed with a {index}, not with a whole number", "Write int(index), or divide with //."
    if is_array(owner) and (index[:1] in "'\"" or index == "str"):
        return f"{name!r} is {owner}, and it is indexed with a string", "Strings name the fields of records only."
    is_written = failure.operation is not None and failure.operation.name.endswith("setitem")
    if owner.startswith("(") and not index.isdigit() and not is_written:
        return (
            f"the items of {name!r} have different types, {owner}, so its index must be a constant",
            "Use a tuple whose items have one type, an array, or if and elif.",
        )
    return _not_an_index(name, owner, index) if is_array(owner) else None


def _not_an_index(name: str, owner: str, index: str) -> tuple[str, str] | None:
    """Return fault and advice for an index that is neither a number nor a slice: an array, cuda.threadIdx, ..."""
    given = parts(index[1:-1]) if index.startswith("(") else (index,)
    wrong = next((one for one in given if not _INDEX.fullmatch(one)), None)
    if wrong is None:
        return None
    sentence = f"{name!r} is {owner}, and it is indexed with {wrong}, which is not a whole number"
    if wrong == "Dim3":
        return sentence, "Write its x, y or z; cuda.grid(1) is a thread's place in the whole grid."
    if wrong.startswith("bool["):
        return masked(name)
    if f"cuda.{wrong}" in usable() or f"math.{wrong}" in usable():
        return f"{name!r} is indexed with the function {wrong} itself", f"Call it: {_call_of(wrong)}."
    if is_array(wrong) or wrong == "list":
        return sentence, "Let each thread take one item of the index, or write a loop over it."
    return sentence, "Index it with whole numbers."


def _call_of(function: str) -> str:
    return f"cuda.{function}(1)" if function in ("grid", "gridsize") else f"{function}(...)"


def _axes(failure: Failure, axes: int) -> str:
    """Return advice for an index of too many or too few numbers: an index for each axis, or cuda.grid of so many."""
    for node in ast.walk(failure.source.function or ast.Module([], [])):
        if isinstance(node, ast.Call) and text_of(node.func).endswith(".grid") and axes <= _MOST_AXES:
            written, wanted = text_of(node), f"{text_of(node.func)}({axes})"
            if written != wanted:
                return f"{written} is a place in {text_of(node.args[0])} dimensions: write {wanted}."
    return f"Index it as x[{', '.join(('i', 'j', 'k', 'l')[:axes])}]." if axes <= _MOST_AXES + 1 else ""


def masked(name: str) -> tuple[str, str]:
    """Return fault and advice for an array that is indexed with an array of truth values."""
    return f"{name!r} is indexed with a mask", "Let each thread look at one item: if x[i] > 0: x[i] = 0."


def _read_only(name: str, owner: str, failure: Failure) -> tuple[str, str] | None:
    """Return fault and advice for an assignment to an array or a tuple that cannot be written."""
    if owner.startswith("(") or "tuple" in owner:
        return f"{name!r} is a tuple, and its items cannot be assigned", "Use cuda.local.array(size, dtype)."
    if "setitem(readonly " not in failure.text and ", True, aligned" not in failure.text:
        return None
    if name in failure.names and name not in failure.source.local_names:
        return f"{name!r} is a global array, which is a constant in kernels", "To write to it, pass it as an argument."
    if _is_constant_memory(name, failure):
        return f"{name!r} is constant memory, which kernels only read", "Write to an array that is an argument."
    return f"{name!r} is a read-only array, and an item of it is assigned", "Pass an array that can be written."


def _is_constant_memory(name: str, failure: Failure) -> bool:
    """Return whether a variable is assigned a result of cuda.const.array_like."""
    made = (node for node in ast.walk(failure.source.function or ast.Module([], [])) if isinstance(node, ast.Assign))
    calls = (node.value for node in made if name in map(text_of, node.targets) and isinstance(node.value, ast.Call))
    return any(text_of(call.func).endswith("const.array_like") for call in calls)


def _not_called(failure: Failure) -> tuple[str, str] | None:
    """Return fault and advice where a function itself is assigned: its brackets were forgotten."""
    for node in failure.source.of(ast.Assign):
        value = failure.value(node.value)
        if (callable(value) and not isinstance(value, type)) or "stubs" in str(getattr(value, "__module__", "")):
            name = text_of(node.value)
            if name.rpartition(".")[2] in _DIMENSIONS:
                return f"{name} is three numbers, and an item is one", f"Write {name}.x, or cuda.grid(1)."
            return f"{name} is a function, and it is assigned without being called", f"Call it: {name}(...)."
    return None


def _text_made(failure: Failure) -> tuple[str, str] | None:
    """Return fault and advice where a text is made of a number, and assigned."""
    for node in failure.source.of(ast.Assign):
        if isinstance(node.value, ast.Call) and failure.value(node.value.func) in _TEXTS_OF:
            return f"{text_of(node.value)} makes a string, which kernels cannot do", "Assign the number itself."
    return None


def _wrong_value(owner: str, value: str) -> tuple[str, str]:
    item = owner.partition("[")[0]
    if is_array(value):
        return f"an item is one {item}, and what is assigned to it is an array, {value}", ITEM
    if value == "pyobject":
        return "its items are Python objects, which kernels cannot use", "Give the array a dtype of numbers."
    if value == "None":
        return f"None is assigned to an item of {owner}", "A function without a return statement returns None, too."
    if "complex" in value:
        return f"a {value} cannot be stored as {item}", "Take its .real or .imag, or abs(...) of it."
    if value.startswith("enum "):
        return f"{value} cannot be stored as {item}", "Write its number, with .value behind its name."
    if item == "record":
        return (
            f"{value} cannot be stored as a record",
            "Assign its fields one by one, as in x[i].field = value, or a record of the same dtype.",
        )
    kind = "string" if _TEXTS.match(owner) else "number"
    return f"{value} cannot be stored as {item}", f"Assign a {kind}: an item of {owner} is one {item}."


def whole_array(failure: Failure) -> Finding | None:
    """An array that is changed as a whole, which makes a new one on the way."""
    # numba looks for a loop of the operator's ufunc that has nowhere to put a new array.
    if not (isinstance(failure.error, KeyError) and isinstance(next(iter(failure.error.args), None), np.ufunc)):
        return None
    node = next(failure.source.of(ast.AugAssign), None)
    if node is None or isinstance(node.target, ast.Attribute):
        return None
    if isinstance(node.target, ast.Subscript):
        return _whole_row(node, node.target)
    return Finding(sentence=f"{text_of(node)} would change a whole array", advice=ITEM, node=node)


def _whole_row(node: ast.AugAssign, target: ast.Subscript) -> Finding:
    """Return the finding on an augmented assignment to a slice, or to an index with too few dimensions."""
    index = f"Index each dimension of {text_of(target.value)!r} with a number"
    return Finding(
        sentence=f"{text_of(target)} is an array of several items here, and {text_of(node)} would change it as a whole",
        advice=f"{index}, as in x[i] or x[i, j], and change one item.",
        node=node,
    )


def dimensions_of_index(failure: Failure) -> Finding | None:
    """An index of an atomic operation that has another number of dimensions than its array."""
    found = re.match(r"^indexing (\d+)-D array with (\d+)-D index", failure.words)
    node = next((one for one in failure.source.of(ast.Call) if ".atomic." in text_of(one.func)), None)
    if found is None or node is None:
        return None
    name, axes = text_of(node.func), ("i", "j", "k", "l")[: int(found[1])]
    index = f"({', '.join(axes)})" if len(axes) > 1 else "i"
    return Finding(
        sentence=f"the array of {name} has {found[1]} dimension{'s' * (found[1] != '1')}, and its index {found[2]}",
        advice=f"Give an index for each dimension: {name}(array, {index}, ...).",
        node=node,
    )


def item_for_array(failure: Failure) -> Finding | None:
    """An item where an atomic operation takes the array and the index, as in CUDA C++ it takes the item's address."""
    node = next((one for one in failure.source.of(ast.Call) if ".atomic." in text_of(one.func)), None)
    if node is None or not node.args or not isinstance(failure.error, AttributeError):
        return None
    name, item, *rest = text_of(node.func), *node.args
    if not isinstance(item, ast.Subscript):
        return _number_for_array(failure, name, item)
    given = f"{text_of(item.value)}, {text_of(item.slice)}"
    values = "".join(f", {text_of(one)}" for one in rest[-1:])
    sentence = f"{name} takes an array and an index, and {text_of(item)} is one item"
    return Finding(sentence=sentence, advice=f"Write {name}({given}{values}).", node=item)


def _number_for_array(failure: Failure, name: str, given: ast.expr) -> Finding | None:
    """Return the finding on an atomic operation on a number, which each thread has for itself."""
    if not failure.words.endswith("has no attribute 'dtype'"):
        return None
    kind = failure.argument(given.id) if isinstance(given, ast.Name) else None
    what = f"one {kind}" if kind is not None else "a single value"
    return Finding(
        sentence=f"{name} takes an array and an index, and {text_of(given)!r} is {what}",
        advice=f"Pass an array, of one item if need be: {name}(array, 0, value).",
        node=given,
    )


def unaligned(failure: Failure) -> Finding | None:
    """A field of a record that does not lie where its type must."""
    if (found := _UNALIGNED.search(failure.words)) is None:
        return None
    return Finding(
        sentence=f"the record's field {found['field']!r}, a {found['type']}, does not lie at a multiple of its size",
        advice="Make the records with np.dtype([...], align=True), and those within them too.",
    )


def divided_in_place(failure: Failure) -> Finding | None:
    """An integer that is to become a float in its place."""
    node = next(failure.source.of(ast.AugAssign), None)
    if node is None or not isinstance(node.op, ast.Div) or not _STORED.search(failure.words):
        return None
    target, value = text_of(node.target), text_of(node.value)
    return Finding(
        sentence=f"{target} /= {value} makes a float, and {target} is an integer",
        advice=f"Use //=, or leave out the fraction: {target} = {target} / {value}",
        node=node,
    )


RULES = (items, whole_array, dimensions_of_index, item_for_array)
