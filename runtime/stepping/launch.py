"""launch: a grid whose blocks are run one after another, thread by thread, as plain Python."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from gridjit.compiler.values.errors import LaunchError
from gridjit.compiler.values.launch_config import LaunchConfig
from gridjit.runtime.environment.tracebacks import note_as_kernels
from gridjit.runtime.memory.staging import Directed
from gridjit.runtime.stepping.block import Lane, ThreadBlock
from gridjit.runtime.stepping.names import Names, array_of
from gridjit.runtime.stepping.operations import items

if TYPE_CHECKING:
    from gridjit.runtime.kernel import Kernel


def step(kernel: Kernel, config: LaunchConfig, args: tuple[Any, ...]) -> None:
    """Run kernel's function in each thread of config's grid.

    Raises a thread's exception, with the thread named; a LaunchError if threads deadlock.
    """
    function = Names().function(kernel.py_func)
    given = tuple(map(_argument, args))
    x, y, z = config.griddim
    for c, b, a in itertools.product(range(z), range(y), range(x)):
        block = ThreadBlock(config, (a, b, c), config.sharedmem)
        failed = block.run(lambda: function(*given))
        if failed is not None:
            _raise(kernel, failed)


def _argument(value: Any) -> Any:
    """Return an argument for a kernel's Python code: an array over the same memory, a record by its fields."""
    if isinstance(value, Directed):
        inner = _argument(value.value)
        return inner if value.writes or not isinstance(inner, np.ndarray) else inner.copy()
    if isinstance(value, tuple):
        return tuple(map(_argument, value))
    return items(value) if isinstance(value, np.ndarray) else array_of(value)


def _raise(kernel: Kernel, lane: Lane) -> None:
    error = lane.error
    place = f"{kernel.name}, tid={list(lane.position)} ctaid={list(lane.block.position)}"
    assert error is not None
    if not isinstance(error, Exception):
        raise error
    try:
        named: Exception = type(error)(f"{place}: {error}")
    except Exception:  # making a foreign exception can fail in any way
        named = LaunchError(f"{place}: {type(error).__qualname__}: {error}")
    note_as_kernels(named)
    raise named from error
