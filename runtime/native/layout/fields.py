"""The lines of LLVM IR that read and write fields of records."""

from __future__ import annotations


def load(base: str, kind: str, *fields: str) -> str:
    """Return the lines that load fields of %base, a record of this kind: "chunk" as i64, "parts:i32" as an i32."""
    lines = []
    for field in fields:
        name, _, of = field.partition(":")
        lines.append(f"  %{base}.{name}.in = getelementptr i8, ptr %{base}, i64 {{{kind}.{name}}}")
        lines.append(f"  %{base}.{name} = load {of or 'i64'}, ptr %{base}.{name}.in")
    return "\n".join(lines)


def place(base: str, kind: str, *fields: str) -> str:
    """Return the lines that have %base.field.at be the address of a field of %base."""
    return "\n".join(f"  %{base}.{name}.at = getelementptr i8, ptr %{base}, i64 {{{kind}.{name}}}" for name in fields)


def store(base: str, kind: str, **values: str) -> str:
    """Return the lines that store values ("i32 1") in fields of %base; a function stores each field in one place."""
    lines = []
    for name, value in values.items():
        lines.append(f"  %{base}.{name}.out = getelementptr i8, ptr %{base}, i64 {{{kind}.{name}}}")
        lines.append(f"  store {value}, ptr %{base}.{name}.out")
    return "\n".join(lines)
