"""Arguments that only numba knows: its own types, and values whose types an extension registered."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gridjit
from gridjit.compiler.frontend.bindings.types import parse_signature
from gridjit.compiler.values.errors import ArgumentError
from gridjit.compiler.values.signature import ForeignType
from gridjit.runtime.native.layout.probes import object_layout
from gridjit.runtime.process.arguments import signature_of
from tests.runtime.args.foreign_types import (
    INTERVAL,
    TAG,
    Interval,
    PassesIntervals,
    Tag,
    TagType,
    core_models,
    register_model,
    types,
)
from tests.runtime.standin import StandInKernel


class KeyedType(types.Type):
    """A type whose key says nothing to another process."""

    key = (Tag(), 1)


def width(out, interval):
    out[0] = interval.width


def launched(*args: Any) -> StandInKernel:
    kernel = StandInKernel(arity=len(args))
    configured = kernel.configured()
    configured(*args)
    configured(*args)
    return kernel


@pytest.mark.parametrize(
    ("value", "text"),
    [(types.float32, "class(float32)"), (types.boolean, "class(bool)"), (types.uint8, "class(uint8)")],
)
def test_a_number_type_of_numba_is_numpys(value: Any, text: str) -> None:
    kernel = launched(value)
    assert str(kernel.signatures[0]) == f"({text})"
    assert [one.parameters for one in kernel.recorder.launches] == [bytes(8)] * 2
    if object_layout() is not None:
        assert kernel.recorder.ways == ["python", "native"]


def test_an_array_may_be_made_of_a_type_that_is_an_argument() -> None:
    def kernel(out, kind):
        memory = gridjit.cuda.local.array(1, kind)
        memory[0] = 2.75
        out[0] = memory[0]

    made = gridjit.jit(kernel, target="host")
    out = np.zeros(1)
    for kind, expected in (
        (np.int32, 2),
        (np.float64, 2.75),
        (types.float32, 2.75),
        (np.dtype("i1"), 2),
        (np.int32, 2),
    ):
        made[1, 1](out, kind)
        assert out[0] == expected
    assert made.stats.compiles + made.stats.disk_hits == 4


def test_types_as_arguments_are_declared_as_numba_has_them() -> None:
    for kind, value in ((types.NumberClass(types.int32), np.int32), (types.DType(types.int32), np.dtype("i4"))):
        kernel = StandInKernel(arity=1)
        assert parse_signature(types.void(kind)) == signature_of(kernel, (value,))  # type: ignore[arg-type]


def test_a_value_with_nothing_in_it_is_passed_as_a_pointer_that_nobody_reads() -> None:
    kernel = launched(Tag(), 3)
    tag, _ = kernel.signatures[0].arguments
    assert isinstance(tag, ForeignType)
    assert (tag.numba, tag.codes, tag.opaque) == (TAG, "P", True)
    assert kernel.recorder.last.parameters == np.array([0, 3]).tobytes()


def test_a_value_with_contents_needs_an_extension_of_the_kernel_to_pass_them() -> None:
    with pytest.raises(ArgumentError, match=r"argument 'a0' of standin: a .*'Interval' has contents .* jit\("):
        launched(Interval(1, 2))


def test_an_extension_passes_the_contents_and_the_kernel_sees_the_type() -> None:
    kernel = gridjit.jit(width, target="host", extensions=[PassesIntervals()])
    out = np.zeros(1)
    for high in (5.5, 7.5):
        kernel[1, 1](out, Interval(2.0, high))
        assert out[0] == high - 2
    (found,) = kernel.specializations
    assert found.artifact.parameters == "@PPqqPqqdd"
    assert not found.artifact.private


def test_a_declared_type_of_an_extension_takes_its_values_however_they_are_passed() -> None:
    declared = types.void(types.float64[::1], INTERVAL)
    kernel = gridjit.jit(declared, target="host", extensions=[PassesIntervals()])(width)
    out = np.zeros(1)
    for interval in (Interval(2.0, 5.5), Interval(2, 5), Interval(np.float32(1.5), True), Interval(2.0, 5.5)):  # type: ignore[arg-type]
        kernel[1, 1](out, interval)
        assert out[0] == interval.high - interval.low
    assert kernel.stats.compiles + kernel.stats.disk_hits == 1


def test_what_an_extension_prepares_is_passed_as_the_type_that_it_returns_with_it() -> None:
    class Half(PassesIntervals):
        def prepare_args(self, kind: Any, value: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
            if kind != INTERVAL:
                return kind, value
            return types.Tuple((types.uint64, types.float64)), (self.bits, value.high)

        bits = np.array([0.5]).view(np.uint64)[0]

    out = np.zeros(1)
    kernel = gridjit.jit(width, target="host", extensions=[Half()])
    kernel[1, 1](out, Interval(2, 3.0))
    assert out[0] == 2.5
    # The same code: what differs is how the value is passed.
    kernel.extensions[:] = [PassesIntervals()]
    kernel[1, 1](out, Interval(2.0, 3.0))
    assert (out[0], len(kernel.specializations)) == (1, 1)


def test_an_extension_that_passes_something_else_is_an_error() -> None:
    class Wrong(PassesIntervals):
        def prepare_args(self, kind: Any, value: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
            return (types.float64, value.low) if kind == INTERVAL else (kind, value)

    kernel = gridjit.jit(width, target="host", extensions=[Wrong()])
    with pytest.raises(ArgumentError, match=r"argument 'interval' of width: .* passed as 'dd', .* prepared 'd'"):
        kernel[1, 1](np.zeros(1), Interval(2.0, 3.0))


class Ends:
    """A value whose class numba does not know."""

    low, high = 2.0, 3.5


DECLARED: Any = types.void(types.float64[::1], INTERVAL)


@pytest.mark.parametrize("signatures", [DECLARED, [DECLARED]])
def test_a_declared_type_of_an_extension_is_what_a_value_of_any_class_is_prepared_for(signatures: Any) -> None:
    out = np.zeros(1)
    kernel = gridjit.jit(signatures, target="host", extensions=[PassesIntervals()])(width)
    for value in (Interval(2.0, 3.0), Ends(), Interval(2.0, 3.0)):
        kernel[1, 1](out, value)
        assert out[0] == value.high - value.low
    assert len(kernel.specializations) == 1


def test_an_extension_is_given_the_declared_type_and_refuses_a_value_itself() -> None:
    class Refuses(PassesIntervals):
        def prepare_args(self, kind: Any, value: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
            if kind == INTERVAL and not isinstance(value, Interval):
                raise KeyError(f"{kind} is not {type(value).__name__}")
            return super().prepare_args(kind, value, stream, retr)

    kernel = gridjit.jit(DECLARED, target="host", extensions=[Refuses()])(width)
    with pytest.raises(KeyError, match="Interval is not Tag"):
        kernel[1, 1](np.zeros(1), Tag())


@pytest.mark.parametrize("value", [Tag(), Ends(), (2.0, 3.0), 1])
def test_a_value_that_no_extension_prepares_for_a_declared_type_is_an_error(value: Any) -> None:
    class Idle:
        def prepare_args(self, kind: Any, value: Any, stream: Any, retr: Any) -> tuple[Any, Any]:
            return kind, value

    kernel = gridjit.jit(DECLARED, target="host", extensions=[Idle()])(width)
    with pytest.raises(
        ArgumentError, match=r"'interval' of width: No matching definition: .*no extension of the kernel"
    ):
        kernel[1, 1](np.zeros(1), value)
    unprepared = gridjit.jit(DECLARED, target="host")(width)
    with pytest.raises(ArgumentError):
        unprepared[1, 1](np.zeros(1), value)


def test_an_extensions_type_is_known_by_its_class_and_its_key_also_as_an_item() -> None:
    signature = parse_signature(types.void(INTERVAL[::1], types.UniTuple(TAG, 2)))
    interval, tag = (f"{TagType.__module__}.{name}Type '{name}'" for name in ("Interval", "Tag"))
    assert str(signature) == f"({interval}[1d C], ({tag},{tag},))"
    assert [found.numba for found in signature.foreign] == [INTERVAL, TAG]
    assert signature.private == ()


def test_types_of_one_name_are_told_apart_and_the_one_that_is_not_found_by_it_stays_in_this_process() -> None:
    class Other(types.Opaque):
        pass

    Other.__module__, Other.__qualname__ = TagType.__module__, TagType.__qualname__
    register_model(Other)(core_models.OpaqueModel)
    one, other = (parse_signature(types.void(kind)) for kind in (TAG, Other("Tag")))
    assert str(one) == str(other)
    assert one != other
    assert [bool(found.private) for found in (one, other)] == [False, True]


def test_a_type_whose_key_cannot_be_read_stays_in_this_process() -> None:
    (reason,) = parse_signature(types.void(KeyedType("Keyed")[::1])).private
    assert reason.endswith("KeyedType Keyed of an argument has a key that holds more than types, numbers and strings")


@pytest.mark.parametrize("value", [np.random.default_rng(), np.polynomial.Polynomial([1, 2])])
def test_what_numba_knows_and_kernels_cannot_take_is_an_error(value: Any) -> None:
    with pytest.raises(ArgumentError, match=r"argument 'a0' of standin: .* cannot be passed to a kernel"):
        StandInKernel(arity=1).configured()(value)
