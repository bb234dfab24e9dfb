"""Signatures to numba's types and back."""

from __future__ import annotations

import enum
from typing import Any

from gridjit.base.interrupts import let_through
from gridjit.compiler.frontend.bindings.bootstrap import load_installed_extensions, numba_cuda
from gridjit.compiler.frontend.bindings.foreign_types import foreign_argument, foreign_item, is_foreign
from gridjit.compiler.frontend.bindings.signatures import check_types, parsed
from gridjit.compiler.values.errors import ArgumentError, ConfigError, shown
from gridjit.compiler.values.item_types import dtype_of, item_type
from gridjit.compiler.values.signature import (
    BFLOAT16,
    SMALL_FLOATS,
    ArgType,
    ArrayType,
    ClassName,
    ClassType,
    EnumType,
    ForeignType,
    ItemType,
    PointerType,
    RecordType,
    ScalarType,
    Signature,
    TupleType,
)

# numba-cuda's names of the floats of 8 bits.
_NAMES = {f"fp8_{end}" for end in SMALL_FLOATS.values()}


def numba_arguments(signature: Signature) -> tuple[Any, ...]:
    """Return the numba types of a signature's arguments."""
    numba_cuda()
    return tuple(_to_numba(argument) for argument in signature.arguments)


def numba_signature(signature: Signature) -> Any:
    """Return numba's signature of a kernel with these arguments."""
    arguments = numba_arguments(signature)
    from numba.cuda import types

    return types.void(*arguments)


def parse_signature(signature: Any) -> Signature:
    """Return the Signature for a signature in a form that numba.cuda.jit takes.

    A string ("void(float32[::1], int64)"; it is parsed, not evaluated), a numba signature, a tuple of numba types, or a
    Signature.
    Raises ConfigError naming the signature or the type that is not understood.
    """
    if isinstance(signature, Signature):
        # The parts that tell specializations of one signature apart are not compiled.
        return signature if type(signature) is Signature else Signature(arguments=signature.arguments)
    numba_cuda()
    from numba.cuda import types
    from numba.cuda.core import sigutils

    if isinstance(signature, str):
        found = parsed(signature)
    else:
        check_types(signature)
        found = signature
    try:
        arguments, result = sigutils.normalize_signature(found)
    except Exception as error:  # numba raises many types here
        let_through(error)
        raise ConfigError(
            f"signature {shown(signature)} is not understood: {error}; give a string, such as "
            '"void(float32[::1], int64)", or types of numba\'s'
        ) from error
    if result not in (None, types.void):
        raise ConfigError(
            f"signature {shown(signature)}: a kernel returns nothing, not {result}; give void, or only the arguments' "
            "types"
        )
    return Signature(arguments=tuple(from_numba(argument) for argument in arguments))


def numba_type_of(value: Any) -> Any:
    """Return the numba type of a launch argument, as numba-cuda's own launches would find it.

    Raises ConfigError for a value that numba has no type for.
    """
    load_installed_extensions()
    numba_cuda()
    from numba.cuda.core.errors import NumbaError
    from numba.cuda.typing.typeof import Purpose, typeof

    try:
        return typeof(value, Purpose.argument)
    except (NumbaError, ValueError, TypeError, NotImplementedError) as error:
        raise ConfigError(f"numba does not have a type for it: {error}") from error


def _to_numba(argument: ArgType) -> Any:
    from numba.cuda import types

    match argument:
        case ScalarType():
            return _item_to_numba(argument.dtype)
        case RecordType():
            return _item_to_numba(argument)
        case ArrayType():
            item = _item_to_numba(argument.dtype)
            return types.Array(item, argument.ndim, argument.layout, argument.readonly, aligned=argument.aligned)
        case PointerType():
            return types.CPointer(types.none if argument.dtype == "void" else _item_to_numba(argument.dtype))
        case TupleType():
            items = [_to_numba(item) for item in argument.items]
            return types.BaseTuple.from_types(items, argument.named.python if argument.named else None)
        case EnumType():
            member = types.IntEnumMember if argument.integral else types.EnumMember
            return member(argument.enum.python, _to_numba(argument.dtype))
        case ClassType():
            form = types.DType if argument.form == "dtype" else types.NumberClass
            return form(_item_to_numba(argument.dtype))
        case ForeignType():
            return argument.numba


def _item_to_numba(item: ItemType) -> Any:
    from numba.cuda import types
    from numba.cuda.np import numpy_support

    if isinstance(item, ForeignType):
        return item.numba
    if item == BFLOAT16:
        return types.bfloat16
    if item in SMALL_FLOATS:
        return _small_floats()[str(item)]
    dtype = dtype_of(item)
    return numpy_support.from_struct_dtype(dtype) if dtype.names is not None else numpy_support.from_dtype(dtype)


def from_numba(argument: Any) -> ArgType:
    """Return a numba type as ours; raises ConfigError for a type that kernels cannot take."""
    from numba.cuda import types

    if isinstance(argument, types.Array):
        return ArrayType(
            dtype=_item_from_numba(argument.dtype),
            ndim=argument.ndim,
            layout=argument.layout,
            readonly=not argument.mutable,
            aligned=argument.aligned,
        )
    if isinstance(argument, types.Record):
        record = _item_from_numba(argument)
        assert isinstance(record, RecordType)
        return record
    if isinstance(argument, types.CPointer | types.RawPointer):
        inner = getattr(argument, "dtype", types.none)
        return PointerType(dtype="void" if inner in (types.none, types.void) else str(_item_from_numba(inner)))
    if isinstance(argument, types.BaseTuple):
        return _tuple_from_numba(argument)
    if isinstance(argument, types.EnumMember):
        return enum_type(argument.instance_class, from_numba(argument.dtype))
    if isinstance(argument, types.NumberClass):
        return ClassType(dtype=_item_from_numba(argument.instance_type), form="class")
    if isinstance(argument, types.DType):
        return ClassType(dtype=_item_from_numba(argument.dtype), form="dtype")
    times = types.NPDatetime | types.NPTimedelta
    if isinstance(argument, types.Boolean | types.Integer | types.Float | types.Complex | times):
        return ScalarType(dtype=str(_item_from_numba(argument)))
    if is_foreign(argument):
        return foreign_argument(argument)
    raise ConfigError(
        f"argument type {argument} is not supported; use numbers, dates, arrays, records, tuples, enums and pointers"
    )


def _tuple_from_numba(argument: Any) -> TupleType:
    items = tuple(from_numba(item) for item in argument)
    python = getattr(argument, "instance_class", None)
    if python is None or not hasattr(argument, "fields"):
        return TupleType(items=items)
    return TupleType(items=items, named=ClassName.of(python), names=tuple(argument.fields))


def _item_from_numba(argument: Any) -> ItemType:
    from numba.cuda import types
    from numba.cuda.core.errors import NumbaError
    from numba.cuda.np import numpy_support

    if argument == types.bfloat16:
        return BFLOAT16
    if isinstance(argument, types.Number) and argument.name in _NAMES:
        return next(item for item, known in _small_floats().items() if known == argument)
    try:
        return item_type(numpy_support.as_dtype(argument))
    except (NumbaError, NotImplementedError, ArgumentError) as error:
        if is_foreign(argument):
            return foreign_item(argument)
        raise ConfigError(f"items of type {argument} are not supported: {error}") from error


def _small_floats() -> dict[str, Any]:
    """Return numba-cuda's types of the floats of 8 bits, by their items' names."""
    from numba.cuda._internal import cuda_fp8

    return {item: getattr(cuda_fp8, f"_type_fp8_{end}") for item, end in SMALL_FLOATS.items()}


def enum_type(python: type[enum.Enum], dtype: ArgType) -> EnumType:
    """Return the type of an enum class's members; raises ConfigError if kernels cannot take their values."""
    if not isinstance(dtype, ScalarType | TupleType):
        raise ConfigError(
            f"members of {python.__qualname__} have values of type {dtype}; use numbers or tuples of them"
        )
    return EnumType.of(python, dtype)
