"""graph: the search for all nodes of a graph that some nodes lead to: blocks, values, functions, of either target."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def reached(starts: Iterable[Node], ways: Callable[[Node], Iterable[Node]]) -> dict[Node, None]:
    """Return starts and the nodes that ways lead to from them, in the order in which a walk finds these."""
    found = dict.fromkeys(starts)
    waiting = list(found)
    while waiting:
        for node in ways(waiting.pop()):
            if node not in found:
                found[node] = None
                waiting.append(node)
    return found
