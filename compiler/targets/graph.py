"""graph: reachability and dominators of a graph: of blocks, values, or functions, of either target."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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


def dominators(root: Node, after: Mapping[Node, Sequence[Node]]) -> dict[Node, Node]:
    """Return, for each node that root leads to, the nearest other node on every path from root; root's is itself.

    after: the nodes that each node leads to. This is the usual search (Cooper, Harvey and Kennedy).
    """
    order = reverse_postorder(root, after)
    before: dict[Node, list[Node]] = {node: [] for node in order}
    for node in order:
        for other in dict.fromkeys(after.get(node, ())):
            before[other].append(node)
    nearest = {root: root}
    changed = True
    while changed:
        changed = False
        for node in list(order)[1:]:
            known = [other for other in before[node] if other in nearest]
            new = known[0]
            for other in known[1:]:
                new = _common(new, other, nearest, order)
            changed |= nearest.get(node) != new
            nearest[node] = new
    return nearest


def reverse_postorder(root: Node, after: Mapping[Node, Sequence[Node]]) -> dict[Node, int]:
    """Return the nodes that root leads to, with their numbers; each comes before the nodes that only it leads to."""
    done: list[Node] = []
    seen, path = {root}, [(root, iter(after.get(root, ())))]
    while path:
        node, rest = path[-1]
        if (found := next((one for one in rest if one not in seen), None)) is None:
            done.append(node)
            path.pop()
        else:
            seen.add(found)
            path.append((found, iter(after.get(found, ()))))
    return {node: number for number, node in enumerate(reversed(done))}


def _common(one: Node, other: Node, nearest: Mapping[Node, Node], order: Mapping[Node, int]) -> Node:
    """Return the nearest node that dominates both."""
    while one != other:
        while order[one] > order[other]:
            one = nearest[one]
        while order[other] > order[one]:
            other = nearest[other]
    return one
