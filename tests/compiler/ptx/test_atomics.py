"""The atomics that numba-cuda leaves to the target: run as host code, they do what CUDA documents."""

from __future__ import annotations

import ctypes
import math
import re
from typing import Any

import llvmlite.binding as llvm
import pytest

from gridjit.compiler.targets.ptx.atomics import define_atomics

NAN = math.nan
TYPES: dict[str, Any] = {"float": ctypes.c_float, "double": ctypes.c_double, "i64": ctypes.c_uint64}


def run(name, memory, value):
    """Run the atomic on a cell that holds memory; return (what it returned, what the cell holds then)."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    type_ = "i64" if "_u64_" in name else name.split("_")[5]
    full = f'declare {type_} @"{name}"({type_}* %".1", {type_} %".2")'
    text = define_atomics(full)
    # The host's LLVM is newer than NVVM's: pointers have no type there.
    text = re.sub(r"\b(float|double|i32|i64)\*", "ptr", text).replace("define internal", "define")
    engine = llvm.create_mcjit_compiler(
        llvm.parse_assembly(text), llvm.Target.from_default_triple().create_target_machine()
    )
    engine.finalize_object()
    number = TYPES[type_]
    cell = number(memory)
    function = ctypes.CFUNCTYPE(number, ctypes.POINTER(number), number)(engine.get_function_address(name))
    return function(ctypes.byref(cell), number(value)), cell.value


def same(result, expected):
    return all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(result, expected, strict=True))


@pytest.mark.parametrize("type_", ["float", "double"])
@pytest.mark.parametrize(
    ("verb", "memory", "value", "after"),
    [
        ("sub", 5.0, 2.0, 3.0),
        ("max", 1.0, 2.0, 2.0),
        ("max", 2.0, 1.0, 2.0),
        ("max", NAN, 1.0, NAN),
        ("max", 1.0, NAN, 1.0),
        ("min", 1.0, 2.0, 1.0),
        ("min", 2.0, 1.0, 1.0),
        ("min", NAN, 1.0, NAN),
        ("min", 1.0, NAN, 1.0),
        ("nanmax", 1.0, 2.0, 2.0),
        ("nanmax", NAN, 1.0, 1.0),
        ("nanmax", 1.0, NAN, 1.0),
        ("nanmax", NAN, NAN, NAN),
        ("nanmin", 2.0, 1.0, 1.0),
        ("nanmin", NAN, 1.0, 1.0),
        ("nanmin", 1.0, NAN, 1.0),
    ],
)
def test_float_atomics_return_the_old_value_and_store_the_new(type_, verb, memory, value, after):
    assert same(run(f"___numba_atomic_{type_}_{verb}", memory, value), (memory, after))


def test_the_atomic_add_of_doubles_returns_the_old_value_and_stores_the_sum():
    assert run("___numba_atomic_double_add", 1.5, 2.0) == (1.5, 3.5)


@pytest.mark.parametrize(
    ("verb", "memory", "value", "after"),
    [
        ("inc", 3, 5, 4),
        ("inc", 5, 5, 0),
        ("inc", 9, 5, 0),
        ("dec", 3, 5, 2),
        ("dec", 0, 5, 5),
        ("dec", 9, 5, 5),
        ("dec", 5, 5, 4),
    ],
)
def test_wrapping_atomics_count_within_the_limit(verb, memory, value, after):
    assert run(f"___numba_atomic_u64_{verb}", memory, value) == (memory, after)
