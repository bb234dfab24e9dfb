"""Parts of the process that a compile runs in: the garbage collector, freed memory, locks, refusing functions."""
