#!/usr/bin/env python3
"""Make the LLVM IR of the code that is written in C, beside it: c/<name>.ll of each c/<name>.c.

    python scripts/make-native.py              # make them; the compiler is fetched once, into build/clang
    python scripts/make-native.py --check      # only say which differ; exit status 1 if one does

The compiler is clang, of the oldest LLVM that gridjit supports: newer ones read its IR. Users need none: the IR is
checked in. A unit is compiled between the numbers and the layouts of the records that Python has, so that C and Python
cannot differ. What ties the IR to a processor or a compiler is left out.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
# A package of PyPI that has clang, here of LLVM 20.
COMPILER = "ziglang==0.15.2"
FOLDER = ROOT / "build" / "clang" / COMPILER
_FLAGS = (
    *("--target=x86_64-unknown-linux-gnu", "-std=c23", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"),
    # The code calls nothing that its author did not write, and its records are what their addresses say.
    *("-ffreestanding", "-fno-builtin", "-fno-strict-aliasing", "-fwrapv", "-fno-finite-loops", "-nostdinc"),
    *("-fno-jump-tables", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *("-Xclang", "-disable-lifetime-markers"),
)
# Functions that C declares and cannot define: nothing that C calls by an address returns twice, and clang has the
# instructions of one machine.
_DEFINED = {
    "@arm_yield(": """declare void @llvm.aarch64.hint(i32)

define internal void @arm_yield() alwaysinline {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}""",
    "@set_jump(": """define internal i32 @set_jump(ptr %function, ptr %buffer) alwaysinline returns_twice {
  %jumped = call i32 %function(ptr %buffer) returns_twice
  ret i32 %jumped
}""",
}


class Unit(NamedTuple):
    """A file of C, from the root and without its ending; modules whose records and numbers it uses, or numbers only."""

    path: str
    records: tuple[str, ...]
    numbers: tuple[str, ...] = ()

    @property
    def ir(self) -> Path:
        return ROOT / f"{self.path}.ll"


_RECORDS = "gridjit.runtime.native.layout.launch_records"
UNITS = (
    Unit("runtime/native/c/launch", (_RECORDS, "gridjit.runtime.native.layout.staging_records")),
    Unit("runtime/native/c/index", (_RECORDS,)),
    Unit("runtime/native/c/grids", ("gridjit.runtime.native.layout.grid_records",), (_RECORDS,)),
)


def main() -> None:
    """Make or check each unit's IR."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only say which differ")
    check = parser.parse_args().check
    fetch_compiler()
    differ = [unit for unit in UNITS if not unit.ir.exists() or unit.ir.read_text() != made(unit)]
    for unit in differ:
        print(f"{unit.path}.ll {'differs' if check else 'is made'}")
        if not check:
            unit.ir.write_text(made(unit))
    sys.exit(bool(check and differ))


def has_compiler() -> bool:
    """Return whether the compiler has been fetched."""
    return (FOLDER / "ziglang" / "zig").exists()


def fetch_compiler() -> None:
    """Install the compiler in its folder, if it is not there."""
    if not has_compiler():
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(FOLDER), COMPILER)
        subprocess.run(pip, check=True)


def made(unit: Unit) -> str:
    """Return a unit's IR, as the compiler makes it now."""
    zig = FOLDER / "ziglang" / "zig"
    places = ("-isystem", str(FOLDER / "ziglang" / "lib" / "include"), "-I", str(unit.ir.parent))
    command = (str(zig), "clang", *_FLAGS, *places, "-S", "-emit-llvm", "-x", "c", "-", "-o", "-")
    done = subprocess.run(command, input=source(unit), text=True, capture_output=True, cwd=ROOT)
    if done.returncode:
        raise SystemExit(f"{unit.path}.c: {done.stderr}")
    return f"; {digest(unit)}\n" + _portable(done.stdout)


def digest(unit: Unit) -> str:
    """Return the line that says what a unit's IR was made of: it is the first of the IR."""
    parts = (COMPILER, " ".join(_FLAGS), source(unit), *(path.read_text() for path in _sources(unit)))
    return f"made from sources {hashlib.sha256(chr(0).join(parts).encode()).hexdigest()} by make native"


def _sources(unit: Unit) -> Iterator[Path]:
    yield unit.ir.with_suffix(".c")
    yield from sorted(unit.ir.parent.glob("*.h"))


def source(unit: Unit) -> str:
    """Return a unit's C, between the numbers that it uses and checks of its records."""
    numbers, checks = {}, {}
    for module in (*unit.numbers, *unit.records):
        for name, value in vars(importlib.import_module(module)).items():
            if name.isupper() and type(value) is int:
                numbers[name] = f"#define {name} ({value})"
            elif name.isupper() and isinstance(value, tuple) and all(isinstance(one, str) for one in value):
                numbers[name] = _listed(name, value)
            elif module in unit.records and isinstance(value, type) and issubclass(value, ctypes.Structure):
                checks[name] = _checks(value)
    return "\n".join((*numbers.values(), f'#include "{Path(unit.path).name}.c"', *checks.values(), ""))


def _listed(name: str, words: tuple[str, ...]) -> str:
    """Return the numbers of words, their places, as READS_copy, and a macro that applies another to each word."""
    numbers = ", ".join(f"{name}_{word} = {place}" for place, word in enumerate(words))
    return f"enum {{ {numbers} }};\n#define EACH_OF_{name}(macro) {' '.join(f'macro({word})' for word in words)}"


def _checks(record: type[ctypes.Structure]) -> str:
    """Return what the compiler refuses unless C has a record as Python has it."""
    name = f"struct {record.__name__.removesuffix('Record')}"
    lines = [f"static_assert(sizeof({name}) == {ctypes.sizeof(record)});"]
    for field, *_ in record._fields_:
        lines.append(f"static_assert(offsetof({name}, {field}) == {getattr(record, field).offset});")
    return "\n".join(lines)


def _portable(text: str) -> str:
    """Return IR without what it says of a processor, a compiler and its options."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("; ModuleID", "source_filename", "target ", "!", "; Function Attrs")):
            continue
        defined = next((text for name, text in _DEFINED.items() if line.startswith("declare ") and name in line), None)
        lines.append(defined or _plain(line))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def _plain(line: str) -> str:
    if line.startswith("attributes "):
        head, _, rest = line.partition("{")
        kept = (one for one in _ATTRIBUTE.findall(rest) if one.startswith(_KEPT))
        return f"{head}{{ {' '.join(kept)} }}"
    line = _EXTERNAL.sub(r"external constant \1", line)
    return _WORDS.sub("", _BEHIND.sub("", line))


# Of a group's attributes with quotes, two are the code's own; the others are about a processor.
_ATTRIBUTE = re.compile(r'"[^"]*"(?:="[^"]*")?|memory\([^)]*\)|[a-z_]+')
_KEPT = ('"no-builtins"', '"no-jump-tables"', *"abcdefghijklmnopqrstuvwxyz")
_EXTERNAL = re.compile(r"external (?:dso_local |local_unnamed_addr )*constant (\S+), align \d+")
# Metadata of an instruction, and the predecessors of a block.
_BEHIND = re.compile(r"(?:, ![\w.]+ !\d+| +; preds = .*)+$")
_WORDS = re.compile(r"\b(?:dso_local|local_unnamed_addr|noundef|range\([^)]*\)|initializes\(\([^)]*\)\)) ")


if __name__ == "__main__":
    main()
