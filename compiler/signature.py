"""ArgType and Signature: the types of one call's arguments, frozen, made without numba and convertible to it."""

from __future__ import annotations

from dataclasses import dataclass

from gridjit.compiler.errors import ConfigError

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarType:
    """A number passed by value. dtype is NumPy's name for it ("int64")."""

    dtype: str

    def __post_init__(self) -> None:
        if self.dtype not in SCALAR_CODES:
            raise ConfigError(f"{self.dtype!r} is no scalar type; one of {', '.join(SCALAR_CODES)}")

    @property
    def codes(self) -> str:
        """The struct-module codes of its launch parameters."""
        return SCALAR_CODES[self.dtype]

    def __str__(self) -> str:
        return self.dtype


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayType:
    """A strided array. layout is "C", "F" or "A" (any strides), as numba writes it."""

    dtype: str
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
        return "PPqqP" + "qq" * self.ndim

    def __str__(self) -> str:
        flags = ("" if self.aligned else ", unaligned") + (", readonly" if self.readonly else "")
        return f"{self.dtype}[{self.ndim}d {self.layout}{flags}]"


ArgType = ScalarType | ArrayType


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The types of a kernel's arguments, in order."""

    arguments: tuple[ArgType, ...]

    @property
    def codes(self) -> str:
        """The struct-module codes of all launch parameters; "@" alignment is CUDA's."""
        return "@" + "".join(argument.codes for argument in self.arguments)

    def __str__(self) -> str:
        return "(" + ", ".join(map(str, self.arguments)) + ")"
