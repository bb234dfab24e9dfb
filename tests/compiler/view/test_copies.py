"""ConfigView cannot be read around: whatever hands out the launch records it then, and the rest hands out nothing."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gridjit import ConfigError, LaunchConfig
from gridjit.compiler.values.footprint import MARKABLE
from gridjit.compiler.view.config import ConfigView
from tests.compiler.view.visibility import visible

CONFIG = LaunchConfig.of(10, (64, 2), 128)
SECRETS = (CONFIG, *(getattr(CONFIG, name) for name in ("griddim", "blockdim")), 128)


def fields(view: ConfigView) -> set[str]:
    return {fact.field for fact in view.footprint.facts}


def reachable(value: Any, depth: int = 4) -> list[Any]:
    """Return what attributes, items and slots of a value give, at any depth, but for properties and functions."""
    found, waiting = [], [(value, depth)]
    while waiting:
        one, left = waiting.pop()
        found.append(one)
        if left and not isinstance(one, int | str | float | bytes | type(None)) and not inspect.isroutine(one):
            held = [item for item in getattr(one, "__dict__", {}).values() if not inspect.isroutine(item)]
            for cls in type(one).__mro__:
                slots = vars(cls).get("__slots__", ())
                held += [getattr(one, name, None) for name in slots if name not in ("__weakref__", "__dict__")]
            if isinstance(one, dict):
                held += [*one, *one.values()]
            elif isinstance(one, list | tuple | set):
                held += one
            waiting += [(item, left - 1) for item in held]
    return found


@pytest.mark.parametrize(
    "take",
    [
        lambda view: view.config,
        copy.copy,
        copy.deepcopy,
        lambda view: pickle.loads(pickle.dumps(view)),
        lambda view: copy.deepcopy({"held": [view]})["held"][0],
    ],
    ids=["config", "copy", "deepcopy", "pickle", "deepcopy of a holder"],
)
def test_a_copy_of_the_configuration_counts_as_all_of_it_when_it_is_taken(take: Callable[[ConfigView], Any]) -> None:
    view = ConfigView(CONFIG)
    view.sharedmem = 4096
    taken = take(view)
    assert fields(view) == set(MARKABLE)
    assert (taken.blockdim, taken.griddim, taken.sharedmem) == (CONFIG.blockdim, CONFIG.griddim, 4096)


@pytest.mark.parametrize(
    "look",
    [vars, repr, str, format, hash, dir, lambda view: view == CONFIG, lambda view: view in [CONFIG], reachable],
    ids=["vars", "repr", "str", "format", "hash", "dir", "equality", "containment", "attributes"],
)
def test_what_records_nothing_hands_out_nothing(look: Callable[[ConfigView], Any]) -> None:
    view, other = ConfigView(CONFIG, (128,)), ConfigView(LaunchConfig.of(3, 7), (5,))
    seen = reachable(look(view))
    assert fields(view) == set()
    assert not any(found is secret for found in seen for secret in SECRETS[:3])
    if look not in (hash, reachable, vars):
        assert look(view) == look(other)


@pytest.mark.parametrize("refused", [iter, len, sorted, lambda view: view < view, lambda view: view[0]])
def test_a_view_is_neither_a_sequence_nor_ordered(refused: Callable[[Any], Any]) -> None:
    view = ConfigView(CONFIG)
    with pytest.raises(TypeError):
        refused(view)
    assert fields(view) == set()


def test_a_configuration_takes_attributes_as_a_plain_object_does() -> None:
    view: Any = ConfigView(CONFIG)
    view.registered = True
    assert view.registered and vars(view)["registered"]


def test_looking_at_every_member_of_a_configuration_counts_as_all_of_it() -> None:
    view = ConfigView(CONFIG, ())
    inspect.getmembers(view)
    assert set(MARKABLE) <= fields(view)


def test_a_compile_that_reads_the_configuration_of_another_serves_no_later_launch_and_is_not_stored() -> None:
    outer, inner = ConfigView(CONFIG), ConfigView(LaunchConfig.of(1, 1))
    with visible(outer), visible(inner):
        assert outer.blockdim == CONFIG.blockdim
    assert fields(outer) == {"blockdim"}
    assert not inner.footprint.matches(LaunchConfig.of(1, 1))
    assert inner.reasons_to_keep_private == ("the compilation read the launch configuration of another compilation",)


def test_a_view_and_its_arguments_are_gone_when_nobody_holds_them() -> None:
    class Node:
        pass

    node = Node()
    view = ConfigView(CONFIG, (node, np.zeros(3)))
    assert view.args is not None and view.args[0] is node
    gone = [weakref.ref(view), weakref.ref(node)]
    del view, node
    gc.collect()
    assert [found() for found in gone] == [None, None]


# -- arguments -------------------------------------------------------------------------------------------------------


class Node:
    """An argument whose identity a library looks for."""

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self.children: list[Node] = []


def test_an_argument_that_is_neither_a_number_nor_an_array_is_the_very_object() -> None:
    node = Node()
    view = ConfigView(CONFIG, (np.zeros(3), node, 7))
    assert view.args is not None
    assert view.args[1] is node
    assert node in view.args
    assert view.reasons_to_keep_private == ("the compilation was handed argument 1 itself",)


def test_code_that_was_handed_an_object_serves_launches_with_that_object_as_it_is() -> None:
    node, args = Node(), (0, Node())
    args = (0, node)
    view = ConfigView(CONFIG, args)
    assert view.args is not None and view.args[1] is node
    assert view.footprint.matches(CONFIG, args)
    assert view.footprint.matches(CONFIG, (1, node))
    assert not view.footprint.matches(CONFIG, (0, Node()))
    footprint = view.footprint
    node.size = 2
    assert not footprint.matches(CONFIG, args)
    node.size = 1
    assert footprint.matches(CONFIG, args)
    node.children.append(Node(5))
    assert not footprint.matches(CONFIG, args)


@pytest.mark.parametrize("argument", [np.float32, np.dtype("f4"), None, "text", b"bytes", (1, 2.5), threading], ids=str)
def test_a_type_a_text_and_a_tuple_are_handed_out_as_they_are_and_serve_again(argument: Any) -> None:
    view = ConfigView(CONFIG, (argument,))
    assert view.args is not None and view.args[0] is argument
    assert view.footprint.matches(CONFIG, (argument,))
    assert not view.footprint.matches(CONFIG, (Node(),))


def test_an_argument_whose_attributes_fail_is_looked_at_all_the_same() -> None:
    class Fails:
        @property
        def __cuda_array_interface__(self) -> Any:
            raise RuntimeError("not now")

    view = ConfigView(CONFIG, (Fails(),))
    assert view.args is not None and "argument 0" in repr(view.args[0])
    assert fields(view) == {"arguments"}


def test_what_a_compile_leaves_in_an_object_does_not_count_as_a_difference() -> None:
    node = Node()
    view = ConfigView(CONFIG, (node,))
    assert view.args is not None
    view.args[0].children.append(Node())
    assert view.footprint.matches(CONFIG, (node,))


def test_an_object_that_holds_memory_of_the_host_fits_no_later_launch() -> None:
    for argument in ((np.zeros(3), 1), [np.zeros(3)]):
        view = ConfigView(CONFIG, (argument,))
        assert view.args is not None and view.args[0] is argument
        assert not view.footprint.matches(CONFIG, (argument,))


def test_an_array_is_the_same_object_each_time_it_is_asked_for() -> None:
    view = ConfigView(CONFIG, (np.zeros(3), np.zeros(4)))
    assert view.args is not None
    assert view.args is view.args
    assert view.args[0] is view.args[0]
    assert [*view.args][1] is view.args[1] is view.args[-1]
    assert view.args[0] is not view.args[1]


@pytest.mark.parametrize("argument", [np.arange(300) + 70000, 65537.5], ids=["array", "number"])
def test_no_attribute_of_the_arguments_hands_one_out(argument: Any) -> None:
    view = ConfigView(CONFIG, (argument,))
    args = view.args
    assert args is not None
    if not isinstance(argument, float):
        assert not any(found is argument for found in reachable(args[0]))
    assert not any(found is argument for found in [*reachable(args), *reachable(copy.copy(args))])
    for value in (args, args[0]) if not isinstance(argument, float) else (args,):
        with pytest.raises(ConfigError, match="cannot be pickled"):
            pickle.dumps(value)
        assert copy.copy(value) is copy.deepcopy(value) is value
