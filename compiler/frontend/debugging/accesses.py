"""accesses: marks in a kernel's code by which checks on the host name array, axis, index and source line.

Each instruction gets a debug location, whose scope names the array that is accessed there. Unlike in numba-cuda, the
indices of atomic operations and of loads with cache hints are checked, too.
"""

from __future__ import annotations

from typing import Any

from gridjit.base.regexes import regex
from gridjit.compiler.frontend.faster.piece import Replace
from gridjit.compiler.targets.host.ir.intrinsics import ITEM, OUTSIDE
from gridjit.compiler.targets.host.sanitizer.access_places import ARRAY_MARK

# How deep expressions are searched for arrays: as deep as people write them.
_DEEPEST = 32
# numba's prefix of the name of a variable of a function that it inlines.
_INLINED = regex(r"^.*_v\d+_(?=.)")


def name_accesses(replace: Replace) -> None:
    """Give everything that is lowered from now on its source lines and arrays' names."""
    from numba.cuda import debuginfo, lowering

    lowered: list[tuple[Any, Any]] = []

    def begin(lower: Any, *args: Any, **kwargs: Any) -> None:
        init(lower, *args, **kwargs)
        if isinstance(lower.debuginfo, debuginfo.DummyDIBuilder):
            lower.debuginfo = debuginfo.CUDADIBuilder(
                module=lower.module,
                filepath=lower.func_ir.loc.filename,
                cgctx=lower.context,
                directives_only=True,
            )

    def lower_inst(lower: Any, inst: Any) -> Any:
        lowered.append((lower, inst))
        try:
            return lower_one(lower, inst)
        finally:
            lowered.pop()

    def location(builder: Any, line: int) -> Any:
        name, (file, inlined) = (_array(*lowered[-1]), _origin(*lowered[-1])) if lowered else ("", ("", 0))
        line = inlined or line
        scope = builder.subprograms[-1]
        if file:
            scope = builder.module.add_debug_info(
                "DILexicalBlockFile",
                {
                    "scope": scope,
                    "file": builder.module.add_debug_info("DIFile", {"directory": "", "filename": file}),
                    "discriminator": 0,
                },
                is_distinct=True,
            )
        if name:
            mark = builder.module.add_debug_info("DIFile", {"directory": ARRAY_MARK, "filename": name})
            scope = builder.module.add_debug_info(
                "DILexicalBlock", {"scope": scope, "file": mark, "line": line, "column": 1}, is_distinct=True
            )
        return builder.module.add_debug_info("DILocation", {"line": line, "column": 1, "scope": scope})

    init = replace(lowering.BaseLower, "__init__", begin)
    lower_one = replace(lowering.Lower, "lower_inst", lower_inst)
    replace(debuginfo.DIBuilder, "_di_location", location)
    _check_indices(replace, lowered)


def _check_indices(replace: Replace, lowered: list[tuple[Any, Any]]) -> None:
    """Check indices wherever an item's address is computed; accesses outside are noted, with names."""
    from numba.cuda import cgutils

    def item_pointer(context: Any, builder: Any, kind: Any, array: Any, indices: Any, **how: Any) -> Any:
        at = pointer(context, builder, kind, array, indices, **{"boundscheck": True, **how})
        _tell_item(builder, kind, array, indices, at, **how)
        return at

    def check(context: Any, builder: Any, index: Any, size: Any, axis: Any = None) -> None:
        lower, inst = lowered[-1] if lowered else (None, None)
        below = builder.icmp_signed("<", index, index.type(0))
        above = builder.icmp_signed(">=", index, size)
        with cgutils.if_unlikely(builder, builder.or_(below, above)):
            _note_outside(builder, index, size, below)
            name, place, function = _described(lower, inst)
            context.fndesc.call_conv.return_user_exc(builder, IndexError, (_message(name, axis),), place, function)

    pointer = replace(cgutils, "get_item_pointer", item_pointer)
    replace(cgutils, "do_boundscheck", check)


def _tell_item(
    builder: Any, kind: Any, array: Any, indices: Any, at: Any, wraparound: bool = False, **how: Any
) -> None:
    """Call the function that notes which item is at an address, if its indices are of 64 bits."""
    from numba.cuda import cgutils

    ir = cgutils.ir
    word = ir.IntType(64)
    if not indices or any(index.type != word for index in indices):
        return
    shape = cgutils.unpack_tuple(builder, array.shape, count=kind.ndim)
    strides = cgutils.unpack_tuple(builder, array.strides, count=kind.ndim)
    if wraparound:
        indices = [_from_the_start(builder, index, size) for index, size in zip(indices, shape, strict=True)]
    pointers, numbers = [cgutils.voidptr_t] * 2, [word] * (3 * len(indices))
    tells = ir.FunctionType(ir.VoidType(), [*pointers, *numbers])
    note = cgutils.get_or_insert_function(builder.module, tells, f"{ITEM}{len(indices)}")
    addresses = [builder.bitcast(value, cgutils.voidptr_t) for value in (at, array.data)]
    builder.call(note, [*addresses, *indices, *shape, *strides])


def _from_the_start(builder: Any, index: Any, size: Any) -> Any:
    negative = builder.icmp_signed("<", index, index.type(0))
    return builder.select(negative, builder.add(size, index), index)


def _described(lower: Any, inst: Any) -> tuple[str, Any, str | None]:
    """Return the array that an instruction accesses, its place, and the function that it is in."""
    return ("", None, None) if lower is None else (_array(lower, inst), lower.loc, lower.func_ir.func_id.func_name)


def _note_outside(builder: Any, index: Any, size: Any, below: Any) -> None:
    """Call the function that notes an index as the user gave it: a negative index counted from the end."""
    from numba.cuda import cgutils

    ir = cgutils.ir
    word = ir.IntType(64)
    note = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.VoidType(), [word, word]), OUTSIDE)
    wide = builder.sext(index, word) if index.type.width < word.width else index
    length = builder.sext(size, word) if size.type.width < word.width else size
    builder.call(note, [builder.select(below, builder.sub(wide, length), wide), length])


def _message(name: str, axis: Any) -> str:
    """Return the words of an exception; index and size are known when it is raised."""
    which = f" of axis {axis}" if isinstance(axis, int) else ""
    whose = f" of array '{name}'" if name else ""
    return f"index is out of bounds: index {{index}}{which}{whose}, whose size is {{size}}"


def _array(lower: Any, inst: Any) -> str:
    """Return the name of the array that an instruction accesses, or an empty one."""
    value = getattr(inst, "value", None)
    if type(inst).__name__ in ("SetItem", "StaticSetItem", "SetAttr"):
        return _name(lower, inst.target)
    parts = _parts(value)
    if parts.get("op") in ("getitem", "static_getitem", "typed_getitem", "getattr"):
        return _name(lower, parts["value"])
    return _name(lower, parts["args"][0]) if parts.get("op") == "call" and parts["args"] else ""


def _origin(lower: Any, inst: Any) -> tuple[str, int]:
    """Return the file and line of an instruction that numba has inlined from elsewhere; "" and 0 for others."""
    here, loc = lower.func_ir.loc, inst.loc
    return (str(loc.filename), loc.line) if loc.filename != here.filename or loc.line < here.line else ("", 0)


def _parts(value: Any) -> dict[str, Any]:
    """Return an expression's parts; an empty dictionary for another value."""
    return {"op": value.op, **value._kws} if type(value).__name__ == "Expr" else {}


def _name(lower: Any, variable: Any) -> str:
    """Return the name that a variable's array has in the source."""
    from numba.cuda.core import ir_utils

    for _ in range(_DEEPEST):
        if not variable.name.startswith("$"):
            name = str(getattr(variable, "unversioned_name", variable.name))
            return name if name in lower.func_ir.func_id.code.co_varnames else _INLINED.sub("", name)
        value = ir_utils.guard(ir_utils.get_definition, lower.func_ir, variable)
        if type(value).__name__ in ("Arg", "Global", "FreeVar"):
            return str(value.name)
        variable = value if type(value).__name__ == "Var" else _parts(value).get("value") or _parts(value).get("func")
        if variable is None:
            return ""
    return ""
