"""Kinds: the operations that threads do together, by the numbers that code and errors know them by.

Threads do one together if their kinds are equal, wherever in the kernel they are (PTX: with the same qualifiers).
"""

from __future__ import annotations

# Threads of a block.
BARRIER, COUNT, AND, OR = range(4)
# Lanes of a warp: those that are there anyway, and then those of a mask.
ACTIVE, WARP = 4, 5
SHUFFLE, UP, DOWN, XOR = range(6, 10)
ALL, ANY, EQUAL, BALLOT = range(10, 14)
MATCH_ANY, MATCH_ANY_64, MATCH_ALL, MATCH_ALL_64 = range(14, 18)
# All threads of the grid; and those that come to the end of a turn of a loop in which they wait, each by itself.
GRID, TURN = 18, 19
SHUFFLES, VOTES, MATCHES = range(SHUFFLE, ALL), range(ALL, MATCH_ANY), range(MATCH_ANY, MATCH_ALL_64 + 1)

WORDS = (
    *("cuda.syncthreads", "cuda.syncthreads_count", "cuda.syncthreads_and", "cuda.syncthreads_or"),
    *("cuda.activemask", "cuda.syncwarp"),
    *("cuda.shfl_sync", "cuda.shfl_up_sync", "cuda.shfl_down_sync", "cuda.shfl_xor_sync"),
    *("cuda.all_sync", "cuda.any_sync", "cuda.eq_sync", "cuda.ballot_sync"),
    *("cuda.match_any_sync", "cuda.match_any_sync", "cuda.match_all_sync", "cuda.match_all_sync"),
    *("cuda.cg.this_grid().sync", "a loop that waits"),
)


def of_block(kind: int) -> bool:
    """Return whether all threads of a block do an operation of this kind together."""
    return kind < ACTIVE or kind in (GRID, TURN)
