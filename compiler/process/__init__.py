"""What a compile finds in the process that it runs in: the garbage collector, freed memory, objects that change."""
