"""ArgType and Signature: the types of one call's arguments, frozen, made without numba and convertible to it.

Every type has a text that names it whole: it is part of the key under which compiled code is kept.
plain_signature reads a signature's text without numba, so that declared kernels are found without a compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from gridjit.base.values import dataclass, field
from gridjit.compiler.values.errors import ConfigError

# NumPy names of the scalar types a kernel can take, with the struct codes of their parameters.
SCALAR_CODES = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "complex64": "ff",
    "complex128": "dd",
}
# The item type of CUDA's and ml_dtypes' 16-bit float with the exponent of a float32.
BFLOAT16 = "bfloat16"
# Item types of their floats of 8 bits, by ml_dtypes' name, with the end of CUDA's.
SMALL_FLOATS = {"float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float8_e8m0fnu": "e8m0"}
# A date or a span of time with its unit: "datetime64[ns]", "timedelta64[25s]".
_TIME = r"(datetime64|timedelta64)\[\d*[A-Za-z]+\]"  # compiled when first used


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarType:
    """A number or a date passed by value. dtype is NumPy's name for it ("int64", "datetime64[ns]")."""

    dtype: str

    def __post_init__(self) -> None:
        if self.dtype not in SCALAR_CODES and not re.fullmatch(_TIME, self.dtype):
            raise ConfigError(f"{self.dtype!r} is not a scalar type; give one of {', '.join(SCALAR_CODES)}")

    @property
    def codes(self) -> str:
        """The struct-module codes of its launch parameters."""
        return SCALAR_CODES.get(self.dtype, "q")

    def __str__(self) -> str:
        return self.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a record: its item type (NumPy's name, "<U4" or "|S4" for text, or a record), shape and offset."""

    name: str
    type: ItemType
    offset: int
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        return f"{self.name!r}: {self.type}{f'({shape})' if shape else ''} at {self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordType:
    """A structured value, as NumPy lays it out; passed by its address. size: in bytes."""

    fields: tuple[Field, ...]
    size: int
    aligned: bool = False

    @property
    def codes(self) -> str:
        """A pointer."""
        return "P"

    def __str__(self) -> str:
        fields = ", ".join(map(str, self.fields))
        return f"record({fields}; {self.size} bytes{', aligned' if self.aligned else ''})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayType:
    """A strided array. layout is "C", "F" or "A" (any strides), as numba writes it."""

    dtype: ItemType
    ndim: int
    layout: str = "C"
    readonly: bool = False
    aligned: bool = True

    def __post_init__(self) -> None:
        if self.layout not in ("C", "F", "A"):
            raise ConfigError(f"array layout {self.layout!r} is not one of C, F, A")
        if self.ndim < 0:
            raise ConfigError(f"an array has 0 or more dimensions, not {self.ndim}")

    @property
    def codes(self) -> str:
        """Meminfo and parent pointers, item count, item size in bytes, data pointer, shape, strides in bytes."""
        return array_codes(self.ndim)

    def __str__(self) -> str:
        flags = ("" if self.aligned else ", unaligned") + (", readonly" if self.readonly else "")
        return f"{self.dtype}[{self.ndim}d {self.layout}{flags}]"


def array_codes(ndim: int) -> str:
    """Return the codes of an array of so many dimensions."""
    return "PPqqP" + "qq" * ndim


def array_struct(
    address: int, size: int, itemsize: int, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[int, ...]:
    """Return the launch parameters of an array, as an ArrayType's codes have them. address: of its first item."""
    return (0, 0, size, itemsize, address, *shape, *strides)


def layout_letter(c_contiguous: bool, f_contiguous: bool) -> str:
    """Return an ArrayType's layout; an array that is contiguous in both orders is "C"."""
    return "C" if c_contiguous else "F" if f_contiguous else "A"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignType:
    """A type that an extension of numba made. numba: the type itself; name: its class and its key in numba.

    unseen: why the name does not tell all, if so. codes: of its launch parameters, as its data model has them, or as an
    extension packed the value; none for items of arrays. opaque: whether a value of it is empty, so that any pointer
    will do. Types are equal if numba's are, also where their values are passed differently.
    """

    name: str
    numba: Any
    unseen: str = field(default="", compare=False)
    codes: str = field(default="", compare=False)
    opaque: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassType:
    """A type passed as an argument. form: "class" of a number type (np.float32), "dtype" of a NumPy dtype."""

    dtype: ItemType
    form: str

    @property
    def codes(self) -> str:
        """A pointer, which nothing reads."""
        return "P"

    def __str__(self) -> str:
        return f"{self.form}({self.dtype})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PointerType:
    """A bare pointer to items of a type."""

    dtype: str

    @property
    def codes(self) -> str:
        """A pointer."""
        return "P"

    def __str__(self) -> str:
        return f"{self.dtype}*"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassName:
    """A class by module and qualified name. python: the class itself; two of one name are two types, as for numba."""

    module: str
    qualname: str
    python: Any = field(default=None, repr=False)

    @classmethod
    def of(cls, python: type) -> ClassName:
        """Return the name of a class."""
        return cls(module=python.__module__, qualname=python.__qualname__, python=python)

    def __str__(self) -> str:
        return f"{self.module}.{self.qualname}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TupleType:
    """A tuple; of a class with named fields if named is given. Its items are passed one after another."""

    items: tuple[ArgType, ...]
    named: ClassName | None = None
    names: tuple[str, ...] = ()

    @property
    def codes(self) -> str:
        """The items' codes."""
        return "".join(item.codes for item in self.items)

    def __str__(self) -> str:
        if self.named is None:
            return "(" + "".join(f"{item}," for item in self.items) + ")"
        items = ", ".join(f"{name}: {item}" for name, item in zip(self.names, self.items, strict=True))
        return f"{self.named}({items})"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnumType:
    """A member of an enum class, passed by its value. members: names and values, which kernels may compare with.

    dtype: of the values, all alike: numbers, or tuples of them.
    """

    enum: ClassName
    dtype: ScalarType | TupleType
    members: tuple[tuple[str, str], ...]
    integral: bool

    @classmethod
    def of(cls, python: type[Enum], dtype: ScalarType | TupleType) -> EnumType:
        """Return the type of the members of an enum class; dtype: of their values."""
        return cls(
            enum=ClassName.of(python),
            dtype=dtype,
            members=tuple((name, repr(member.value)) for name, member in python.__members__.items()),
            integral=issubclass(python, IntEnum),
        )

    @property
    def codes(self) -> str:
        """The value's code."""
        return self.dtype.codes

    def __str__(self) -> str:
        members = ", ".join(f"{name}={value}" for name, value in self.members)
        return f"{'int' * self.integral}enum {self.enum}({self.dtype}: {members})"


ItemType: TypeAlias = str | RecordType | ForeignType
ArgType: TypeAlias = ScalarType | ArrayType | TupleType | RecordType | EnumType | PointerType | ClassType | ForeignType


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The types of a kernel's arguments, in order."""

    arguments: tuple[ArgType, ...]

    if TYPE_CHECKING:
        # Said, so that type checkers let numba's types be looked for among signatures: `types in kernel.overloads`.
        def __eq__(self, other: object) -> bool: ...
        def __hash__(self) -> int: ...

    @property
    def codes(self) -> str:
        """The struct-module codes of all launch parameters; "@" alignment is CUDA's."""
        return "@" + "".join(argument.codes for argument in self.arguments)

    @property
    def private(self) -> tuple[str, ...]:
        """Why code for these types must stay in this process: an extension's type hides part of its state."""
        return tuple(f"the type {found} of an argument {found.unseen}" for found in self.foreign if found.unseen)

    @property
    def foreign(self) -> tuple[ForeignType, ...]:
        """The types of extensions among them, of items as well."""
        return tuple(dict.fromkeys(part for part in self._parts if isinstance(part, ForeignType)))

    @property
    def classes(self) -> tuple[ClassName, ...]:
        """The classes of named tuples and enums among them, of items as well."""
        made_of = (part for part in self._parts if isinstance(part, EnumType | TupleType))
        names = (part.enum if isinstance(part, EnumType) else part.named for part in made_of)
        return tuple(dict.fromkeys(name for name in names if name is not None))

    @property
    def _parts(self) -> Iterator[ArgType]:
        return (part for argument in self.arguments for part in _parts_of(argument))

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.arguments)) + ")"

    def __repr__(self) -> str:
        return str(self)


def _parts_of(argument: ArgType | str) -> Iterator[ArgType]:
    """Yield a type and its inner types, without NumPy names."""
    if isinstance(argument, str):
        return
    yield argument
    match argument:
        case ArrayType() | EnumType():
            yield from _parts_of(argument.dtype)
        case TupleType():
            for item in argument.items:
                yield from _parts_of(item)


# numba's names; "bool" is Python's there.
_DTYPES = {"boolean" if name == "bool" else name: name for name in SCALAR_CODES}
_ARGUMENT = r"\s*(\w+)\s*(?:\[([\s:,1]*:[\s:,1]*)\])?\s*"
_WHOLE = rf"\s*void\s*\(({_ARGUMENT}(?:,{_ARGUMENT})*)\)\s*"


def plain_signature(text: str) -> Signature | None:
    """Return the signature that a text like "void(float32[:, ::1], int64)" stands for; None if numba has to read it."""
    whole = re.fullmatch(_WHOLE, text)
    if whole is None:
        return None
    arguments = [_argument(*found) for found in re.findall(rf"{_ARGUMENT}(?:,|$)", whole[1])]
    known = tuple(argument for argument in arguments if argument is not None)
    return Signature(arguments=known) if len(known) == len(arguments) else None


def _argument(name: str, axes: str) -> ArgType | None:
    if name not in _DTYPES:
        return None
    if not axes:
        return ScalarType(dtype=_DTYPES[name])
    steps = ["".join(step.split()) for step in axes.split(",")]
    if set(steps) - {":", "::1"} or steps.count("::1") > 1 or "::1" in steps[1:-1]:
        return None
    layout = "A" if "::1" not in steps else "C" if steps[-1] == "::1" else "F"
    return ArrayType(dtype=_DTYPES[name], ndim=len(steps), layout=layout)
