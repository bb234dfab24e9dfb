"""Launch arguments: what type each has for the compiler, and which parameters it becomes. One file a kind."""
