"""Settings that registered code reads, and objects beside them that decide nothing."""

from __future__ import annotations

import collections
import enum
import itertools
import logging
import threading
import time
import weakref
from typing import Any


class Order(enum.Enum):
    """How a thread's items lie in memory."""

    BLOCKED = 1
    STRIPED = 2


# Simple settings: code depends on them.
SCALE = 2.0
OFFSET = 3
STRICT = True
ORDER = Order.BLOCKED
LIMIT: int | None = None
WEIGHTS = (1, 10, 100)
UNIT = "items"

# Objects: no code depends on what they hold.
LOG = logging.getLogger("blockwise")
LOCK = threading.RLock()
STARTED = time.monotonic()
COUNTER = itertools.count()
STATISTICS: collections.Counter[str] = collections.Counter()
MEMO: dict[Any, Any] = {}
OWNERS: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
HISTORY: list[str] = []
THREAD = threading.local()

# Simple, but changed by every compile itself.
nodes_made = 0
last_operation: str | None = None


def note(operation: str) -> None:
    """Note that a node was made."""
    global nodes_made, last_operation
    with LOCK:
        nodes_made += 1
        last_operation = operation
        STATISTICS[operation] += 1
        HISTORY.append(operation)
