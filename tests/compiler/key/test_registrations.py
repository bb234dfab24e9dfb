"""Registrations: what is new in registries is found, wherever lists grew, shrank or end with something else."""

from __future__ import annotations

from typing import Any

from gridjit.compiler.key.registrations import _in_lists


def implementation(name: str) -> Any:
    def made(context, builder, sig, args):
        """Implement something for an extension."""

    made.__qualname__ = name
    return made


def entry(name: str) -> tuple[Any, ...]:
    return implementation(name), "key", (name,)


def test_each_look_finds_what_is_in_the_lists_now() -> None:
    empty: list[Any] = []
    growing, ending, shrinking = ([entry(f"{name} {number}") for number in range(3)] for name in ("a", "b", "c"))
    lists = tuple((one, "lowering implementation") for one in (empty, growing, ending, shrinking))

    def names() -> list[str]:
        return sorted(one.name.rpartition(".")[2] for found in _in_lists(lists) for one in found)

    def expected() -> list[str]:
        return sorted(one[0].__qualname__ for entries, _ in lists for one in entries)

    assert names() == expected()
    growing.append(entry("a 3"))
    ending[-1] = entry("b another")
    assert names() == expected()
    shrinking.pop()
    empty.append(entry("d 0"))
    assert names() == expected()
    ending[-1] = entry("b a third")
    assert names() == expected()
    empty.clear()
    assert names() == expected()
