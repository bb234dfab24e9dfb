"""A kernel's threads as plain Python on the host, one at a time, for debuggers to step through."""
