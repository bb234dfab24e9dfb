"""Layout of what checks leave in memory, for the code that writes it and the Python that reads it.

An access is a record of 64 bits: the block's number (modulo 2^22, in larger grids), the thread's clock, the thread, and
the place in the source. 0 is not a record, since places count from 1.
"""

from __future__ import annotations

STATE = "gridjit.checks"
STATE_BYTES = 216
# Offsets in the state: addresses of its tables and of the system's functions, and counts.
BUCKETS, TAKE, GIVE, REPORTS, REPORT_COUNT, RANGES, RANGE_COUNT = 0, 8, 16, 24, 32, 40, 48
OUTSIDE, OUTSIDE_COUNT, ADVISE, RECENT, GRID_JOIN = 56, 64, 72, 80, 96
# The planes of shared memory and its bytes; what is known of the arrays that the kernel's parameters point to.
SHARED_WRITES, SHARED_READS, SHARED_ATOMICS, SHARED_BYTES, ARGUMENTS = 128, 136, 144, 152, 160
# The chunk of memory that is being used, how far, and its size; chunks that are there for use; the sizes of chunks.
# A chunk begins with the address of the next one in its list, and its size; the rest of a spare one is zero.
CHUNK, CHUNK_USED, CHUNK_SIZE, SHARED_UNWRITTEN, SPARE = 168, 176, 184, 192, 200
FIRST_CHUNK, LAST_CHUNK = 1 << 18, 1 << 25
BUCKET_BITS = 16
MOST_REPORTS, REPORT_BYTES = 32, 40
MOST_OUTSIDE, OUTSIDE_BYTES = 2048, 32
# For each place in the source, the page that it last accessed: its number plus 1, and its address.
RECENT_BYTES = 16

# Where a page has its planes, and the binary logarithm of the size of its cells as long as it has but writes; the words
# that a cell has in each of the planes.
WRITES, ATOMICS, READS, PLAIN, PAGE_BYTES = 24, 32, 40, 48, 56
WORDS = {"WRITES": 1, "READS": 2, "ATOMICS": 3}
# For each parameter, what accesses to its array have to be looked at for, and how far the mask of its unwritten bytes
# is from it. RACING: some access to the memory may write. PARTLY: no one mask covers it, so each access finds its own.
ARGUMENT_BYTES = 16
RACING, MASKED, PARTLY = 1, 2, 4

SITE_BITS, THREAD_BITS, CLOCK_BITS, BLOCK_BITS = 12, 10, 20, 22
THREAD_AT, CLOCK_AT, BLOCK_AT = 12, 22, 42
MOST_SITES = 1 << SITE_BITS
# From this number on, places are those of updates in pairs: that of the write, and that of the read, which is one more.
UPDATES = MOST_SITES // 2

# What a report says: a read of unwritten memory, or two accesses that nothing orders.
UNWRITTEN, RACE = 1, 2
READ, WRITE, ATOMIC = 0, 1, 2
GLOBAL, SHARED, LOCAL = 0, 1, 2
