"""Kinds of operations of warps, blocks and grids, by the numbers that code and errors know them by.

Threads do an operation together if it has the same kind, wherever in the kernel they are (PTX: the same qualifiers).
"""

from __future__ import annotations

# Threads of a block.
BARRIER, COUNT, AND, OR = range(4)
# Those of the grid; and a thread by itself, at the end of an iteration of a loop in which it waits for others.
GRID, TURN = 4, 5
# Lanes of a warp: those that are there anyway - which a kernel asks for, or only counts on - and then those of a mask.
ACTIVE, STEP, WARP = 6, 7, 8
SHUFFLE, UP, DOWN, XOR = range(9, 13)
ALL, ANY, EQUAL, BALLOT = range(13, 17)
MATCH_ANY, MATCH_ANY_64, MATCH_ALL, MATCH_ALL_64 = range(17, 21)
SHUFFLES, VOTES, MATCHES = range(SHUFFLE, ALL), range(ALL, MATCH_ANY), range(MATCH_ANY, MATCH_ALL_64 + 1)

WORDS = (
    *("cuda.syncthreads", "cuda.syncthreads_count", "cuda.syncthreads_and", "cuda.syncthreads_or"),
    *("cuda.cg.this_grid().sync", "a loop that waits for others"),
    *("cuda.activemask", "others of its warp", "cuda.syncwarp"),
    *("cuda.shfl_sync", "cuda.shfl_up_sync", "cuda.shfl_down_sync", "cuda.shfl_xor_sync"),
    *("cuda.all_sync", "cuda.any_sync", "cuda.eq_sync", "cuda.ballot_sync"),
    *("cuda.match_any_sync", "cuda.match_any_sync", "cuda.match_all_sync", "cuda.match_all_sync"),
)


def of_block(kind: int) -> bool:
    """Return whether an operation of this kind is not one of lanes of a warp."""
    return kind < ACTIVE
