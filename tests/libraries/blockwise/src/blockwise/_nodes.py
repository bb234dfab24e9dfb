"""Node: one call of a block-wide function in a kernel that is being compiled; and Invocable, what is called instead."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from typing import Any

from blockwise import _settings, packing

_numbers = itertools.count(1)
_LOCK = threading.Lock()
UNKNOWN = object()


class Invocable:
    """What a kernel calls in place of a block-wide function: one for each call, implemented for one block size."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def __call__(self, *args: Any) -> Any:
        raise TypeError("this is for kernels")


@dataclasses.dataclass(eq=False)
class Node:
    """A call: what is called, in which kernel, for which block. Its number is never the same twice."""

    operation: str
    kernel_name: str
    threads: int
    number: int = dataclasses.field(default_factory=lambda: next(_numbers))
    launches: int = 0
    invocable: Any = dataclasses.field(init=False, default=UNKNOWN)
    notes: list[str] = dataclasses.field(default_factory=list)
    parent: Any = None

    def __post_init__(self) -> None:
        with _LOCK:
            _settings.note(self.operation)
        self.invocable = Invocable(self)

    def before_launch(self, kernel: Any, config: Any) -> None:
        """A pre-launch hook that only this object can be called through."""
        self.launches += 1
        packing.note(self.operation, self.threads, kernel, config)


def hook_over_numbers(operation: str, threads: int) -> Any:
    """Return a pre-launch hook, a nested function over text and a number."""

    def before_launch(kernel: Any, config: Any) -> None:
        packing.note(operation, threads, kernel, config)

    return before_launch


def hook_over_node(node: Node) -> Any:
    """Return a pre-launch hook, a nested function over an object."""

    def before_launch(kernel: Any, config: Any) -> None:
        node.launches += 1
        packing.note(node.operation, node.threads, kernel, config)

    return before_launch
