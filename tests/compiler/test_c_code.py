"""Code that is written in C: its LLVM IR is what the compiler makes of it as it is, and is IR for this LLVM."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import pytest

from gridjit.compiler.c_code import ir_text
from gridjit.runtime.native import object_code
from gridjit.runtime.native.layout import probes
from gridjit.runtime.native.layout.grid_records import machine_numbers

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "make-native.py"


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_native", SCRIPT)
    assert spec is not None and spec.loader is not None
    made = sys.modules["make_native"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


make_native = _script()
units = pytest.mark.parametrize("unit", make_native.UNITS, ids=lambda unit: unit.path)


def test_every_file_of_c_is_a_unit() -> None:
    files = {file.relative_to(ROOT) for top in ("compiler", "runtime") for file in (ROOT / top).rglob("*.c")}
    assert files == {Path(f"{unit.path}.c") for unit in make_native.UNITS}
    assert {file.with_suffix(".ll") for file in files} == {
        file.relative_to(ROOT) for top in ("compiler", "runtime") for file in (ROOT / top).rglob("*.ll")
    }


@units
def test_the_ir_was_made_of_the_c_as_it_is(unit: Any) -> None:
    first, _, _ = unit.ir.read_text().partition("\n")
    assert first == f"; {make_native.digest(unit)}", "make native"


@units
@pytest.mark.skipif(not make_native.has_compiler(), reason="clang is not here: make native fetches it")
def test_the_compiler_makes_the_ir_that_is_checked_in(unit: Any) -> None:
    assert unit.ir.read_text() == make_native.made(unit)


@units
def test_llvm_accepts_the_ir(unit: Any) -> None:
    llvm.parse_assembly(unit.ir.read_text()).verify()


@pytest.mark.skipif(probes.object_layout() is None, reason="this interpreter launches from Python")
@pytest.mark.parametrize("unit", ["launch", "index", "grids"])
def test_no_constant_is_left_without_a_value(unit: str) -> None:
    layout = probes.object_layout()
    assert layout is not None
    numbers = layout.numbers | machine_numbers("x86_64") | {"HOT": 1, "CALLBACKS": 2, "WEAK": 3}
    assert " external " not in ir_text(object_code.__name__, unit, numbers)
    assert " external " in ir_text(object_code.__name__, unit, {})


def test_a_change_of_a_record_makes_other_ir(monkeypatch: pytest.MonkeyPatch) -> None:
    from gridjit.runtime.native.layout import launch_records as records

    (unit,) = (unit for unit in make_native.UNITS if unit.path.endswith("/launch"))
    before = make_native.digest(unit)
    monkeypatch.setattr(records, "CELL", records.CELL + 8)
    assert make_native.digest(unit) != before
