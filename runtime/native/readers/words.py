"""The building blocks of readers: a reader's frame, and its access to its operation and to CPython."""

from __future__ import annotations

YES = "yes:\n  ret i1 true\nno:\n  ret i1 false"


def reader(read: str, body: str) -> str:
    """Return the function that reads an argument in one way."""
    head = f"define internal i1 @read_{read}(ptr %env, ptr %op, ptr %object, ptr %out) #2"
    text = body.strip("\n")
    return f"\n{head} {{\nentry:\n{text}\n}}\n"


def load(*fields: str) -> str:
    """Return the lines that load fields of the operation: "tag" as i64, "at0:ptr" as another type."""
    lines = []
    for field in fields:
        name, _, kind = field.partition(":")
        lines.append(f"  %{name}.in = getelementptr i8, ptr %op, i64 {{Operation.{name}}}")
        lines.append(f"  %{name} = load {kind or 'i64'}, ptr %{name}.in")
    return "\n".join(lines)


def environment(name: str, label: str) -> str:
    """Return the lines that have %label be one of CPython's functions or objects."""
    place = f"  %{label}.in = getelementptr i8, ptr %env, i64 {{Environment.{name}}}"
    return f"{place}\n  %{label} = load ptr, ptr %{label}.in"
