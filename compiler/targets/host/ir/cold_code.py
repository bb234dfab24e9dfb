"""Cold code: functions that are run once for many blocks are taken out of a module's text, to be optimized less.

An attribute marks them. Each part declares what it uses of the other, so that both are complete modules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from gridjit.base.regexes import regex

COLD = '"gridjit.seldom"'
_FUNCTION = regex(
    r"^define (?:internal )?(?P<type>[^@\n]+) @(?P<name>[\w.]+)\((?P<parameters>.*)\)(?P<how>[^()\n]*)\{\n"
    r"(?:(?!\}).*\n)*\}\n",
    re.MULTILINE,
)
_NAME = regex(r"@([\w.]+)")
_PARAMETER = regex(r" %[\w.]+(?=,|$)")
_NODE = regex(r"!(\d+)\b")
# A name in quotes, which may be any, and an instruction's attributes, which are the module's.
_ALIEN = regex(r'@"|\) #\d')


class SplitModule(NamedTuple):
    """A module's text in two: hot code, and cold code ("" if there is none).

    shared: the functions that one part has and the other calls.
    """

    often: str
    seldom: str = ""
    shared: frozenset[str] = frozenset()


def split_cold_code(text: str) -> SplitModule:
    """Return a module's text without the functions that are marked, and these, unless they need more of the module."""
    if COLD not in text:
        return SplitModule(text)
    functions = {found["name"]: found for found in _FUNCTION.finditer(text)}
    marked = {name: found for name, found in functions.items() if COLD in found["how"]}
    seldom, often = "".join(found.group() for found in marked.values()), text
    for found in marked.values():
        often = often.replace(found.group(), "", 1)
    used, counts = set(_NAME.findall(seldom)), Counter(_NAME.findall(often))
    beside = _beside(text)
    own = {name: line for name, line in beside.variables.items() if name in used and counts[name] == 1}
    outer = {name: line for name, line in beside.declared.items() if name in used}
    leaves, needed = beside.leaves, set(_NODE.findall(seldom))
    known = {*functions, *own, *outer, *(name for name in used if name.startswith("llvm."))}
    if _ALIEN.search(seldom) or not (used <= known and needed <= leaves.keys()):
        return SplitModule(text)
    for line in own.values():
        often = often.replace(line, "", 1)
    also = [*own.values(), *outer.values(), *(leaves[node] for node in sorted(needed))]
    shared = frozenset(used & counts.keys() & functions.keys())
    return SplitModule(
        _meeting(often, shared, functions, marked.keys()),
        _meeting(seldom, shared, functions, functions.keys() - marked.keys()) + "".join(also),
        shared,
    )


class _Beside(NamedTuple):
    """The lines beside the functions of a text, each by the name that it gives.

    leaves: the nodes of metadata that refer to no other.
    """

    variables: dict[str, str]
    declared: dict[str, str]
    leaves: dict[str, str]


def _beside(text: str) -> _Beside:
    """Return the lines of a text's private variables, declared functions, and leaves of metadata."""
    found = _Beside({}, {}, {})
    for line in text.splitlines(keepends=True):
        if line.startswith("@"):
            name, _, value = line[1:].partition(" = ")
            if value.startswith("internal global "):
                found.variables[name] = line
        elif line.startswith("declare "):
            found.declared[line.partition("@")[2].partition("(")[0]] = line
        elif line.startswith("!"):
            name, _, value = line[1:].partition(" = ")
            if value.startswith("!{") and "!" not in value[1:]:
                found.leaves[name] = line
    return found


def _meeting(
    text: str, shared: frozenset[str], functions: Mapping[str, re.Match[str]], elsewhere: Collection[str]
) -> str:
    """Return a part's text in which shared functions are visible to the other part, or declared if that has them."""
    for name in sorted(shared):
        if name in elsewhere:
            text += _declaration(functions[name])
        else:
            whole = functions[name].group()
            text = text.replace(whole, whole.replace("define internal ", "define ", 1), 1)
    return text


def _declaration(found: re.Match[str]) -> str:
    return f"declare {found['type']} @{found['name']}({_PARAMETER.sub('', found['parameters'])})\n"
