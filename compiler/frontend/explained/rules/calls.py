"""Calls and values of the wrong form: numbers of arguments, tuples of another length, variables of two types."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from enum import Enum
from inspect import CO_VARARGS
from types import CodeType
from typing import Final

from gridjit.compiler.frontend.explained.failure import Failure
from gridjit.compiler.frontend.explained.rules.finding import Finding, ways_round
from gridjit.compiler.frontend.explained.source import subscript_of, text_of

_BOUND = re.compile(r"Cannot bind 'args=.*?' to signature '\((?P<all>.*?)\)' due to \"TypeError: (?P<why>[^\"]+)\"")
_MISMATCH = re.compile(r"Signature mismatch: (\d+) argument types given, but function takes (\d+) arguments?")
_UNROLLED: Final = "Import it by its own name, by which the compiler knows it: from gridjit.cuda import literal_unroll."
_CALLED = re.compile(r"^Invalid use of (?P<type>.+?) with parameters \((?P<given>.*?)\)")
_UNIFIED = re.compile(r"^Cannot unify (?P<one>.+?) and (?P<other>.+?) for '(?P<name>\w+)'")
_UNIFIED_ALONE = re.compile(r"^Cannot unify (?P<one>.+?) and (?P<other>\S+)")
_LENGTH = re.compile(r"expected (\d+), got (\d+)")
_PYTHONS = re.compile(r"^(?P<name>[\w.<>]+)\(\) (?P<why>(?:missing|takes|got an unexpected|got multiple) .+)")
_IMPRECISE = re.compile(r"Cannot infer the type of variable '(?P<name>\w+)', have imprecise type: (?P<type>\w+)")
_PRINTED = re.compile(r"printing unimplemented for values of type (?P<type>.+)")
_UNPACKED = re.compile(r"values to unpack \(expected")
_CAST = re.compile(r"Cannot cast (?P<one>.+?) to (?P<other>\w+)")
_OFTEN: Final = 3  # compiles of a function within each other; declared and inferred ones may be two
_RECURSION: Final = ("runaway recursion", "Return type of recursive function", "recursive call")


def arguments(failure: Failure) -> Finding | None:
    """A function that is called with other arguments than it takes."""
    if (found := _BOUND.search(failure.words)) is None:
        return None
    called = re.search(r"resolving callee type: \S*?<function ([\w.<>]+) at", failure.text)
    name = called[1].rpartition(".")[2] if called else "the function"
    node = _call_of(failure, name)
    taken = {one.partition("=")[0].strip() for one in found["all"].split(",")}
    unknown = next((one.arg for one in node.keywords if one.arg and one.arg not in taken), None) if node else None
    why = f"{unknown!r} is not one of its parameters" if unknown and "**" not in found["all"] else found["why"]
    sentence = f"{name}({found['all']}) is called with {_given(node)}: {why}"
    return Finding(sentence=sentence, advice=f"Call it as {name}({found['all']}).", node=node)


def _given(node: ast.Call | None) -> str:
    count = len(node.args) + len(node.keywords) if node is not None else -1
    return "other arguments" if count < 0 else f"{count} argument{'s' * (count != 1)}"


def _call_of(failure: Failure, name: str) -> ast.Call | None:
    calls = tuple(failure.source.of(ast.Call))
    return next((call for call in calls if text_of(call.func).rpartition(".")[2] == name), calls[0] if calls else None)


def mismatch(failure: Failure) -> Finding | None:
    """A signature of another number of types than the kernel has parameters."""
    if (found := _MISMATCH.search(failure.words)) is None:
        return None
    given, taken = int(found[1]), int(found[2])
    return Finding(
        sentence=f"it takes {taken} argument{'s' * (taken != 1)}, and {given} {'are' if given != 1 else 'is'} given",
        advice="Give a type, or a value, for each parameter; those of kernels do not have defaults.",
        node=failure.source.function,
    )


def called(failure: Failure) -> Finding | None:
    """A call of a value that cannot be called, or a loop over a value that cannot be iterated."""
    if (found := _CALLED.match(failure.words)) is None:
        return None
    if found["type"] in ("getiter", "iternext"):
        loop = next(failure.source.of(ast.For), None)
        over = loop.iter if loop else None
        kind = found["given"] + ")" * (found["given"].count("(") - found["given"].count(")"))
        what = text_of(over) or "this"
        return Finding(
            sentence=f"a loop cannot go over {what}" + (f", of type {kind}" if kind != what else ""),
            advice=_UNROLLED
            if isinstance(over, ast.Call) and text_of(over.func).endswith(".literal_unroll")
            else f"Write range({what})."
            if re.fullmatch(r"u?int\d+|\d+", kind)
            else "Loop over range(n), an array, or a tuple whose items have one type.",
            node=over,
        )
    if found["type"].startswith("BoundFunction"):
        return _method_called(failure, found["given"])
    if found["type"].startswith("("):
        return _tuple_called(failure, found["type"])
    node = next((call for call in failure.source.of(ast.Call) if isinstance(call.func, ast.Name)), None)
    name = text_of(node.func) if node is not None else found["type"]
    given = found["given"] if len(found["given"]) < 80 else "..."
    if found["type"].startswith("module "):
        return _module_called(failure, found["type"])
    declared = getattr(failure.value(node.func), "signatures", ()) if node is not None else ()
    if declared:
        return Finding(
            sentence=f"{name} does not take ({given})",
            advice=f"It is declared as {', '.join(map(str, declared))}.",
            node=node,
        )
    if node is None and (value := _value_called(failure)) is not None:
        return value
    parameter = name in failure.source.parameters
    local = parameter or name in failure.source.local_names
    why = (
        f"{name!r} is {found['type']} here, not a function" if local else f"{name}({given}) is not possible in a kernel"
    )
    advice = f"The kernel assigns {name!r}: use another name for that value." if local else ""
    advice = "It is an argument, and kernels cannot be given functions." if parameter else advice
    return Finding(sentence=why, advice=advice, node=node)


def _value_called(failure: Failure) -> Finding | None:
    """An attribute or an item of an array, which is a number, and is called, as x.size() or x[0](2)."""
    node = next((call for call in failure.source.of(ast.Call) if not isinstance(call.func, ast.Name)), None)
    if node is None:
        return None
    name = text_of(node.func)
    advice = f"Write an operator, as in {name} * {text_of(node.args[0])}." if node.args else ""
    advice = advice or f"Write {name}, without brackets."
    return Finding(sentence=f"{name} is a value, not a function", advice=advice, node=node)


def _method_called(failure: Failure, given: str) -> Finding:
    """A method that does not take its arguments."""
    node = next((call for call in failure.source.of(ast.Call) if isinstance(call.func, ast.Attribute)), None)
    name = text_of(node.func) if node is not None else "a method"
    advice = "Give it a tuple." if given == "list" else "Look at the types of its arguments."
    return Finding(sentence=f"{name}({given}) is not possible in a kernel", advice=advice, node=node)


def _tuple_called(failure: Failure, kind: str) -> Finding:
    node = next((call for call in failure.source.of(ast.Call) if failure.value(call.func) is None), None)
    name = text_of(node.func) if node is not None else "this"
    kind = kind + ")" * (kind.count("(") - kind.count(")"))
    sentence = f"{name} is a tuple, {kind}, not a function"
    return Finding(sentence=sentence, advice=f"Write {name}[...] for an item of it.", node=node)


def _module_called(failure: Failure, kind: str) -> Finding:
    module = kind.removeprefix("module ")
    node = next((call for call in failure.source.of(ast.Call) if text_of(call.func).endswith(module)), None)
    made = f"Did you mean {module}.array?" if module in ("cuda.shared", "cuda.local", "cuda.const") else ""
    return Finding(sentence=f"{module} is a module, not a function", advice=made, node=node)


def unpacked(failure: Failure) -> Finding | None:
    """A function of cuda that is called with too few or too many arguments: numba unpacks them."""
    if _UNPACKED.search(failure.words) is None:
        return None
    node = next((call for call in failure.source.of(ast.Call) if "cuda" in text_of(call.func)), None)
    if node is None:
        return None
    name, item = text_of(node.func), node.args[0] if node.args else None
    advice = f"help({name}) says what it takes."
    if ".atomic." in name and isinstance(item, ast.Subscript):
        advice = f"Give the array and the index: {name}({text_of(item.value)}, {text_of(item.slice)}, ...)."
    return Finding(
        sentence=f"{name} is called with {_given(node)}, which is not what it takes", advice=advice, node=node
    )


def cudas(failure: Failure) -> Finding | None:
    """A function of cuda, or another of Python, which is called with other arguments than it takes."""
    if (found := _PYTHONS.match(failure.words)) is None:
        return None
    node = next((call for call in failure.source.of(ast.Call) if _ends(call, found["name"])), None)
    if node is None:
        return None
    name = text_of(node.func)
    return Finding(
        sentence=f"{name} is called with {_given(node)}: {_counted(found['why'])}",
        advice=f"help({name}) says what it takes.",
        node=node,
    )


def _ends(call: ast.Call, name: str) -> bool:
    return text_of(call.func).rpartition(".")[2] == name.rpartition(".")[2]


def _counted(why: str) -> str:
    """Return why Python refuses a call, without its own count, which has an argument more than is written."""
    too_many = re.match(r"takes .*positional arguments? but", why)
    return "too many positional arguments" if too_many else re.sub(r"required positional ", "required ", why)


def not_callable(failure: Failure) -> Finding | None:
    """An attribute of cuda that is a value, and is called."""
    found = re.match(r"^Invalid use of (\w+) with parameters \(", failure.words)
    node = next((call for call in failure.source.of(ast.Call) if isinstance(call.func, ast.Attribute)), None)
    if found is None or node is None or found[1] not in ("int32", "Dim3"):
        return None
    name = text_of(node.func)
    axes = f"Write {name}.x, {name}.y or {name}.z." if found[1] == "Dim3" else f"Write {name}, without brackets."
    return Finding(sentence=f"{name} is a value, not a function", advice=axes, node=node)


def two_types(failure: Failure) -> Finding | None:
    """A variable that has one type in one branch, and another type in the other."""
    found = _UNIFIED.match(failure.words) or _UNIFIED_ALONE.match(failure.words)
    if found is None:
        return None
    name = found.groupdict().get("name")
    named = f"{name!r}" if name else "a value"
    node: ast.AST | None = _variable(failure, name) if name else next(failure.source.of(ast.IfExp), None)
    return Finding(
        sentence=f"{named} is {found['one']} in one branch and {found['other']} in another",
        advice="A variable has one type in a kernel: use another name for the other value, or convert one of them.",
        node=node,
    )


def _variable(failure: Failure, name: str) -> ast.Name | None:
    """Return a variable on the line that failed, else where the function assigns it last."""
    here = next((node for node in failure.source.of(ast.Name) if node.id == name), None)
    names = (node for node in ast.walk(failure.source.function or ast.Module([], [])) if isinstance(node, ast.Name))
    assigned = [node for node in names if node.id == name and isinstance(node.ctx, ast.Store)]
    return here or max(assigned, key=lambda node: node.lineno, default=None)


def lengths(failure: Failure) -> Finding | None:
    """A tuple that is unpacked into another number of names, or indexed beyond its end."""
    if "wrong tuple length" in failure.text and (found := _LENGTH.search(failure.text)) is not None:
        made = next(failure.source.of(ast.Assign), None)
        what = text_of(made.value) if made is not None else "this"
        has, given = int(found[2]), int(found[1])
        return Finding(
            sentence=f"{what} has {has} value{'s' * (has != 1)}, and {given} names are assigned",
            advice=f"Assign {has} names." if has > 1 else f"Assign one name with a comma after it, as in a, = {what}.",
            node=made,
        )
    if (one := re.match(r"^failed to unpack (.+)$", failure.words)) is not None:
        assigned = next(failure.source.of(ast.Assign), None)
        loop = next(failure.source.of(ast.For), None)
        what = text_of(assigned.value) if assigned is not None else f"each of {text_of(loop.iter)}" if loop else "this"
        return Finding(
            sentence=f"{what} is one {one[1]}, and several names are assigned",
            advice="Assign one name, or a tuple of values.",
            node=assigned or (loop.target if loop is not None else None),
        )
    if failure.words.startswith("parameters that are given only by name"):
        return _only_by_name(failure)
    if failure.words.startswith("tuple index out of range"):
        node = subscript_of(failure.source, ast.Load)
        return Finding(
            sentence=f"{text_of(node) or 'a tuple'}: the index is beyond the end of the tuple",
            advice="An array's shape has one number for each dimension." if "shape" in text_of(node) else "",
            node=node,
        )
    return None


def _only_by_name(failure: Failure) -> Finding | None:
    """Return the finding on a call of a function whose parameters can only be given by name."""
    for call in failure.source.of(ast.Call):
        code = getattr(getattr(failure.value(call.func), "py_func", None), "__code__", None)
        if isinstance(code, CodeType) and code.co_kwonlyargcount:
            count = code.co_argcount
            names = ", ".join(map(repr, code.co_varnames[count : count + code.co_kwonlyargcount]))
            star = code.co_varnames[count + code.co_kwonlyargcount] if code.co_flags & CO_VARARGS else ""
            instead = f"Take a tuple {star} in place of *{star}" if star else "Leave out the * before them"
            return Finding(
                sentence=f"{text_of(call.func)!r} takes {names} only by name, which functions in kernels cannot",
                advice=f"{instead} in its definition; they may still be given by name.",
                node=call,
            )
    return None


def unknown_items(failure: Failure) -> Finding | None:
    """An empty list."""
    if (found := _IMPRECISE.search(failure.words)) is None:
        return None
    node = next((node for node in failure.source.of(ast.Name) if node.id == found["name"]), None)
    return Finding(
        sentence=f"{found['name']!r} is a {found['type']}, which kernels do not have",
        advice=ways_round(found["type"]),
        node=node,
    )


def printed(failure: Failure) -> Finding | None:
    """A value that print cannot write."""
    call = next((call for call in failure.source.of(ast.Call) if text_of(call.func) == "print"), None)
    if (found := _PRINTED.search(failure.words)) is not None:
        return Finding(
            sentence=f"print cannot write a {found['type']}",
            advice=f"It writes numbers and constant strings: {_printable(found['type'])}.",
            node=call,
        )
    if "print() function implementation does not support keyword" in failure.words:
        given = [f"{one.arg}=" for one in call.keywords if one.arg] if call is not None else []
        left_out = f"Leave out {' and '.join(given) or 'them'}."
        return Finding(sentence="print takes no keywords in a kernel", advice=left_out, node=call)
    return None


def _printable(kind: str) -> str:
    """Return advice for printing a value of a type that print does not have."""
    if kind.startswith("complex"):
        return "print z.real and z.imag"
    if kind.startswith(("datetime64", "timedelta64")):
        return "divide a timedelta64 by a unit, such as DAY = np.timedelta64(1, 'D')"
    return "print the items one by one"


def keywords(failure: Failure) -> Finding | None:
    """A function of Python's that is called with a keyword, which it does not take in kernels."""
    if not isinstance(failure.error, AssertionError):
        return None
    for node in failure.source.of(ast.Call):
        known = failure.value(node.func)
        if node.keywords and isinstance(node.func, ast.Name) and known is getattr(builtins, node.func.id, node):
            given = " and ".join(f"{one.arg}=" if one.arg else "**" for one in node.keywords)
            sentence = f"{node.func.id} takes no keywords in a kernel"
            advice = "Give start without its name." if node.func.id == "enumerate" else f"Leave out {given}."
            return Finding(sentence=sentence, advice=advice, node=node)
    return None


def not_a_tuple(failure: Failure) -> Finding | None:
    """A star before an argument that is not a tuple."""
    found = re.match(r"^\*args in function call should be a tuple, got (.+)$", failure.words)
    if found is None:
        return None
    node = next(failure.source.of(ast.Starred), None)
    return Finding(
        sentence=f"{text_of(node) or '*'} stands for the items of a tuple, and it is {found[1]}",
        advice="Write the arguments one by one.",
        node=node,
    )


def dimensions(failure: Failure) -> Finding | None:
    """cuda.grid, or cuda.gridsize, of another number of dimensions than there are."""
    named = failure.operation is not None and failure.operation.name.rpartition(".")[2] in ("grid", "gridsize")
    if not failure.words.startswith("argument can only be 1, 2, 3") and not named:
        return None
    node = next((call for call in failure.source.of(ast.Call) if "grid" in text_of(call.func)), None)
    if named and node is not None and not isinstance(node.args[0] if node.args else None, ast.Constant):
        what = text_of(node.args[0]) if node.args else "nothing"
        return Finding(
            sentence=f"the dimensions of {text_of(node)} must be a constant, and {what} is computed while it runs",
            advice="Write 1, 2 or 3.",
            node=node,
        )
    name = text_of(node.func) if node is not None else "cuda.grid"
    return Finding(
        sentence=f"{text_of(node) or name} is not possible: a grid has 1, 2 or 3 dimensions",
        advice=f"Give {name} a constant: 1, 2 or 3.",
        node=node,
    )


def recursion(failure: Failure) -> Finding | None:
    """A function that calls itself, and whose result's type cannot be found."""
    if not any(sign in failure.text for sign in _RECURSION):
        return None
    function = failure.source.function
    name = function.name if function is not None else "the function"
    return Finding(
        sentence=f"{name!r} calls itself, and the type of what it returns cannot be found",
        advice=f"Declare its types: @cuda.jit('int64(int64)', device=True) above def {name}(...), with your own types; "
        "or let a branch that does not call it return first.",
        node=_call_of(failure, name),
    )


def endless(failure: Failure) -> Finding | None:
    """Python's stack, that a compile needs more of than there is: by functions that call themselves, or by many."""
    if not isinstance(failure.error, RecursionError):
        return None
    name = _repeated(failure)
    if name:
        return Finding(
            sentence=f"{name!r} calls itself with arguments of other types each time, so compiling it does not end",
            advice="Call it with arguments of the same types, or write a loop.",
            node=_call_of(failure, name),
        )
    return Finding(
        sentence="compiling it takes more nested calls than Python allows here",
        advice="Allow more with sys.setrecursionlimit(20_000), or compile it where fewer calls are active.",
    )


def _repeated(failure: Failure) -> str:
    """Return the name of the user's function that was compiled again within its own compile; "" if none was."""
    compiled = Counter(place.code for place in failure.places if place.code is not None)
    often, times = next(iter(compiled.most_common(1)), (None, 0))
    return often.__name__ if often is not None and times > _OFTEN else ""


def big(failure: Failure) -> Finding | None:
    """A whole number beyond 64 bits."""
    if (found := re.match(r"^Int value is too large: (-?\d+)$", failure.words)) is None:
        return None
    numbers = (node for node in failure.source.of(ast.Constant) if text_of(node) == found[1].lstrip("-"))
    return Finding(
        sentence=f"{found[1]} does not fit into 64 bits",
        advice="Use a float, or two integers.",
        node=next(numbers, None) or next(failure.source.of(ast.BinOp), None),
    )


def cast(failure: Failure) -> Finding | None:
    """A value that an operation would have to convert."""
    if (found := _CAST.match(failure.words)) is None:
        return None
    advice = "It is a tuple: give one number." if found["one"].startswith("(") else ""
    advice = "Give a number." if found["one"][:1] in "'\"" else advice
    node: ast.AST | None = next(failure.source.of(ast.Call), None)
    member = next((one for one in failure.source.of(ast.Attribute) if isinstance(failure.value(one), Enum)), None)
    if member is not None and found["one"].startswith("enum "):
        node, advice = member, f"Write its number: {text_of(member)}.value"
    return Finding(sentence=f"{found['one']} cannot be converted to {found['other']}", advice=advice, node=node)


RULES = (
    *(unpacked, arguments, cudas, recursion, endless, not_callable, called, two_types, lengths),
    *(unknown_items, printed, not_a_tuple, dimensions, big, cast, keywords),
)
