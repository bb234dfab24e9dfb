"""What looks for an object among the arguments of the launch that a kernel is compiled for."""

from __future__ import annotations

from numba.cuda.extending import overload
from numba.cuda.launchconfig import ensure_current_launch_config

from blockwise import records


@overload(records.index_of_wanted, target="cuda")
def _index_of_wanted(tag):
    arguments = ensure_current_launch_config().args
    found = -1
    for index in range(len(arguments)):
        if arguments[index] is records.WANTED:
            found = index
    return lambda tag: found
