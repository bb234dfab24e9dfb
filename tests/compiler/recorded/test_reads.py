"""What code takes is recorded by the path to it, as it was, unless the job's key says so already."""

from __future__ import annotations

import sys
import types
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

from gridjit.compiler.key.fingerprint import fingerprint
from gridjit.compiler.recorded.reads import Reads, taken_text
from gridjit.compiler.recorded.value_path import follow, shown
from gridjit.compiler.source.objects import MISSING

LIMIT = 3


def kernel(x):
    x[0] = LIMIT


def module(name: str, **names: object) -> ModuleType:
    made = ModuleType(name)
    vars(made).update(names)
    return made


def taken(reads: Reads) -> dict[str, str]:
    return {shown(path): text for path, text in reads.taken()}


def test_what_the_key_says_already_is_not_recorded() -> None:
    reads = Reads(kernel, fingerprint(kernel).taken)
    reads.take_global(kernel, "LIMIT", LIMIT)  # type: ignore[arg-type]
    assert taken(reads) == {}


def test_another_value_than_the_keys_is_recorded() -> None:
    reads = Reads(kernel, fingerprint(kernel).taken)
    reads.take_global(kernel, "LIMIT", 4)  # type: ignore[arg-type]
    assert taken(reads) == {"LIMIT": "4"}


def test_a_value_taken_twice_and_different_keeps_the_artifact_private() -> None:
    reads = Reads(kernel)
    for value in (3, 4):
        reads.take_global(kernel, "LIMIT", value)  # type: ignore[arg-type]
    assert list(reads.private) == ["LIMIT changed while the kernel was compiled"]


def test_an_attribute_is_the_same_for_all_of_a_compile() -> None:
    settings = module("settings", TILE=3)
    reads = Reads(kernel)
    reads.take_global(kernel, "settings", settings)  # type: ignore[arg-type]
    assert reads.take_attribute(settings, "TILE") == 3
    vars(settings)["TILE"] = 4
    assert reads.take_attribute(settings, "TILE") == 3
    assert taken(reads)["settings.TILE"] == "3"


def test_a_missing_name_is_recorded_as_missing() -> None:
    reads = Reads(kernel)
    reads.take_global(kernel, "NOWHERE", MISSING)  # type: ignore[arg-type]
    assert taken(reads) == {"NOWHERE": "undefined"}


def test_an_attribute_of_a_module_that_nothing_leads_to_keeps_the_artifact_private() -> None:
    reads = Reads(kernel)
    reads.take_attribute(module("hidden", TILE=3), "TILE")
    (reason,) = reads.private
    assert reason.startswith("TILE of <module 'hidden'>")


def test_a_value_in_place_of_a_librarys_is_recorded_and_the_librarys_own_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import math

    reads = Reads(kernel)
    reads.take_attribute(math, "sqrt")
    assert taken(reads) == {}
    monkeypatch.setattr(math, "cosh", kernel)
    reads.take_attribute(math, "cosh")
    monkeypatch.setattr(math, "TILE", 3, raising=False)
    reads.take_attribute(math, "TILE")
    was_taken = {"math.cosh": taken_text(kernel), "math.cosh is the kernel": "True", "math.TILE": "3"}
    assert taken(reads) == was_taken


def test_it_is_recorded_that_two_paths_lead_to_one_module_unless_the_key_says_so() -> None:
    plugin = module("plugin", TILE=3)
    held = module("held", one=plugin, other=plugin)
    reads = Reads(kernel, {(id(globals()), "held"): (held, "module held")})
    reads.take_global(kernel, "held", held)  # type: ignore[arg-type]
    reads.take_attribute(held, "one")
    reads.take_attribute(held, "other")
    modules = {"held.one": "module plugin", "held.other": "module plugin"}
    assert taken(reads) == {**modules, "held.other is held.one": "True"}
    (same,) = (path for path, text in reads.taken() if text == "True")
    kernel.__globals__["held"] = held
    assert follow(same, kernel) is True
    vars(held)["other"] = module("plugin", TILE=3)
    assert follow(same, kernel) is False
    del kernel.__globals__["held"]


def test_what_the_key_says_of_a_namespace_is_recorded_for_a_path_that_it_does_not_know() -> None:
    plugin = module("plugin", TILE=3)
    exec("def scaled(x): return TILE", vars(plugin))
    held = module("held", scaled=plugin.scaled)
    known = {(id(globals()), "held"): (held, "module held"), (id(vars(plugin)), "TILE"): (3, "3")}
    reads = Reads(kernel, known)
    reads.take_global(kernel, "held", held)  # type: ignore[arg-type]
    reads.take_attribute(held, "scaled")
    reads.take_global(plugin.scaled, "TILE", 3)
    assert taken(reads)["TILE in held.scaled"] == "3"


def test_what_a_container_held_that_changed_meanwhile_keeps_the_artifact_private() -> None:
    held = [1, 2]
    reads = Reads(kernel)
    reads.take_global(kernel, "held", held)  # type: ignore[arg-type]
    held.append(3)
    assert list(reads.changed()) == ["held changed while the kernel was compiled"]


def test_content_that_is_written_into_the_code_has_to_be_what_was_recorded() -> None:
    from gridjit.compiler.key.foreign import array_digest

    table = np.arange(3)
    reads = Reads(kernel)
    reads.take_global(kernel, "table", table)  # type: ignore[arg-type]
    reads.take_content(table, array_digest(table))
    assert not reads.private
    table[0] = 7
    reads.take_content(table, array_digest(table))
    assert list(reads.private) == ["the content of table changed while the kernel was compiled"]


def make(inner: Any, scale: Any = 2) -> FunctionType:
    def closed(x):
        return inner(x) * scale

    return closed  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("free scale",), 5),
        (("free inner", "function", "global LIMIT"), LIMIT),
        (("global make", "default scale"), 2),
        (("global sys", "attribute maxsize"), sys.maxsize),
        (("module types", "attribute FunctionType"), FunctionType),
        (("free nothing",), MISSING),
        (("module no.such.module", "attribute x"), MISSING),
        (("global sys", "nonsense x"), MISSING),
        (("global len",), len),
    ],
)
def test_a_path_leads_to_a_value_or_nowhere(path: tuple[str, ...], value: object) -> None:
    assert follow(path, make(kernel, 5)) is value


def test_functions_of_equal_code_and_other_defaults_are_not_the_same() -> None:
    def first(x, step=1):
        return x + step

    second = types.FunctionType(first.__code__, globals(), "first", (2,), None)
    assert taken_text(first) != taken_text(second)
    third = types.FunctionType(first.__code__, globals(), "first", (1,), None)
    third.__qualname__ = first.__qualname__
    assert taken_text(first) == taken_text(third)
