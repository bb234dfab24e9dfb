"""Dependencies that a compile meets only while it runs: recorded then, and checked at each look-up."""
