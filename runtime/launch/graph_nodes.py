"""Node: one piece of a graph's work, for users; Nodes: all nodes of a graph, in the order of recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from gridjit.base.values import dataclass
from gridjit.compiler.values.errors import ArgumentError

if TYPE_CHECKING:
    from gridjit.compiler.values.launch_config import LaunchConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One piece of a graph's work. name: no other node of the graph has it. config: of a kernel's launch.

    kind: "kernel"; "copy" or "fill"; "captured", for other libraries' work.
    """

    index: int
    name: str
    kind: str
    config: LaunchConfig | None = None

    def __repr__(self) -> str:
        shape = "" if self.config is None else f" [{self.config}]"
        return f"<{self.kind} node {self.index} {self.name!r}{shape}>"


class Nodes(Sequence[Node]):
    """A graph's nodes: by number, or by name."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = tuple(nodes)

    @overload
    def __getitem__(self, which: int | str) -> Node: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, str):
            return self._named(which)
        return self._nodes[which]

    def _named(self, name: str) -> Node:
        if (found := next((node for node in self._nodes if node.name == name), None)) is None:
            names = ", ".join(repr(node.name) for node in self._nodes) or "none"
            raise ArgumentError(f"the graph has no node {name!r}; its nodes are {names}")
        return found

    def find(self, which: Any) -> Node:
        """Return a node by itself, its number or its name; raises ArgumentError for anything else."""
        if isinstance(which, str):
            return self._named(which)
        if isinstance(which, Node):
            number: Any = which.index
        else:
            number = which
        if not isinstance(number, int) or not -len(self) <= number < len(self):
            raise ArgumentError(f"{which!r} is not a node of this graph; give one of its nodes, a number or a name")
        found = self._nodes[number]
        if isinstance(which, Node) and which is not found:
            raise ArgumentError(f"{which!r} is another graph's; give one of this graph's nodes")
        return found

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __repr__(self) -> str:
        return repr(list(self._nodes))


class NodeNames:
    """The names of a graph's nodes, each once: a repeated name gets a number."""

    def __init__(self) -> None:
        # How often a name was wanted, or made for another name.
        self._given: dict[str, int] = {}

    def new(self, wanted: str) -> str:
        """Return wanted, with the next number if the name is there already."""
        name = wanted
        while name in self._given:
            self._given[wanted] += 1
            name = f"{wanted} {self._given[wanted]}"
        self._given[name] = 1
        return name
