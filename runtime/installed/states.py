"""states: numba.cuda.random on the host, whose states of generators are then arrays of gridjit's."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any


def random_of(cuda: ModuleType) -> ModuleType:
    """Return numba.cuda.random; it makes arrays by cuda's name for that from now on, without a driver."""
    found: Any = importlib.import_module("numba.cuda.random")
    found.cuda = cuda
    return found  # type: ignore[no-any-return]
