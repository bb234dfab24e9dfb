"""Maths text: a `__nv_` function written as LLVM IR for the host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Name, result, arguments and body of a function, with words in braces that are filled in for each type.
Row = tuple[str, str, str, str]

PREFIX = "__nv_"
PURE = "nounwind willreturn memory(none)"
# Functions come in pairs: the suffix of the name, the type, and the words for it in intrinsics and as an integer.
KINDS = (("", "double", "f64", "i64"), ("f", "float", "f32", "i32"))


def define(name: str, result: str, arguments: str, body: str, attributes: str = PURE) -> str:
    """Return a definition; arguments "double x, i32 n" become %x and %n."""
    parameters = arguments.replace(" ", " %").replace(", %", ", ")
    lines = "\n".join(["  " + line.strip() for line in body.strip().splitlines()])
    return f"define {result} @{PREFIX}{name}({parameters}) alwaysinline {attributes} {{\n{lines}\n}}"


def definitions_of(rows: Iterable[Row], words: Mapping[str, str], attributes: str = PURE) -> dict[str, str]:
    """Return name -> definition of the functions in rows, with words filled in."""
    table = {}
    for row in rows:
        name, result, arguments, body = [part.format_map(words) for part in row]
        table[name] = define(name, result, arguments, body, attributes)
    return table
