"""asked: the questions that the front end asked while it compiled a callee, each with the answer that it got.

A question can be asked again: `today` returns it with today's answer, if both answers lead to the same code.
`record` makes that answer count for the kernel at hand, as if the front end had asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature as pysignature
from types import CellType, CodeType, FunctionType
from typing import Any, Protocol

from gridjit.compiler.frontend.kept.plain import ValueMark, mark_of
from gridjit.compiler.key.foreign import array_digest
from gridjit.compiler.recorded.reads import Reads
from gridjit.compiler.recorded.value_path import global_of
from gridjit.compiler.source.code_place import CodePlace
from gridjit.compiler.source.objects import MISSING, cell_value
from gridjit.compiler.values.footprint import ELSEWHERE, IN_FULL, FactValue, current_value, is_very_object
from gridjit.compiler.view.recording import Recording


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asking:
    """The compile of a kernel that asks: where answers are recorded, and its launch.

    number: numbers an exception that code may raise, by (type, arguments, place).
    """

    reads: Reads
    recording: Recording
    number: Callable[[Any, Any, Any], int]


class Question(Protocol):
    """A question with its answer; equal identities are the same question."""

    @property
    def identity(self) -> tuple[object, ...]:
        """The question, without its answer."""

    def today(self, asking: Asking) -> Question | None:
        """Return the question with today's answer; None if that might lead to other code."""

    def record(self, asking: Asking) -> None:
        """Make the answer count for the compile that asks."""


@dataclass(frozen=True, slots=True, eq=False)
class FunctionCode:
    """Which code a function has, and the names by which numba calls it in symbols and exceptions."""

    function: FunctionType
    code: CodeType
    names: tuple[object, ...]

    @classmethod
    def of(cls, function: FunctionType) -> FunctionCode:
        """Return the question with today's answer."""
        return cls(function, function.__code__, (function.__qualname__, function.__name__, function.__module__))

    @property
    def identity(self) -> tuple[object, ...]:
        return (FunctionCode, id(self.function))

    def today(self, asking: Asking) -> FunctionCode | None:
        now = FunctionCode.of(self.function)
        return self if now.code is self.code and now.names == self.names else None

    def record(self, asking: Asking) -> None:
        asking.reads.take_function(self.function)


@dataclass(frozen=True, slots=True, eq=False)
class Global:
    """The value of a function's global, or of a builtin."""

    function: FunctionType
    name: str
    value: object
    mark: ValueMark

    @property
    def identity(self) -> tuple[object, ...]:
        return (Global, id(self.function), self.name, id(self.value))

    def today(self, asking: Asking) -> Global | None:
        value = global_of(self.function, self.name)
        return Global(self.function, self.name, value, self.mark) if mark_of(value) == self.mark else None

    def record(self, asking: Asking) -> None:
        asking.reads.take_global(self.function, self.name, self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Free:
    """The value of a closure's variable."""

    function: FunctionType
    name: str
    cell: CellType
    value: object
    mark: ValueMark

    @property
    def identity(self) -> tuple[object, ...]:
        return (Free, id(self.function), self.name, id(self.value))

    def today(self, asking: Asking) -> Free | None:
        value = cell_value(self.cell)
        return Free(self.function, self.name, self.cell, value, self.mark) if mark_of(value) == self.mark else None

    def record(self, asking: Asking) -> None:
        asking.reads.take_free(self.function, self.name, self.cell, self.value)


@dataclass(frozen=True, slots=True, eq=False)
class ModuleAttribute:
    """The value of a module's attribute."""

    owner: Any
    name: str
    value: object
    mark: ValueMark

    @property
    def identity(self) -> tuple[object, ...]:
        return (ModuleAttribute, id(self.owner), self.name, id(self.value))

    def today(self, asking: Asking) -> ModuleAttribute | None:
        value = asking.reads.attribute_now(self.owner, self.name)
        if value is MISSING or mark_of(value) != self.mark:
            return None
        return ModuleAttribute(self.owner, self.name, value, self.mark)

    def record(self, asking: Asking) -> None:
        asking.reads.take_attribute_as(self.owner, self.name, self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """A dispatcher as numba types a call of it: its function, the function's parameters, its options."""

    dispatcher: Any
    function: FunctionType
    marks: ValueMark

    @classmethod
    def of(cls, dispatcher: Any) -> Called | None:
        """Return the question with today's answer, None if that is unknown."""
        function, marks = dispatcher.py_func, _parameter_marks(dispatcher.py_func)
        if marks is None or type(function) is not FunctionType:
            return None
        options = repr(sorted(dispatcher.targetoptions.items()))
        return cls(dispatcher, function, (type(dispatcher), bool(dispatcher._can_compile), options, marks))

    @property
    def identity(self) -> tuple[object, ...]:
        return (Called, id(self.dispatcher))

    def today(self, asking: Asking) -> Called | None:
        now = Called.of(self.dispatcher)
        return self if now is not None and now.function is self.function and now.marks == self.marks else None

    def record(self, asking: Asking) -> None:
        """Record nothing: it is in the key."""


def _parameter_marks(function: Any) -> ValueMark | None:
    """Return the marks of a function's parameters, with the defaults that complete a call; None if unknown."""
    parameters = [*pysignature(function).parameters.values()]
    defaults = [mark_of(one.default) if one.default is not one.empty else () for one in parameters]
    if None in defaults:
        return None
    return tuple((one.name, one.kind, default) for one, default in zip(parameters, defaults, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """The content of an array that was written into the code."""

    array: Any
    digest: str

    @property
    def identity(self) -> tuple[object, ...]:
        return (Content, id(self.array), self.digest)

    def today(self, asking: Asking) -> Content | None:
        return self if array_digest(self.array) == self.digest else None

    def record(self, asking: Asking) -> None:
        asking.reads.take_content(self.array, self.digest)


@dataclass(frozen=True, slots=True, eq=False)
class Launched:
    """The value of a field of the launch. where: the place that read it."""

    field: str
    value: FactValue
    where: str

    @property
    def identity(self) -> tuple[object, ...]:
        return (Launched, self.field)

    def today(self, asking: Asking) -> Launched | None:
        if self.field == ELSEWHERE or is_very_object(self.field) or self.field.endswith(IN_FULL):
            return None
        value = current_value(self.field, asking.recording.config, asking.recording.arguments)
        same = type(value) is type(self.value) and value == self.value
        return self if same else None

    def record(self, asking: Asking) -> None:
        asking.recording.read(self.field, self.where)


@dataclass(frozen=True, slots=True, eq=False)
class Raised:
    """Which number stands for an exception that the code may raise."""

    exception: Any
    arguments: Any
    place: CodePlace | None

    @property
    def place_text(self) -> str:
        """The place as it is stored; empty if there is none."""
        return "" if self.place is None else str(self.place)

    @property
    def stays(self) -> CodePlace | None:
        """The place, less the parts that an edit of the lines around it changes."""
        return None if self.place is None else self.place.identity

    @property
    def identity(self) -> tuple[object, ...]:
        return (Raised, id(self.exception), repr(self.arguments), self.stays)

    def today(self, asking: Asking) -> Raised | None:
        return self

    def record(self, asking: Asking) -> None:
        asking.number(self.exception, self.arguments, self.place)


def value_taken(event: object) -> object:
    """Return the value that code took, by the question about it; None for all other events of a unit."""
    return event.value if isinstance(event, Global | Free | ModuleAttribute) else None


def offers_what_it_is_called_with(dispatcher: Any) -> bool:
    """Return whether a dispatcher compiles for all types that it is called with, as no types were declared."""
    from numba.cuda.dispatcher import CUDADispatcher

    return type(dispatcher) is CUDADispatcher and bool(dispatcher._can_compile)
