"""type_rows: numba's plain types as rows of texts and numbers, and back; others have no row."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from gridjit.base import reading
from gridjit.base.interrupts import let_through
from gridjit.compiler.frontend.bindings.bootstrap import numba_cuda

# A type, or a plain value in one, as JSON has it.
TypeRow: TypeAlias = "list[Any]"
_DEEPEST = 12
_ATOMS = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "boolean", "none", "bfloat16"),
)


def row_of(numba_type: Any) -> TypeRow | None:
    """Return the row of a type, None if it has none."""
    try:
        row = _row(numba_type)
        again = type_of(row)
    except Exception as error:  # a type of another kind, or with something else inside
        let_through(error)
        return None
    same = type(again) is type(numba_type) and again == numba_type and str(again) == str(numba_type)
    return row if same else None


def rows_of(numba_types: Any) -> list[TypeRow] | None:
    """Return the rows of types; None if a type has no row."""
    rows = [row_of(one) for one in numba_types]
    return None if None in rows else [row for row in rows if row is not None]


def type_of(row: Any, depth: int = _DEEPEST) -> Any:
    """Return the type of a row; raises Unreadable if there is none."""
    kind, *parts = reading.items(row, lambda part: part) or ("",)
    if not depth or kind not in _readers() or len(parts) != _PARTS[str(kind)]:
        raise reading.Unreadable("a type is expected")
    return _readers()[str(kind)](depth - 1, *parts)


def value_row(value: object) -> TypeRow:
    """Return the row of a plain value; raises TypeError for any other."""
    if value is None or type(value) in (bool, str):
        return [type(value).__name__, value]
    if type(value) is int:
        return ["int", hex(value)]
    if type(value) is float:
        return ["float", value.hex()]
    raise TypeError(f"{value!r} is not plain")


def value_of(row: Any) -> Any:
    """Return the value of a row; raises Unreadable if there is none."""
    kind, value = reading.row(row, 2)
    if kind in ("int", "float"):
        try:
            return int(reading.text(value), 16) if kind == "int" else float.fromhex(reading.text(value))
        except (ValueError, OverflowError) as error:
            raise reading.Unreadable(str(error)) from None
    if kind not in ("NoneType", "bool", "str") or type(value).__name__ != kind:
        raise reading.Unreadable("a plain value is expected")
    return value


def _row(one: Any) -> TypeRow:
    name = type(one).__name__
    if str(one) in _atoms():
        return ["atom", str(one)]
    match name:
        case "Array":
            return ["array", _row(one.dtype), one.ndim, one.layout, not one.mutable, one.aligned]
        case "UniTuple" | "StarArgUniTuple":
            return [name, _row(one.dtype), one.count]
        case "Tuple" | "StarArgTuple":
            return [name, [_row(item) for item in one.types]]
        case "Optional":
            return [name, _row(one.type)]
        case "NumberClass":
            return [name, _row(one.instance_type)]
        case "DType":
            return [name, _row(one.dtype)]
        case "Omitted":
            return [name, value_row(one.value)]
        case "IntegerLiteral" | "BooleanLiteral" | "StringLiteral":
            return ["literal", value_row(one.literal_value)]
        case "Record":
            return [name, [_field_row(*field) for field in one.fields.items()], one.size, one.aligned]
    raise TypeError(f"{one} has no row")


def _field_row(name: str, field: Any) -> TypeRow:
    return [name, _row(field.type), field.offset, value_row(field.alignment), value_row(field.title)]


@functools.cache
def _atoms() -> Mapping[str, Any]:
    numba_cuda()
    from numba.cuda import types

    atoms = [*(getattr(types, name) for name in _ATOMS), types.ext_types.grid_group]
    return {str(one): one for one in atoms}


@functools.cache
def _readers() -> Mapping[str, Callable[..., Any]]:
    numba_cuda()
    from numba.cuda import types

    def around(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda depth, inner: make(type_of(inner, depth))

    def uniform(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda depth, inner, count: make(type_of(inner, depth), reading.whole(count, most=1000))

    def several(make: Callable[..., Any]) -> Callable[..., Any]:
        return lambda depth, rows: make(reading.items(rows, lambda row: type_of(row, depth), most=1000))

    def array(depth: int, item: Any, ndim: Any, layout: Any, readonly: Any, aligned: Any) -> Any:
        if layout not in ("C", "F", "A"):
            raise reading.Unreadable("a layout is expected")
        dimensions, access = reading.whole(ndim, most=64), reading.flag(readonly)
        return types.Array(type_of(item, depth), dimensions, layout, access, aligned=reading.flag(aligned))

    def record(depth: int, rows: Any, size: Any, aligned: Any) -> Any:
        def field(row: Any) -> tuple[str, dict[str, Any]]:
            name, inner, offset, alignment, title = reading.row(row, 5)
            found = {"type": type_of(inner, depth), "offset": reading.whole(offset)}
            return reading.text(name), {**found, "alignment": value_of(alignment), "title": value_of(title)}

        return types.Record(list(reading.items(rows, field)), reading.whole(size), reading.flag(aligned))

    return {
        "atom": lambda _, name: _atom(name),
        "array": array,
        "UniTuple": uniform(types.UniTuple),
        "StarArgUniTuple": uniform(types.StarArgUniTuple),
        "Tuple": several(types.Tuple),
        "StarArgTuple": several(types.StarArgTuple),
        "Optional": around(types.Optional),
        "NumberClass": around(types.NumberClass),
        "DType": around(types.DType),
        "Omitted": lambda _, row: types.Omitted(value_of(row)),
        "literal": lambda _, row: types.literal(value_of(row)),
        "Record": record,
    }


_PARTS = {"atom": 1, "array": 5, "UniTuple": 2, "StarArgUniTuple": 2, "Tuple": 1, "StarArgTuple": 1, "Optional": 1}
_PARTS |= {"NumberClass": 1, "DType": 1, "Omitted": 1, "literal": 1, "Record": 3}


def _atom(name: Any) -> Any:
    if (found := _atoms().get(reading.text(name))) is None:
        raise reading.Unreadable("the name of a type is expected")
    return found
