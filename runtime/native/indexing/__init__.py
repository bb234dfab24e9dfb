"""`kernel[grid, block]` in machine code."""
